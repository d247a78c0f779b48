"""Connections of clients: their requests, their updates, and up to where each has received them."""
