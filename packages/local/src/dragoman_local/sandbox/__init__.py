"""The sandbox around commands and agents: the kernel refuses access, whatever a program tries.

`boundary` is the value that says what is writable, read-only and hidden, `plan` makes it for a session,
`launcher` is the program that confines itself by it and becomes the command, and `wall` says whether this
machine can hold it and makes the command line. docs/sandbox.md has the threat model.
"""
