"""The agent kit: adds durable sessions, and what they need, to a plain `Agent`. See `kit`."""
