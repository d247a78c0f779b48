"""Runs sessions: appends what their machines write, waits for the journal, does what they want done."""
