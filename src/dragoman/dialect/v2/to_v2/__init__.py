"""Values of v1 in v2: content, updates, tool calls, diffs, options, questions.

Each function takes a value as a peer may have sent it, and gives what v2's strict schema accepts, or None if
nothing of it can be said. What is left out or mended on the way is told to the `Scribe`. Nothing here
remembers anything.
"""
