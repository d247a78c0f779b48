"""Agents that outlive the hub: a keeper holds the pipes of one agent, and hubs come and go.

Import from `kept`: `keep` starts an agent with its keeper, `find_kept` comes back to one. Nothing is imported
here, because the keeper's process is this package too and stays small.
"""
