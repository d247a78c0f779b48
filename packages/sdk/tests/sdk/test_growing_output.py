"""Output that is resent whole costs what the output costs, not what the resends do."""

from __future__ import annotations

import time
import tracemalloc

from dragoman import Agent, Turn, connect
from dragoman.schema.v1 import Content, Terminal, TextContent, ToolCallContent, ToolCallProgress
from dragoman.sdk.client.agent_handle import Session
from dragoman.sdk.client.tool_state import ToolState
from dragoman.sdk.growing_output import supersedes, text_of
from dragoman.testing.pace import patience

LINES = 35_000
LINE = "x\n"
MEBIBYTE = 1024 * 1024


def words(*texts: str) -> list[ToolCallContent]:
    return [Content(content=TextContent(text=text)) for text in texts]


def progress(*texts: str, tool: str = "t") -> ToolCallProgress:
    return ToolCallProgress(tool_call_id=tool, content=words(*texts))


def test_35000_growing_resends_are_kept_in_the_memory_of_one() -> None:
    whole, state = LINE * LINES, ToolState(id="t")
    added = 0
    tracemalloc.start()
    began = time.process_time()
    try:
        for count in range(1, LINES + 1):
            text = whole[: count * len(LINE)]
            state = state.after(progress(text))
            added += len(state.fresh)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert text_of(state.content) == whole
    assert added == len(whole)
    assert peak < 4 * MEBIBYTE  # all resends together are 1.2 GB
    assert time.process_time() - began < patience(15)


async def test_35000_late_resends_are_one_late_update() -> None:
    async with connect(Agent("silent")) as handle:
        session = Session(handle, "s", cwd="/tmp")
        whole = LINE * LINES
        tracemalloc.start()
        try:
            for count in range(1, LINES + 1, 7):
                session.keep([progress(whole[: count * len(LINE)])], count * len(LINE))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert len(session.late) == 1
        assert peak < 4 * MEBIBYTE


async def test_growing_output_on_the_wire_is_told_as_what_is_new() -> None:
    agent = Agent("builder")

    @agent.prompt
    async def build(turn: Turn) -> None:
        async with turn.tool("Build") as tool:
            for count in range(1, 301):
                await tool.progress(content=["line\n" * count])

    async with connect(agent) as handle:
        session = await handle.new_session(cwd="/tmp")
        turn = session.prompt("go")
        fresh = ""
        state: ToolState | None = None
        async for update in turn:
            if isinstance(update, ToolCallProgress):
                state = ToolState.of(update) if state is None else state.after(update)
                fresh += state.fresh
        assert fresh == "line\n" * 300


def test_only_more_of_the_same_supersedes() -> None:
    assert supersedes(progress("abc"), progress("ab"))
    assert supersedes(progress("a", "b"), progress("a"))
    assert supersedes(progress("a", "bc"), progress("a", "b"))
    assert supersedes(progress("a"), ToolCallProgress(tool_call_id="t"))
    assert not supersedes(progress("xbc"), progress("ab"))
    assert not supersedes(progress("abc", tool="other"), progress("ab"))
    assert not supersedes(ToolCallProgress(tool_call_id="t"), progress("a"))
    done = ToolCallProgress(tool_call_id="t", status="completed", content=words("abc"))
    assert supersedes(done, progress("ab"))
    assert not supersedes(progress("abc"), done)
    terminal = ToolCallProgress(tool_call_id="t", content=[Terminal(terminal_id="1")])
    other = ToolCallProgress(tool_call_id="t", content=[Terminal(terminal_id="2")])
    assert not supersedes(other, terminal)
    assert supersedes(terminal, terminal)
