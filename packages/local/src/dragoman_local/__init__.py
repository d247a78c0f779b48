"""A client's services on its machine: files, terminals, policy, journal, known agents; and the agent kit."""
