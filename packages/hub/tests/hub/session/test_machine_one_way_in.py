"""`step` is the only way to change a session: nothing else in the hub makes a state or part of one.

States are frozen, so there are three ways around that: to make one, to copy one with something else in it,
and to set an attribute by force. None of them is taken outside `hub/session`, and what holds the state is set
in one place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import dragoman_hub

HUB = Path(dragoman_hub.__path__[0])
MADE_BY_FOLDING = {"SessionState", "OpenTurn", "OpenRequest", "QueuedPrompt"}
PARTS = {"state", "_state", "turn", "queue", "requests", "answers"}
"""Names under which the hub has a state, and what is in one."""


def complaints(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = _last_name(node.func)
            if name in MADE_BY_FOLDING:
                yield f"{node.lineno}: makes a {name}"
            elif name in ("replace", "__replace__") and node.args and _is_of_state(node.args[0]):
                yield f"{node.lineno}: copies {ast.unparse(node.args[0])}"
            elif name == "force_setattr":
                yield f"{node.lineno}: sets an attribute by force"
        elif isinstance(node, ast.Attribute | ast.Subscript) and _is_assigned_part(node):
            yield f"{node.lineno}: assigns to {ast.unparse(node)}"


def _is_assigned_part(node: ast.Attribute | ast.Subscript) -> bool:
    return not isinstance(node.ctx, ast.Load) and _is_of_state(node.value)


def _is_of_state(node: ast.expr) -> bool:
    """Whether it is a state, or something in one: `session.state`, `state.queue[0]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        return node.id in ("state", "_state")
    return isinstance(node, ast.Attribute) and (
        node.attr in ("state", "_state") or (node.attr in PARTS and _is_of_state(node.value))
    )


def _last_name(node: ast.expr) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def test_nothing_but_the_machine_changes_a_session() -> None:
    found = [
        f"{path.relative_to(HUB)}:{complaint}"
        for path in sorted(HUB.rglob("*.py"))
        if "session" not in path.relative_to(HUB).parts
        for complaint in complaints(path.read_text("utf-8"))
    ]
    assert found == []


def test_the_state_of_a_live_session_is_set_where_steps_are_taken() -> None:
    sources = [(path.name, path.read_text("utf-8")) for path in sorted(HUB.rglob("*.py"))]
    setters = [
        (name, function.name)
        for name, source in sources
        if "._state" in source  # few files: reading one as Python takes its time
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and node.attr == "_state" and isinstance(node.ctx, ast.Store)
    ]
    assert setters == [("live_session.py", "__init__"), ("live_session.py", "dispatch")]


@pytest.mark.parametrize(
    "source",
    [
        "SessionState(id='s')",
        "states.QueuedPrompt('k', 'a', raw)",
        "replace(session.state, title='t')",
        "structs.replace(self._state.turn, key='k')",
        "replace(session.state.queue[0], key='k')",
        "force_setattr(session.state, 'title', 't')",
        "session.state.title = 't'",
        "session._state.requests[3] = one",
        "del state.answers[key]",
        "state.last += 1",
    ],
)
def test_a_way_around_is_noticed(source: str) -> None:
    assert len(list(complaints(source))) == 1


@pytest.mark.parametrize(
    "source",
    [
        "session.dispatch(event)",
        "replace(answer.error, code=1)",
        "self._state = found.state",
        "hub.described[session.id] = session.state.title",
        "new_state(session_id)",
        "self.queue.append(1)",
    ],
)
def test_what_is_no_way_around_is_not(source: str) -> None:
    assert list(complaints(source)) == []
