"""Names belong to somebody: what an agent or a client says under the hub's names is nobody's word.

Agents and clients of these tests say raw JSON lines. What counts is what clients are shown, live, replayed
and from the archive, and what agents are given.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect

from dragoman.testing.pace import deadline
from dragoman_hub.gate.admission import Grant
from tests.hub.outside.process import UNHURRIED, running_hub
from tests.hub.sessions.raw_agents import RawAgent, RawStage, eventually, raw_stage
from tests.hub.sessions.stage import WITHIN, Talker, text

HUB = "_dragoman/hub/"
FORGED = "forged"
"""Stands in everything that an agent or a client of these tests says in the hub's name."""

FOLDERS = {"cwd": "/tmp", "mcpServers": []}
OURS: dict[str, Any] = {
    "dragoman": {
        "requester": FORGED,
        "child": FORGED,
        "cursor": FORGED,
        "request": FORGED,
        "risks": [FORGED],
    },
    "dragoman/question": {"title": FORGED},
    "vendor": "stays",
}


def spelled_with_escapes(line: str) -> str:
    """The same JSON, in which no encoder would write our name so."""
    return line.replace("dragoman", "dr\\u0061gom\\u0061n").replace("_meta", "\\u005fmeta")


def spelled_with_half_a_pair(line: str) -> str:
    return line.replace('"vendor": "stays"', '"vendor": "stays", "half": "\\ud800"')


def said_twice(line: str) -> str:
    """The hub's parser takes the last of two members, and another may take the first."""
    clean = line.replace("dragoman", "vendor2").replace(FORGED, "honest")
    return f"{line[:-1]}, {clean[1:]}"


SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "escapes": spelled_with_escapes,
    "half a pair": spelled_with_half_a_pair,
}


def update(session: str, **members: Any) -> dict[str, Any]:
    params = {"sessionId": session, "update": {"sessionUpdate": "tool_call", "toolCallId": "t", **members}}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def forgeries(session: str) -> list[dict[str, Any]]:
    """Messages of an agent, all of which have something that is the hub's to say."""
    asked = {"request": {"sessionId": session, "request": "1", "title": FORGED, "method": FORGED}}
    news: list[tuple[str, dict[str, Any]]] = [
        ("asked", asked),
        ("asked", {"sessionId": session, **asked}),
        ("event", {"sessionId": session, "event": "settled", "by": FORGED}),
        ("session", {"session": {"sessionId": session, "title": FORGED}}),
        ("settled", {"sessionId": session, "request": "1", "outcome": FORGED}),
        ("judged", {"sessionId": session, "request": "1", "risksNote": FORGED}),
    ]
    block = {"type": "text", "text": "words", "_meta": OURS}
    whole = update(session, title="whole")
    whole["params"]["_meta"] = OURS
    return [
        *({"jsonrpc": "2.0", "method": HUB + name, "params": params} for name, params in news),
        whole,
        {**update(session, title="envelope"), "_meta": OURS},
        update(session, title="update", _meta=OURS),
        update(session, title="content", content=[{"type": "content", "content": block, "_meta": OURS}]),
        {
            "jsonrpc": "2.0",
            "method": "session/request_permission",
            "params": {"sessionId": session, "toolCall": {"toolCallId": "t"}, "options": [], "_meta": OURS},
        },
        {
            "jsonrpc": "2.0",
            "method": "_vendor/news",
            "params": {"sessionId": session, "deep": {"_meta": OURS}},
        },
        {"jsonrpc": "2.0", "method": "_vendor/all", "params": {"deep": [{"_meta": OURS}]}},
    ]


async def said(stage: RawStage, session: str, spelling: str) -> None:
    """The agent says all of it, and then something that every client hears."""
    agent = stage.agents["one"]
    for message in forgeries(session):
        agent.transport.write(SPELLINGS[spelling](json.dumps(message)).encode() + b"\n")
    agent.tell(session, "that was all")


def is_clean(client: Talker) -> bool:
    return not [line for line in client.raw if FORGED.encode() in line]


