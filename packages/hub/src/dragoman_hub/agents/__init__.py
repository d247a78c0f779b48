"""Processes of agents that outlive the hub: their host, the channel to them, restarts, last words."""
