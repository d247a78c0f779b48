"""The workspace that a client gives an agent: files, terminals, and permission decisions.

A workspace knows roots, files and versions. It does not know connections or JSON-RPC; its handlers take the
protocol's messages and are put into a `Client` by `Workspace.serve`. Import from the modules: `workspace`
ties files and terminals together, `local_client` these with whoever decides, for one connection; `settings`
says how, `roots` keeps paths inside, `write_conflicts` has what is decided about writes over changed files.
"""
