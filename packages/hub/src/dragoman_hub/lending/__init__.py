"""The hub's own files and terminals for agents, and the file changes of turns."""
