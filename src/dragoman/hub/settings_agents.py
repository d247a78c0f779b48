"""Which agents a hub offers: those of its file, those that come with dragoman, those that are known by name.

A name of the file wins over the same name elsewhere. The file may also say something about an agent that
comes with dragoman (`[agents.review]`, `idle = 60`) without naming its command again. Looks along PATH and
into the file of known agents; starts nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from dragoman.errors import LocalMistake
from dragoman.hub.settings import AgentSettings, HubSettings
from dragoman.sdk.known import KnownAgent, known_agents
from dragoman.sdk.known.finding import BUILT_IN


def offered_agents(
    settings: HubSettings, *, known: list[KnownAgent] | None = None
) -> Mapping[str, AgentSettings]:
    """By name, each with a command or a url; the default one is among them, else `LocalMistake`."""
    found = {agent.name: _known(agent) for agent in BUILT_IN}
    if settings.known_agents:
        for agent in known_agents() if known is None else known:
            found.setdefault(agent.name, _known(agent))
    for name, agent_settings in settings.agents.items():
        found[name] = _completed(agent_settings, found.get(name))
    if settings.default_agent not in found:
        names = ", ".join(sorted(found))
        raise LocalMistake(f"default_agent: there is no agent {settings.default_agent!r}; there are {names}")
    return found


def _known(agent: KnownAgent) -> AgentSettings:
    return AgentSettings(
        command=agent.command,
        url=agent.address or "",
        title=agent.title,
        env=dict(agent.env),
        allow=agent.allow,
    )


def _completed(given: AgentSettings, known: AgentSettings | None) -> AgentSettings:
    """What the file says of an agent that is there without it."""
    if given.command or given.url or known is None:
        return given
    return replace(
        given,
        command=known.command,
        url=known.url,
        title=given.title or known.title,
        env={**known.env, **given.env},
        allow=(*known.allow, *given.allow),
    )
