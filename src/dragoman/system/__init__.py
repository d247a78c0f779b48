"""File locks, folders for our files, git in folders of others, for every system. Knows nothing of agents."""
