"""Clients: their declaration, their side of a connection, their sessions, and the updates of a turn."""
