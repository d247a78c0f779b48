"""Agents: their declaration, their side of a connection, sessions and turns, updates, and requests to the
client.
"""
