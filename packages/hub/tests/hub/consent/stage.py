"""A hub in a process of its own, an agent for each edge, and one row of the table played with them.

The person answers only what shows exactly the act of the row, and says no to everything else. What happened
is read from the disk: an agent keeps what it caused in `done/MARK` beside its folder.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal

from dragoman.errors import LinkClosed
from dragoman.testing.pace import deadline
from dragoman_hub.gate.grants_store import TokenStore
from tests.hub.consent.puppet import INITIAL, tool_call
from tests.hub.consent.table import (
    ALLOW_RULE,
    ALWAYS,
    ARGUMENTS,
    ASKED_AGAIN,
    DELETE,
    DENY_RULE,
    EDGES,
    FOLDER,
    KILL_AT_QUESTION,
    KILL_BEFORE_ACT,
    KILLS,
    NARROW_TOKEN,
    NEXT_TURN,
    NOBODY,
    ONCE,
    OWN,
    PATH,
    READ,
    READ_OUTSIDE,
    RECONNECT,
    REJECT,
    SECOND_CLIENT,
    SHOWN,
    TEXT,
    Row,
    expected_marks,
    narrow_holder,
)
from tests.hub.outside.process import ROOT, UNHURRIED, HubProcess, leave
from tests.hub.sessions.stage import WITHIN, Talker

PUPPET: Final = Path(__file__).with_name("puppet.py")

AT_ONCE: Final = 8
"""Rows side by side: they mostly wait for processes."""

AT_ONE_KILL: Final = 40
"""Rows that wait for the same kill."""

Act = dict[str, Any]
Message = dict[str, Any]

KINDS: Final = {ONCE: "allow_once", ALWAYS: "allow_always", REJECT: "reject_once"}

RULES: Final = """
[[rule]]
decision = "{decision}"
kind = ["edit", "read"]
path = [
    "{work}/{decision}/*/here/made.txt",
    "{work}/{decision}/*/here/secret.txt",
    "{work}/{decision}/*/key.txt",
]

