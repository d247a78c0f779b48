"""A hub that cannot resume a session now is asked again; what came meanwhile is not skipped."""

from __future__ import annotations

import json
from typing import Any

from dragoman.sdk.resumption.resumption import RESUME_TRIES, Resumption

HUB = {"protocolVersion": 1, "_meta": {"dragoman": {"hub": "0.1.0"}}}


def frame(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def said(core: Resumption) -> list[dict[str, Any]]:
    lines, core.to_hub = core.to_hub, []
    return [json.loads(line) for line in lines]


def connected() -> Resumption:
    """An editor with a session, whose connection has broken and is there again."""
    core = Resumption(client="c" * 32)
    core.on_open()
    core.say(frame(id=0, method="initialize", params={"protocolVersion": 1}))
    core.hear(frame(id=0, result=HUB))
    core.say(frame(id=1, method="session/new", params={"cwd": "/", "mcpServers": []}))
    core.hear(frame(id=1, result={"sessionId": "s"}))
    reconnect(core)
    return core


def reconnect(core: Resumption) -> None:
    core.on_connection_lost()
    said(core)
    core.on_open()
    core.hear(frame(id=0, result=HUB))


def resume_of(core: Resumption) -> str:
    (asked,) = [one for one in said(core) if one.get("method") == "session/resume"]
    return str(asked["id"])


def test_a_connection_on_which_a_session_cannot_be_resumed_now_is_dropped() -> None:
    core = connected()
    core.hear(frame(id=resume_of(core), error={"code": -32603, "message": "Internal error: busy"}))
    assert "busy" in core.fault
    core.say(frame(id=2, method="session/prompt", params={"sessionId": "s", "prompt": []}))
    assert said(core) == []  # a prompt would follow the session from where it ends
    reconnect(core)
    core.hear(frame(id=resume_of(core), result={}))
    assert not core.fault
    assert [one["method"] for one in said(core)] == ["session/prompt"]


def test_a_session_that_can_never_be_resumed_is_given_up() -> None:
    core = connected()
    for _ in range(RESUME_TRIES - 1):
        core.hear(frame(id=resume_of(core), error={"code": -32603, "message": "Internal error: damaged"}))
        assert core.fault
        reconnect(core)
    core.hear(frame(id=resume_of(core), error={"code": -32603, "message": "Internal error: damaged"}))
    assert not core.fault


def test_a_session_that_is_gone_is_given_up_at_once() -> None:
    core = connected()
    core.hear(frame(id=resume_of(core), error={"code": -32002, "message": "Session not found"}))
    assert not core.fault
