"""The agent kit: durable sessions, and what goes with them, over a plain `Agent`. See `kit`."""
