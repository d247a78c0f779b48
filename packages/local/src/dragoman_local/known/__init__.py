"""Agents by name: finds the agent for a name, a command line or an address, and explains why one does not
start.

    agent = find_agent("claude")  # KnownAgent(name, command, env, allow, source)
    for agent in known_agents(): ...
    reached = await reach_agent("claude")  # asks the login shell too if our PATH does not have it
    diagnosis = await diagnose(agent)  # in dragoman_local.known.doctor

`find_agent` reads the configuration file and looks along PATH; it starts nothing. What it raises is a
`LocalMistake` whose text tells what to do.
"""

from dragoman_local.known.access import AgentAccess, reach_agent
from dragoman_local.known.agent import AgentSource, KnownAgent
from dragoman_local.known.config import AgentConfig, read_config
from dragoman_local.known.lookup import find_agent, known_agents

__all__ = [
    "AgentAccess",
    "AgentConfig",
    "AgentSource",
    "KnownAgent",
    "find_agent",
    "known_agents",
    "reach_agent",
    "read_config",
]
