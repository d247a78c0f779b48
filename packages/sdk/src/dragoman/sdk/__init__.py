"""What people write against: agents, clients, and the two verbs that open everything."""