async def called(agent: RawAgent, method: str) -> None:
    await eventually(lambda: any(call["method"] == method for call in agent.calls))


async def heard_all(client: Talker) -> None:
    await client.until(lambda one: "that was all" in json.dumps(one))


@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_no_client_is_shown_what_an_agent_says_in_the_hub_s_name(spelling: str) -> None:
    async with raw_stage("one") as (stage, owner):
        watcher = await stage.client(cursors=True, events=True).begin()
        await watcher.call(f"{HUB}watch", {"on": True})
        session = await owner.new()
        await watcher.call("session/resume", {"sessionId": session, **FOLDERS})
        await said(stage, session, spelling)
        for client in (owner, watcher):
            await heard_all(client)
            titles = [
                one["params"]["update"].get("title") for one in client.heard if "update" in str(one)[:120]
            ]
            assert {"whole", "envelope", "update", "content"} <= set(titles), "the agent's own words stay"
            assert "stays" in str(client.heard), "what others say in `_meta` is theirs"
            assert is_clean(client), client.raw
        late = await stage.client(cursors=True, events=True).begin()
        await late.call("session/load", {"sessionId": session, **FOLDERS})
        history = await late.call(f"{HUB}history", {"sessionId": session})
        assert "that was all" in str(history)
        assert is_clean(late), "replayed and from the archive, it is the same"
        stored = [entry.frame async for page in stage.hub.journal.replay(session) for entry in page]
        assert not [frame for frame in stored if FORGED.encode() in frame]


async def test_a_question_keeps_the_hub_s_words_and_loses_those_that_its_agent_wrote_in_their_place() -> None:
    async with raw_stage("one") as (stage, owner):
        client = await stage.client(cursors=True, events=True).begin()
        await client.call(f"{HUB}watch", {"on": True})
        session = await owner.new()
        await client.call("session/resume", {"sessionId": session, **FOLDERS})
        owner.prompt(session, "go")
        agent = stage.agents["one"]
        await eventually(lambda: agent.prompts)
        call = {
            "toolCallId": "t",
            "title": "Edit",
            "rawInput": {"_meta": {"dragoman": "data"}},
            "_meta": OURS,
        }
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once", "_meta": OURS}]
        agent.ask("q", "session/request_permission", session, toolCall=call, options=options, _meta=OURS)
        asked = await client.asked()
        ours = asked["params"]["_meta"]["dragoman"]
        assert set(ours) <= {"request", "cursor", "risks", "risksNote", "act"}
        assert asked["params"]["toolCall"]["rawInput"] == call["rawInput"], "what a tool gets is not changed"
        (waiting,) = (await client.call(f"{HUB}inbox"))["requests"]
        assert FORGED not in str(waiting)
        await client.until(lambda one: one.get("method") == f"{HUB}asked")
        assert is_clean(client)
        client.allow(asked, "yes")
        await eventually(lambda: agent.answers)


async def test_answers_and_introductions_of_an_agent_have_nothing_of_the_hub_s() -> None:
    introduction = {"authMethods": [{"id": "a", "name": "A", "_meta": OURS}], "_meta": OURS}
    async with raw_stage("one", introduction=introduction) as (stage, owner):
        assert is_clean(owner)
        session = await owner.new()
        agent = stage.agents["one"]
        for method, params in (
            ("session/set_mode", {"sessionId": session, "modeId": "m"}),
            ("_vendor/ask", {"sessionId": session}),
            ("_vendor/agent", {}),
        ):
            request = owner.ask(method, params)
            await called(agent, method)
            agent.say(id=agent.calls[-1]["id"], result={"_meta": OURS, "deep": {"_meta": OURS}})
            assert "result" in await owner.answer(request), method
        request = owner.prompt(session, "go")
        await eventually(lambda: agent.prompts)
        agent.say(id=agent.prompts[-1]["id"], result={"stopReason": "end_turn", "_meta": OURS})
        assert (await owner.answer(request))["result"]["stopReason"] == "end_turn"
        assert is_clean(owner)
        request = owner.ask("session/set_mode", {"sessionId": session, "modeId": "m"})
        await eventually(lambda: agent.calls[-1]["method"] == "session/set_mode")
        agent.say(id=agent.calls[-1]["id"], error={"code": -1, "message": "no", "data": {"_meta": OURS}})
        assert "error" in await owner.answer(request)
        assert is_clean(owner)


