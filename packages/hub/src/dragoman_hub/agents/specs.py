"""Builds a start command from an agent's settings.

A command is held by an agent host, so that it outlives the hub; an agent of another dialect runs behind an
interpreter that lives with it, so that what the interpreter knows outlives the hub as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from dragoman.errors import LocalMistake, SpawnFailed
from dragoman.sdk.environment import agent_environment
from dragoman.sdk.remote_place import CLIENT_VARIABLES, command_in, parse_place, with_wall
from dragoman.system.replacement import replace_file
from dragoman.transport.http_client import open_http
from dragoman.transport.websocket import open_websocket
from dragoman_hub.agents.channel import AgentChannel, DirectChannel, LeaseTerm
from dragoman_hub.agents.host.agent_host import TOO_LATE, HostOrder
from dragoman_hub.agents.host.hosted_agents import find_hosted, host_agent
from dragoman_hub.agents.host.lease import moment
from dragoman_hub.agents.pool import AgentSpec
from dragoman_hub.settings import AgentSettings
from dragoman_local.known import AgentSource, KnownAgent
from dragoman_local.known.lookup import BUILT_IN, well_known_for
from dragoman_local.sandbox.boundary import works_in_folders
from dragoman_local.sandbox.wall import agent_launcher, hold_or_refuse
from dragoman_local.secrets.names import is_secret_variable
from dragoman_local.secrets.search import redact

EXAMINE_SECONDS = 30.0
"""The most seconds for each step of a test; a user waits for it."""

STDERR = 8000
"""The most characters of standard error in a test's result."""

STARTS = 3
"""The most starts of an agent host whose lease runs out in the meantime."""

BUILT_IN_NAMES = frozenset(agent.name for agent in BUILT_IN)


def specs_of(
    agents: Mapping[str, AgentSettings],
    folder: Path,
    *,
    lease: Callable[[], LeaseTerm] | None = None,
    policy: str = "",
    secrets: Sequence[str] = (),
) -> dict[str, AgentSpec]:
    """Return the agents' specs. `folder` is for the sockets of agent hosts. With `lease`, agents act only
    under a lease. `policy` is the file of rules for interpreters; `secrets` are files that no agent in a
    sandbox can read. Raises `LocalMistake` for a sandbox that this machine does not support.
    """
    for settings in agents.values():
        hold_or_refuse("off" if settings.place else settings.sandbox)
    return {name: _spec(name, settings, folder, lease, policy, secrets) for name, settings in agents.items()}


def _spec(
    name: str,
    settings: AgentSettings,
    folder: Path,
    lease: Callable[[], LeaseTerm] | None,
    policy: str,
    secrets: Sequence[str],
) -> AgentSpec:
    place = folder / f"{file_name(name)}.sock"

    async def launcher() -> tuple[str, ...]:
        entry = well_known_for(name, settings.command, AgentSource.CONFIG)
        return await asyncio.to_thread(
            agent_launcher,
            "off" if settings.place else settings.sandbox,
            settings.command[0] if settings.command else "",
            [settings.cwd] if settings.cwd else [],
            state=(*settings.state, *(() if entry is None else entry.state)),
            secrets=secrets,
            environ=agent_environment(allow=_allowed_variables(settings), explicit=settings.env),
        )

    async def start() -> AgentChannel:
        # A busy machine may need longer than a lease to start an agent host: then there is a newer lease.
        for _ in range(STARTS - 1):
            try:
                return await start_once()
            except SpawnFailed as error:
                if TOO_LATE not in str(error):
                    raise
        return await start_once()

    async def start_once() -> AgentChannel:
        lasting = None if lease is None else lease()
        return await host_agent(
            HostOrder(
                command=command_of(name, settings, policy=policy, launcher=await launcher()),
                socket=place,
                cwd=None if settings.place else settings.cwd or None,
                env=agent_environment(allow=_allowed_variables(settings), explicit=settings.env),
                linger=settings.linger,
                lease=None if lasting is None else moment(lasting.seconds, lasting.since),
            )
        )

    async def reach() -> AgentChannel:
        return DirectChannel(await open_remote(settings.url))

    async def adopt() -> AgentChannel | None:
        return await find_hosted(place)

    async def examine() -> dict[str, Any]:
        # The examination is seldom asked for, and its imports would cost every start of a hub.
        from dragoman_local.known.doctor import diagnose

        agent = KnownAgent(
            name=name,
            command=(
                tuple(command_of(name, settings, policy=policy))
                if settings.place
                else (*await launcher(), *settings.command)
            ),
            env=settings.env,
            allow=_allowed_variables(settings),
            source=AgentSource.COMMAND,
            address=settings.url or None,
            dialect=settings.dialect,
        )
        diagnosis = await diagnose(
            agent, seconds=EXAMINE_SECONDS, cwd=None if settings.place else settings.cwd or None
        )
        steps = [
            {
                field: redact(str(getattr(step, field)))
                for field in ("name", "verdict", "summary", "meaning", "advice")
            }
            for step in diagnosis.steps
        ]
        return {
            "outcome": diagnosis.outcome.value,
            "steps": steps,
            "stderr": redact(diagnosis.stderr)[-STDERR:],
        }

    built_in = name in BUILT_IN_NAMES and not settings.description
    return AgentSpec(
        name=name,
        title=name.capitalize() if built_in else settings.title or name,
        description=settings.title if built_in else settings.description,
        idle=settings.idle,
        restarts=settings.restarts,
        place=settings.place,
        sandbox=settings.sandbox,
        roots=(settings.cwd, os.path.realpath(settings.cwd)) if works_in_folders(settings.sandbox) else (),
        open=reach if settings.url else start,
        adopt=None if settings.url else adopt,
        secrets=_secrets(settings),
        is_interpreted=not settings.url and needs_interpreter(name, settings),
        examine=examine,
    )


