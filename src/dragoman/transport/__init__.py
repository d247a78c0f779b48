"""Moves whole frames between two peers: in memory, over pipes, own stdio, and child processes.

A transport knows newlines, descriptors and processes. It does not know JSON, ids or ACP; what it carries is
bytes. Import from the modules, so that a program pays only for the transport it uses: `contract` says what
every transport promises, `memory`, `pipe`, `stdio` and `process` keep the promise, `address` turns a string
into one of them.
"""
