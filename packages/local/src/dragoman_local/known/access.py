"""An agent, and the PATH on which its program is found and started.

`find_agent` looks along the PATH we were started with, which is short when a desktop or a service started us.
`reach_agent` asks the user's login shell as well, but only when ours does not have the program: a shell takes
its time.
"""

from __future__ import annotations

import os
import shutil

from msgspec import Struct

from dragoman.errors import LocalMistake
from dragoman_local.known.agent import KnownAgent
from dragoman_local.known.config import AgentConfig, read_config
from dragoman_local.known.lookup import find_agent


class AgentAccess(Struct, frozen=True, kw_only=True):
    """Arguments for `agent_environment(allow=agent.allow, explicit=agent.env, path=path)`."""

    agent: KnownAgent
    path: str | None = None
    """The PATH to start it with; None uses our own."""


def find_on_our_path(text: str) -> AgentAccess | None:
    """Return the agent if it is on this process's PATH, the usual case, which starts no process. None if
    `reach_agent` may find it elsewhere.
    """
    try:
        agent = find_agent(text)
    except LocalMistake:
        return None  # `reach_agent` says it, if it is still so
    return AgentAccess(agent=agent) if _is_reached(agent) else None


async def reach_agent(text: str, *, config: AgentConfig | None = None) -> AgentAccess:
    """Find an agent on this process's PATH, otherwise on the login shell's. Raises `LocalMistake` as
    `find_agent` does.
    """
    from dragoman.sdk.login_path import login_path  # with the asyncio that it needs; seldom asked

    config = config or read_config()
    try:
        agent = find_agent(text, config=config)
    except LocalMistake:
        login = await login_path()
        if login.path == os.environ.get("PATH"):
            raise
        return AgentAccess(agent=find_agent(text, config=config, path=login.path), path=login.path)
    if _is_reached(agent):
        return AgentAccess(agent=agent)
    return AgentAccess(agent=agent, path=(await login_path()).path)


def _is_reached(agent: KnownAgent) -> bool:
    if not agent.command or os.path.dirname(agent.command[0]):
        return True  # no PATH is asked for these
    return shutil.which(agent.command[0], path=agent.env.get("PATH")) is not None
