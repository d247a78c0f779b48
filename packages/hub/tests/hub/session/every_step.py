"""What follows from every event in every state of a session, as text: `steps.txt` beside this file is what
follows now. A change of the machine shows there, line by line, and must be meant:

    python -m tests.hub.session.every_step > packages/hub/tests/hub/session/steps.txt

States and events are those of `test_machine`, all with all. Where the same follows in several states, they
share a line: the verdict, the entries (`>` to the agent, `<` to clients), the effects, and what is new in
the state. Where nothing follows, the verdict stands alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Raw, Struct
from msgspec.structs import fields

from dragoman_hub.session.events import Event
from dragoman_hub.session.machine import StepResult, step
from dragoman_hub.session.state import SessionState
from tests.hub.session import test_machine
from tests.hub.session.test_machine import CASES, LATE, NOW

SIGNS = {"to_agent": ">", "to_client": "<", "note": "note"}


def states() -> dict[str, SessionState]:
    return {name: value for name, value in vars(test_machine).items() if isinstance(value, SessionState)}


def events() -> dict[str, Event]:
    """By what they say."""
    return {_named(case.event): case.event for case in CASES}


def steps() -> str:
    return "\n".join(line for name, event in events().items() for line in _lines(name, event)) + "\n"


def _lines(name: str, event: Event) -> Iterator[str]:
    yield f"{name}"
    groups: dict[str, list[str]] = {}
    for title, state in states().items():
        for now in (NOW, LATE):
            result = step(state, event, now)
            label = title if now == NOW else f"{title} later"
            groups.setdefault(_shown(state, result), []).append(label)
    for follows, labels in groups.items():
        both = [label for label in labels if not (label.endswith(" later") and label[:-6] in labels)]
        yield f"  {', '.join(both)}"
        yield f"    {follows}"


def _shown(before: SessionState, result: StepResult) -> str:
    parts: list[str] = [result.verdict]
    for entry in result.entries:
        for frame in entry.frames:
            pending = " pending" if entry.pending else ""
            parts.append(f"{SIGNS[entry.direction]}{pending} {bytes(frame).decode()}")
    parts += [_named(effect) for effect in result.effects]
    changes = {
        field.name: plain(after)
        for field in fields(before)
        if (after := getattr(result.state, field.name)) != getattr(before, field.name)
    }
    if changes:
        parts.append(f"= {json.dumps(changes)}")
    return "\n    ".join([*parts, *(["replaces its receipt"] if result.replaces_receipt else [])])


def _named(value: Struct) -> str:
    return f"{type(value).__name__} {json.dumps(plain(value))}"


def plain(value: Any) -> Any:
    """Structs as what is not their default, frames as text."""
    if isinstance(value, Struct):
        members = [(field, getattr(value, field.name)) for field in fields(value)]
        return {field.name: plain(member) for field, member in members if member != field.default}
    if isinstance(value, bytes | Raw):
        return bytes(value).decode()
    if isinstance(value, Mapping):
        return {str(plain(name)): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


if __name__ == "__main__":
    print(steps(), end="")
