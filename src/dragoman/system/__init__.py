"""File locks, and git in folders of others, for every operating system. Knows nothing of agents."""
