"""Whatever an author gives to any public method, in any place: only frames that the official schema accepts
leave.

The tables of `test_strict_out` name every public method with arguments that are right. Here each argument, or
something inside of it, is replaced by any wrong value: of another kind, of another member of the protocol,
too large, not JSON, not Unicode, deep inside a struct that looks right. What is refused is refused in the
author's own call, and the error says what is allowed.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman import Agent, Turn
from dragoman.errors import CallFailed, InvalidValue, NotAdvertised
from dragoman.schema import v1, valid
from tests.schema.published_schemas import needs_schemas
from tests.sdk.ends import raw_agent
from tests.sdk.test_outbound import (
    CAPABILITIES,
    HANDLE,
    PEER,
    REPORT,
    SESSION,
    TO_AGENT,
    TO_CLIENT,
    TURN,
    assert_official,
    bound,
    oblige,
    outcome,
    served,
)

pytestmark = [needs_schemas, pytest.mark.bound(60)]


@pytest.fixture(autouse=True)
def checked_from_the_first_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """The quick check of a type is otherwise made when there were many messages of it."""
    monkeypatch.setattr(valid, "WORTHWHILE", 1)


class Odd:
    """Nothing that JSON knows."""

    def __repr__(self) -> str:
        return "Odd()"


# Constructors check nothing, so that reading is fast: a struct may hold anything until it leaves.
WRONG_STRUCTS: list[Any] = [
    v1.TextContent(text=5),  # type: ignore[arg-type]
    v1.TextContent(text="\ud800"),
    v1.ImageContent(data=b"x", mime_type=3),  # type: ignore[arg-type]
    v1.ResourceLink(name="a", uri=None),  # type: ignore[arg-type]
    v1.EmbeddedResource(resource="text"),  # type: ignore[arg-type]
    v1.ToolCallLocation(path="/x", line=-3),
    v1.ToolCallLocation(path=None),  # type: ignore[arg-type]
    v1.PlanEntry(content="a", priority="urgent", status="pending"),  # type: ignore[arg-type]
    v1.PlanEntry(content="a", priority="low", status="doing"),  # type: ignore[arg-type]
    v1.PermissionOption(option_id="o", name="n", kind="maybe"),  # type: ignore[arg-type]
    v1.AvailableCommand(name=5, description=None),  # type: ignore[arg-type]
    v1.ToolCallUpdate(tool_call_id=5),  # type: ignore[arg-type]
    v1.ToolCallUpdate(tool_call_id="t", kind="banana"),  # type: ignore[arg-type]
    v1.AgentMessageChunk(content="a"),  # type: ignore[arg-type]
    v1.AgentMessageChunk(content=v1.TextContent(text=float("nan"))),  # type: ignore[arg-type]
    v1.CurrentModeUpdate(current_mode_id=[1]),  # type: ignore[arg-type]
    v1.Plan(entries=[("Look", "pending")]),  # type: ignore[list-item]
    v1.McpServerStdio(name="n", command="c", args="-x", env=[]),  # type: ignore[arg-type]
    v1.McpServerStdio(name="n", command="c", args=[], env={"A": "b"}),  # type: ignore[arg-type]
    v1.ElicitationSchema(properties={"a": "string"}),  # type: ignore[dict-item]
]

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(min_value=-(2**70), max_value=2**70),
    st.floats(allow_nan=True, allow_infinity=True),
    st.text(st.characters(codec=None), max_size=8),  # lone surrogates too
    st.sampled_from(
        [
            "odd",
            "pending",
            "session/update",
            "session/cancel",
            "fs/read_text_file",
            "",
            "2024-13-45",
            "\x00",
            "\ud800",
            b"bytes",
            Odd(),
            Odd,
            ...,
        ]
    ),
    st.sampled_from(WRONG_STRUCTS),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.one_of(st.text(max_size=4), st.integers()), inner, max_size=3),
    ),
    max_leaves=6,
)


@st.composite
def spoiled(draw: st.DrawFn, table: dict[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """A method and its arguments, one of which is wrong, or holds something wrong."""
    name = draw(st.sampled_from(sorted(name for name, right in table.items() if right)))
    right = table[name]
    argument = draw(st.sampled_from(sorted(right)))
    return name, {**right, argument: _spoil(draw, right[argument], is_variadic=argument == "*")}


def _spoil(draw: st.DrawFn, value: Any, *, is_variadic: bool = False) -> Any:
    if is_variadic or (isinstance(value, list | tuple) and value and draw(st.booleans())):
        return type(value)([_spoil(draw, value[0]), *value[1:]])
    if isinstance(value, msgspec.Struct) and draw(st.booleans()):
        field = draw(st.sampled_from(sorted(value.__struct_fields__)))
        if field != "unknown_fields":
            return msgspec.structs.replace(value, **{field: draw(VALUES)})
    if isinstance(value, dict) and value and draw(st.booleans()):
        return {**value, draw(st.sampled_from(sorted(value))): draw(VALUES)}
    return draw(VALUES)


def of_protocol(frames: list[dict[str, Any]], methods: dict[str, Any]) -> list[dict[str, Any]]:
    """Without the methods of nobody: `call` and `notify` send any name, for what comes after this version."""
    assert all(type(frame.get("method", "")) is str for frame in frames)
    return [frame for frame in frames if frame.get("method", "") in {"", *methods}]


ALLOWED = re.compile(r".+ is .*; it (must|cannot) .+", re.DOTALL)


def check_mistake(mistake: InvalidValue) -> None:
    """It says what is allowed, and leads to the author's line."""
    assert ALLOWED.fullmatch(str(mistake)), str(mistake)
    assert traceback.extract_tb(mistake.__traceback__)[0].name == "called"


