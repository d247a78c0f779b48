"""The hub's HTTP interface: protocol, page, history, status, metrics; and the listener."""
