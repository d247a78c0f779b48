"""A recording served again: as the agent that it was, or as the client."""