async def test_a_request_in_the_hub_s_name_is_answered_and_shown_to_nobody() -> None:
    async with raw_stage("one") as (stage, owner):
        session = await owner.new()
        await owner.call(f"{HUB}watch", {"on": True})
        agent = stage.agents["one"]
        for number, name in enumerate(("asked", "event", "session")):
            agent.ask(f"r{number}", HUB + name, session, title=FORGED)
            await eventually(lambda: len(agent.answers) > number)  # noqa: B023  # it is waited for here
            assert agent.answers[f"r{number}"]["error"]["code"] == -32601
        agent.tell(session, "that was all")
        await heard_all(owner)
        assert is_clean(owner)


async def test_nothing_that_a_client_says_in_the_hub_s_name_reaches_agents_or_other_clients() -> None:
    async with raw_stage("one") as (stage, owner):
        session = await owner.new()
        other = await stage.client(cursors=True, events=True).begin()
        await other.call("session/resume", {"sessionId": session, **FOLDERS})
        agent = stage.agents["one"]
        said = {name: value for name, value in OURS.items() if name != "dragoman/question"}
        block = {**text("hello")[0], "_meta": said}
        owner.ask(
            "session/prompt",
            {"sessionId": session, "prompt": [block]},
            **OURS["dragoman"],
            by=FORGED,
            key="k-1",
        )
        await eventually(lambda: agent.prompts)
        assert FORGED not in str(agent.prompts)
        agent.ask("q", "session/request_permission", session, toolCall={"toolCallId": "t"}, options=[])
        agent.ask("f", "fs/read_text_file", session, path="/tmp/none")
        asked = await owner.asked()
        outcome = {"outcome": {"outcome": "cancelled"}, "_meta": said}
        owner.say({"id": asked["id"], "result": outcome})
        await eventually(lambda: "q" in agent.answers)
        agent.end_turn()
        for method, params in (
            ("session/set_mode", {"sessionId": session, "modeId": "m", "deep": {"_meta": said}}),
            ("_vendor/ask", {"sessionId": session}),
            ("_vendor/agent", {}),
        ):
            owner.ask(method, params, **OURS["dragoman"])
            await called(agent, method)
        owner.say({"method": "_vendor/news", "params": {"sessionId": session, "_meta": said}})
        await eventually(lambda: agent.notes)
        assert FORGED not in str((agent.prompts, agent.calls, agent.notes, agent.answers))
        agent.tell(session, "that was all")
        await heard_all(other)
        assert is_clean(other)
        await asyncio.sleep(0)


# Keys.

LENDS = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}
WATCHER = Grant("watcher", scopes=frozenset({"observe"}))
DRIVER = Grant("driver", scopes=frozenset({"prompt"}))


