"""One hub for the tricks of a module, with the puppet in every dialect."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman_app.cli import main
from tests.hostile.doors.visitor import Person, Visitor
from tests.hub.outside.process import UNHURRIED, HubProcess, running_hub

DIALECTS = ("v1", "crow", "haven", "koog", "acpex", "threads")

PUPPET = Path(__file__).with_name("puppet.py")

SECRET = "TOP=hidden\n"


def puppet(dialect: str) -> list[str]:
    return [sys.executable, "-I", "-S", str(PUPPET), dialect]


@contextmanager
def hub_of_puppets(
    folder: Path, *, config: str = "", policy: str = "", agents: Mapping[str, Sequence[str]] | None = None
) -> Iterator[HubProcess]:
    """`policy` is the hub's own; the policies of all folders of sessions are trusted. `agents` are further
    ones, by their commands.
    """
    tables = [(dialect, puppet(dialect), dialect) for dialect in DIALECTS]
    tables += [(name, list(command), "v1") for name, command in (agents or {}).items()]
    listed = "".join(
        f'\n[agents.{name}]\ncommand = {json.dumps(command)}\ndialect = "{dialect}"\n'
        for name, command, dialect in tables
    )
    users = folder / "config" / "dragoman" / "policy.toml"
    users.parent.mkdir(parents=True)
    users.write_text(f'trust = ["{folder}/work/*"]\n')
    if policy:
        (folder / "hub-policy.toml").write_text(policy)
        config += f'\n[approvals]\npolicy = "{folder}/hub-policy.toml"\n'
    with running_hub(folder, config=UNHURRIED + config + listed) as hub:
        yield hub


def command_of(hub: HubProcess, *words: str) -> int:
    """Run a command of the hub's owner, in this process: its start would cost more than all else."""
    with pytest.MonkeyPatch.context() as patch, open(os.devnull) as nothing:
        patch.setattr(sys, "stdin", nothing)
        for name, value in {**hub.env, "DRAGOMAN_TOKEN": hub.token}.items():
            patch.setenv(name, value)
        return main(list(words))


def make_folder(hub: HubProcess, name: str, *, policy: str = "") -> Path:
    """A folder for one session, with a text, a key, a link to the key, and a policy."""
    folder = hub.work / "".join(letter if letter.isalnum() else "-" for letter in name)
    (folder / "sub").mkdir(parents=True)
    (folder / "notes").write_text("notes\n")
    (folder / ".env").write_text(SECRET)
    (folder / "link").symlink_to(".env")
    (hub.work / "outside").write_text(SECRET)
    if policy:
        (folder / ".dragoman").mkdir()
        (folder / ".dragoman" / "policy.toml").write_text(policy)
    return folder


def placed(steps: Sequence[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """The steps with the session's folder in them."""
    filled: list[dict[str, Any]] = json.loads(json.dumps(list(steps)).replace("$CWD", str(folder)))
    return filled


def play(
    hub: HubProcess, folder: Path, steps: Sequence[dict[str, Any]], *, agent: str, person: Person
) -> Visitor:
    """Give the steps to an agent in a session of its own. The client that is returned has left."""
    with Visitor(hub.place, hub.token, person=person) as visitor:
        visitor.introduce(agent=agent)
        session = visitor.open(str(folder))
        answer = visitor.prompt(session, placed(steps, folder))
        assert answer.get("result", {}).get("stopReason") == "end_turn", answer
        visitor.call("session/close", {"sessionId": session})
    return visitor


def found(folder: Path, traces: Sequence[str]) -> list[str]:
    """Which traces are there. `changed .env` is a trace of another kind: that the key is another one."""
    return [
        trace
        for trace in traces
        if (
            (folder / trace.removeprefix("changed ")).read_text() != SECRET
            if trace.startswith("changed ")
            else (folder / trace).exists()
        )
    ]
