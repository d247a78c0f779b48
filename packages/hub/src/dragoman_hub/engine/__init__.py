"""Runs sessions: appends the entries that their state machines write, waits for the journal, then acts."""
