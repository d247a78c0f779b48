"""The ways to log in to an agent, as commands that a user can type."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from dragoman.schema import v1
from dragoman.sdk.client.agent_handle import AgentHandle

Kind: TypeAlias = Literal["agent", "terminal", "variable"]

KEY_NAME = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:KEY|TOKEN|SECRET|AUTH)\b")
"""Names of variables that hold keys. Many agents name theirs only in a description."""


class LoginMethod(Struct, frozen=True, kw_only=True):
    """A login method of an agent."""

    id: str
    name: str
    description: str = ""
    kind: Kind
    variables: tuple[str, ...] = ()
    """Variables that it names, in any field."""
    terminal: v1.AuthMethodTerminal | None = None


def login_methods(agent: AgentHandle) -> list[LoginMethod]:
    """Return all methods in the agent's order; those by variable come last."""
    return [
        *map(_method, agent.auth_methods),
        *(
            LoginMethod(id=method.id, name=method.name, kind="variable", variables=method.variables)
            for method in agent.env_methods
        ),
    ]


def _method(method: v1.AuthMethod) -> LoginMethod:
    description = method.description or ""
    terminal = method if isinstance(method, v1.AuthMethodTerminal) else None
    return LoginMethod(
        id=method.id,
        name=method.name,
        description=description,
        kind="agent" if terminal is None else "terminal",
        variables=tuple(dict.fromkeys(KEY_NAME.findall(f"{method.name} {description}"))),
        terminal=terminal,
    )


def login_hint(
    agent_name: str,
    methods: Iterable[LoginMethod],
    *,
    allow: Iterable[str],
    agent_variables: Iterable[str],
    ours: Mapping[str, str],
    knows_terminal: bool,
) -> str:
    """Return what a user can do, one way per line: a login by name, or a variable. `agent_name` is the user's
    name for the agent, `allow` are the variables that it inherits, `agent_variables` are those that it has.
    For an agent without a terminal (`knows_terminal`), logins that need one are left out.
    """
    methods = list(methods)
    lines = [_command(agent_name, method) for method in methods if method.kind != "variable"]
    if not lines and not knows_terminal:
        lines.append(f"dragoman agents login {shlex.quote(agent_name)}    (in a terminal)")
    names = dict.fromkeys(name for method in methods for name in method.variables)
    names |= dict.fromkeys(name for name in allow if KEY_NAME.fullmatch(name))
    lines += _variables(names, allow=set(allow), agent_variables=set(agent_variables), ours=ours)
    if not lines:
        return "log in with the agent's own program, or pass a key with --env NAME; the agent offers no login"
    return "one of these:\n" + "\n".join(f"  {line}" for line in lines)


def _command(agent_name: str, method: LoginMethod) -> str:
    command = f"dragoman agents login {shlex.quote(agent_name)} {shlex.quote(method.id)}"
    about = method.name + (f": {method.description}" if method.description else "")
    where = " (in a terminal)" if method.kind == "terminal" else ""
    return f"{command}    {about}{where}"


def _variables(
    names: Iterable[str], *, allow: set[str], agent_variables: set[str], ours: Mapping[str, str]
) -> Iterator[str]:
    for name in names:
        if name in agent_variables:
            yield f"{name} is set and passed to the agent. Check its value"
        elif ours.get(name):
            yield f"--env {name}    set here, but not passed to the agent"
        else:
            how = "" if name in allow else f", and pass it with --env {name}"
            yield f"export {name}=…{how}"
