"""Sessions: real and unknown, many at once, one never in the way of another."""

from __future__ import annotations

from typing import Any

import pytest

from tests.faults.cases import cases, fault
from tests.faults.talk import (
    INVALID,
    NOT_FOUND,
    PARAMS,
    Talk,
    chunk,
    code,
    line,
    opening,
    prompt,
    request,
)
from tests.faults.trial_agents import Command, forked

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.bound(30)]

NEW: dict[str, Any] = {"cwd": "/tmp", "mcpServers": []}


@cases({"LIF-02": ["zz", ""], "LIF-X13": ["\u0000", "../x", "null", "0", "é" * 1000, "x" * 1_000_000]})
async def test_an_unknown_session_is_not_found(shared: Talk, case: list[str]) -> None:
    for name in case:
        answer, said = await shared.turn("hello", session=name)
        assert (code(answer), said) == (NOT_FOUND, "")
        assert code(await shared.ask("session/close", {"sessionId": name})) == NOT_FOUND
        answer = await shared.ask("session/set_mode", {"sessionId": name, "modeId": "bench"})
        assert code(answer) == NOT_FOUND


@fault("LIF-X14")
async def test_a_session_id_is_compared_as_it_is(shared: Talk) -> None:
    real = shared.session
    for name in (real.upper(), f" {real}", f"{real} ", f"{real}\u0000", real[:-1], f"{{{real}}}"):
        assert name == real or code((await shared.turn("hello", session=name))[0]) == NOT_FOUND


@cases(
    {
        "LIF-07": {**NEW, "cwd": "/nope/does/not/exist"},
        "LIF-08": {
            **NEW,
            "mcpServers": [{"name": "broken", "command": "/nope/does/not/exist", "args": [], "env": []}],
        },
        "LIF-X15": {**NEW, "cwd": "/dev/null"},
    }
)
async def test_a_session_that_can_hardly_work_is_answered_in_time(shared: Talk, case: dict[str, Any]) -> None:
    assert code(await shared.ask("session/new", case, seconds=10)) in (None, PARAMS, NOT_FOUND)
    await shared.replies()
    await shared.echoes()


@fault("LIF-X16")
async def test_a_folder_must_be_absolute(shared: Talk) -> None:
    for folder in ("", ".", "tmp", "./tmp", "../tmp", "~", "file:///tmp", " /tmp"):
        assert code(await shared.ask("session/new", {**NEW, "cwd": folder})) == PARAMS, folder
        answer = await shared.ask("session/new", {**NEW, "additionalDirectories": [folder]})
        assert code(answer) == PARAMS, folder


@fault("LIF-11")
async def test_two_prompts_at_once_in_one_session_are_both_answered(shared: Talk) -> None:
    since = len(shared.heard)
    await shared.peer.send(
        prompt("one", shared.session, "/wait 0.2"), prompt("two", shared.session, "second")
    )
    answers = [await shared.answer_to(name, since=since) for name in ("one", "two")]
    assert code(answers[0]) is None
    assert code(answers[1]) in (None, INVALID)
    await shared.echoes()


@fault("LIF-X17")
async def test_prompts_of_one_session_do_not_mix(shared: Talk) -> None:
    since = len(shared.heard)
    frames = [prompt(n, shared.session, f"/stream 50 {n + 10}") for n in range(5)]
    await shared.peer.send(b"".join(map(line, frames)))
    for n in range(5):
        assert code(await shared.answer_to(n, since=since)) is None
    sizes = [len(chunk(message, shared.session)) for message in shared.heard[since:]]
    assert [size for size in sizes if size] == [n + 10 for n in range(5) for _ in range(50)]


@fault("LIF-X18")
async def test_too_many_prompts_in_one_session_are_refused_not_forgotten(shared: Talk) -> None:
    since = len(shared.heard)
    frames = [prompt(n, shared.session, "/wait 0.05" if n == 0 else "next") for n in range(500)]
    await shared.peer.send(b"".join(map(line, frames)))
    codes = [code(await shared.answer_to(n, since=since)) for n in range(500)]
    assert codes[0] is None
    assert set(codes) <= {None, INVALID}
    await shared.echoes()


