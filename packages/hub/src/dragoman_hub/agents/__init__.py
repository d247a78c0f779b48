"""Agent processes that outlive the hub: their host, the channel to them, restarts, and error output."""
