"""Connections of clients: their requests, their updates, and their positions."""
