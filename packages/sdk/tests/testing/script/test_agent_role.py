"""What a scripted agent does well without a word in its script."""

import json

import pytest

from dragoman.testing import ScriptedAgent, ScriptedClient, Transcript

AGENT = """
agent quiet
  can load
on prompt "wait*"
  wait 1000
on prompt "ask"
  ask Sure
on prompt "tail"
  stop end_turn
  wait 1000
on prompt "never"
  unanswered
on prompt
  say "$text"
on load {"sessionId": "gone"}
  fail -32002 "Session not found"
on new {"cwd": "/mine"}
  answer {"sessionId": "$uuid"}
on _note
  notify _noted {"n": "$session"}
on _slow
  wait 1000
"""

OPEN = "client\n  initialize\n  new\n"


async def tell(*lines: str, opening: str = OPEN) -> Transcript:
    story = opening + "".join(f"  {line}\n" for line in lines)
    return await ScriptedClient(story).talk_to(ScriptedAgent(AGENT))


def ask(request_id: object, method: str, **params: object) -> str:
    frame = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
    return "frame " + json.dumps(frame)


def prompt(request_id: object, text: str) -> str:
    blocks = [{"type": "text", "text": text}]
    return ask(request_id, "session/prompt", sessionId="session-1", prompt=blocks)


async def test_nothing_is_answered_before_initialize() -> None:
    await tell(
        ask(1, "session/new", cwd="/", mcpServers=[]),
        'expect {"id": 1, "error": {"code": -32600}}',
        ask(2, "initialize", protocolVersion="1"),
        'expect {"id": 2, "error": {"code": -32602}}',
        "initialize",
        opening="client\n",
    )


async def test_what_comes_with_initialize_waits_for_its_answer() -> None:
    agent = ScriptedAgent("on initialize\n  wait 0.02")
    story = "client\n" + "".join(
        f"  {line}\n"
        for line in (
            ask("i", "initialize", protocolVersion=1),
            ask("n", "session/new", cwd="/", mcpServers=[]),
            'expect {"id": "i"}',
            'expect {"id": "n", "result": {"sessionId": "session-1"}}',
        )
    )
    await ScriptedClient(story).talk_to(agent)


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("session/new", {"cwd": "relative", "mcpServers": []}, -32602),
        ("session/new", {"cwd": "/", "mcpServers": [], "additionalDirectories": ["/x"]}, -32602),
        (
            "session/new",
            {"cwd": "/", "mcpServers": [{"type": "http", "name": "x", "url": "http://x", "headers": []}]},
            -32602,
        ),
        ("session/prompt", {"sessionId": "session-1", "prompt": "text"}, -32602),
        ("session/prompt", {"sessionId": "session-1", "prompt": [{"type": "hologram"}]}, -32602),
        (
            "session/prompt",
            {
                "sessionId": "session-1",
                "prompt": [{"type": "image", "data": "AA==", "mimeType": "image/png"}],
            },
            -32602,
        ),
        ("session/prompt", {"sessionId": "session-2", "prompt": []}, -32002),
        ("session/close", {"sessionId": "session-2"}, -32002),
        ("session/load", {"sessionId": "gone", "cwd": "/", "mcpServers": []}, -32002),
        ("session/cancel", {"sessionId": "session-1"}, -32601),
        ("authenticate", {"methodId": "x"}, -32601),
    ],
)
async def test_what_no_good_agent_takes_is_refused(method: str, params: dict[str, object], code: int) -> None:
    await tell(ask("x", method, **params), f'expect {{"id": "x", "error": {{"code": {code}}}}}')


async def test_a_session_that_could_not_be_loaded_is_not_there() -> None:
    await tell(
        ask("l", "session/load", sessionId="gone", cwd="/", mcpServers=[]),
        'expect {"id": "l", "error": {}}',
        ask("p", "session/prompt", sessionId="gone", prompt=[]),
        'expect {"id": "p", "error": {"code": -32002}}',
    )


async def test_a_session_has_the_id_that_the_script_answers() -> None:
    passed = await tell(
        ask("n", "session/new", cwd="/mine", mcpServers=[]),
        'expect {"id": "n", "result": {"sessionId": "$mine"}}',
        'frame {"jsonrpc": "2.0", "id": "p", "method": "session/prompt", '
        '"params": {"sessionId": "$mine", "prompt": [{"type": "text", "text": "hi"}]}}',
        'expect {"params": {"sessionId": "$mine", "update": {"content": {"text": "hi"}}}}',
        'expect {"id": "p", "result": {"stopReason": "end_turn"}}',
    )
    assert len(json.loads(passed[5].frame)["result"]["sessionId"]) == 36


