"""Listens, admits and joins: agents for clients on the network, closed by default."""
