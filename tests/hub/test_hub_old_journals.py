"""What a hub 0.1.0 has left on disks and on NATS is opened: nothing that clients were told is lost.

The fixtures were made by that version and are not made again; `expected.json` is what its clients were told.
Its agent host is gone here: turns end and say so, and prompts that waited are run by a new process.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from dragoman.errors import DragomanError
from dragoman.hub.runner import run_hub
from dragoman.hub.settings import EncryptionSettings
from tests.hub.fixtures.scenes import OldScene, OldWatcher, opened

pytestmark = [pytest.mark.bound(30), pytest.mark.in_turn("old_scene")]

OPEN = ("open", "queue", "permission", "elicitation", "secret")
IDLE = ("keys", "titled", "fork", "closed", "attachments", "large")


def comparable(told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without what the rules found in a question, which is told while it is open, and without moments,
    which old hubs did not tell.
    """
    hidden = ("risks", "risksNote", "askedAt", "time")
    return [
        {
            **message,
            "params": {name: value for name, value in message["params"].items() if name not in hidden},
        }
        for message in told
    ]


def redacted(told: list[dict[str, Any]], secret: str) -> list[dict[str, Any]]:
    """As it is told once it is not to be acted upon any more."""
    found: list[dict[str, Any]] = json.loads(json.dumps(told).replace(secret, "[redacted]"))
    return found


def prompt_again(watcher: OldWatcher, session: dict[str, Any], prompt: dict[str, Any]) -> int:
    """Send a prompt as its client does that has lost the answer."""
    params = {"sessionId": session["id"], "prompt": prompt["prompt"]}
    return watcher.ask("session/prompt", params, key=prompt["key"])


async def test_sessions_are_listed_as_they_were(old_scene: OldScene) -> None:
    async with opened(old_scene) as (_, watcher):
        listed = (await watcher.call("_dragoman/hub/sessions", {"limit": 100}))["sessions"]
        found = {session["sessionId"]: session for session in listed}
        assert set(found) == {session["id"] for session in old_scene.sessions.values() if session["listing"]}
        for name in (*IDLE, *OPEN):
            before = old_scene.sessions[name]["listing"]
            now = found[old_scene.sessions[name]["id"]]
            same = ("agent", "cwd", "title", "createdAt")
            assert {key: now.get(key) for key in same} == {key: before.get(key) for key in same}
        states = {name: found[old_scene.sessions[name]["id"]]["state"] for name in IDLE}
        assert states == {name: old_scene.sessions[name]["listing"]["state"] for name in IDLE}


async def test_loading_replays_what_clients_were_told(old_scene: OldScene) -> None:
    async with opened(old_scene) as (_, watcher):
        for name in (*IDLE, *OPEN):
            session = old_scene.sessions[name]
            await watcher.load(session)
            before = comparable(session["told"])
            now = comparable(watcher.told(session))[: len(before)]
            if name == "secret":
                before = redacted(before, old_scene.expected["secret"])
            assert now == before, name
        deleted = {"sessionId": old_scene.sessions["deleted"]["id"]}
        assert (await watcher.refusal("_dragoman/hub/history", deleted))["code"] == -32002


async def test_modes_options_titles_and_attachments_are_as_they_were(old_scene: OldScene) -> None:
    async with opened(old_scene) as (_, watcher):
        standing = await watcher.load(old_scene.sessions["titled"])
        assert standing["modes"]["currentModeId"] == "code"
        assert standing["configOptions"][0]["currentValue"] == "large"
        assert old_scene.sessions["titled"]["listing"]["title"] == "A chosen title"
        await watcher.load(old_scene.sessions["attachments"])
        updates = [
            told["params"].get("update", {}) for told in watcher.told(old_scene.sessions["attachments"])
        ]
        kinds = [update["content"]["type"] for update in updates if "content" in update]
        assert kinds == ["text", "image", "resource", "resource_link", "text", "image"]


