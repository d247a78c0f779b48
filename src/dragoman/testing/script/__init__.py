"""Scripts: what an agent or a client says and does, written down line by line and played as it stands.

`statements` is the grammar, `verbs` the table of what can be said, and the modules that fill it are
`speaking`, `asking`, `ending`, `breaking` and `expecting`. `script` is a whole script, `peer` and `scene`
play it, and `agent_role` and `client_role` know what is special about each side. The language is described
in `docs/testing.md`.
"""
