"""What the operating system and its programs differ in, said once: file locks, and git in folders of others.

Import from the modules. Nothing here knows agents, frames or sessions.
"""