[[rule]]
decision = "{decision}"
project = "{work}/{decision}/**"
folder = "{work}/{decision}/*/here"
command = ["touch made", "touch own.txt"]
"""

ASK_READS: Final = '\n[[rule]]\ndecision = "ask"\nmethod = "fs/read"\n'


class ConsentHub:
    """A hub that may be killed, and the tokens for it."""

    def __init__(self, folder: Path) -> None:
        python = sys.executable
        commands = {edge: [python, "-I", "-S", str(PUPPET), edge] for edge in EDGES}
        commands["official"] = [python, "-m", "tests.hub.consent.official_agent"]
        dialects = {**{edge: edge for edge in EDGES}, "child": "v1", "official": "v1"}
        agents = "".join(
            f"\n[agents.{edge}]\ncommand = {json.dumps(commands[edge])}\n"
            f'dialect = "{dialects[edge]}"\ncwd = "{ROOT}"\nsessions = 1000\n'
            for edge in EDGES
        )
        policy = folder / "policy.toml"
        config = f'durability = "off"\n{UNHURRIED}\n[approvals]\npolicy = "{policy}"\n{agents}'
        self.process = HubProcess(folder, config=config)
        self.work = self.process.work.resolve()
        rules = (RULES.format(decision=decision, work=self.work) for decision in ("allow", "deny"))
        policy.write_text("".join(rules) + ASK_READS)
        self.remembered = folder / "config" / "dragoman" / "remembered.toml"
        self.process.data.mkdir(parents=True)
        store = TokenStore(self.process.data / "tokens.json")
        self.process.token = store.add("owner")
        self.tokens = {
            "observer": store.add("observer", scopes=["observe"]),
            "approver": store.add("approver", scopes=["approve"]),
            "stranger": store.add("stranger", roots=[str(folder / "elsewhere")]),
        }

    def play(self, rows: list[Row]) -> list[str]:
        """What is wrong, row by row. A kill is for all rows that wait for one."""
        return asyncio.run(self._play(rows))

    async def _play(self, rows: list[Row]) -> list[str]:
        plays = [RowPlay(self, row, number) for number, row in enumerate(rows)]
        for first in range(0, len(plays), AT_ONE_KILL):
            batch = plays[first : first + AT_ONE_KILL]
            await self._advance([play.run_to_kill for play in batch])
            waiting = [play for play in batch if play.waits_for_kill]
            if waiting:
                await asyncio.to_thread(self.process.kill)
                await asyncio.to_thread(self.process.start)
                await self._advance([play.run_to_end for play in waiting])
        return [fault for play in plays for fault in play.faults()]

    async def _advance(self, parts: Sequence[Callable[[], Awaitable[None]]]) -> None:
        free = asyncio.Semaphore(AT_ONCE)

        async def run(part: Callable[[], Awaitable[None]]) -> None:
            async with free:
                await part()

        async with asyncio.TaskGroup() as group:
            for part in parts:
                group.create_task(run(part))


@contextmanager
def consent_hub(folder: Path) -> Iterator[ConsentHub]:
    hub = ConsentHub(folder)
    hub.process.start()
    try:
        yield hub
    finally:
        if hub.process.process is not None:
            hub.process.stop()


class RowPlay:
    """One row: its folder, its clients, and the person."""

    def __init__(self, hub: ConsentHub, row: Row, number: int) -> None:
        self._hub = hub
        self._row = row
        rule = {ALLOW_RULE: "allow", DENY_RULE: "deny"}.get(row.answer, "asked")
        self._base = hub.work / rule / f"row-{number}"
        self._here = self._base / "here"
        self._make_folder()
        self._pipe = self._base / "pipe"
        os.mkfifo(self._pipe)
        self._client: Talker
        self._clients: list[Talker] = []
        self._session = ""
        self._place = 0
        """How much the person has read of what the client heard."""
        self._has_answered = False
        self._is_killed = False
        self._turns = self._plan()
        self._story: list[str] = []
        self._error: BaseException | None = None

    # What the row is about.

    def _make_folder(self) -> None:
        (self._here / "sub").mkdir(parents=True)
        for name in ("secret.txt", "other.txt", "sub/secret.txt"):
            (self._here / name).write_text(f"{name}\n")
        (self._base / "key.txt").write_text("key\n")
        (self._here / "link.txt").symlink_to("../key.txt")
        program = self._here / "touch"
        program.write_text('#!/bin/sh\n: > "$1"\n')
        program.chmod(0o755)

    def _original(self) -> Act:
        here = self._here
        match self._row.act:
            case "run shown":
                return {"run": ["touch", "made"], "cwd": str(here), "env": {}}
            case "own":
                return {"own": "touch own.txt", "cwd": str(here)}
            case "read":
                return {"read": str(here / "secret.txt")}
            case "read outside":
                return {"read": str(self._base / "key.txt")}
        return {"write": str(here / "made.txt"), "text": "right\n"}

    def _act(self) -> Act:
        """What is done in the end."""
        act, here = self._original(), self._here
        changed: dict[str, Act] = {}
        if "write" in act:
            changed = {
                TEXT: {"text": "wrong\n"},
                FOLDER: {"write": str(here / "sub/made.txt")},
                PATH: {"write": str(here / "else.txt")},
            }
        elif "run" in act:
            changed = {
                TEXT: {"env": {"MADE_BY": "puppet"}},
                FOLDER: {"cwd": str(here / "sub")},
                ARGUMENTS: {"run": ["touch", "made", "more"]},
                PATH: {"run": ["./touch", "made"]},
            }
        elif self._row.act == READ:
            changed = {
                FOLDER: {"read": str(here / "sub/secret.txt")},
                PATH: {"read": str(here / "other.txt")},
            }
        elif self._row.act == READ_OUTSIDE:
            changed = {PATH: {"read": str(here / "link.txt")}}
        return {**act, **changed.get(self._row.change, {})}

    def _effect(self) -> dict[str, str]:
        """What the act leaves: texts by the names of files."""
        act = self._act()
        if "write" in act:
            return {str(Path(act["write"]).relative_to(self._here)): act["text"]}
        if "run" in act:
            folder = Path(act["cwd"]).relative_to(self._here)
            return {str(folder / name): "" for name in act["run"][1:]}
        return {"kept.txt": act["own"] if "own" in act else Path(act["read"]).read_text()}

    def _plan(self) -> list[list[Act]]:
        """The steps of each turn."""
        row = self._row
        original = self._original()
        announce: list[Act] = [{"announce": original}] if row.announced else []
        ask: list[Act] = [*announce, {"ask": original, "is_bare": row.announced}]
        dos: list[Act] = [{"do": self._act(), "mark": mark} for mark in row.marks]
        # An answer for good is kept a moment after the agent has heard it.
        is_kept = row.answer == ALWAYS and row.act in (*SHOWN, OWN)
        waits = is_kept or row.circumstance == KILL_BEFORE_ACT
        wait: list[Act] = [{"wait": str(self._pipe)}] if waits else []
        if row.is_late:
            return [[*ask, *wait], dos]
        if row.act in SHOWN:
            return [[*ask, *wait, *(ask if row.circumstance == ASKED_AGAIN else ()), *dos]]
        parts = [[*(ask if row.act == OWN else announce if each is dos[0] else []), each] for each in dos]
        parts[0][-1:-1] = wait
        if row.circumstance in (NEXT_TURN, DELETE):
            return parts
        return [[step for part in parts for step in part]]

    # Playing it.

    @property
    def waits_for_kill(self) -> bool:
        return self._row.circumstance in KILLS and self._error is None

    async def run_to_kill(self) -> None:
        await self._run(self._begin())

    async def run_to_end(self) -> None:
        with suppress(LinkClosed):  # they ended with the hub
            await leave(*self._clients)
        self._clients.clear()
        await self._run(self._go_on())

    async def _run(self, work: Awaitable[None]) -> None:
        """A row that breaks off must not stop the others."""
        try:
            async with deadline(WITHIN):
                await work
        except Exception as error:  # noqa: BLE001 it is reported with its row
            self._error = error
        if self._is_killed or not self.waits_for_kill:
            await leave(*self._clients)

    async def _begin(self) -> None:
        self._client = await self._connect()
        self._session = await self._client.new(str(self._here))
        for number, steps in enumerate(self._turns):
            if number and self._row.circumstance == DELETE:
                await self._delete_session()
            self._place = len(self._client.heard)
            self._client.prompt(self._session, json.dumps([{"here": str(self._here)}, *steps]))
            if await self._play_turn(steps) == "kill":
                return

    async def _connect(self, token: str = "") -> Talker:
        query = f"?agent={self._row.edge}"
        client = await self._hub.process.client(token=token, query=query, events=True, cursors=True)
        self._clients.append(client)
        return await client.begin(subagents={})

    async def _delete_session(self) -> None:
        await self._client.call("session/delete", {"sessionId": self._session})
        number = self._client.ask("session/load", self._setup())
        if "error" in await self._client.answer(number):
            self._session = await self._client.new(str(self._here))

    def _setup(self) -> Act:
        return {"sessionId": self._session, "cwd": str(self._here), "mcpServers": []}

    async def _play_turn(self, steps: list[Act]) -> Literal["end", "kill"]:
        """Follow the turn to its end, or to where the hub is to be killed."""
        following = asyncio.ensure_future(self._follow())
        if any("wait" in step for step in steps):
            await self._until_waiting(following)
            if not following.done():
                if self._row.answer == ALWAYS and self._has_answered:
                    await self._until_kept()
                if self._row.circumstance == KILL_BEFORE_ACT and not self._is_killed:
                    following.cancel()
                    return "kill"
                os.close(self._descriptor)
        return await following

    async def _until_waiting(self, following: asyncio.Future[Any]) -> None:
        while not following.done():
            try:
                self._descriptor = os.open(self._pipe, os.O_WRONLY | os.O_NONBLOCK)
                return
            except OSError:  # nobody reads it yet
                await asyncio.sleep(0.005)

    async def _until_kept(self) -> None:
        async with deadline(WITHIN):
            while not self._is_kept():  # noqa: ASYNC110 nobody tells us
                await asyncio.sleep(0.005)

    def _is_kept(self) -> bool:
        kept = self._hub.remembered
        return kept.exists() and f'"{self._here}"' in kept.read_text()

    async def _go_on(self) -> None:
        """Behind the kill, with a new connection."""
        self._is_killed = True
        self._has_answered = False
        await self._reconnect()
        if self._row.circumstance == KILL_AT_QUESTION:
            await self._play_turn(self._turns[0])
        else:
            os.close(self._descriptor)
            await self._follow()

    async def _reconnect(self) -> None:
        self._client = await self._connect()
        self._place = 0
        await self._client.call("session/load", self._setup())

    # The person.

    async def _follow(self) -> Literal["end", "kill"]:
        """Answer what is asked until the turn is over, or until the hub is to be killed."""
        while True:
            message = await self._client.until(self._concerns_us, after=self._place)
            self._place = self._client.heard.index(message, self._place) + 1
            if message["method"] == "_dragoman/hub/event":
                return "end"
            if await self._answer(message):
                return "kill"

    def _concerns_us(self, message: Message) -> bool:
        params = message.get("params", {})
        if message.get("method") == "_dragoman/hub/event":
            return (params["event"], params["sessionId"]) == ("turn_ended", self._session)
        return message.get("method") == "session/request_permission" and "id" in message

    async def _answer(self, question: Message) -> bool:
        """Whether this is where the hub is to be killed."""
        row = self._row
        is_ours = row.is_asked and not self._has_answered and self._shows_original(question)
        self._story.append(f"asked{'' if is_ours else ' (no)'}: {json.dumps(question['params'])[:600]}")
        if not is_ours:
            self._choose(self._client, question, REJECT)
            return False
        if row.circumstance == KILL_AT_QUESTION and not self._is_killed:
            return True
        self._has_answered = True
        if row.circumstance == RECONNECT:
            await self._client.transport.aclose()
            await self._reconnect()
            question = await self._client.until(self._concerns_us)
            self._place = self._client.heard.index(question) + 1
        if row.circumstance == NARROW_TOKEN and await self._try_narrow_token(question):
            return False
        if row.answer == NOBODY:
            self._client.say({"method": "session/cancel", "params": {"sessionId": self._session}})
        elif row.circumstance == SECOND_CLIENT:
            second = await self._connect()
            await second.call("session/load", self._setup())
            self._choose(second, await second.until(self._concerns_us), row.answer)
        else:
            self._choose(self._client, question, row.answer)
        return False

    def _choose(self, client: Talker, question: Message, answer: str) -> None:
        client.allow(question, _option_of(question, answer))

    async def _try_narrow_token(self, question: Message) -> bool:
        """Whether the holder of the token has answered: only who may approve can, and does as the person."""
        row = self._row
        holder = narrow_holder(row)
        client = await self._connect(self._hub.tokens[holder])
        asked_in = question["params"]["sessionId"]
        inbox = (await self._client.call("_dragoman/hub/inbox"))["requests"]
        (waiting,) = [each for each in inbox if each["sessionId"] == asked_in]
        answer = row.answer if holder == "approver" else ONCE
        outcome = {"outcome": {"outcome": "selected", "optionId": _option_of(question, answer)}}
        named = {"sessionId": asked_in, "request": waiting["request"], "result": outcome}
        heard = await client.answer(client.ask("_dragoman/hub/answer", named))
        client.say({"id": question["id"], "result": outcome})
        if holder != "approver":
            assert "error" in heard, f"the {holder} was not refused: {heard}"
            return False
        assert heard["result"]["settled"], heard
        return True

    def _shows_original(self, question: Message) -> bool:
        """Whether the person sees exactly what the row is about, with what was announced of the call."""
        call = self._shown_call(question["params"]["toolCall"])
        original = tool_call(self._original(), call["toolCallId"])
        given = call.get("rawInput") or {}
        if original["kind"] == "edit":
            diffs = [each for each in call.get("content") or [] if each["type"] == "diff"]
            return [(diff["path"], diff["newText"]) for diff in diffs] == [
                (diff["path"], diff["newText"]) for diff in original["content"]
            ]
        if original["kind"] == "read":
            return bool(given.get("path") == original["rawInput"]["path"])
        command = given.get("command")
        line = shlex.join(command) if isinstance(command, list) else command
        wanted = original["rawInput"]
        is_there = given.get("cwd", str(self._here)) == wanted["cwd"]
        return bool(line == wanted["command"] and is_there and not given.get("env"))

    def _shown_call(self, asked: Act) -> Act:
        shown: Act = {}
        for message in self._client.heard:
            update = message.get("params", {}).get("update") or {}
            if update.get("toolCallId") == asked["toolCallId"]:
                shown |= {name: value for name, value in update.items() if value is not None}
        return shown | {name: value for name, value in asked.items() if value is not None}

    # What came of it.

    def faults(self) -> list[str]:
        """What is on disk and should not be, or the other way round."""
        done = self._base / "done"
        effects = {
            mark.name: {
                str(path.relative_to(mark)): path.read_text() for path in mark.rglob("*") if path.is_file()
            }
            for mark in (done.iterdir() if done.exists() else ())
        }
        expected = {mark: self._effect() for mark in expected_marks(self._row)}
        left = {str(path.relative_to(self._here)) for path in self._here.rglob("*") if path.is_file()}
        wrong = [f"{self._error!r}"] if self._error is not None else []
        if effects != expected:
            wrong.append(f"has done {effects}, expected {expected}")
        known = INITIAL.union(*effects.values())
        if not INITIAL <= left <= known:
            wrong.append(f"has left {sorted(left - known)}, has removed {sorted(INITIAL - left)}")
        refusals = self._base / "refusals"
        told = refusals.read_text().splitlines() if refusals.exists() else []
        story = "\n    ".join([*wrong, *self._story, *told])
        return [f"{tuple(self._row)}\n    {story}"] if wrong else []


def _option_of(question: Message, answer: str) -> str:
    options: list[Message] = question["params"]["options"]
    return next(str(option["optionId"]) for option in options if option["kind"] == KINDS[answer])
