"""Which agent to use, and how to reach it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from dragoman.errors import LocalMistake, SpawnFailed
from dragoman.sdk.environment import agent_environment
from dragoman.sdk.remote_place import with_variables, with_wall
from dragoman.transport.address import RemoteAddress, UnixAddress, parse_address, remote
from dragoman_app.apps.console import UsageMistake
from dragoman_local.known import KnownAgent, reach_agent
from dragoman_local.known.access import AgentAccess, find_on_our_path
from dragoman_local.known.lookup import OURS, find_agent_in, well_known_for
from dragoman_local.sandbox.boundary import Profile, SandboxChoice, works_in_folders
from dragoman_local.sandbox.wall import agent_launcher

if TYPE_CHECKING:  # a command that only names its agent does not pay for transports
    from dragoman.sdk.client.agent_handle import AgentHandle
    from dragoman.transport.contract import Transport
    from dragoman_local.workspace.settings import Place

CONNECT_SECONDS = 5.0


class Overrides(NamedTuple):
    """Settings of an agent from the command line; they override the configuration."""

    variables: Sequence[str] = ()
    """Variables of its environment: `NAME` or `NAME=VALUE`."""
    dialect: str | None = None
    place: str | None = None
    maps: Sequence[str] = ()


AS_CONFIGURED = Overrides()


class ChosenAgent(Struct, frozen=True):
    """An agent, and the environment that it gets."""

    agent: KnownAgent
    env: dict[str, str]
    agent_name: str = ""
    """The name from the command line, for commands that a user may type."""
    note: str | None = None
    dialect: str = "auto"
    sandbox: Profile = "off"
    """The sandbox around its own processes."""
    launcher: tuple[str, ...] = ()
    """The words of the sandbox in front of its command."""

    def open(self) -> Sequence[str] | Transport:
        """Return the argument for `connect`. Needs a running loop."""
        return self.command if self.agent.address is None else self.dial()

    @property
    def command(self) -> tuple[str, ...]:
        """Return the command to start: the agent's own, in its sandbox if it has one."""
        return (*self.launcher, *self.agent.command)

    def dial(self) -> Transport:
        """Return the transport to an agent at an address. Needs a running loop."""
        return _dial(self.agent.address or "")

    @property
    def place(self) -> Place:
        """The place of its files."""
        return "there" if self.agent.place else "here"

    def login_hint(self, agent: AgentHandle | None, *, knows_terminal: bool) -> str:
        """Return what a user can do when it needs a login; see `login_methods.login_hint`."""
        from dragoman_app.apps.login_methods import login_hint, login_methods

        return login_hint(
            self.agent_name,
            [] if agent is None else login_methods(agent),
            allow=self.agent.allow,
            agent_variables=self.env,
            ours=os.environ,
            knows_terminal=knows_terminal,
        )


def find_target(
    agent_name: str | None, wishes: Overrides = AS_CONFIGURED, *, can_ask: bool = False
) -> ChosenAgent:
    """Return the named agent, or the one that `choose_agent` finds; raises `UsageMistake`."""
    note = None
    try:
        if agent_name is None:
            from dragoman_app.apps.default_agent import choose_agent  # most command lines name an agent

            agent_name, note = choose_agent(can_ask=can_ask)
        if wishes.place:
            found = find_agent_in(wishes.place, agent_name, maps=wishes.maps)
            resolved_agent = AgentAccess(agent=found)
        elif wishes.maps:
            raise UsageMistake(
                "--map needs an agent on another machine",
                "name the machine with --in, such as --in ssh:build-server",
            )
        else:
            resolved_agent = find_on_our_path(agent_name) or _ask_login_shell(agent_name)
    except UsageMistake:
        raise
    except LocalMistake as error:
        raise UsageMistake(str(error), "dragoman agents") from error
    for variable in wishes.variables:
        if not variable.partition("=")[0] or "\0" in variable:
            raise UsageMistake("--env needs NAME or NAME=VALUE", "name a variable")
    agent, env = with_environment(resolved_agent, wishes.variables)
    return ChosenAgent(agent, env, agent_name, note, wishes.dialect or agent.dialect)


def _ask_login_shell(agent_name: str) -> AgentAccess:
    import asyncio  # a shell takes longer to answer than this to load

    return asyncio.run(reach_agent(agent_name))


