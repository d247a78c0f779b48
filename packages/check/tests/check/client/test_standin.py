from __future__ import annotations

from pathlib import Path

import pytest

from dragoman_check.client.profiles import PROFILES
from dragoman_check.client.scenes import GROUPS, odd
from tests.check.client.hand_client import Client, marks, scene_of


@pytest.fixture(autouse=True)
def little_on_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(odd, "FLOOD", 100)


@pytest.mark.bound(60)
async def test_the_first_prompt_plays_everything(tmp_path: Path) -> None:
    async with Client(tmp_path) as client:
        session = await client.open()
        answer = await client.prompt(session)
    facts = client.recording.facts
    assert answer["result"] == {"stopReason": "end_turn"}
    assert not [name for name in facts if name.startswith(("mistake", "silence"))]
    assert facts["scene"] == GROUPS["odd questions"][0].__name__.replace("_", " ")
    assert facts["written"] is True
    assert facts["released process gone"] is True
    asked = {frame.method for frame in client.asked()}
    assert asked >= {
        "session/request_permission",
        "fs/read_text_file",
        "fs/write_text_file",
        "terminal/create",
        "terminal/output",
        "terminal/wait_for_exit",
        "terminal/kill",
        "terminal/release",
        "elicitation/create",
    }
    assert set(marks(client.recording)) >= {"no JSON", "empty batch", "unknown update", "answer to nothing"}
    assert list(tmp_path.iterdir()) == [], "what it made is gone"


@pytest.mark.bound(60)
async def test_every_kind_of_update_is_sent(tmp_path: Path) -> None:
    async with Client(tmp_path, profile=scene_of("polite")) as client:
        await client.prompt(await client.open())
    assert client.kinds() >= {
        "user_message_chunk",
        "agent_message_chunk",
        "agent_thought_chunk",
        "tool_call",
        "tool_call_update",
        "plan",
        "available_commands_update",
        "current_mode_update",
        "config_option_update",
        "session_info_update",
        "usage_update",
        "notice",
        "compaction_update",
    }


async def test_nothing_is_asked_that_was_not_advertised(tmp_path: Path) -> None:
    async with Client(tmp_path, capabilities={"elicitation": {}}) as client:
        await client.prompt(await client.open())
    asked = {frame.method for frame in client.asked()}
    assert not [method for method in asked if method.startswith(("fs/", "terminal/"))]
    modes = {frame.params["mode"] for frame in client.asked() if frame.method == "elicitation/create"}
    assert modes == {"_x"}, "only a mode that nobody can advertise"
    assert "notice" not in client.kinds()


async def test_what_a_user_does_not_allow_is_not_done(tmp_path: Path) -> None:
    async with Client(tmp_path, profile=scene_of("polite")) as client:
        client.editor.choice = "reject_once"
        await client.prompt(await client.open())
    asked = {frame.method for frame in client.asked()}
    assert "fs/read_text_file" in asked
    assert not asked & {"fs/write_text_file", "terminal/create"}


async def test_what_the_client_has_lent_is_not_taken_for_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    lent = {"fs": {"readTextFile": True}}
    async with Client(tmp_path, profile=scene_of("polite"), capabilities=lent) as client:
        await client.prompt(await client.open())
    found = marks(client.recording)
    assert "read a missing file" in found
    assert "read outside" not in found
    assert list(tmp_path.iterdir()) == []


async def test_a_cancel_ends_the_turn_once_all_questions_are_answered(tmp_path: Path) -> None:
    async with Client(tmp_path) as client:
        session = await client.open()
        client.editor.holding = frozenset({"session/request_permission"})
        running = client.begin_prompt(session, "/hold")
        await client.until(lambda frame: len(client.editor.held_requests) == 2)
        client.notify("session/cancel", {"sessionId": session})
        await client.until(lambda frame: frame.params.get("update", {}).get("title") == "Was cancelled")
        for frame in client.editor.held_requests:
            outcome = {"outcome": {"outcome": "cancelled"}}
            client.send({"jsonrpc": "2.0", "id": frame.message["id"], "result": outcome})
        answer = await client.answer(running)
    assert answer["result"] == {"stopReason": "cancelled"}
    (stretch,) = client.recording.stretches("cancelled")
    assert stretch[0].method == "session/cancel"
    assert sum(frame.is_answer for frame in stretch) == 2


