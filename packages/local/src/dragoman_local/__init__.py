"""What a client lends and keeps: files, terminals, policy, journal, known agents, and agents from a kit."""
