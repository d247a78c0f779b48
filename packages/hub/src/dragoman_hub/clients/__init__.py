"""Connections of clients: what they may ask, what they are told, how far they have been told."""
