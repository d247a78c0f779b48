"""Text for a terminal: made harmless, wrapped, styled. Pure; knows nothing of the protocol."""
