"""Faults on purpose: a relay that does to a conversation what the protocol allows to happen."""
