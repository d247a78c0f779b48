"""A client: its declaration, its side of a connection, its sessions and what a turn brings."""
