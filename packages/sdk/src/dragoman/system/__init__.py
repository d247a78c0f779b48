"""Operating system services: file locks, folders for our files, caches, and git in other people's folders.
Does not depend on agents.
"""