@fault("LIF-13", stage="ids")
async def test_session_ids_cannot_be_guessed(agent: Command) -> None:
    async with opening(forked(agent)) as talk:
        made = [await talk.new_session() for _ in range(50)]
    assert len(set(made)) == 50
    places = [len(set(letters)) for letters in zip(*made, strict=True)]
    assert sum(1 for kinds in places if kinds >= 12) >= 16, "less than 64 bits that differ"


@fault("LIF-14")
async def test_two_sessions_that_stream_at_once_do_not_mix(shared: Talk) -> None:
    other = await shared.new_session()
    since = len(shared.heard)
    await shared.peer.send(
        line(prompt("a", shared.session, "/stream 300 20")) + line(prompt("b", other, "/stream 300 30"))
    )
    for name in ("a", "b"):
        assert code(await shared.answer_to(name, since=since)) is None
    for session, size in ((shared.session, 20), (other, 30)):
        assert shared.words(session, since=since) == "".join(f"{n} ".ljust(size, ".") for n in range(300))


@fault("LIF-16")
async def test_a_session_that_waits_for_permission_holds_up_no_other(shared: Talk) -> None:
    other = await shared.new_session()
    since = len(shared.heard)
    await shared.peer.send(prompt("ask", shared.session, "/ask /tmp/never"))
    asked = await shared.asked("session/request_permission", since=since)
    answer, _ = await shared.turn("meanwhile", session=other, seconds=2)
    assert code(answer) is None
    outcome = {"outcome": {"outcome": "selected", "optionId": "reject_once"}}
    await shared.peer.send({"jsonrpc": "2.0", "id": asked["id"], "result": outcome})
    assert code(await shared.answer_to("ask", since=since)) is None


@fault("LIF-X19")
async def test_an_empty_prompt_is_a_turn_or_refused(shared: Talk) -> None:
    for blocks in ([], [{"type": "text", "text": ""}]):
        answer = await shared.ask("session/prompt", {"sessionId": shared.session, "prompt": blocks})
        assert code(answer) in (None, PARAMS)
    await shared.echoes()


@fault("LIF-X20")
async def test_a_prompt_of_ten_thousand_blocks_is_one_prompt(shared: Talk) -> None:
    blocks = [{"type": "text", "text": f"{n} "} for n in range(10_000)]
    since = len(shared.heard)
    answer = await shared.ask("session/prompt", {"sessionId": shared.session, "prompt": blocks})
    assert code(answer) is None
    assert shared.words(since=since) == "You said: " + "".join(block["text"] for block in blocks)


@fault("LIF-X21")
async def test_a_mode_that_is_none_changes_nothing(shared: Talk) -> None:
    for mode in ("nope", "", "Plain", "plain "):
        answer = await shared.ask("session/set_mode", {"sessionId": shared.session, "modeId": mode})
        assert code(answer) == PARAMS
    assert (await shared.turn("/mode"))[1] == "The mode is plain."


@fault("LIF-X22")
async def test_a_hundred_sessions_at_once_each_get_their_own(agent: Command) -> None:
    async with opening(forked(agent)) as talk:
        sessions = [await talk.new_session() for _ in range(100)]
        since = len(talk.heard)
        frames = [prompt(n, session, f"I am {n}") for n, session in enumerate(sessions)]
        await talk.peer.send(b"".join(map(line, frames)))
        for n, session in enumerate(sessions):
            assert code(await talk.answer_to(n, since=since)) is None
            assert talk.words(session, since=since) == f"You said: I am {n}"


@fault("LIF-X23")
async def test_closing_a_session_ends_its_turn_first(shared: Talk) -> None:
    session = await shared.new_session()
    since = len(shared.heard)
    await shared.peer.send(
        prompt("turn", session, "/wait 60"), request("close", "session/close", {"sessionId": session})
    )
    assert code(await shared.answer_to("close", since=since)) is None
    answers = [message for message in shared.heard[since:] if message.get("id") in ("turn", "close")]
    assert [answer["id"] for answer in answers] == ["turn", "close"]
    assert answers[0]["result"] == {"stopReason": "cancelled"}
    assert code((await shared.turn("hello", session=session))[0]) == NOT_FOUND
    assert code(await shared.ask("session/close", {"sessionId": session})) == NOT_FOUND
