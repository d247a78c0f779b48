"""Several hubs on one journal: the nodes, the owner of each session, the way to it (docs/cluster.md).

`membership` holds this node's lease and watches the others', `owners` says which node has a session, and
`placement` chooses one for those that nobody has. A client's connection ends in a `client_router`, which
gives each message to the node of its session, where a `remote_client` stands for it; `links` carry the
messages.
"""
