"""Scripts: what an agent or a client says and does, written down line by line and played as it stands.

`statements` is the grammar, `verbs` the table of what can be said, and the modules that fill it are
`speaking`, `asking`, `saving`, `ending`, `breaking` and `expecting`. `script` is a whole script, `peer` and
`scene` play it, and `agent_role` and `client_role` know what is special about each side; `checking` and
`turning` are what an agent does well without being told. The language is described in `docs/testing.md`.
"""
