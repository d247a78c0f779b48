"""Locks, folders for our files, files of caches, git in folders of others. Knows nothing of agents."""
