"""Proxies between a client and an agent, alone or in a chain, and the conductor of such a chain."""
