"""The hub: serves agents to clients on the network, and refuses everything that is not configured."""
