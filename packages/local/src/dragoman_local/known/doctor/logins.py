"""Explains an agent's login methods: what each needs, and whether the agent gets it.

Reads the raw answer to `initialize`: methods that the schema does not know, such as the ones by environment
variable, are exactly the ones a person asks about. Names of variables are shown, never values.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MENTIONED = re.compile(r"\b[A-Z][A-Z0-9]*_(?:[A-Z0-9_]*_)?(?:KEY|TOKEN|SECRET)\b")
"""Names of keys in a description: many agents name them only there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginWay:
    """One way to log in."""

    id: str
    title: str
    kind: str
    variables: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    """The arguments that a login in a terminal adds to the agent's command."""


def read_logins(methods: object) -> list[LoginWay]:
    """Read every login method with an id; others can't be chosen."""
    if not isinstance(methods, list):
        return []
    return [
        _read(entry) for entry in methods if isinstance(entry, Mapping) and isinstance(entry.get("id"), str)
    ]


def _read(entry: Mapping[str, Any]) -> LoginWay:
    kind = entry.get("type", "agent")
    args = entry.get("args")
    return LoginWay(
        id=entry["id"],
        title=str(entry.get("name") or entry["id"]),
        kind=kind if isinstance(kind, str) else "unknown",
        variables=_variables(entry),
        args=tuple(map(str, args)) if isinstance(args, list) else (),
    )


def _variables(entry: Mapping[str, object]) -> tuple[str, ...]:
    entries = entry.get("vars")
    names = (
        [item.get("name") for item in entries if isinstance(item, Mapping)]
        if isinstance(entries, list)
        else []
    )
    names.append(entry.get("varName"))  # how it was called once
    mentions = MENTIONED.findall(f"{entry.get('name')} {entry.get('description')}")
    return tuple(dict.fromkeys(name for name in [*names, *mentions] if isinstance(name, str)))


def state_of(
    login: LoginWay, *, environment: Mapping[str, str], ours: Mapping[str, str], command: Sequence[str]
) -> str:
    """Describe a login method in one line: its kind, and what is missing for it."""
    about = f"{login.id} ({login.title})"
    if login.variables:
        return f"{about}: {', '.join(_variable(name, environment, ours) for name in login.variables)}"
    if login.kind == "terminal":
        return f"{about}: in a terminal, {shlex.join([*command, *login.args])}"
    if login.kind == "agent":
        return f"{about}: the agent does it itself"
    return f"{about}: of the unknown kind {login.kind!r}"


def advice_for(
    logins: Sequence[LoginWay],
    *,
    name: str,
    environment: Mapping[str, str],
    ours: Mapping[str, str],
    command: Sequence[str],
) -> str:
    """Return advice for the user, the easiest first."""
    if not logins:
        return "the agent offers no way to log in; log in with its own command line first"
    withheld = [
        name for login in logins for name in login.variables if name in ours and name not in environment
    ]
    if withheld:
        return f"{withheld[0]} is set here but not handed on: name it in `allow`, or use --env {withheld[0]}"
    for login in logins:
        if login.kind == "terminal":
            return f"log in once in a terminal: {shlex.join([*command, *login.args])}"
    missing = [name for login in logins for name in login.variables if name not in environment]
    if missing:
        return f"set {missing[0]} and name it in `allow`, or log in with the agent's own command line"
    return f"log in: dragoman agents login {shlex.quote(name)} {shlex.quote(logins[0].id)}"


def _variable(name: str, environment: Mapping[str, str], ours: Mapping[str, str]) -> str:
    if environment.get(name):
        return f"{name} is set"
    return f"{name} is set here but not handed on" if ours.get(name) else f"{name} is not set"
