"""Sessions of a hub: made, followed, prompted, approved, queued, left and found again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from dragoman import Agent
from dragoman.testing.pace import deadline
from dragoman_hub.gate.admission import Grant
from dragoman_local.journal.brief import BRIEF_BYTES
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.stage import WITHIN, Talker, staged, text

pytestmark = pytest.mark.bound(25)

AWARE: dict[str, Any] = {"cursors": True, "events": True}


async def test_a_plain_client_is_served_as_by_the_agent_itself() -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        answer = await client.answer(client.prompt(session, "say 3"))
        assert answer["result"] == {"stopReason": "end_turn"}
        assert client.texts() == ["0 ", "1 ", "2 "]
        assert b"dragoman" not in b"".join(client.raw[1:]), "who did not ask for cursors gets none"


async def test_a_load_replays_everything_before_its_answer() -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        await client.answer(client.prompt(session, "say 2"))
        late = await stage.client().begin()
        await late.call("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        told = [one for one in late.heard if one.get("method") == "session/update"]
        assert late.heard.index(told[-1]) < len(late.heard) - 1, "the answer comes last"
        assert late.texts("user_message_chunk") == ["say 2"]
        assert late.texts() == ["0 ", "1 "]


async def test_observers_see_the_prompts_and_answers_of_others() -> None:
    async with staged({"one": obedient}) as stage:
        writer = await stage.client().begin()
        session = await writer.new()
        reader = await stage.client(Grant("reader", frozenset({"observe"})), **AWARE).begin()
        await reader.call("_dragoman/hub/attach", {"sessionId": session})
        await writer.answer(writer.prompt(session, "say 1"))
        ended = await reader.until(lambda one: one.get("params", {}).get("event") == "turn_ended")
        assert ended["params"]["stopReason"] == "end_turn"
        history = await reader.call("_dragoman/hub/history", {"sessionId": session})
        stored = [line for line in history["messages"] if line["message"]["params"].get("event")]
        heard = [one["params"] for one in reader.heard if one.get("params", {}).get("event")]
        assert [event["time"] for event in heard] == [line["time"] for line in stored], "by one clock"
        assert reader.texts("user_message_chunk") == ["say 1"]
        assert reader.texts() == ["0 "]
        assert writer.texts("user_message_chunk") == [], "nobody is told what he said himself"
        refused = await reader.refusal("session/prompt", {"sessionId": session, "prompt": text("mine")})
        assert refused["data"] == {"scope": "prompt"}


async def test_a_client_learns_its_name_and_the_folders_that_it_may_use() -> None:
    async with staged({"one": obedient}, folder="/home/ann/shop", home="/home/ann") as stage:
        whole = await stage.client(Grant("phone")).begin()
        confined = await stage.client(Grant("guest", roots=("/home/ann/shop",))).begin()
        told = [client.heard[0]["result"]["_meta"]["dragoman"] for client in (whole, confined)]
        assert [one["by"] for one in told] == ["phone", "guest"]
        assert [one.get("folder") for one in told] == ["/home/ann/shop", "/home/ann/shop"]
        assert [one.get("home") for one in told] == ["/home/ann", None]


async def test_every_client_that_may_answer_is_asked_and_the_first_answer_counts() -> None:
    async with staged({"one": obedient}) as stage:
        first = await stage.client(**AWARE).begin()
        session = await first.new()
        second = await stage.client(Grant("second")).begin()
        await second.call("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        reader = await stage.client(Grant("reader", frozenset({"observe"})), **AWARE).begin()
        await reader.call("_dragoman/hub/attach", {"sessionId": session})
        turn = first.prompt(session, "ask")
        asked_first, asked_second = await first.asked(), await second.asked()
        second.allow(asked_second)
        told = await first.until(lambda one: one.get("method") == "$/cancel_request")
        assert told["params"]["requestId"] == asked_first["id"]
        first.allow(asked_first, "reject")  # too late
        await first.answer(turn)
        assert first.texts() == ["yes"]
        (settled,) = first.events("settled")
        assert (settled["by"], settled["outcome"]) == ("second", "answered")
        assert not [one for one in reader.heard if one.get("method") == "session/request_permission"]
        assert [one["request"] for one in reader.events("asked")] == [settled["request"]]


async def test_a_cancel_ends_the_turn_and_what_it_had_asked() -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client(**AWARE).begin()
        session = await client.new()
        turn = client.prompt(session, "ask")
        asked = await client.asked()
        client.say({"method": "session/cancel", "params": {"sessionId": session}})
        assert (await client.answer(turn))["result"]["stopReason"] == "cancelled"
        told = await client.until(lambda one: one.get("method") == "$/cancel_request")
        assert told["params"]["requestId"] == asked["id"]
        assert (await client.call("_dragoman/hub/inbox"))["requests"] == []


async def test_work_goes_on_when_the_last_client_leaves() -> None:
    gate = Gate()
    async with staged({"one": lambda: obedient(gate)}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        client.prompt(session, "wait", key="k")
        await gate.waiting.wait()
        await client.transport.aclose()
        gate.open.set()
        back = await stage.client().begin()
        await back.call("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        await back.until(lambda one: "waited" in str(one))
        again = await back.answer(back.prompt(session, "wait", key="k"))
        assert again["result"]["stopReason"] == "end_turn", "a prompt whose key is known is not run again"
        assert gate.prompts == ["wait"]


async def test_work_ends_with_the_last_client_if_it_is_to() -> None:
    gate = Gate()
    async with staged({"one": lambda: obedient(gate)}, on_last_leave="cancel") as stage:
        client = await stage.client().begin()
        session = await client.new()
        client.prompt(session, "wait", key="k")
        await gate.waiting.wait()
        await client.transport.aclose()
        back = await stage.client().begin()
        await back.call("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        answer = await back.answer(back.prompt(session, "wait", key="k"))
        assert answer["result"]["stopReason"] == "cancelled"
        assert gate.cancelled == 1


async def test_files_come_from_the_client_that_lends_them_and_else_from_the_hub(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("from the disk")
    async with staged({"one": obedient}) as stage:
        poor = await stage.client().begin()
        session = await poor.new(str(tmp_path))
        await poor.answer(poor.prompt(session, f"read {tmp_path}/note.txt"))
        assert poor.texts() == ["from the disk"]
        rich = await stage.client().begin(fs={"readTextFile": True})
        await rich.call("session/load", {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []})
        turn = rich.prompt(session, f"read {tmp_path}/note.txt")
        asked = await rich.asked("fs/read_text_file")
        rich.say({"id": asked["id"], "result": {"content": "from the editor"}})
        await rich.answer(turn)
        assert rich.texts()[-1] == "from the editor"
        assert not [one for one in poor.heard if one.get("method") == "fs/read_text_file"]


async def test_sessions_are_listed_forked_closed_and_deleted_for_an_agent_that_can_none_of_it() -> None:
    gate = Gate()
    async with staged({"one": lambda: obedient(gate)}) as stage:
        client = await stage.client(**AWARE).begin()
        session = await client.new("/tmp")
        other = await client.new("/usr")
        await client.answer(client.prompt(session, "hello"))
        listed = (await client.call("session/list", {"cwd": "/tmp"}))["sessions"]
        assert [(one["sessionId"], one["title"]) for one in listed] == [(session, "hello")]
        forked = {"sessionId": session, "cwd": "/tmp", "mcpServers": []}
        fork = (await client.call("session/fork", forked))["sessionId"]
        await client.answer(client.prompt(fork, "and now?"))
        assert '"user":"hello"' in gate.prompts[-1]
        assert gate.prompts[-1].endswith("and now?")
        late = await stage.client().begin()
        await late.call("session/load", {"sessionId": fork, "cwd": "/tmp", "mcpServers": []})
        assert late.texts("user_message_chunk") == ["hello", "and now?"], "as the user wrote it"
        await client.call("session/close", {"sessionId": session})
        await client.call("session/delete", {"sessionId": other})
        left = (await client.call("session/list"))["sessions"]
        assert {one["sessionId"] for one in left} == {session, fork}
        missing = await client.refusal("session/load", {"sessionId": other, "cwd": "/", "mcpServers": []})
        assert missing["code"] == -32002


async def test_an_agent_that_dies_ends_its_turn_in_words_and_is_started_for_the_next() -> None:
    gate = Gate()
    async with staged({"one": lambda: obedient(gate)}, keeps=False) as stage:
        client = await stage.client(**AWARE).begin()
        session = await client.new()
        turn = client.prompt(session, "wait")
        await gate.waiting.wait()
        await stage.end_agent("one")
        assert "cut short" in (await client.answer(turn))["error"]["message"]
        answer = await client.answer(client.prompt(session, "hello again"))
        assert answer["result"]["stopReason"] == "end_turn"
        assert gate.prompts[-1].endswith("hello again")
        assert '"user":"wait"' in gate.prompts[-1]
        assert [one["remembers"] for one in client.events("agent_back")] == [False]


async def test_an_approval_expires_although_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    async with staged({"one": obedient}, expire=0.05) as stage:
        client = await stage.client(**AWARE).begin()
        session = await client.new()
        prompt = client.prompt(session, "ask")
        await client.asked()
        clock = time.time
        monkeypatch.setattr(time, "time", lambda: clock() - 3600)
        await client.answer(prompt)
        assert [one["outcome"] for one in client.events("settled")] == ["expired"]


async def test_an_approval_expires_by_itself() -> None:
    async with staged({"one": obedient}, expire=0.05) as stage:
        client = await stage.client(**AWARE).begin()
        session = await client.new()
        await client.answer(client.prompt(session, "ask"))
        assert client.texts() == ["no"]
        assert [one["outcome"] for one in client.events("settled")] == ["expired"]


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "@agent", "", "x" * 300, "a\0b"])
async def test_a_name_that_is_no_session_is_not_found(name: str) -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        refused = await client.refusal("session/load", {"sessionId": name, "cwd": "/", "mcpServers": []})
        assert refused["code"] in (-32002, -32602)


async def test_a_token_reaches_only_its_agents_and_folders(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in2").mkdir()
    grant = Grant("narrow", agents=("one",), roots=(str(tmp_path / "in"),))
    async with staged({"one": obedient, "two": obedient}) as stage:
        owner = await stage.client().begin()
        elsewhere = await owner.new(str(tmp_path / "in2"))
        client = await stage.client(grant).begin()
        refused = await client.refusal("session/new", {"cwd": str(tmp_path / "in2"), "mcpServers": []})
        assert refused["code"] == -32003
        inside = {"cwd": str(tmp_path / "in"), "mcpServers": []}
        assert (await client.refusal("session/new", inside, agent="two"))["code"] == -32003
        mine = (await client.call("session/new", inside))["sessionId"]
        listed = (await client.call("session/list"))["sessions"]
        assert [one["sessionId"] for one in listed] == [mine]
        stolen = {"sessionId": elsewhere, "cwd": str(tmp_path), "mcpServers": []}
        assert (await client.refusal("session/resume", stolen))["code"] == -32003
        prompt = {"sessionId": elsewhere, "prompt": text("hello")}
        assert (await client.refusal("session/prompt", prompt))["code"] == -32003


async def test_whoever_may_only_look_brings_nothing_along_for_the_agent() -> None:
    async with staged({"one": obedient}) as stage:
        owner = await stage.client().begin()
        session = await owner.new()
        reader = await stage.client(Grant("reader", frozenset({"observe"}))).begin()
        servers = [{"name": "evil", "command": "/bin/true", "args": [], "env": []}]
        resumed = {"sessionId": session, "cwd": "/tmp", "mcpServers": servers}
        await reader.call("session/resume", resumed)
        assert stage.hub.sessions[session].setup == {}


async def test_a_key_of_somebody_else_opens_no_session_beyond_ones_roots(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    async with staged({"one": obedient}) as stage:
        owner = await stage.client().begin()
        session = await owner.new("/usr", key="the-key")
        narrow = await stage.client(Grant("narrow", roots=(str(tmp_path / "in"),))).begin()
        inside = {"cwd": str(tmp_path / "in"), "mcpServers": []}
        assert (await narrow.call("session/new", inside, key="the-key"))["sessionId"] != session
        wider = {**inside, "additionalDirectories": ["/usr"]}
        assert (await narrow.refusal("session/new", wider))["code"] == -32003


async def test_watchers_hear_of_sessions_and_questions_that_they_may_see(tmp_path: Path) -> None:
    async with staged({"one": obedient}) as stage:
        owner = await stage.client(**AWARE).begin()
        await owner.call("_dragoman/hub/watch")
        narrow = await stage.client(Grant("narrow", roots=(str(tmp_path),)), **AWARE).begin()
        await narrow.call("_dragoman/hub/watch")
        session = await owner.new("/usr")
        turn = owner.prompt(session, "ask")
        asked = await owner.until(lambda one: one.get("method") == "_dragoman/hub/asked")
        (waiting,) = (await owner.call("_dragoman/hub/inbox"))["requests"]
        assert waiting["request"] == asked["params"]["request"]["request"]
        answer = {"sessionId": session, "request": waiting["request"]}
        result = {"outcome": {"outcome": "selected", "optionId": "allow"}}
        assert "expiresAt" not in waiting, "it waits as long as it takes"
        seen = float(waiting["askedAt"])
        for moment, is_settled in ((seen + 1, False), (seen, True), (seen, False)):
            members = {**answer, "askedAt": moment, "result": result}
            assert await owner.call("_dragoman/hub/answer", members) == {"settled": is_settled}
        await owner.answer(turn)
        assert owner.texts() == ["yes"]
        states = [one["params"]["session"]["state"] for one in owner.heard if "hub/session" in str(one)]
        assert "waiting" in states
        assert (await narrow.call("_dragoman/hub/inbox"))["requests"] == []
        assert "usr" not in str(narrow.heard[2:])


async def test_what_an_agent_says_of_a_session_while_it_is_made_comes_behind_the_answer() -> None:
    """The echo agent tells its commands as soon as it has made a session."""
    from dragoman_app.agents.echo import echo_agent

    async with staged({"one": echo_agent}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        told = await client.until(lambda one: "available_commands_update" in str(one))
        assert told["params"]["sessionId"] == session
        answer = next(one for one in client.heard if "sessionId" in one.get("result", {}))
        assert client.heard.index(answer) < client.heard.index(told)


async def test_closing_a_session_ends_its_turn() -> None:
    gate = Gate()
    async with staged({"one": lambda: obedient(gate)}) as stage:
        client = await stage.client(**AWARE).begin()
        session = await client.new()
        running, waiting = client.prompt(session, "wait"), client.prompt(session, "hello")
        await gate.waiting.wait()
        await client.call("session/close", {"sessionId": session})
        for turn in (running, waiting):
            assert (await client.answer(turn))["result"]["stopReason"] == "cancelled"
        assert gate.prompts == ["wait"]
        assert session not in stage.hub.sessions


async def waiting_in_inbox(client: Talker) -> Any:
    async with deadline(WITHIN):
        while not (found := (await client.call("_dragoman/hub/inbox"))["requests"]):
            pass
    return found[0]


async def test_a_client_that_cannot_answer_does_not_decide_for_those_who_can() -> None:
    async with staged({"one": obedient}) as stage:
        able = await stage.client().begin()
        session = await able.new()
        unable = await stage.client(Grant("unable")).begin()
        await unable.call("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        turn = able.prompt(session, "ask")
        error = {"code": -32601, "message": "Method not found"}
        unable.say({"id": (await unable.asked())["id"], "error": error})
        able.allow(await able.asked())
        await able.answer(turn)
        assert able.texts() == ["yes"]
        await able.transport.aclose()
        heard = len(unable.heard)
        alone = unable.prompt(session, "ask")
        await unable.until(lambda one: "Delete it" in str(one), after=heard)
        waiting = await waiting_in_inbox(unable)
        allowed = {"outcome": {"outcome": "selected", "optionId": "allow"}}
        answer = {"sessionId": session, "request": waiting["request"], "result": allowed}
        assert await unable.call("_dragoman/hub/answer", answer) == {"settled": True}
        await unable.answer(alone)
        assert unable.texts()[-1] == "yes", "also alone, it decides nothing by an error"
        assert not [one for one in unable.heard[heard:] if "permission" in one.get("method", "")]


async def test_a_form_that_no_client_here_can_show_is_cancelled() -> None:
    async with staged({"one": obedient}) as stage:
        plain = await stage.client().begin()
        session = await plain.new()
        await plain.answer(plain.prompt(session, "form"))
        assert plain.texts() == ["cancel"]
        able = await stage.client(Grant("able")).begin(elicitation={"form": {}})
        await able.call("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        turn = plain.prompt(session, "form")
        asked = await able.asked("elicitation/create")
        able.say({"id": asked["id"], "result": {"action": "accept", "content": {"name": "x"}}})
        await plain.answer(turn)
        assert plain.texts()[-1] == "accept"
        assert not [one for one in plain.heard if one.get("method") == "elicitation/create"]


async def test_a_lender_that_does_not_come_back_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("from the disk")
    async with staged({"one": obedient}, lender_grace=0.05) as stage:
        lender = await stage.client().begin(fs={"readTextFile": True})
        session = await lender.new(str(tmp_path))
        lender.prompt(session, f"read {tmp_path}/note.txt")
        await lender.asked("fs/read_text_file")
        await lender.transport.aclose()
        late = await stage.client().begin()
        await late.call("session/load", {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []})
        await late.until(lambda one: "from the disk" in str(one))


async def test_what_a_terminal_of_the_hub_prints_can_be_looked_at(tmp_path: Path) -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client(**AWARE).begin()
        session = await client.new(str(tmp_path))
        prompt = client.prompt(session, "run echo hello")
        client.allow(await client.asked())
        await client.answer(prompt)
        (terminal,) = client.texts()
        told = await client.call("_dragoman/hub/terminal", {"sessionId": session, "terminalId": terminal})
        assert told["output"].strip() == "hello"
        assert told["exitStatus"] == {"exitCode": 0, "signal": None}
        unknown = {"sessionId": session, "terminalId": "another"}
        assert (await client.refusal("_dragoman/hub/terminal", unknown))["code"] == -32002


async def test_an_agent_that_has_lost_a_session_is_told_the_latest_of_what_was_said() -> None:
    gates: list[Gate] = []

    def forgetful() -> Agent:
        gates.append(Gate())
        return obedient(gates[-1])

    async with staged({"one": forgetful}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        await client.answer(client.prompt(session, "an old word"))
        for part in range(8):  # more than fits
            await client.answer(client.prompt(session, f"part {part} " + "x" * BRIEF_BYTES))
        await stage.end_agent("one")
        await client.answer(client.prompt(session, "and now?"))
    (told,) = gates[-1].prompts
    assert told.startswith("This conversation goes on from an earlier one.")
    assert "You worked in this session before" in told
    assert told.endswith("and now?")
    assert told.count("and now?") == 1
    assert "an old word" not in told
    assert "part 7 " in told
    assert BRIEF_BYTES / 2 <= len(told) < BRIEF_BYTES + len("and now?")