async def test_a_prompt_that_is_taken_back_is_answered_so(tmp_path: Path) -> None:
    async with Client(tmp_path) as client:
        session = await client.open()
        client.editor.holding = frozenset({"session/request_permission"})
        running = client.begin_prompt(session, "/hold")
        await client.until(lambda frame: len(client.editor.held_requests) == 2)
        client.notify("$/cancel_request", {"requestId": str(running)})
        client.notify("$/cancel_request", {"requestId": running})
        client.editor.release(client.reply)
        answer = await client.answer(running)
    assert answer["error"]["code"] == -32800


@pytest.mark.bound(60)
async def test_the_scenes_go_on_with_the_next_prompt(tmp_path: Path) -> None:
    async with Client(tmp_path, profile=scene_of("polite", "frames")) as client:
        session = await client.open()
        client.editor.holding = frozenset({"session/request_permission"})
        running = client.begin_prompt(session)
        await client.until(lambda frame: frame.method == "session/request_permission")
        client.notify("session/cancel", {"sessionId": session})
        client.editor.holding = frozenset()
        client.editor.release(client.reply)
        assert (await client.answer(running))["result"] == {"stopReason": "cancelled"}
        assert (await client.prompt(session))["result"] == {"stopReason": "end_turn"}
    found = marks(client.recording)
    assert found.count("messages") == 1
    assert found.index("cancelled") < found.index("read a file") < found.index("no JSON")


async def test_later_turns_end_in_every_other_way(tmp_path: Path) -> None:
    async with Client(tmp_path, profile="odd") as client:
        session = await client.open()
        answers = [await client.prompt(session) for _ in range(7)]
    reasons = [answer.get("result", {}).get("stopReason") for answer in answers]
    assert reasons == ["end_turn", "max_tokens", "max_turn_requests", "refusal", None, None, "end_turn"]
    assert [answer["error"]["code"] for answer in answers[4:6]] == [-31999, -32000]


async def test_a_second_prompt_in_a_running_turn_is_refused(tmp_path: Path) -> None:
    async with Client(tmp_path) as client:
        session = await client.open()
        client.editor.holding = frozenset({"session/request_permission"})
        client.begin_prompt(session, "/hold")
        answer = await client.prompt(session)
        nobody = await client.prompt("nobody's")
    assert answer["error"]["code"] == -32600
    assert nobody["error"]["code"] == -32002


async def test_a_client_that_leaves_in_a_scene_loses_nothing(tmp_path: Path) -> None:
    async with Client(tmp_path) as client:
        session = await client.open()
        client.editor.holding = frozenset({"fs/read_text_file"})
        client.begin_prompt(session)
        await client.until(lambda frame: frame.method == "fs/read_text_file")
    recording = client.recording
    assert recording.facts["input"] == "closed"
    assert recording.facts["scene"] == "files"
    assert marks(recording)[-1] == "read a file"
    assert recording.stretches("read a file")[-1][0].method == "fs/read_text_file"
    assert list(tmp_path.iterdir()) == []


async def test_a_client_that_ends_its_agent_without_a_word_is_known(tmp_path: Path) -> None:
    async with Client(tmp_path, profile="odd") as client:
        await client.open()
        await client.stand_in.ask_to_end()
    assert client.recording.facts["input"] == "broken"


async def test_a_method_that_is_never_answered_is_waited_for_once(tmp_path: Path) -> None:
    async with Client(tmp_path, profile=scene_of("polite"), seconds=0.05) as client:
        session = await client.open()
        client.editor.holding = frozenset({"session/request_permission"})
        answer = await client.prompt(session)
    asked = [frame for frame in client.asked() if frame.method == "session/request_permission"]
    assert answer["result"] == {"stopReason": "end_turn"}
    assert len(asked) == 1
    assert "silence in permissions" in client.recording.facts


async def test_a_mistake_in_a_scene_costs_that_scene_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def mistaken(turn: object) -> None:
        raise KeyError("ours")

    monkeypatch.setitem(GROUPS, "greeting", (mistaken, *GROUPS["greeting"]))
    async with Client(tmp_path, profile="odd") as client:
        answer = await client.prompt(await client.open())
    assert answer["result"] == {"stopReason": "end_turn"}
    assert client.recording.facts["mistake in mistaken"] == "KeyError('ours')"
    assert "greeting" in marks(client.recording)


@pytest.mark.parametrize("name", PROFILES)
async def test_every_profile_can_be_talked_to(name: str, tmp_path: Path) -> None:
    async with Client(tmp_path, profile=name) as client:
        found = await client.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
    assert found["result"]["protocolVersion"] == PROFILES[name].version
    assert client.recording.facts["profile"] == name
