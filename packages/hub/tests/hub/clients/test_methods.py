"""Every method with every shape of params and `_meta`, and with every token that lacks its scope."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dragoman_hub.clients.methods import OF_AGENT
from dragoman_hub.gate.admission import Grant, Scope
from dragoman_local.secrets.frames import has_frame_hint
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import staged, text
from tests.journal.streams import replayed

pytestmark = [pytest.mark.bound(100), pytest.mark.timeout(150)]

SCOPES: dict[str, Scope] = {
    "session/new": "prompt",
    "session/load": "observe",
    "session/resume": "observe",
    "session/list": "observe",
    "session/fork": "prompt",
    "session/close": "prompt",
    "session/delete": "prompt",
    "session/status": "observe",
    "session/archive": "prompt",
    "session/unarchive": "prompt",
    "session/set_title": "prompt",
    "session/prompt": "prompt",
    "session/set_mode": "prompt",
    "session/set_config_option": "prompt",
    "session/set_model": "prompt",
    "authenticate": "prompt",
    "logout": "prompt",
    "auth/status": "observe",
    "providers/list": "prompt",
    "providers/set": "admin",
    "providers/disable": "admin",
    "_of/the/agent": "prompt",
    "_dragoman/hub/sessions": "observe",
    "_dragoman/hub/inbox": "observe",
    "_dragoman/hub/watch": "observe",
    "_dragoman/hub/attach": "observe",
    "_dragoman/hub/detach": "observe",
    "_dragoman/hub/history": "observe",
    "_dragoman/hub/turns": "observe",
    "_dragoman/hub/search": "observe",
    "_dragoman/hub/progress": "observe",
    "_dragoman/hub/answer": "approve",
    "_dragoman/hub/queue/edit": "prompt",
    "_dragoman/hub/queue/withdraw": "prompt",
    "_dragoman/hub/handover": "prompt",
    "_dragoman/hub/agents": "observe",
    "_dragoman/hub/agents/check": "admin",
    "_dragoman/hub/agents/registry": "admin",
    "_dragoman/hub/agents/install": "admin",
    "_dragoman/hub/agents/install/status": "admin",
    "_dragoman/hub/agents/install/cancel": "admin",
    "_dragoman/hub/agents/uninstall": "admin",
    "_dragoman/hub/files": "observe",
    "_dragoman/hub/file": "observe",
    "_dragoman/hub/blame": "observe",
    "_dragoman/hub/folders": "prompt",
    "_dragoman/hub/terminal": "observe",
    "_dragoman/hub/changes": "observe",
    "_dragoman/hub/revert": "approve",
    "_dragoman/hub/commit/preview": "approve",
    "_dragoman/hub/commit": "approve",
    "_dragoman/hub/fork": "prompt",
    "_dragoman/hub/rewind": "prompt",
    "_dragoman/hub/rewind/preview": "prompt",
    "_dragoman/hub/rewind/undo": "prompt",
    "_dragoman/hub/policy/preview": "approve",
    "_dragoman/hub/policy/allow": "approve",
    "_dragoman/hub/policy/undo": "approve",
    "_dragoman/hub/status": "admin",
    "_dragoman/hub/pair": "admin",
    "_dragoman/hub/pair/status": "admin",
    "_dragoman/hub/pair/withdraw": "admin",
    "_dragoman/hub/push": "observe",
    "_dragoman/hub/push/subscribe": "observe",
    "_dragoman/hub/push/unsubscribe": "observe",
}
"""What a token needs for each method."""

ALL: tuple[Scope, ...] = ("observe", "prompt", "approve", "admin")


async def test_the_table_names_every_method_that_the_hub_answers() -> None:
    async with staged({"one": obedient}) as stage:
        known = {f"_dragoman/hub/{name}" for name in stage.hub.methods._ours._handlers}
        known |= stage.hub.methods._handlers.keys() - {"initialize"} | OF_AGENT
    assert known <= SCOPES.keys(), "write what a token needs for it into SCOPES above"


async def test_nothing_is_done_for_a_token_without_the_scope() -> None:
    async with staged({"one": obedient}) as stage:
        owner = await stage.client().begin()
        session = await owner.new()
        for scope in ALL:
            # `prompt` and `admin` include `observe`: a token without any of them lacks it.
            others = frozenset(one for one in ALL if one != scope and scope != "observe")
            client = await stage.client(Grant("poor", others)).begin()
            for method in [method for method, needed in SCOPES.items() if needed == scope]:
                params = {"sessionId": session, "cwd": "/tmp", "mcpServers": [], "prompt": text("x")}
                refused = await client.refusal(method, params)
                assert (refused["code"], refused["data"]) == (-32003, {"scope": scope}), method
        listed = await owner.call("session/list")
        assert [one["sessionId"] for one in listed["sessions"]] == [session]
        observed = await owner.call("_dragoman/hub/history", {"sessionId": session})
        assert "user_message_chunk" not in str(observed), "nobody could say anything"


async def test_a_token_without_any_scope_may_neither_look_nor_act() -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client(Grant("blind", frozenset())).begin()
        for method in SCOPES:
            assert (await client.refusal(method, {"sessionId": "x", "prompt": []}))["code"] in (
                -32003,
                -32002,
            )


async def test_the_key_of_a_prompt_looks_like_no_secret() -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        for _ in range(5):
            await client.answer(client.prompt(session, "seldom said"))
        frames = [one.frame for one in await replayed(stage.journal, session)]
    assert sum(b'"key"' in frame for frame in frames) >= 10
    assert not any(map(has_frame_hint, frames)), "the journal would take each of them apart"
    notes = [frame for frame in frames if frame.startswith(b'{"hub":"taken"')]
    assert [note.count(b"seldom said") for note in notes] == [1] * 5, "each time is stored and searched"


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
OURS = ("after", "prompts", "key", "cursor", "agent", "client", "before", "lazy", "request", "traceparent")
META = VALUES | st.fixed_dictionaries(
    {}, optional={"dragoman": VALUES | st.dictionaries(st.sampled_from(OURS), VALUES, max_size=4)}
)
NAMES = (
    *(
        "sessionIds",
        "cwd",
        "mcpServers",
        "prompt",
        "cursor",
        "limit",
        "text",
        "title",
        "after",
        "before",
        "request",
    ),
    *(
        "result",
        "key",
        "path",
        "hunks",
        "pattern",
        "on",
        "modeId",
        "configId",
        "value",
        "additionalDirectories",
    ),
)
CALLS = st.lists(
    st.tuples(
        st.sampled_from(sorted(SCOPES)),
        st.booleans(),
        st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=5),
        META,
    ),
    min_size=1,
    max_size=25,
)


@given(CALLS)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
async def test_every_request_is_answered_whatever_its_params_and_meta(
    caplog: pytest.LogCaptureFixture, tmp_path: Path, calls: list[tuple[str, bool, dict[str, Any], Any]]
) -> None:
    caplog.clear()
    async with staged({"one": obedient}) as stage:
        client = await stage.client(cursors=True, events=True).begin()
        for method, known, params, meta in calls:
            session = await client.new(str(tmp_path)) if known else "nobody"
            number = client.ask(method, {"sessionId": session, **params, "_meta": meta})
            answer = await client.answer(number)
            assert "result" in answer or answer["error"]["code"] < 0
        assert await client.new(), "it still works"
    assert not [one for one in caplog.records if one.exc_info or one.levelno >= logging.ERROR], caplog.text


async def test_agents_are_examined_one_at_a_time() -> None:
    method, gate = "_dragoman/hub/agents/check", asyncio.Event()

    async def examine() -> dict[str, Any]:
        await gate.wait()
        return {"ready": True}

    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        seat = stage.hub.pool.seats["one"]
        assert (await client.refusal(method, agent="one"))["code"] == -32002
        seat.spec = replace(seat.spec, examine=examine)
        first = client.ask(method, agent="one")
        assert (await client.refusal(method, agent="one"))["code"] == -32000
        gate.set()
        assert (await client.answer(first))["result"] == {"ready": True}