async def test_an_id_that_is_in_use_is_refused() -> None:
    await tell(
        prompt("a", "wait"), prompt("a", "again"), 'expect {"id": "a", "error": {"code": -32600}}', "cancel"
    )


async def test_the_prompts_of_a_session_are_played_one_after_the_other() -> None:
    await tell(
        prompt("a", "ask"),
        "expect request session/request_permission",
        prompt("b", "second"),
        "reject",
        'expect {"id": "a", "result": {}}',
        "expect update agent_message_chunk second",
        'expect {"id": "b", "result": {}}',
    )


async def test_a_cancel_reaches_what_is_played_and_what_waits() -> None:
    passed = await tell(
        prompt("a", "wait"),
        prompt("b", "wait"),
        prompt("c", "wait"),
        'notify $/cancel_request {"requestId": "c"}',
        'await {"id": "c", "result": {"stopReason": "cancelled"}}',
        "cancel",
        prompt("d", "after"),
        'await {"id": "d", "result": {"stopReason": "end_turn"}}',
    )
    answers = [json.loads(frame) for _, frame in passed if b'"cancelled"' in frame]
    assert sorted(answer["id"] for answer in answers) == ["a", "b", "c"]


async def test_too_many_waiting_prompts_are_refused() -> None:
    await tell(
        *(prompt(n, "wait") for n in range(100)), 'expect {"id": 65, "error": {"code": -32600}}', "cancel"
    )


async def test_a_turn_is_over_when_it_was_answered() -> None:
    await tell(
        prompt("a", "tail"), 'expect {"id": "a"}', prompt("b", "next"), 'await {"id": "b", "result": {}}'
    )


async def test_a_turn_without_an_answer_holds_up_no_other() -> None:
    await tell(prompt("a", "never"), prompt("b", "next"), 'await {"id": "b", "result": {}}')


async def test_a_question_is_taken_back_when_its_turn_is_cancelled() -> None:
    await tell(
        prompt("a", "ask"),
        'expect {"method": "session/request_permission", "id": "$asked"}',
        "cancel",
        'expect {"method": "$$/cancel_request", "params": {"requestId": "$asked"}}',
        'expect {"id": "a", "result": {"stopReason": "cancelled"}}',
    )


async def test_closing_a_session_ends_its_turns_first() -> None:
    await tell(
        prompt("a", "wait"),
        ask("c", "session/close", sessionId="session-1"),
        prompt("b", "late"),
        'expect {"id": "b", "error": {"code": -32002}}',
        'expect {"id": "a", "result": {"stopReason": "cancelled"}}',
        'expect {"id": "c", "result": {}}',
    )


async def test_any_other_request_that_is_taken_back_is_answered_as_cancelled() -> None:
    await tell(
        ask("s", "_slow"),
        'notify $/cancel_request {"requestId": "s"}',
        'expect {"id": "s", "error": {"code": -32800}}',
    )


async def test_notifications_are_played_and_senseless_ones_ignored() -> None:
    await tell(
        "notify _nobody [1]",
        'notify _note {"sessionId": "x"}',
        "expect notification _noted",
        'notify session/prompt {"sessionId": "session-1", "prompt": []}',
        r'line "{\"jsonrpc\":\"2.0\",\"method\":\"_note\",\"params\":{\"n\":1e999}}"',
        ask("e", "_end"),
        'expect {"id": "e", "error": {"code": -32601}}',
    )


async def test_more_notifications_than_are_played_at_once_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.testing.script.agent_role.NOTES", 4)
    passed = await tell(*["notify _note {}"] * 40, *["expect notification _noted"] * 40)
    assert sum(b"_noted" in frame for _, frame in passed) == 40


async def test_too_much_at_once_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.testing.script.agent_role.SCENES", 2)
    await tell(
        *(ask(n, "_slow") for n in range(3)),
        'expect {"id": 2, "error": {"code": -32603}}',
        'notify $/cancel_request {"requestId": 0}',
        'expect {"id": 0, "error": {"code": -32800}}',
        ask("n", "session/new", cwd="/", mcpServers=[]),
        'expect {"id": "n", "result": {}}',
    )
