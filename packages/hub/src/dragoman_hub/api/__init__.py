"""What is at the hub's address: protocol, page, history, status, metrics; and the listener."""
