"""The public SDK: agents, clients, and the functions `serve` and `connect`."""
