"""Several hubs on one journal: who is there, who has which session, how clients reach it (docs/cluster.md).

`membership` holds this node's lease and watches the others', `owning` says which node has a session, and
`placing` chooses one for those that nobody has. A client's connection ends in a `front`, which gives each
message to the node of its session, where a `guest` stands for the client; `switch` carries words.
"""