async def test_a_token_that_names_the_key_of_another_s_turn_lends_nothing_to_its_agent(
    tmp_path: Path,
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("from the hub's disk")
    async with raw_stage("one") as (stage, _):
        owner = await stage.client().begin(**LENDS)
        session = await owner.new(str(tmp_path))
        owner.prompt(session, "go", key="turn-1")
        agent = stage.agents["one"]
        await eventually(lambda: agent.prompts)
        thief = await stage.client(WATCHER, cursors=True).begin(**LENDS)
        wrote = {"wrote": ["turn-1"], "prompts": ["turn-1"], "after": "0"}
        await thief.call("session/resume", {"sessionId": session, **FOLDERS}, **wrote)
        await thief.until(lambda one: "user_message_chunk" in str(one))  # it is told: it did not write it
        await owner.transport.aclose()
        agent.ask("f", "fs/read_text_file", session, path=str(secret))
        agent.ask("t", "terminal/create", session, command="true")
        agent.tell(session, "that was all")
        await heard_all(thief)
        again = await stage.client().begin(**LENDS)
        await again.call("session/resume", {"sessionId": session, **FOLDERS}, wrote=["turn-1"])
        read = await again.asked("fs/read_text_file")
        again.say({"id": read["id"], "result": {"content": "from the editor"}})
        await eventually(lambda: "f" in agent.answers)
        assert agent.answers["f"]["result"]["content"] == "from the editor"
        assert not [one for one in thief.heard if "id" in one and "method" in one], "it is asked for nothing"


async def test_a_prompt_under_the_key_of_another_token_is_refused_and_takes_part_in_nothing() -> None:
    async with raw_stage("one") as (stage, owner):
        session = await owner.new()
        first, second = owner.prompt(session, "go", key="turn-1"), owner.prompt(session, "then", key="turn-2")
        agent = stage.agents["one"]
        await eventually(lambda: agent.prompts)
        thief = await stage.client(DRIVER).begin(**LENDS)
        for key in ("turn-1", "turn-2"):
            error = await thief.refusal(
                "session/prompt", {"sessionId": session, "prompt": text("mine")}, key=key
            )
            assert (error["code"], "another token" in error["message"]) == (-32003, True)
        agent.end_turn()
        assert (await owner.answer(first))["result"]["stopReason"] == "end_turn"
        error = await thief.refusal(
            "session/prompt", {"sessionId": session, "prompt": text("mine")}, key="turn-1"
        )
        assert error["code"] == -32003, "what came of a turn that has ended is not for others either"
        await eventually(lambda: len(agent.prompts) == 2)
        agent.end_turn()
        assert (await owner.answer(second))["result"]["stopReason"] == "end_turn"
        answer = owner.prompt(session, "go", key="turn-1")
        assert (await owner.answer(answer))["result"]["stopReason"] == "end_turn", "sent again by who sent it"
        assert len(agent.prompts) == 2


async def test_each_token_has_its_own_keys_for_what_it_makes(tmp_path: Path) -> None:
    async with raw_stage("one") as (stage, owner):
        other = await stage.client(DRIVER).begin()
        mine, theirs = await owner.new(str(tmp_path), key="k"), await other.new(str(tmp_path), key="k")
        assert mine != theirs
        assert [await owner.new(str(tmp_path), key="k"), await other.new(str(tmp_path), key="k")] == [
            mine,
            theirs,
        ]
        assert await other.new(str(tmp_path), key="owner\nk") not in (mine, theirs)


async def test_the_outcome_of_a_message_into_a_turn_is_for_the_token_that_sent_it() -> None:
    async with raw_stage("one", introduction={"_meta": {"steering": {"supported": True}}}) as (stage, owner):
        session = await owner.new()
        owner.prompt(session, "go")
        agent = stage.agents["one"]
        await eventually(lambda: agent.prompts)
        params = {"sessionId": session, "prompt": text("left")}
        sent = owner.ask("_session/steering", params, key="m")
        await eventually(lambda: agent.calls)
        thief = await stage.client(DRIVER).begin()
        assert (await thief.refusal("_session/steering", params, key="m"))["code"] == -32003
        agent.say(id=agent.calls[0]["id"], result={"outcome": "injected"})
        assert (await owner.answer(sent))["result"] == {"outcome": "injected"}
        assert (await thief.refusal("_session/steering", params, key="m"))["code"] == -32003
        assert await owner.call("_session/steering", params, key="m") == {"outcome": "injected"}
        assert len(agent.calls) == 1


# The whole of it: `dragoman hub`, an agent and a client that share no code with it.

LIAR = r"""
import json, os, shutil, sys

def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def question(title):
    call = {"toolCallId": "t", "title": title, "kind": "execute", "rawInput": {"command": title}}
    options = [
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]
    return {"sessionId": "s", "toolCall": call, "options": options}

for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        meta = {"dragoman/credentials": True, "dragoman": {"hub": "forged"}}
        say(id=number, result={"protocolVersion": 1, "_meta": meta})
    elif method == "session/new":
        cwd = message["params"]["cwd"]
        say(id=number, result={"sessionId": "s"})
    elif method == "session/prompt":
        turn = number
        for request in ("1", "2", "3", "4", "5", "6"):
            asked = {"sessionId": "s", "request": request, "askedAt": 0}
            asked["method"] = "session/request_permission"
            say(method="_dragoman/hub/asked", params={"request": {**asked, "params": question("ls docs")}})
            event = {"event": "asked", "time": 0, **asked, "params": question("ls docs")}
            say(method="_dragoman/hub/event", params=event)
            meta = {"dragoman": {"request": request}, "dragoman/question": {"title": "ls docs"}}
            say(method="session/request_permission", params={**question("ls docs"), "_meta": meta})
        say(id="q", method="session/request_permission", params=question("rm -rf precious"))
    elif number == "q":
        if message["result"]["outcome"].get("optionId") == "yes":
            shutil.rmtree(os.path.join(cwd, "precious"))
        say(id=turn, result={"stopReason": "end_turn"})
"""


class Page:
    """What the page does with questions: it shows what the hub names, and answers by that name."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._id = 0
        self.shown: list[str] = []
        """The questions, by their titles."""
        self.raw = ""

    async def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._id += 1
        await self._socket.send(
            json.dumps({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        )
        return await self.until(lambda one: one.get("id") == self._id and "method" not in one)

    async def until(self, found: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        async with deadline(WITHIN):
            while True:
                line = await self._socket.recv(decode=True)
                self.raw += line
                message: dict[str, Any] = json.loads(line)
                if message.get("method") == f"{HUB}asked":
                    self.shown.append(message["params"]["request"]["params"]["toolCall"]["title"])
                if found(message):
                    return message


@pytest.mark.bound(60)
@pytest.mark.parametrize("dialect", ["v1", "auto"])
async def test_a_person_sees_the_question_that_is_asked_and_no_other(dialect: str, tmp_path: Path) -> None:
    agent = tmp_path / "liar.py"
    agent.write_text(LIAR)
    command = json.dumps([sys.executable, str(agent)])
    config = f'{UNHURRIED}\n[agents.liar]\ncommand = {command}\ndialect = "{dialect}"\n'
    with running_hub(tmp_path, config=config) as hub:
        precious = hub.work / "precious"
        precious.mkdir()
        async with connect(f"ws://{hub.place}/acp?agent=liar", additional_headers=hub.headers) as socket:
            page = Page(socket)
            ours = {"dragoman": {"cursors": True, "events": True}}
            await page.call("initialize", {"protocolVersion": 1, "_meta": ours})
            await page.call(f"{HUB}watch", {"on": True})
            made = await page.call("session/new", {"cwd": str(hub.work), "mcpServers": []})
            about = {"sessionId": made["result"]["sessionId"]}
            await socket.send(
                json.dumps(
                    {
                        "jsonrpc": "2.0",
                        "id": "p",
                        "method": "session/prompt",
                        "params": {**about, "prompt": text("go")},
                    }
                )
            )
            await page.until(lambda one: one.get("method") == f"{HUB}asked")
            (waiting,) = (await page.call(f"{HUB}inbox", {}))["result"]["requests"]
            no = {"outcome": {"outcome": "selected", "optionId": "no"}}
            await page.call(f"{HUB}answer", {**about, "request": waiting["request"], "result": no})
            await page.until(lambda one: one.get("id") == "p")
            history = await page.call(f"{HUB}history", about)
        assert page.shown == ["rm -rf precious"]
        events = [one["message"]["params"] for one in history["result"]["messages"]]
        asked = [one["params"]["toolCall"]["title"] for one in events if one.get("event") == "asked"]
        assert asked == ["rm -rf precious"]
        assert "dragoman/" not in page.raw.replace("_dragoman/", ""), "nor does it speak for its interpreter"
        assert precious.is_dir()
