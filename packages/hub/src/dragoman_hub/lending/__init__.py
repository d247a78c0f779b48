"""Files and terminals of the hub's own, and what turns change on disk."""
