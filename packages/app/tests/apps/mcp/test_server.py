"""An agent as an MCP server: the official MCP client judges."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mcp_types
import pytest
from mcp import MCPError
from pydantic import FileUrl

from dragoman import Agent, Turn
from tests.apps.gateway.stage import MORTAL, make_gateway
from tests.apps.mcp.stage import Waiting, check_cancelled_call, official_client
from tests.cli.hostile_agent import EVIL


def person(*answers: Any) -> tuple[Callable[..., Any], list[Any]]:
    """Answers elicitations in order, and keeps the questions."""
    left, questions = list(answers), []

    async def answer(context: Any, params: Any) -> Any:
        questions.append(params)
        return left.pop(0)

    return answer, questions


def words(result: mcp_types.CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, mcp_types.TextContent)]


def accept(decision: str) -> mcp_types.ElicitResult:
    return mcp_types.ElicitResult(action="accept", content={"decision": decision})


async def test_a_prompt_gives_text_and_structured_content_and_goes_on_in_its_session(folder: Path) -> None:
    async with make_gateway(folder) as gateway, official_client(gateway, folder) as client:
        result = await client.call_tool("prompt", {"text": "Hello"})
        assert words(result)[0] == "You said: Hello"
        first = result.structured_content
        assert (first["stopReason"], first["refused"], first["changedFiles"]) == ("end_turn", [], [])
        again = await client.call_tool("prompt", {"text": "/usage 1000", "session": first["session"]})
        assert again.structured_content["session"] == first["session"]
        assert again.structured_content["usage"] == {
            "totalTokens": 1000,
            "inputTokens": 900,
            "outputTokens": 100,
        }
        listed = (await client.call_tool("sessions", {})).structured_content
        assert [entry["turns"] for entry in listed["sessions"]] == [2]
        assert listed["sessions"][0]["modes"] == ["plain", "bench"]
        assert listed["agent"]["name"] == "echo"


async def test_text_tool_calls_and_plan_are_told_as_progress(folder: Path) -> None:
    lines: list[str] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        assert progress == len(lines) + 1
        lines.append(message or "")

    (folder / "a.txt").write_text("words of a file\n")
    async with make_gateway(folder) as gateway, official_client(gateway, folder) as client:
        result = await client.call_tool("prompt", {"text": "/read a.txt"}, progress_callback=on_progress)
        assert result.structured_content["toolCalls"][0]["title"] == "Read a.txt"
        assert lines[0].startswith("read: Read a.txt")
        assert lines[-2:] == ["read: Read a.txt (completed)", "words of a file"]
        await client.call_tool("prompt", {"text": "/plan"}, progress_callback=None)


@pytest.mark.parametrize(
    ("answer", "said", "is_created"),
    [
        (accept("Allow (allow once)"), "Done.", True),
        (mcp_types.ElicitResult(action="decline"), "Not allowed.", False),
        (mcp_types.ElicitResult(action="cancel"), "Not allowed.", False),
        (accept("something else"), "Not allowed.", False),
        (mcp_types.ErrorData(code=-32603, message="no"), "Not allowed.", False),
    ],
    ids=["accept", "decline", "cancel", "nonsense", "error"],
)
async def test_a_permission_request_is_an_elicitation(
    folder: Path, answer: Any, said: str, is_created: bool
) -> None:
    callback, questions = person(answer)
    async with (
        make_gateway(folder) as gateway,
        official_client(gateway, folder, elicitation_callback=callback) as client,
    ):
        result = (await client.call_tool("prompt", {"text": "/ask new.txt"})).structured_content
    assert "Create new.txt" in questions[0].message
    assert f"\nAlways covers changes of new.txt, in {folder}, for echo." in questions[0].message
    assert result["text"] == said
    assert (folder / "new.txt").exists() is is_created
    assert [change["path"] for change in result["changedFiles"]] == [str(folder / "new.txt")] * is_created
    assert bool(result["refused"]) is not is_created


async def test_without_elicitation_the_policy_decides_and_the_result_says_what_was_refused(
    folder: Path,
) -> None:
    async with make_gateway(folder) as gateway, official_client(gateway, folder) as client:
        result = await client.call_tool("prompt", {"text": "/ask new.txt"})
    assert not (folder / "new.txt").exists()
    assert [refusal["what"] for refusal in result.structured_content["refused"]] == ["Create new.txt"]
    assert "[refused: Create new.txt" in words(result)[1]


async def test_what_the_command_line_approves_is_not_asked(folder: Path) -> None:
    callback, questions = person()
    async with (
        make_gateway(folder, approve="all") as gateway,
        official_client(gateway, folder, elicitation_callback=callback) as client,
    ):
        result = await client.call_tool("prompt", {"text": "/write a.txt words", "diffs": True})
    change = result.structured_content["changedFiles"][0]
    assert (change["path"], change["kind"]) == (str(folder / "a.txt"), "added")
    assert "+words" in change["diff"]
    assert questions == []


async def test_a_cancelled_call_cancels_the_turn_and_the_session_goes_on(folder: Path) -> None:
    waiting = Waiting()
    async with (
        make_gateway(folder, agent=waiting.agent) as gateway,
        official_client(gateway, folder) as client,
    ):
        await check_cancelled_call(client, waiting)


async def test_the_tool_cancel_ends_the_turn_as_cancelled(folder: Path) -> None:
    waiting = Waiting()
    async with (
        make_gateway(folder, agent=waiting.agent) as gateway,
        official_client(gateway, folder) as client,
    ):
        turn = asyncio.create_task(client.call_tool("prompt", {"text": "wait"}))
        await waiting.began.wait()
        listed = (await client.call_tool("sessions", {})).structured_content["sessions"]
        assert listed[0]["busy"] is True
        session = {"session": listed[0]["session"]}
        busy = await client.call_tool("prompt", {"text": "more", **session})
        assert busy.is_error
        assert "a turn is running" in words(busy)[0]
        assert (await client.call_tool("cancel", session)).structured_content["cancelled"] is True
        assert (await turn).structured_content["stopReason"] == "cancelled"
        assert (await client.call_tool("close", session)).structured_content["closed"] is True
        assert (await client.call_tool("cancel", session)).is_error


async def test_two_calls_at_once_have_two_sessions_of_one_agent(folder: Path) -> None:
    waiting = Waiting(together=2)
    async with (
        make_gateway(folder, agent=waiting.agent) as gateway,
        official_client(gateway, folder) as client,
    ):
        calls = [client.call_tool("prompt", {"text": text}) for text in ("left", "right")]
        results = [result.structured_content for result in await asyncio.gather(*calls)]
    assert [result["text"] for result in results] == ["left", "right"]
    assert len({result["session"] for result in results}) == 2


@pytest.mark.bound(20)  # two processes are started
async def test_an_agent_that_dies_is_an_error_and_the_next_call_has_another(folder: Path) -> None:
    async with (
        make_gateway(folder, command=str(MORTAL)) as gateway,
        official_client(gateway, folder) as client,
    ):
        first = await client.call_tool("prompt", {"text": "who?"})
        session = first.structured_content["session"]
        dead = await client.call_tool("prompt", {"text": "die", "session": session})
        assert dead.is_error
        assert "no will to live" in words(dead)[0]
        again = await client.call_tool("prompt", {"text": "who?", "session": session})
        assert again.structured_content["text"] not in ("", first.structured_content["text"])
        assert "has forgotten this session" in again.structured_content["notes"][0]


async def test_a_hostile_agent_cannot_write_to_the_terminal_of_a_person(folder: Path) -> None:
    agent = Agent("hostile")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(f"words {EVIL}\n")
        async with turn.tool(f"tool {EVIL}", kind="execute", raw_input={"command": f"ls {EVIL}"}) as call:
            await call.ask()

    callback, questions = person(mcp_types.ElicitResult(action="decline"))
    lines: list[str] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        lines.append(message or "")

    async with (
        make_gateway(folder, agent=agent) as gateway,
        official_client(gateway, folder, elicitation_callback=callback) as client,
    ):
        result = await client.call_tool("prompt", {"text": "go"}, progress_callback=on_progress)
    assert EVIL in result.structured_content["text"]
    labels = questions[0].requested_schema["properties"]["decision"]["enum"]
    shown = [questions[0].message, *labels, *lines]
    assert not [text for text in shown if any(sign in text for sign in "\x1b\x07\x9b\u202e\u2066\r\x7f")]


async def test_the_roots_of_the_client_confine_the_folders(folder: Path, tmp_path: Path) -> None:
    inside = folder / "inside"
    inside.mkdir()
    (folder / "way out").symlink_to(tmp_path)

    async def list_roots(context: Any) -> mcp_types.ListRootsResult:
        return mcp_types.ListRootsResult(roots=[mcp_types.Root(uri=FileUrl(folder.as_uri()))])

    async with (
        make_gateway(tmp_path) as gateway,
        official_client(gateway, tmp_path, list_roots_callback=list_roots) as client,
    ):
        for outside in (str(tmp_path), "/", str(folder / ".."), str(folder / "way out"), "\0"):
            refused = await client.call_tool("prompt", {"text": "x", "cwd": outside})
            assert refused.is_error, outside
        await client.call_tool("prompt", {"text": "x", "cwd": str(inside)})
        await client.call_tool("prompt", {"text": "x"})
        listed = (await client.call_tool("sessions", {})).structured_content["sessions"]
        assert [entry["cwd"] for entry in listed] == [str(inside), str(folder)]


async def test_without_roots_the_folder_of_the_server_is_the_only_one(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with make_gateway(folder) as gateway:
        async with official_client(gateway, folder) as client:
            refused = await client.call_tool("prompt", {"text": "x", "cwd": str(other)})
            assert "outside of the folders" in words(refused)[0]
        async with official_client(gateway, folder, roots=(str(folder), str(other))) as client:
            assert not (await client.call_tool("prompt", {"text": "x", "cwd": str(other)})).is_error


async def test_modes_are_switched_and_mistakes_are_explained(folder: Path) -> None:
    choices = frozenset({"mode"})
    async with make_gateway(folder, choices=choices) as gateway, official_client(gateway, folder) as client:
        result = await client.call_tool("prompt", {"text": "/mode", "mode": "bench"})
        assert result.structured_content["text"] == "The mode is bench."
        for arguments, explanation in (
            ({"text": "x", "mode": "no"}, "the agent's modes are plain, bench"),
            ({"text": "x", "model": "no"}, "this agent has no models"),
            ({"text": "x", "session": "no"}, "no open session 'no'"),
            ({"text": " "}, "`text` is empty"),
            ({"text": 1}, "invalid arguments"),
            ({"text": "x", "folder": "/"}, "unknown field `folder`"),
        ):
            refused = await client.call_tool("prompt", arguments)
            assert refused.is_error
            assert explanation in words(refused)[0]
        with pytest.raises(MCPError, match="unknown tool"):
            await client.session.send_request(
                mcp_types.CallToolRequest(params=mcp_types.CallToolRequestParams(name="nonsense")),
                mcp_types.CallToolResult,
            )


async def test_a_calling_model_chooses_no_mode_that_a_person_did_not_allow(folder: Path) -> None:
    choices = frozenset({"mode=plain"})
    async with make_gateway(folder, choices=choices) as gateway, official_client(gateway, folder) as client:
        for wish in ({"mode": "bench"}, {"options": {"mode": "bench"}}, {"options": {"yolo": True}}):
            refused = await client.call_tool("prompt", {"text": "/mode", **wish})
            assert refused.is_error
            assert "a person has to allow it" in words(refused)[0]
        allowed = await client.call_tool("prompt", {"text": "/mode", "mode": "plain"})
        assert allowed.structured_content["text"] == "The mode is plain."


async def test_sessions_belong_to_their_client_and_end_with_it(folder: Path) -> None:
    async with make_gateway(folder) as gateway:
        async with official_client(gateway, folder) as one, official_client(gateway, folder) as other:
            session = (await one.call_tool("prompt", {"text": "x"})).structured_content["session"]
            assert (await other.call_tool("prompt", {"text": "x", "session": session})).is_error
            assert (await other.call_tool("cancel", {"session": session})).is_error
        assert gateway._sessions == {}


async def test_the_longest_idle_session_makes_room_for_a_new_one(folder: Path) -> None:
    async with (
        make_gateway(folder, most_sessions=2) as gateway,
        official_client(gateway, folder) as client,
    ):
        ids = [(await client.call_tool("prompt", {"text": "x"})).structured_content["session"] for _ in "123"]
        listed = (await client.call_tool("sessions", {})).structured_content["sessions"]
        assert [entry["session"] for entry in listed] == ids[1:]