async def test_open_turns_end_with_an_error_and_open_questions_are_settled(old_scene: OldScene) -> None:
    async with opened(old_scene) as (_, watcher):
        for name in OPEN:
            session = old_scene.sessions[name]
            await watcher.load(session)
            ended = await watcher.event(session, "turn_ended", key=session["turn"]["key"])
            assert ended["error"]["code"] == -32603
            assert "cut short" in ended["error"]["message"]
            for question in session.get("questions", ()):
                settled = await watcher.event(session, "settled", request=question["request"])
                assert settled["outcome"] == "agent_gone"
            answer = await watcher.answer(prompt_again(watcher, session, session["turn"]))
            assert answer["error"] == ended["error"], "its key gets the end of the turn"
        assert not watcher.requests(), "nobody is asked for an agent that is gone"


async def test_queued_prompts_are_run_once_in_their_order_and_whole(old_scene: OldScene) -> None:
    async with opened(old_scene) as (_, watcher):
        for name in ("queue", "secret"):
            session = old_scene.sessions[name]
            await watcher.load(session)
            for prompt in session["queue"]:
                answer = await watcher.answer(prompt_again(watcher, session, prompt))
                assert answer["result"]["_meta"]["scripted"]["prompt"] == prompt["prompt"][0]["text"]
            told = [
                event["key"] for event in watcher.events("turn_ended") if event["sessionId"] == session["id"]
            ]
            assert len(told) == len(set(told)), "a turn ends once"
            assert old_scene.prompts(session["id"]) == [prompt["prompt"] for prompt in session["queue"]]
        assert len(old_scene.prompts()) == 4, "no other turn was begun again"


async def test_all_keys_of_a_session_get_the_answers_that_clients_were_given(old_scene: OldScene) -> None:
    session, keys = old_scene.sessions["keys"], old_scene.expected["keys"]["answered_later"]
    async with opened(old_scene) as (_, watcher):
        await watcher.load(session)
        last = watcher.cursor(session)
        assert keys
        for key in keys:
            params = {"sessionId": session["id"], "prompt": [{"type": "text", "text": "say it again"}]}
            again = await watcher.call("session/prompt", params, key=key)
            again["_meta"].pop("dragoman", None)
            assert again == session["answers"][key]
        assert old_scene.prompts(session["id"]) == [], "no prompt was run again"
        assert watcher.cursor(session) == last


async def test_a_key_of_a_session_finds_the_fork_that_was_made_under_it(old_scene: OldScene) -> None:
    async with opened(old_scene) as (_, watcher):
        titled, fork = old_scene.sessions["titled"], old_scene.sessions["fork"]
        params = {"sessionId": titled["id"], "cwd": titled["listing"]["cwd"], "mcpServers": []}
        assert (await watcher.call("session/fork", params, key="fork-1"))["sessionId"] == fork["id"]


async def test_old_sessions_go_on(old_scene: OldScene) -> None:
    async with opened(old_scene) as (_, watcher):
        for name in ("titled", "fork", "closed", "open"):
            session = old_scene.sessions[name]
            await watcher.load(session)
            answer = await watcher.answer(watcher.prompt(session["id"], "say more", key=f"{name}-more"))
            assert answer["result"]["stopReason"] == "end_turn"


@pytest.mark.parametrize("old_scene", ["sealed"], indirect=True)
@pytest.mark.parametrize("key", ["", "another key, which is as long as a key must be"])
async def test_a_sealed_journal_is_refused_without_its_key_and_stays_as_it_is(
    old_scene: OldScene, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = old_scene.settings()
    if key:
        monkeypatch.setenv("FIXTURE_KEY", key)
    else:
        settings = replace(settings, encryption=EncryptionSettings())
    with pytest.raises(DragomanError, match="is sealed"):
        async with run_hub(settings):
            pass
    monkeypatch.setenv("FIXTURE_KEY", old_scene.expected["key"])
    async with opened(old_scene) as (_, watcher):
        await watcher.load(old_scene.sessions["titled"])
        assert old_scene.expected["secret"].encode() not in old_scene.journal_bytes()
