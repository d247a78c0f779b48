"""What a request about a session may hold: every field with every kind of value."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from msgspec import Raw

from dragoman.errors import ErrorAnswer
from dragoman_hub.clients import request_checks as checks
from dragoman_hub.engine.live_session import LiveSession
from dragoman_hub.gate.table import PassedParams
from tests.every import every

VALUES: dict[type, object] = {str: "/x", int: 1, bool: True, list: [], dict: {}}


def raw(params: dict[str, Any]) -> dict[str, Raw]:
    return {name: Raw(msgspec.json.encode(value)) for name, value in params.items()}


@every(("name", "kind"), [(name, kind) for name in checks.KINDS for kind in (*VALUES, type(None))])
def test_a_field_is_of_its_kind_or_left_out(name: str, kind: type) -> None:
    checks.check_kinds({})
    if kind in (checks.KINDS[name], type(None)):
        checks.check_kinds(raw({name: VALUES.get(kind)}))
    else:
        with pytest.raises(ErrorAnswer, match=f"{name} is of the wrong kind"):
            checks.check_kinds(raw({name: VALUES[kind]}))


@every(
    ("version", "is_good"), [(0, True), (1, True), (65535, True), (65536, False), (-1, False), (True, False)]
)
def test_a_version_is_a_number_of_sixteen_bits(version: object, is_good: bool) -> None:
    if is_good:
        checks.check_version(raw({"protocolVersion": version}))
        return
    for params in ({"protocolVersion": version}, {"protocolVersion": "1"}, {"protocolVersion": 1.5}, {}):
        with pytest.raises(ErrorAnswer, match="protocolVersion"):
            checks.check_version(raw(params))


@every(
    ("params", "is_good"),
    [
        ({"cwd": "/x"}, True),
        ({"cwd": ""}, True),
        ({"cwd": "C:\\x", "additionalDirectories": ["/y", ""]}, True),
        ({}, True),
        ({"cwd": 7, "additionalDirectories": "x"}, True),  # of the wrong kind: said elsewhere
        ({"cwd": "x"}, False),
        ({"cwd": "/x", "additionalDirectories": ["/y", "y"]}, False),
    ],
)
def test_folders_are_absolute(params: dict[str, Any], is_good: bool) -> None:
    if is_good:
        checks.check_folders(raw(params))
    else:
        with pytest.raises(ErrorAnswer, match="must be absolute paths"):
            checks.check_folders(raw(params))


@every(
    ("ours", "key"),
    [({}, ""), ({"key": ""}, ""), ({"key": "k"}, "k"), ({"key": "k" * 128}, "k" * 128), ({"key": None}, "")],
)
def test_a_key_that_can_be_kept_is_kept(ours: dict[str, Any], key: str) -> None:
    assert checks.checked_key(ours) == key
    making = checks.making_key("owner", raw({"_meta": {"dragoman": ours}}))
    assert making == (f"owner\n{key}" if key else "")
    for bad in (7, "k" * 129, ["k"]):
        with pytest.raises(ErrorAnswer, match="key is a text of at most 128 characters"):
            checks.checked_key({"key": bad})


def test_a_request_without_a_key_gets_one_of_its_own() -> None:
    assert checks.new_key() != checks.new_key()


def test_an_agent_is_named() -> None:
    assert checks.named_agent(PassedParams({}, "one")) == "one"
    with pytest.raises(ErrorAnswer, match="agent is missing"):
        checks.named_agent(PassedParams({}, ""))


def session(**members: Any) -> LiveSession:
    defaults = {"id": "s", "log": SimpleNamespace(last=5), "listed_state": "open", "state": None}
    return cast(LiveSession, SimpleNamespace(**{**defaults, **members}))


def test_a_cursor_is_one_of_its_session() -> None:
    for good in ("", "0", "5", "5.2"):
        assert checks.checked_cursor(session(), good, "after").sequence <= 5
    for bad in ("6", "x", "-1"):
        with pytest.raises(ErrorAnswer, match="after is not a cursor of this session"):
            checks.checked_cursor(session(), bad, "after")


@every("state", ["open", "running", "closed", "archived"])
def test_a_session_that_is_saved_is_not_open(state: str) -> None:
    if state in ("closed", "archived"):
        with pytest.raises(ErrorAnswer, match="Session not found") as refused:
            checks.check_open(session(listed_state=state))
        assert refused.value.data == {"sessionId": "s"}
    else:
        checks.check_open(session(listed_state=state))


def test_nobody_works_in_a_child_but_its_agent() -> None:
    checks.check_no_child(session(state=SimpleNamespace(parent="")))
    with pytest.raises(ErrorAnswer, match="session s is a child of p: its agent alone"):
        checks.check_no_child(session(state=SimpleNamespace(parent="p")))
