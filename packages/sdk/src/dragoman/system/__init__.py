"""Operating system services: file locks, folders for our files, caches, and git in folders of other
people. Knows nothing of agents.
"""
