"""An agent: its declaration, its side of a connection, its sessions and turns, and what it says and asks."""
