"""Text for a terminal: wrapped and styled. Pure; knows nothing of the protocol."""
