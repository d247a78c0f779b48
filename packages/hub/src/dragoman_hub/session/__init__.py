"""The session as a value, which only the function `step` changes.

Pure: no clock, no journal, no task, and no import but the errors, `wire` and `schema`. `events` are what
can happen to a session, `state` is what it has come to, `machine` says what follows from an event: entries
for the journal, and effects that happen once those are stored.
"""
