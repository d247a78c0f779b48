"""Agents that outlive the hub: an agent host holds the pipes of one agent, and hubs come and go.

Import from `hosted_agents`: `host_agent` starts an agent with its host, `find_hosted` comes back to one.
Nothing is imported here, because the process of the host is this package too and stays small.
"""
