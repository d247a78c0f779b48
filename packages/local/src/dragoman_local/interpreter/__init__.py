"""Interpreters that act on this machine: consent, recordings, and files lent to a peer of another dialect."""
