"""What a trick is: one record of data, with the honest way of doing the same beside it.

Paths and texts of a record hold `@here@` (the session's folder), `@beside@` (the folder around it, in which
the session has no business) and `@home@` (the home folder of the hub's user).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import pytest

from tests.hostile.raw_client import Answer, never

Step = dict[str, Any]
Rule = Mapping[str, object]
Before = Literal["", "load", "reconnect", "restart"]

SECRET = "the-hidden-word"
OPEN = Path(__file__).with_name("open_tricks.txt")
"""Names of tricks that still succeed, one a line."""

AT_FIRST = Path(__file__).with_name("successes_at_first.txt")
"""Names of tricks that succeeded when they were written down; nothing is ever deleted here."""

COPY_OF_REPOSITORY = "%repository"
"""As the text of a `.git`: a repository with one commit, in which is `secret`."""

ANYTHING: Rule = {"decision": "allow", "unreadable": True}
"""Behind rules that deny: whatever they do not catch is done."""


@dataclass(frozen=True)
class Effect:
    """A file that is there, and holds this text."""

    path: str = "@here@/evil"
    holds: str = ""

    def is_there(self, spell: Mapping[str, str]) -> bool:
        path = Path(spelled(self.path, spell))
        return path.exists() and self.holds in path.read_text("utf-8", errors="replace")


@dataclass(frozen=True)
class Heard(Effect):
    """What a client hears as the hub's own word: a text in `_meta.dragoman`, or in a method of the hub."""

    path: str = ""
    holds: str = "forged-word"

    def is_in(self, messages: Iterable[Mapping[str, Any]]) -> bool:
        return any(self.holds in json.dumps(word) for message in messages for word in _words_of_hub(message))


def _words_of_hub(value: object) -> Iterable[object]:
    """Everything in a message that only the hub may say."""
    if isinstance(value, Mapping):
        if str(value.get("method", "")).startswith("_dragoman/"):
            yield value
        meta = value.get("_meta")
        if isinstance(meta, Mapping) and "dragoman" in meta:
            yield meta["dragoman"]
        for each in value.values():
            yield from _words_of_hub(each)
    elif isinstance(value, list):
        for each in value:
            yield from _words_of_hub(each)


EVIL_FILE = Effect()
DONE = Effect("@here@/done")
LEAK = Effect("@here@/leak", SECRET)


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One prompt, in the session `session` of the trick: `main`, `twin` in the same
    folder, or another with a folder of its own."""

    steps: tuple[Step, ...]
    session: str = "main"
    before: Before = ""
    """What happens first: the session is closed and loaded, or the client comes anew."""
    agent: str = ""


@dataclass(frozen=True, kw_only=True)
class Trick:
    """One way to get an effect that nobody decided."""

    name: str
    axis: str
    said: str
    """What the person or the policy said."""
    does: str
    """What the agent does about it."""
    turns: tuple[Turn, ...]
    honest: tuple[Turn, ...]
    """The same without the cheat: it has its effect."""
    effect: Effect = EVIL_FILE
    honest_effect: Effect = DONE
    rules: tuple[Rule, ...] = ()
    person: Answer = never
    honest_person: Answer | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    """What lies there before: texts by path; `-> target` is a link, `= path` a hard link, `!line` is run."""
    agent: str = "hostile"
    proof: str = ""
    """A line of shell that has the evil effect by itself, so that the trick is one."""
    needs: str = ""
    """A program without which the trick cannot be tried."""

    @property
    def first_tried(self) -> Literal["succeeded", "never did"]:
        """What became of it when it was written down."""
        return "succeeded" if self.name in names_in(AT_FIRST) else "never did"


class Named(Protocol):
    """What has a name that the list of open tricks may hold."""

    @property
    def name(self) -> str: ...


def spelled(text: str, spell: Mapping[str, str]) -> str:
    """The text with the places of this run in it."""
    for name, value in spell.items():
        text = text.replace(f"@{name}@", value)
    return text


def spelled_steps(turn: Turn, spell: Mapping[str, str]) -> list[Step]:
    made: list[Step] = json.loads(spelled(json.dumps(turn.steps), spell))
    return made


@functools.cache
def names_in(list_file: Path) -> frozenset[str]:
    return frozenset(list_file.read_text("utf-8").split("\n")) - {""}


def open_tricks(list_file: Path) -> dict[str, str]:
    """Those that still succeed, each with the reason why: `name | reason`."""
    rows = [line.partition(" | ") for line in list_file.read_text("utf-8").splitlines()]
    assert all(reason for _, _, reason in rows), "a trick that is open has a reason"
    return {name: reason for name, _, reason in rows}


def as_parameters(tricks: Iterable[Named]) -> list[Any]:
    """For `pytest.mark.parametrize`: those that still succeed are expected to fail."""
    reasons = open_tricks(OPEN)
    return [
        pytest.param(
            trick,
            id=trick.name,
            marks=[pytest.mark.xfail(strict=True, reason=reasons[trick.name])]
            if trick.name in reasons
            else [],
        )
        for trick in tricks
    ]


def turn(*steps: Step, session: str = "main", before: Before = "", agent: str = "") -> Turn:
    return Turn(steps=steps, session=session, before=before, agent=agent)


def call(kind: str = "execute", *, number: str = "call-1", **fields: Any) -> Step:
    """A tool call as it stands in a request."""
    return {"toolCallId": number, "title": "Look around", "kind": kind, "status": "pending", **fields}


def announce(kind: str = "execute", *, number: str = "call-1", **fields: Any) -> Step:
    """A step that announces a tool call."""
    return {"update": {"sessionUpdate": "tool_call", **call(kind, number=number, **fields)}}


def shell(line: str, *, ask: Step | None = None, out: str = "") -> tuple[Step, ...]:
    """Asks for a line of shell and runs it, if it may; `done` is there then."""
    asked = ask if ask is not None else call(rawInput={"command": line}, title=line[:200])
    act: Step = {"run": line, "when": "q"}
    if out:
        act["out"] = out
    return ({"ask": asked}, {"write": ["done", ""], "when": "q"}, act)
