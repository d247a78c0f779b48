"""Child sessions: an agent works in a session of its own making, and people see it and answer for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman.dialect import EdgeSettings, Ledger
from dragoman.sdk.interpreter.dialect_transport import speaking
from dragoman.transport.memory import memory_pair
from dragoman_hub.engine import child_sessions
from dragoman_hub.gate.admission import Grant
from dragoman_hub.session.state import CHILDREN, SessionState, fold, new_state
from dragoman_local.journal.memory import MemoryJournal
from tests.hub.sessions.raw_agents import RawAgent, RawStage, eventually, raw_stage
from tests.hub.sessions.stage import Talker

OPTIONS = [
    {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
    {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
]
ALLOWED = {"outcome": {"outcome": "selected", "optionId": "allow"}}
CANCELLED = {"outcome": {"outcome": "cancelled"}}


def client_of(stage: RawStage, **ours: Any) -> Talker:
    here, there = memory_pair()
    talker = Talker(here, **ours)
    stage.hub.accept(there, Grant("owner"))
    return talker


def announce(agent: RawAgent, parent: str, child: str, **members: Any) -> None:
    update = {"sessionUpdate": "subagent_update", "sessionId": child, **members}
    agent.say(method="session/update", params={"sessionId": parent, "update": update})


def ask(agent: RawAgent, request: str, session: str) -> None:
    agent.ask(
        request,
        "session/request_permission",
        session,
        toolCall={"toolCallId": "t", "title": "Delete it", "kind": "delete"},
        options=OPTIONS,
    )


class Family:
    """A hub, an agent with a turn, and the client whose turn it is."""

    def __init__(self, stage: RawStage, client: Talker, session: str, prompt: int) -> None:
        self.stage = stage
        self.hub = stage.hub
        self.agent = stage.agents["one"]
        self.client = client
        self.session = session
        self.prompt = prompt

    def state(self, session: str) -> SessionState:
        return self.hub.sessions[session].state

    async def made(self, *names: str) -> None:
        await eventually(lambda: all(name in self.hub.sessions for name in names))


@asynccontextmanager
async def family(cwd: Path, *, subagents: bool = True, **ours: Any) -> AsyncIterator[Family]:
    async with raw_stage("one") as (stage, _):
        capabilities: dict[str, Any] = {"subagents": {}} if subagents else {}
        client = await client_of(stage, **ours).begin(**capabilities)
        session = await client.new(str(cwd))
        prompt = client.prompt(session, "work")
        await eventually(lambda: stage.agents["one"].prompts)
        yield Family(stage, client, session, prompt)


def of(client: Talker, session: str) -> list[str]:
    return client.texts(session=session)


async def test_an_announced_child_is_a_session_of_its_own_that_the_client_sees(tmp_path: Path) -> None:
    async with family(tmp_path) as home:
        announce(home.agent, home.session, "kid", title="Look around", state={"state": "running"})
        for number in range(3):
            home.agent.tell("kid", f"{number}")
        await eventually(lambda: of(home.client, "kid") == ["0", "1", "2"])
        subjects = [
            (one["params"]["sessionId"], one["params"]["update"]["sessionUpdate"])
            for one in home.client.heard
            if one.get("method") == "session/update"
        ]
        assert subjects[:2] == [(home.session, "subagent_update"), ("kid", "agent_message_chunk")]
        kid = home.state("kid")
        assert (kid.parent, kid.cwd, kid.agent, kid.title) == (
            home.session,
            str(tmp_path),
            "one",
            "Look around",
        )
        listed = (await home.client.call("_dragoman/hub/sessions"))["sessions"]
        assert {one["sessionId"]: one.get("parent") for one in listed} == {
            home.session: None,
            "kid": home.session,
        }
        assert [one["sessionId"] for one in (await home.client.call("session/list"))["sessions"]] == [
            home.session
        ]
        announce(home.agent, home.session, "kid", title="Found it")
        await eventually(lambda: home.state("kid").title == "Found it")


async def test_a_session_that_nobody_announced_is_no_child(tmp_path: Path) -> None:
    async with family(tmp_path) as home:
        other = await home.client.new(str(tmp_path))
        home.client.prompt(other, "work too")
        await eventually(lambda: len(home.agent.prompts) == 2)
        ask(home.agent, "r", "stray")
        await eventually(lambda: "r" in home.agent.answers)
        assert home.agent.answers["r"]["error"]["code"] == -32601
        assert "stray" not in home.hub.sessions
        announce(home.agent, other, "stray")
        await home.made("stray")
        assert home.state("stray").parent == other, "an announcement decides it"


@pytest.mark.parametrize("is_known", [False, True])
async def test_late_words_of_a_deleted_session_are_not_heard_in_the_turn_of_another(
    is_known: bool, tmp_path: Path
) -> None:
    """Also if it was deleted under an earlier hub: this one does not know the id."""
    async with family(tmp_path) as home:
        gone = "deleted-before"
        if is_known:
            gone = await home.client.new(str(tmp_path))
            await home.client.call("session/delete", {"sessionId": gone})
        home.agent.tell(gone, "a secret of somebody else")
        ask(home.agent, "r", gone)
        await eventually(lambda: "r" in home.agent.answers)
        assert home.agent.answers["r"]["error"]["code"] == -32601
        assert list(home.hub.sessions) == [home.session]
        assert not home.state(home.session).children


async def test_three_levels_and_five_children_at_once(tmp_path: Path) -> None:
    async with family(tmp_path) as home:
        names = [f"kid-{number}" for number in range(5)]
        for name in names:
            announce(home.agent, home.session, name)
        for count in range(20):
            for name in names:
                home.agent.tell(name, str(count))
        announce(home.agent, "kid-0", "grandkid")
        home.agent.tell("grandkid", "second")
        announce(home.agent, "grandkid", "great-grandkid")
        home.agent.tell("great-grandkid", "third")
        await eventually(lambda: of(home.client, "great-grandkid") == ["third"])
        await eventually(lambda: all(len(of(home.client, name)) == 20 for name in names))
        for name in names:
            assert of(home.client, name) == [str(count) for count in range(20)]
        assert home.state("great-grandkid").parent == "grandkid"
        assert home.state("grandkid").parent == "kid-0"
        assert home.hub.sessions["great-grandkid"].root.id == home.session


@pytest.mark.parametrize("knows", [True, False])
async def test_a_child_s_question_reaches_whoever_may_answer_in_the_parent(
    knows: bool, tmp_path: Path
) -> None:
    async with family(tmp_path, subagents=knows) as home:
        announce(home.agent, home.session, "kid")
        announce(home.agent, "kid", "grandkid")
        home.agent.tell("grandkid", "may I?")
        ask(home.agent, "r", "grandkid")
        asked = await home.client.asked()
        if knows:
            assert asked["params"]["sessionId"] == "grandkid"
            assert of(home.client, "grandkid") == ["may I?"]
        else:
            assert asked["params"]["sessionId"] == home.session, "it knows no other session"
            requester = "grandkid, for kid, for main session"
            assert asked["params"]["_meta"]["dragoman"] == {"child": "grandkid", "requester": requester}
            assert asked["params"]["toolCall"]["title"] == "grandkid, for kid: Delete it"
            assert of(home.client, "grandkid") == [], "what it did not ask for is not told"
        inbox = (await home.client.call("_dragoman/hub/inbox"))["requests"]
        assert [(one["sessionId"], one["parent"]) for one in inbox] == [("grandkid", "kid")]
        home.client.allow(asked)
        await eventually(lambda: home.agent.answers.get("r"))
        assert home.agent.answers["r"]["result"] == ALLOWED


async def test_a_client_of_events_hears_of_the_child_and_is_asked_in_the_parent_s_name(
    tmp_path: Path,
) -> None:
    async with family(tmp_path, subagents=False, events=True, cursors=True) as home:
        announce(home.agent, home.session, "kid")
        home.agent.tell("kid", "hello")
        ask(home.agent, "r", "kid")
        asked = await home.client.asked()
        (event,) = home.client.events("child")
        assert isinstance(event.pop("time"), float)
        assert event.pop("_meta")["dragoman"]["cursor"]
        assert event == {"sessionId": home.session, "event": "child", "child": "kid"}
        assert of(home.client, "kid") == ["hello"]
        assert asked["params"]["sessionId"] == home.session
        ours = asked["params"]["_meta"]["dragoman"]
        assert ours["child"] == "kid"
        assert "cursor" not in ours, "it would be taken for one of the parent's stream"
        other = await client_of(home.stage).begin()
        await other.call("session/resume", {"sessionId": home.session, "cwd": str(tmp_path)})
        asked_too = await other.asked()
        assert asked_too["params"]["sessionId"] == home.session
        other.allow(asked_too)
        withdrawal = await home.client.until(lambda one: one.get("method") == "$/cancel_request")
        assert "_meta" not in withdrawal["params"], "a cursor of the child would be taken for the parent's"
        assert home.agent.answers["r"]["result"] == ALLOWED


async def test_a_child_is_busy_until_the_agent_has_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A hub that is killed before leaves the answer to the next one, which opens busy sessions alone.
    async with family(tmp_path) as home:
        announce(home.agent, home.session, "kid")
        ask(home.agent, "r", "kid")
        asked = await home.client.asked()
        kid = home.hub.sessions["kid"]
        assert kid.process is not None
        taken_event = asyncio.Event()
        monkeypatch.setattr(kid.process, "has_unheard", lambda stream: not taken_event.is_set())
        monkeypatch.setattr(kid.process, "wait_until_taken", lambda stream: taken_event.wait())
        home.client.allow(asked)
        await eventually(lambda: home.agent.answers.get("r"))
        await home.client.call("_dragoman/hub/inbox")
        assert kid.state.is_calm
        assert kid.listed_state in ("running", "waiting"), "listings say what the next hub looks for"
        taken_event.set()
        await eventually(lambda: kid.listed_state == "idle")


async def test_a_v1_client_is_asked_by_the_name_of_a_child_that_it_has_loaded(tmp_path: Path) -> None:
    async with family(tmp_path, subagents=False) as home:
        announce(home.agent, home.session, "kid")
        home.agent.tell("kid", "hello")
        await home.made("kid")
        await home.client.call("session/load", {"sessionId": "kid", "cwd": str(tmp_path), "mcpServers": []})
        await eventually(lambda: of(home.client, "kid") == ["hello"])  # by the load, or behind it
        ask(home.agent, "r", "kid")
        assert (await home.client.asked())["params"]["sessionId"] == "kid"


async def test_replay_of_a_child_is_what_was_told_live(tmp_path: Path) -> None:
    async with family(tmp_path) as home:
        announce(home.agent, home.session, "kid")
        for number in range(50):
            home.agent.tell("kid", str(number))
        await eventually(lambda: len(of(home.client, "kid")) == 50)
        home.agent.end_turn()
        await home.client.answer(home.prompt)
        late = await client_of(home.stage).begin(subagents={})
        await late.call("session/load", {"sessionId": home.session, "cwd": str(tmp_path), "mcpServers": []})
        await eventually(lambda: len(of(late, "kid")) == 50)

        def told(client: Talker) -> list[bytes]:
            return [raw for raw in client.raw if b'"sessionId":"kid"' in raw and b"chunk" in raw]

        assert told(late) == told(home.client)


async def test_files_of_a_child_are_lent_in_the_parent_s_folders(tmp_path: Path) -> None:
    async with family(tmp_path) as home:
        (tmp_path / "here.txt").write_text("here")
        announce(home.agent, home.session, "kid", cwd="/", additionalDirectories=["/etc"])
        home.agent.ask("in", "fs/read_text_file", "kid", path=str(tmp_path / "here.txt"))
        home.agent.ask("out", "fs/read_text_file", "kid", path="/etc/hostname")
        await eventually(lambda: {"in", "out"} <= home.agent.answers.keys())
        assert home.agent.answers["in"]["result"]["content"] == "here"
        assert "error" in home.agent.answers["out"], "an agent does not widen its own folders"


async def test_a_client_that_lends_its_files_lends_them_to_children_under_the_name_it_knows(
    tmp_path: Path,
) -> None:
    async with raw_stage("one") as (stage, _):
        client = await client_of(stage).begin(fs={"readTextFile": True})
        session = await client.new(str(tmp_path))
        client.prompt(session, "work")
        agent = stage.agents["one"]
        await eventually(lambda: agent.prompts)
        announce(agent, session, "kid")
        agent.ask("r", "fs/read_text_file", "kid", path=str(tmp_path / "unsaved.txt"))
        asked = await client.asked("fs/read_text_file")
        assert asked["params"]["sessionId"] == session
        client.say({"id": asked["id"], "result": {"content": "unsaved"}})
        await eventually(lambda: "r" in agent.answers)
        assert agent.answers["r"]["result"] == {"content": "unsaved"}


async def test_a_child_takes_no_prompt_and_is_cancelled_only_if_it_can_be(tmp_path: Path) -> None:
    async with family(tmp_path) as home:
        announce(home.agent, home.session, "kid")
        await home.made("kid")
        home.agent.tell("kid", "hello")
        await eventually(lambda: of(home.client, "kid"))
        prompt = {"sessionId": "kid", "prompt": [{"type": "text", "text": "and you?"}]}
        refusal = await home.client.refusal("session/prompt", prompt)
        assert refusal["code"] == -32600
        assert home.session in refusal["message"]
        mode = {"sessionId": "kid", "modeId": "plan"}
        assert (await home.client.refusal("session/set_mode", mode))["code"] == -32600
        home.client.say({"method": "session/cancel", "params": {"sessionId": "kid"}})
        announce(home.agent, home.session, "kid", capabilities={"cancel": {}})
        ask(home.agent, "r", "kid")
        await home.client.asked()
        assert home.agent.notes == [], "it was not said to be possible"
        home.client.say({"method": "session/cancel", "params": {"sessionId": "kid"}})
        await eventually(lambda: "r" in home.agent.answers)
        assert home.agent.answers["r"]["result"] == CANCELLED
        assert [note["params"]["sessionId"] for note in home.agent.notes] == ["kid"]


async def test_a_child_s_requests_end_with_the_parent_s_turn(tmp_path: Path) -> None:
    async with family(tmp_path) as home:
        announce(home.agent, home.session, "kid")
        announce(home.agent, "kid", "grandkid")
        ask(home.agent, "r", "grandkid")
        await home.client.asked()
        home.client.say({"method": "session/cancel", "params": {"sessionId": home.session}})
        await eventually(lambda: "r" in home.agent.answers)
        assert home.agent.answers["r"]["result"] == CANCELLED
        ask(home.agent, "s", "kid")
        await eventually(lambda: home.state("kid").questions)
        home.agent.end_turn()
        await eventually(lambda: "s" in home.agent.answers)
        assert home.agent.answers["s"]["result"] == CANCELLED


async def test_a_child_that_goes_on_without_the_turn_keeps_its_question(tmp_path: Path) -> None:
    async with family(tmp_path) as home:
        announce(home.agent, home.session, "kid", state={"state": "requires_action"})
        ask(home.agent, "r", "kid")
        asked = await home.client.asked()
        home.agent.end_turn()
        await home.client.answer(home.prompt)
        assert home.state("kid").requests
        home.client.allow(asked)
        await eventually(lambda: "r" in home.agent.answers)
        assert home.agent.answers["r"]["result"] == ALLOWED


@pytest.mark.parametrize("method", ["session/close", "session/delete"])
async def test_children_end_with_their_parent(method: str, tmp_path: Path) -> None:
    async with family(tmp_path) as home:
        announce(home.agent, home.session, "kid")
        announce(home.agent, "kid", "grandkid")
        ask(home.agent, "r", "grandkid")
        await home.client.asked()
        home.agent.end_turn()
        await home.client.answer(home.prompt)
        await home.client.call(method, {"sessionId": home.session})
        assert home.hub.sessions == {}
        assert home.agent.answers["r"]["result"] == CANCELLED
        streams = {one.stream: one.state for one in (await home.hub.journal.list()).streams}
        names = [] if method == "session/delete" else [home.session, "kid", "grandkid"]
        assert dict.fromkeys(names, "closed") == streams
        home.agent.tell("kid", "one more thing")
        ask(home.agent, "s", "kid")
        await eventually(lambda: "s" in home.agent.answers)
        assert home.agent.answers["s"]["error"]["code"] == -32601, "nobody hears it any more"


async def test_a_hostile_agent_makes_a_bounded_number_of_children(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with family(tmp_path) as home:
        for number in range(2_000):
            home.agent.tell(f"kid-{number}", "hello")
        home.agent.tell(home.session, "done")
        await eventually(lambda: of(home.client, home.session) == ["done"])
        assert len(home.hub.sessions) == 1
        for number in range(2_000):
            announce(home.agent, home.session, f"late-{number}")
        home.agent.end_turn()
        await home.client.answer(home.prompt)
        assert len(home.state(home.session).children) == CHILDREN
        assert len(home.hub.sessions) == CHILDREN + 1
        assert len((await home.hub.journal.list(limit=200)).streams) == CHILDREN + 1
        warned = [one for one in caplog.records if "the others are not shown" in one.message]
        assert len(warned) == 1


async def test_a_chain_of_children_is_bounded(tmp_path: Path) -> None:
    async with family(tmp_path) as home:
        parent = home.session
        for level in range(child_sessions.DEPTH + 3):
            announce(home.agent, parent, f"level-{level}")
            if level < child_sessions.DEPTH:
                await home.made(f"level-{level}")
            parent = f"level-{level}"
        home.agent.end_turn()
        await home.client.answer(home.prompt)
        assert len(home.hub.sessions) <= child_sessions.DEPTH + 1


async def test_a_quiet_child_rests_and_comes_back_when_its_agent_speaks_of_it(tmp_path: Path) -> None:
    async with family(tmp_path) as home:
        announce(home.agent, home.session, "kid")
        home.agent.tell("kid", "one")
        await eventually(lambda: of(home.client, "kid") == ["one"])
        home.agent.end_turn()
        await home.client.answer(home.prompt)
        home.hub.sessions["kid"].used = -1000.0
        home.hub.children.rest_unused(seconds=1.0)
        await eventually(lambda: "kid" not in home.hub.sessions)
        home.agent.tell("kid", "two")
        await eventually(lambda: of(home.client, "kid") == ["one", "two"])
        home.client.prompt(home.session, "more")
        await eventually(lambda: len(home.agent.prompts) == 2)
        home.agent.tell("kid", "three")
        await eventually(lambda: of(home.client, "kid") == ["one", "two", "three"])


async def test_the_fold_of_a_child_s_stream_is_its_state(tmp_path: Path) -> None:
    journal = MemoryJournal()
    async with raw_stage("one", journal=journal) as (stage, client):
        session = await client.new(str(tmp_path))
        client.prompt(session, "work")
        agent = stage.agents["one"]
        await eventually(lambda: agent.prompts)
        announce(agent, session, "kid", title="T", capabilities={"cancel": {}}, state={"state": "running"})
        announce(agent, session, "kid", title=None, state={"state": "idle"})
        agent.tell("kid", "x")
        await eventually(lambda: "kid" in stage.hub.sessions)
        await eventually(lambda: stage.hub.sessions[session].state.child("kid").id)
        await eventually(lambda: all(one.log.last == one.state.last for one in stage.hub.sessions.values()))
        for name in (session, "kid"):
            state = new_state(name)
            async for page in journal.replay(name):
                state = fold(state, page)
            live = stage.hub.sessions[name].state
            assert (state.parent, state.children, state.title) == (live.parent, live.children, live.title)
        child = stage.hub.sessions[session].state.children["kid"]
        assert (child.title, child.can_cancel, child.is_running) == ("", True, False)


async def test_a_v2_client_sees_a_child_and_answers_for_it(tmp_path: Path) -> None:
    async with raw_stage("one") as (stage, _):
        here, there = memory_pair()
        spoken = speaking("v2", there, position="client", settings=EdgeSettings(cwd="/tmp"), ledger=Ledger())
        client = Talker(here)
        stage.hub.accept(spoken, Grant("owner"))
        info = {"name": "c", "version": "1"}
        await client.call("initialize", {"protocolVersion": 2, "capabilities": {}, "info": info})
        session = await client.new(str(tmp_path))
        client.prompt(session, "work")
        agent = stage.agents["one"]
        await eventually(lambda: agent.prompts)
        announce(agent, session, "kid", title="Look", state={"state": "running"})
        agent.tell("kid", "hello")
        ask(agent, "r", "kid")
        asked = await client.asked()
        assert asked["params"]["sessionId"] == "kid"
        assert of(client, "kid") == ["hello"]
        assert not [
            one
            for one in client.heard
            if one.get("method") == "session/update"
            and one["params"]["sessionId"] == "kid"
            and one["params"]["update"]["sessionUpdate"] == "state_update"
        ], "its parent says how it stands"
        client.allow(asked)
        await eventually(lambda: "r" in agent.answers)
        assert agent.answers["r"]["result"] == ALLOWED
