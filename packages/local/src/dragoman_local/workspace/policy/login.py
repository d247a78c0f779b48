"""Chooses how to log in when an agent requires it (-32000), and the advice if no method can be tried.

Pure: nothing is started or sent here. One step is planned and tried once. Methods of the protocol's kind
(`agent`) are sent to `authenticate`; those of the kind `terminal` are never sent there: the agent's own
command is run again in a terminal with the method's arguments and variables. A method of any other kind is
never tried as if it were one of these; if it names environment variables, they are named. `_meta` is not
looked at: it cannot make us run anything.

    plan = plan_login(initialized.auth_methods, os.environ, tty=sys.stdin.isatty())
    match plan.step:
        case AuthenticateStep(method_id=method_id): ...
        case TerminalLoginStep(args=args, env=env): ...
        case None: print(*plan.missing, sep="\n")
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from dragoman.decoders import convert
from dragoman.schema import v1
from dragoman.schema.codec import write
from dragoman.text.sanitize import sanitize_line

_VARIABLE: Final = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")
_NEEDS_A_PERSON: Final = re.compile(
    r"\b(log ?in|sign ?in|oauth|browser|account|subscription)\b", re.IGNORECASE
)


class AuthenticateStep(Struct, frozen=True, kw_only=True):
    """Send `authenticate` with this method."""

    method_id: str
    name: str


class TerminalLoginStep(Struct, frozen=True, kw_only=True):
    """Run the agent's command again in a terminal: its arguments and then these, with these additional
    variables.

    Exit status 0 is success; the agent is then to be started anew.
    """

    method_id: str
    name: str
    args: tuple[str, ...]
    env: dict[str, str]


class LoginPlan(Struct, frozen=True, kw_only=True):
    """One login step to try, and the advice for a person."""

    step: AuthenticateStep | TerminalLoginStep | None
    missing: tuple[str, ...]
    """Possible help, one sentence per method. Also useful after a failed step."""


def plan_login(
    auth_methods: Iterable[v1.AuthMethod | Mapping[str, object]],
    environ: Mapping[str, str],
    tty: bool,
    *,
    agent_variables: Collection[str] | None = None,
) -> LoginPlan:
    """Choose a method. `environ` is our environment; `agent_variables` are the names that the agent gets, all
    if it is None.
    """
    candidates = [method for method in map(_read, auth_methods) if method is not None]
    if not candidates:
        return LoginPlan(step=None, missing=("the agent needs a login and offers no method for it",))
    has = environ.keys() if agent_variables is None else [name for name in environ if name in agent_variables]
    ways = [_way(method, environ, has, tty=tty) for method in candidates]
    steps = [(rank, step) for rank, step, _ in ways if step is not None]
    _, best = min(steps, key=lambda way: way[0], default=(0, None))
    return LoginPlan(step=best, missing=tuple(advice for _, _, advice in ways))


class _Method(Struct, frozen=True):
    """A method as it was offered."""

    id: str
    name: str
    type: str = "agent"
    description: object = None
    vars: object = None

    @property
    def about(self) -> str:
        return self.description if isinstance(self.description, str) else ""

    @property
    def variables(self) -> Sequence[str]:
        """The environment variables that it names: one of the protocol's kind, in its texts."""
        entries = self.vars if isinstance(self.vars, list) else []
        names = [entry.get("name") for entry in entries if isinstance(entry, dict)]
        named = _VARIABLE.findall(f"{self.name} {self.about}") if self.type == "agent" else names
        return list(dict.fromkeys(name for name in named if isinstance(name, str) and name))


class _TerminalMethod(_Method, frozen=True):
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}


def _read(method: v1.AuthMethod | Mapping[str, Any]) -> _Method | None:
    """A method, or None if it is not even one by its shape."""
    fields = method if isinstance(method, Mapping) else msgspec.json.decode(write(method))
    # In some languages an empty object is written as an empty list.
    members = {name: value for name, value in fields.items() if value or name not in ("args", "env")}
    try:
        return convert(members, _TerminalMethod if members.get("type") == "terminal" else _Method)
    except msgspec.ValidationError:
        return None


def _way(
    method: _Method, environ: Mapping[str, str], has: Collection[str], *, tty: bool
) -> tuple[int, AuthenticateStep | TerminalLoginStep | None, str]:
    """How soon it is tried, how, and what a person could do instead."""
    title = f"{sanitize_line(method.name)} ({sanitize_line(method.id)})"
    about = f": {sanitize_line(method.about)}" if method.about else ""
    if isinstance(method, _TerminalMethod):
        run = TerminalLoginStep(method_id=method.id, name=method.name, args=method.args, env=method.env)
        need = "" if tty else "; it needs a terminal: run this command in a terminal"
        return 3, run if tty else None, f"{title} is a login in a terminal{about}{need}"
    lacking = _missing_variables(method.variables, environ, has)
    if method.type != "agent":
        return 9, None, f"{title}: {lacking or 'it is of a kind that this client does not know'}"
    # What is likely to work without a person comes first; what surely lacks something comes last.
    needs_person = _NEEDS_A_PERSON.search(f"{method.id} {method.name} {method.about}")
    rank = 4 if lacking else 0 if method.variables else 2 if needs_person else 1
    return (
        rank,
        (AuthenticateStep(method_id=method.id, name=method.name)),
        f"{title}: {lacking}" if lacking else f"{title}{about}",
    )


def _missing_variables(variables: Sequence[str], environ: Mapping[str, str], has: Collection[str]) -> str:
    """Which variable is missing and where; nothing if one of them reaches the agent."""
    if not variables or any(name in has and environ.get(name) for name in variables):
        return ""
    if set_names := [name for name in variables if environ.get(name)]:
        return f"{set_names[0]} is set here, but the agent does not get it; allow it (--env {set_names[0]})"
    return f"the environment variable {' or '.join(variables)} is not set"
