"""Agent hosts: a host process keeps the pipes of one agent, so that the agent survives a restart of the hub.

Import from `hosted_agents`: `host_agent` starts an agent with its host, `find_hosted` comes back to one.
Nothing is imported here, because the process of the host is this package too and stays small.
"""