def with_environment(access: AgentAccess, variables: Sequence[str]) -> tuple[KnownAgent, dict[str, str]]:
    """Return the agent with its environment, and variables as `NAME` or `NAME=VALUE` from the command line.
    An agent on another machine gets their names here; their values go over the connection.
    """
    agent = access.agent
    allow, explicit = [*agent.allow], dict(agent.env)
    for variable in variables:
        name, is_set, value = variable.partition("=")
        if is_set:
            explicit[name] = value
        else:
            allow.append(name)
    if agent.place:
        names = [variable.partition("=")[0] for variable in variables]
        agent = replace(agent, command=with_variables(agent.command, names))
    return agent, agent_environment(allow=allow, explicit=explicit, path=access.path)


def confine(target: ChosenAgent, choice: SandboxChoice, folders: Sequence[str]) -> ChosenAgent:
    """Return the agent in the sandbox from the command line; the default is none. Reads folders. Raises
    `UsageMistake` if the sandbox is not possible: a user must never get less than the chosen one.
    """
    agent = target.agent
    if choice == "auto" or (choice == "off" and not agent.place):
        return target
    if agent.place and (choice == "off" or not (agent.maps or folders[1:])):
        folder = folders[0] if works_in_folders(choice) else ""
        there = replace(agent, command=with_wall(agent.command, choice, folder))
        return replace(target, sandbox=choice, agent=there)  # that side builds it, or refuses to start
    if not agent.command or agent.place:
        where = agent.address or agent.place
        raise UsageMistake(
            f"can't use the sandbox profile {choice} for {agent.name} at {where}: Dragoman does not start "
            f"its processes, or the agent has several or mapped folders there",
            "remove --sandbox, or choose an agent on this machine",
        )
    entry = well_known_for(agent.name, agent.command, agent.source)
    try:
        launcher = agent_launcher(
            choice, agent.command[0], folders, state=() if entry is None else entry.state, environ=target.env
        )
    except LocalMistake as error:
        raise UsageMistake(str(error), "see `dragoman help sandbox`") from error
    return replace(target, sandbox=choice, launcher=launcher)


def remote_folder(path: str | None, agent: KnownAgent) -> str:
    """Return the folder of a session on another machine: a folder there, or a mapped one here; raises
    `UsageMistake`.
    """
    if path is None and not agent.maps:
        raise UsageMistake(
            f"{agent.place} has other folders than this machine",
            "name the agent's folder on {agent.place} with --cwd, or map a folder with --map HERE=THERE",
        )
    if path is not None and os.path.isabs(path):
        return os.path.normpath(path)
    if not agent.maps:
        raise UsageMistake(
            f"{path!r} is not an absolute path on {agent.place}", "write the whole path, beginning with /"
        )
    return os.path.abspath(os.path.expanduser(path or "."))


def _dial(text: str) -> Transport:
    import socket

    from dragoman.transport.pipe import PipeTransport
    from dragoman_app.apps.files import authorization

    address = parse_address(text)
    if isinstance(address, RemoteAddress):
        return remote(address.url, headers=authorization())
    if not isinstance(address, UnixAddress):
        raise UsageMistake(
            f"can't reach {text!r} from here", "give a command, unix:/path, ws://… or http://…"
        )
    if not hasattr(socket, "AF_UNIX"):
        raise UsageMistake(
            f"{text!r} cannot be reached: this system has no unix sockets", "give ws://… or http://…"
        )
    peer = socket.socket(socket.AF_UNIX)
    try:
        peer.settimeout(CONNECT_SECONDS)
        peer.connect(address.path)
        peer.setblocking(False)
    except OSError as error:
        peer.close()
        raise SpawnFailed(f"cannot reach {text}: {error.strerror or error}") from error
    fd = peer.detach()
    return PipeTransport(fd, fd)


def display_command(agent: KnownAgent) -> str:
    """Return the command as a user would type it."""
    from dragoman_local.known.redactor import redact_shapes

    if agent.place and "--decide" in agent.command:  # ours, around its own
        return redact_shapes(shlex.join(("dragoman", *agent.command[agent.command.index("ssh") :])))
    if agent.command[: len(OURS)] == OURS:
        return shlex.join(("dragoman", *agent.command[len(OURS) - 1 :]))
    return redact_shapes(agent.command_line)