def _allowed_variables(settings: AgentSettings) -> tuple[str, ...]:
    """Names of the hub's variables that its process here may see."""
    return (*settings.allow, *CLIENT_VARIABLES) if settings.place else settings.allow


def _secrets(settings: AgentSettings) -> tuple[str, ...]:
    """Secret values of the agent, hidden from readers of its last output."""
    environment = agent_environment(allow=settings.allow, explicit=settings.env)
    return tuple(value for name, value in environment.items() if is_secret_variable(name))


def command_of(
    name: str, settings: AgentSettings, *, policy: str = "", launcher: Sequence[str] = ()
) -> list[str]:
    """Return the command, behind an interpreter unless the agent is known to speak version 1. An interpreter
    provides files by the rules in the file `policy`; the `launcher` of a sandbox is around the agent alone.
    """
    command = [*launcher, *settings.command]
    if not settings.command:
        raise LocalMistake(f"agents.{name}: neither a command nor a url")
    if settings.place:
        names = (*settings.env, *settings.allow)
        place = parse_place(settings.place)
        command = [*command_in(place, command, variables=names, maps=settings.map, cwd=settings.cwd)]
        if settings.sandbox != "off":
            command = [*with_wall(command, settings.sandbox, settings.cwd)]
    if not needs_interpreter(name, settings):
        return command
    ours = [sys.executable, "-m", "dragoman", "translate", "--client", "v1"]
    rules = ["--policy", os.path.abspath(policy)] if policy else []
    return [*ours, "--agent", settings.dialect, *rules, "--", *command]


def needs_interpreter(name: str, settings: AgentSettings) -> bool:
    """Whether the agent may speak another version than 1."""
    return settings.dialect != "v1" and (settings.dialect != "auto" or name not in BUILT_IN_NAMES)


async def open_remote(url: str) -> Any:
    token = os.environ.get("DRAGOMAN_AGENT_TOKEN", "")
    headers = {"authorization": f"Bearer {token}"} if token else {}
    if url.startswith("ws"):
        return await open_websocket(url, headers=headers)
    return open_http(url, headers=headers)


def file_name(name: str) -> str:
    """Return a short name that can be part of a path: sockets allow only short paths."""
    if re.fullmatch(r"[A-Za-z0-9_-]{1,24}", name):
        return name
    return hashlib.sha256(name.encode()).hexdigest()[:16]


class Introductions:
    """Agents' `initialize` answers, stored beside their sockets: an agent that outlives the hub is not
    initialized again.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, name: str, answer: dict[str, Any] | None) -> dict[str, Any]:
        path = self._folder / f"{file_name(name)}.json"
        if answer is None:
            try:
                introduction = msgspec.json.decode(path.read_bytes())
            except (OSError, msgspec.MsgspecError):
                return {}
            return introduction if isinstance(introduction, dict) else {}
        with contextlib.suppress(OSError):  # without it a kept agent is only asked less well
            self._folder.mkdir(parents=True, mode=0o700, exist_ok=True)
            replace_file(path, msgspec.json.encode(answer))
        return answer