async def author_calls(call: Callable[[], Any]) -> str:
    try:
        return await outcome(call)
    except (CallFailed, NotAdvertised):
        return "sent"


async def called(call: Callable[[], Any]) -> str:
    try:
        made = call()
        if hasattr(made, "__await__"):
            await made
    except InvalidValue as mistake:
        check_mistake(mistake)
        return "refused"
    except CallFailed:
        pass
    return "sent"


COUNTS = {"sent": 0, "refused": 0}


@pytest.fixture(autouse=True, scope="module")
def some_are_refused_and_some_are_sent() -> Iterator[None]:
    """A property that refuses nothing, or everything, has tried nothing."""
    yield
    sent, refused = COUNTS["sent"], COUNTS["refused"]
    assert sent > 0, COUNTS
    assert refused > sent / 4, COUNTS


def count(told: str) -> None:
    COUNTS["sent" if told == "sent" else "refused"] += 1


CALLS_IN_AN_EXAMPLE = 8
few = settings(max_examples=max(10, settings().max_examples // 3))
"""An example is a whole conversation."""


@few
@given(st.lists(st.one_of(*map(spoiled, (TURN, PEER, REPORT))), min_size=1, max_size=CALLS_IN_AN_EXAMPLE))
async def test_whatever_is_given_to_a_turn_only_valid_frames_leave(calls: list[tuple[str, Any]]) -> None:
    agent = Agent("strict")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        report = turn.tool("T", tool_call_id="t")
        await report.announce()
        for name, arguments in calls:
            for target, table in ((turn, TURN), (report, REPORT), (turn.client, PEER)):
                if name in table and arguments.keys() == table[name].keys():
                    method = bound(getattr(target, name), arguments)
                    count(await author_calls(method) if name == "tool" else await called(method))

    client, _ = await served(agent)
    assert_official(of_protocol(client.seen, TO_CLIENT), TO_CLIENT)


@few
@given(st.lists(st.one_of(*map(spoiled, (SESSION, HANDLE))), min_size=1, max_size=CALLS_IN_AN_EXAMPLE))
async def test_whatever_is_given_to_a_client_only_valid_frames_leave(calls: list[tuple[str, Any]]) -> None:
    async with raw_agent(capabilities=CAPABILITIES) as (handle, agent):
        oblige(agent)
        session = await handle.new_session(cwd="/tmp")
        for name, arguments in calls:
            for target, table in ((session, SESSION), (handle, HANDLE)):
                if name in table and arguments.keys() == table[name].keys():
                    count(await author_calls(bound(getattr(target, name), arguments)))
    assert_official(of_protocol(agent.seen, TO_AGENT), TO_AGENT)
