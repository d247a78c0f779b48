"""A listening hub with tokens of all kinds, and clients of all dialects that come to it through its doors.

`Act` says how a row of the gate's table is exercised: which parameters it has, what has to be there before,
and what of it reaches the agent if it is allowed. `GateStage.perform` does it in one cell, and says what came
of it. The agent is a program that tells what it got.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Literal, NamedTuple

import httpx2

from dragoman.dialect import EdgeSettings, Ledger
from dragoman.sdk.interpreter.dialect_transport import speaking
from dragoman.testing.pace import deadline
from dragoman.transport.contract import Sink, Transport
from dragoman.transport.http_client import open_http
from dragoman.transport.passing_transport import PassingTransport
from dragoman.transport.websocket import open_websocket
from dragoman_hub.gate.admission import Scope
from dragoman_hub.gate.grants_store import TokenStore
from dragoman_hub.gate.table import HISTORY, HUB, GateRow
from tests.agent_shelf import archive_entry, keep_list
from tests.forks import forked
from tests.hub.outside import recording_agent
from tests.hub.outside.process import HubProcess, leave
from tests.hub.push.test_encryption import AUTH, P256DH
from tests.hub.sessions.stage import WITHIN, Talker, text

DEVICE = {"endpoint": "http://127.0.0.1:9/device", "keys": {"p256dh": P256DH, "auth": AUTH}}
"""A subscription to push messages; nobody listens there."""

CONFIG = """
durability = "off"
default_agent = "recorder"

[limits]
connect_rate = "100000/s"
prompt_rate = "100000/s"

[approvals]
policy = {policy}

[push]
private = true

[agents.recorder]
command = {command}
dialect = "v1"

[agents.other]
command = {command}
dialect = "v1"
"""

SCOPE_SETS: dict[str, tuple[Scope, ...]] = {
    "nothing": (),
    "observe": ("observe",),
    "prompt": ("prompt",),
    "approve": ("approve",),
    "admin": ("admin",),
    "all": ("observe", "prompt", "approve", "admin"),
}

FOR_OTHERS = "all, for another agent"
"""A token with all scopes that does not reach the agent of the cells."""

DOORS = ("websocket", "http", "page")
PLACES = {"inside": True, "link into": True, "outside": False, "link out": False}
"""Where a folder is, by what is written and by where it leads, and whether the tokens' root holds it."""

RULES = '[[rule]]\ndecision = "allow"\nmethod = "terminal"\n'


class Act(NamedTuple):
    """One row of the gate's table, as something that a client does."""

    params: Callable[[Scene], dict[str, Any]] = lambda scene: {}
    about_session: bool = True
    needs: Literal[
        "", "turn", "question", "queue", "terminal", "change", "commit", "rewind", "undo", "plan"
    ] = ""
    """What the session must have before; or the plan of an agent that can be installed."""
    reaches: str = ""
    """The method that an allowed one causes at the agent."""
    follows: bool = False
    """Whether it is nothing for the hub unless its client follows the session."""
    hides: bool = False
    """Whether what lies in a foreign place is left out of the answer, which is not an error."""


class Scene(NamedTuple):
    """What is there when a client acts."""

    session: str
    folder: str
    detail: str = ""
    """The request, the terminal, the prompt or the plan that was prepared."""


class Cell(NamedTuple):
    method: str
    is_request: bool
    scopes: str
    place: str
    door: str
    dialect: str


class Outcome(NamedTuple):
    answer: dict[str, Any]
    received: list[str]
    """What the agent got meanwhile."""
    was_said: bool
    """Whether anything was put on the wire for it."""
    is_shown: bool = False
    """Whether its answer tells of the session, or of the folder."""


def _choice(scene: Scene) -> dict[str, Any]:
    chosen = {"outcome": {"outcome": "selected", "optionId": "allow"}}
    return {"request": scene.detail, "result": chosen}


def _file(scene: Scene) -> dict[str, Any]:
    (Path(scene.folder) / "notes.txt").write_text("a file of the session")
    return {"path": "notes.txt"}


def _folders(scene: Scene) -> dict[str, Any]:
    return {"cwd": scene.folder, "mcpServers": []}


PROVIDER = {"providerId": "main", "apiType": "openai", "baseUrl": "http://127.0.0.1:1"}

ACTS: dict[tuple[str, bool], Act] = {
    ("initialize", True): Act(about_session=False),
    ("authenticate", True): Act(lambda _: {"methodId": "key"}, False, reaches="authenticate"),
    ("logout", True): Act(about_session=False, reaches="logout"),
    ("auth/status", True): Act(about_session=False, reaches="auth/status"),
    ("providers/list", True): Act(about_session=False, reaches="providers/list"),
    ("providers/set", True): Act(lambda _: PROVIDER, False, reaches="providers/set"),
    ("providers/disable", True): Act(lambda _: {"providerId": "main"}, False, reaches="providers/disable"),
    ("session/new", True): Act(_folders, False, reaches="session/new"),
    ("session/load", True): Act(_folders),
    ("session/resume", True): Act(_folders),
    ("session/fork", True): Act(_folders, reaches="session/fork"),
    ("session/list", True): Act(lambda scene: {"cwd": scene.folder}, False),
    ("session/close", True): Act(reaches="session/close"),
    ("session/delete", True): Act(reaches="session/close"),
    ("session/status", True): Act(),
    ("session/archive", True): Act(reaches="session/close"),
    ("session/unarchive", True): Act(),
    ("session/set_title", True): Act(lambda _: {"title": "a new title"}),
    ("session/prompt", True): Act(lambda _: {"prompt": text("hello")}, reaches="session/prompt"),
    ("session/set_mode", True): Act(lambda _: {"modeId": "b"}, reaches="session/set_mode"),
    ("session/set_config_option", True): Act(
        lambda _: {"configId": "size", "value": "large"}, reaches="session/set_config_option"
    ),
    (f"{HUB}sessions", True): Act(lambda scene: {"cwd": scene.folder}, False),
    (f"{HUB}inbox", True): Act(about_session=False),
    (f"{HUB}watch", True): Act(about_session=False),
    (f"{HUB}push", True): Act(about_session=False),
    (f"{HUB}push/subscribe", True): Act(lambda _: DEVICE, about_session=False),
    (f"{HUB}push/unsubscribe", True): Act(lambda _: {"endpoint": "of nobody"}, False),
    (f"{HUB}attach", True): Act(),
    (f"{HUB}detach", True): Act(lambda _: {"sessionId": "of nobody"}, False),
    (f"{HUB}history", True): Act(),
    (f"{HUB}turns", True): Act(),
    (f"{HUB}search", True): Act(lambda _: {"text": "hello"}, hides=True),
    (f"{HUB}progress", True): Act(lambda scene: {"sessionIds": [scene.session]}, hides=True),
    (f"{HUB}agents", True): Act(about_session=False),
    (f"{HUB}agents/check", True): Act(about_session=False),
    (f"{HUB}agents/registry", True): Act(about_session=False),
    (f"{HUB}agents/install", True): Act(
        lambda scene: {"agent": "tiny", "plan": scene.detail}, False, needs="plan"
    ),
    (f"{HUB}agents/install/status", True): Act(about_session=False),
    (f"{HUB}agents/install/cancel", True): Act(about_session=False),
    (f"{HUB}agents/uninstall", True): Act(lambda _: {"agent": "of nobody"}, False),
    (f"{HUB}files", True): Act(lambda _: {"pattern": ""}),
    (f"{HUB}file", True): Act(_file),
    (f"{HUB}blame", True): Act(lambda _: {"path": "changed.txt"}, needs="rewind"),
    (f"{HUB}folders", True): Act(lambda scene: {"path": scene.folder}, hides=True),
    (f"{HUB}terminal", True): Act(lambda scene: {"terminalId": scene.detail}, needs="terminal"),
    (f"{HUB}changes", True): Act(),
    (f"{HUB}answer", True): Act(_choice, needs="question", reaches="response"),
    (f"{HUB}revert", True): Act(lambda scene: {"path": scene.detail}, needs="change"),
    (f"{HUB}commit/preview", True): Act(needs="commit"),
    (f"{HUB}commit", True): Act(lambda scene: json.loads(scene.detail), needs="commit"),
    (f"{HUB}rewind/preview", True): Act(lambda scene: json.loads(scene.detail), needs="rewind"),
    (f"{HUB}rewind", True): Act(lambda scene: json.loads(scene.detail), needs="rewind"),
    (f"{HUB}rewind/undo", True): Act(needs="undo"),
    (f"{HUB}fork", True): Act(lambda scene: json.loads(scene.detail), needs="rewind"),
    (f"{HUB}policy/preview", True): Act(lambda _: {"remedy": "dragoman policy allow"}),
    (f"{HUB}policy/allow", True): Act(lambda _: {"remedy": "dragoman policy allow", "rule": "[[rule]]"}),
    (f"{HUB}policy/undo", True): Act(lambda _: {"remedy": "dragoman policy allow"}),
    (f"{HUB}queue/edit", True): Act(
        lambda scene: {"key": scene.detail, "prompt": text("changed")}, needs="queue"
    ),
    (f"{HUB}queue/withdraw", True): Act(lambda scene: {"key": scene.detail}, needs="queue"),
    (f"{HUB}handover", True): Act(lambda _: {"agent": "recorder"}, reaches="session/new"),
    (f"{HUB}status", True): Act(about_session=False),
    (f"{HUB}pair", True): Act(lambda _: {"scopes": ["observe"]}, False),
    (f"{HUB}pair/status", True): Act(lambda _: {"id": "of nobody"}, False),
    (f"{HUB}pair/withdraw", True): Act(lambda _: {"id": "of nobody"}, False),
    ("getThreads", True): Act(hides=True),
    ("getThreadEntries", True): Act(lambda scene: {"threadId": scene.session}, hides=True),
    ("session/cancel", False): Act(needs="turn", reaches="session/cancel", follows=True),
    ("$/cancel_request", False): Act(needs="turn", reaches="session/cancel"),
    ("_vendor/session", True): Act(reaches="_vendor/session"),
    ("vendor/unknown", True): Act(reaches="vendor/unknown"),
    ("_vendor/session", False): Act(reaches="_vendor/session", follows=True),
    ("_vendor/agent", True): Act(about_session=False, reaches="_vendor/agent"),
}


class Recorded(PassingTransport):
    """Keeps what goes over the wire, in the words of the dialect."""

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self.sent: list[bytes] = []
        self.heard: list[bytes] = []
        self.news = asyncio.Event()

    def write(self, block: bytes | bytearray | memoryview) -> None:
        self.sent += bytes(block).splitlines()
        self.inner.write(block)

    def start(self, sink: Sink) -> None:
        self.inner.start(_RecordedSink(self, sink))


class _RecordedSink:
    def __init__(self, recorded: Recorded, sink: Sink) -> None:
        self._recorded, self._sink = recorded, sink
        self.on_oversized, self.on_end = sink.on_oversized, sink.on_end

    def feed(self, block: bytes) -> None:
        self._recorded.heard += block.splitlines()
        self._recorded.news.set()
        self._sink.feed(block)


class DialectClient:
    """A client that speaks a dialect to the hub; what it does is written here in version 1."""

    def __init__(self, talker: Talker, wire: Recorded) -> None:
        self.talker = talker
        self.wire = wire


@contextmanager
def running_stage(folder: Path) -> Iterator[GateStage]:
    command = json.dumps(forked([sys.executable, recording_agent.__file__]))
    policy = folder / "policy.toml"
    policy.write_text(RULES)
    hub = HubProcess(folder)
    keep_list(hub.data, folder, [archive_entry(folder, "tiny")])
    hub.config.write_text(CONFIG.format(policy=json.dumps(str(policy)), command=command))
    stage = GateStage(hub)
    hub.start()
    try:
        yield stage
    finally:
        hub.stop()


class GateStage:
    """Sessions are made anew for each cell; connections are kept."""

    def __init__(self, hub: HubProcess) -> None:
        self.hub = hub
        self.owner: Talker
        self.folders = _make_folders(hub.work)
        self._clients: dict[tuple[str, str, str], DialectClient] = {}
        self._numbers = count(1)
        store = TokenStore(hub.data / "tokens.json")
        hub.token = store.add("owner")
        root = str(hub.work / "root")
        self.tokens = {
            name: store.add(name, scopes=scopes, roots=[root]) for name, scopes in SCOPE_SETS.items()
        }
        self.tokens[FOR_OTHERS] = store.add("for-others", agents=["other"], roots=[root])

    async def __aenter__(self) -> GateStage:
        self.owner = await (await self.hub.client(cursors=True)).begin()
        return self

    async def __aexit__(self, *_: object) -> None:
        await leave(self.owner, *(client.talker for client in self._clients.values()))
        self._clients.clear()

    # Clients.

    async def client(self, cell: Cell) -> DialectClient:
        """The client of this token, door and dialect, introduced."""
        key = (cell.scopes, cell.door, cell.dialect)
        if key not in self._clients:
            self._clients[key] = await self.connect(cell)
            await self._clients[key].talker.begin()
        return self._clients[key]

    async def connect(self, cell: Cell) -> DialectClient:
        agent = "other" if cell.scopes == FOR_OTHERS and cell.method != "initialize" else "recorder"
        query = f"agent={agent}&dialect={cell.dialect}&cwd={self.folders['inside']}"
        wire = Recorded(await self._transport(cell.door, self.tokens[cell.scopes], query))
        if cell.dialect == "v1":
            return DialectClient(Talker(wire), wire)
        settings = EdgeSettings(cwd=self.folders["inside"])
        spoken = speaking(
            cell.dialect, wire, position="agent", settings=settings, ledger=Ledger(), quirks=False
        )
        return DialectClient(Talker(spoken), wire)

    async def _transport(self, door: str, token: str, query: str) -> Transport:
        headers = {"authorization": f"Bearer {token}"}
        if door == "http":
            return open_http(f"http://{self.hub.place}/acp?{query}", headers=headers)
        if door == "websocket":
            return await open_websocket(f"ws://{self.hub.place}/acp?{query}", headers=headers)
        origin = f"http://{self.hub.place}"
        async with httpx2.AsyncClient(timeout=None) as browser:
            given = await browser.post(f"{origin}/ticket", headers={**headers, "origin": origin})
        url = f"ws://{self.hub.place}/acp?{query}&ticket={given.json()['ticket']}"
        return await open_websocket(url, headers={"origin": origin})

    # Cells.

    async def perform(self, cell: Cell, row: GateRow, *, named: str = "") -> Outcome:
        """Let the cell's client act. Of the row's places only `named` is the cell's, if that is given."""
        act = ACTS[cell.method, cell.is_request]
        if cell.method == "initialize":
            return await self._introduce(cell)
        client = await self.client(cell)
        has_places = bool(row.places) or cell.method == f"{HUB}folders"
        scene = await self._prepare(act, cell, self.folders["inside" if has_places else cell.place])
        place = self.folders[cell.place]
        params = act.params(scene._replace(folder=place))
        params |= _places(row, place=place, inside=self.folders["inside"], named=named)
        if act.about_session and not cell.method.endswith(("folders", "Threads", "Entries")):
            params["sessionId"] = scene.session
        if cell.scopes == FOR_OTHERS:
            params["_meta"] = {"dragoman": {"agent": "recorder"}}
        if act.follows:
            await client.talker.answer(client.talker.ask(f"{HUB}attach", {"sessionId": scene.session}))
        await self.received()
        before, heard = len(client.wire.sent), len(client.wire.heard)
        answer = await self._act(client, cell, params, scene)
        was_said = len(client.wire.sent) > before
        outcome = Outcome(answer, await self.received(), was_said, _shows(answer, scene))
        del client.wire.heard[:heard]
        await self._clean_up(act, scene)
        return outcome

    async def received(self) -> list[str]:
        """What has come to the agent since this was asked last."""
        answer = await self.owner.call(recording_agent.RECEIVED)
        methods: list[str] = answer["methods"]
        return methods

    async def _introduce(self, cell: Cell) -> Outcome:
        await self.received()
        client = await self.connect(cell)
        try:
            number = client.talker.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
            answer = await client.talker.answer(number)
            return Outcome(answer, await self.received(), bool(client.wire.sent))
        finally:
            await leave(client.talker)

    async def _act(
        self, client: DialectClient, cell: Cell, params: dict[str, Any], scene: Scene
    ) -> dict[str, Any]:
        talker = client.talker
        if cell.method in HISTORY:
            return await self._ask_history(client, cell.method, params)
        if cell.is_request:
            return await talker.answer(talker.ask(cell.method, params))
        if cell.method == "$/cancel_request":
            params = {"requestId": await self._own_prompt(client, scene)}
        talker.say({"method": cell.method, "params": params})
        # Messages are taken in order: when this is answered, the notification was taken too.
        return await talker.answer(talker.ask(f"{HUB}agents"))

    async def _ask_history(self, client: DialectClient, method: str, params: Any) -> dict[str, Any]:
        """In the words of the thread protocol, past the interpreter: version 1 has none for it."""
        number = 1_000_000 + next(self._numbers)
        question = {"id": number, "method": method, "params": params or None}
        client.wire.write(json.dumps(question).encode() + b"\n")
        async with deadline(WITHIN):
            while True:
                for message in map(json.loads, client.wire.heard):
                    if message.get("id") == number:
                        return dict(message)
                client.wire.news.clear()
                await client.wire.news.wait()

    async def _own_prompt(self, client: DialectClient, scene: Scene) -> int:
        """A prompt of the client's own that is with the agent; refused ones have an id too."""
        await self._stop(scene)
        number = client.talker.prompt(scene.session, "wait")
        while "session/prompt" not in await self.received():
            if any(one.get("id") == number and "method" not in one for one in client.talker.heard):
                break
        return number

    # What is there before, and after.

    async def _prepare(self, act: Act, cell: Cell, folder: str) -> Scene:
        if act.needs == "plan":
            agents = (await self.owner.call(f"{HUB}agents/registry"))["agents"]
            return Scene("", folder, next(agent["plan"] for agent in agents if agent["name"] == "tiny"))
        if not act.about_session:
            return Scene("", folder)
        session = await self.owner.new(folder)
        scene = Scene(session, folder)
        match act.needs:
            case "turn":
                await self._begin_turn(session)
            case "question":
                before = len(self.owner.heard)
                self.owner.prompt(session, "ask")
                await self.owner.asked(after=before)
                (waiting,) = (await self.owner.call(f"{HUB}inbox"))["requests"]
                return scene._replace(detail=waiting["request"])
            case "terminal":
                await self.owner.answer(self.owner.prompt(session, "run"))
                return scene._replace(detail=self.owner.texts(session=session)[-1])
            case "change":
                Path(folder, "changed.txt").write_text("before\n")
                await self.owner.call(f"{HUB}changes", {"sessionId": session})  # somebody wants to know
                await self.owner.answer(self.owner.prompt(session, "change"))
                changed = await self.owner.call(f"{HUB}changes", {"sessionId": session})
                return scene._replace(detail=changed["files"][0]["path"])
            case "commit":
                return scene._replace(detail=await self._change_repository(scene))
            case "rewind" | "undo":
                return scene._replace(detail=await self._change_and_look(scene, is_undo=act.needs == "undo"))
            case "queue":
                return scene._replace(detail=await self._queue(cell, session))
            case _:
                if cell.method in (f"{HUB}search", *HISTORY):
                    await self.owner.answer(self.owner.prompt(session, "hello"))
        return scene

    async def _change_repository(self, scene: Scene) -> str:
        """A new file in a repository: what a commit of it names."""
        for words in ("init --quiet", "config user.name a", "config user.email a@b"):
            subprocess.run(("git", *words.split()), cwd=scene.folder, check=True)
        paths = [f"new-{next(self._numbers)}.txt"]
        Path(scene.folder, *paths).write_text("new\n")
        look = {"sessionId": scene.session, "paths": paths}
        return json.dumps({**look, **await self.owner.call(f"{HUB}commit/preview", look), "message": "m"})

    async def _change_and_look(self, scene: Scene, *, is_undo: bool) -> str:
        """A turn that changed a file: what a rewind of it names."""
        key = f"turn-{next(self._numbers)}"
        Path(scene.folder, "changed.txt").write_text("before\n")
        await self.owner.answer(self.owner.prompt(scene.session, "change", key=key))
        look = {"sessionId": scene.session, "key": key}
        rewind = {**look, **await self.owner.call(f"{HUB}rewind/preview", look)}
        if is_undo:
            await self.owner.call(f"{HUB}rewind", rewind)
        return json.dumps(rewind)

    async def _queue(self, cell: Cell, session: str) -> str:
        """A prompt that waits. It is the client's own if its token may prompt there at all."""
        await self._begin_turn(session)
        may = "prompt" in SCOPE_SETS.get(cell.scopes, ()) and PLACES[cell.place]
        writer = (
            (await self.client(cell._replace(door="websocket", dialect="v1"))).talker if may else self.owner
        )
        key = f"key-{next(self._numbers)}"
        writer.prompt(session, "hello", key=key)
        await writer.call(f"{HUB}history", {"sessionId": session})  # taken behind the prompt
        return key

    async def _begin_turn(self, session: str) -> None:
        """A turn that lasts until it is cancelled; it has reached the agent."""
        self.owner.prompt(session, "wait")
        while "session/prompt" not in await self.received():
            pass

    async def _stop(self, scene: Scene) -> None:
        self.owner.say({"method": "session/cancel", "params": {"sessionId": scene.session}})
        await self.owner.until(lambda one: one.get("result", {}).get("stopReason") == "cancelled")

    async def _clean_up(self, act: Act, scene: Scene) -> None:
        if act.about_session:
            await self.owner.answer(self.owner.ask("session/delete", {"sessionId": scene.session}))
            self.owner.heard.clear()
            self.owner.raw.clear()


def _make_folders(work: Path) -> dict[str, str]:
    """The root of all tokens and a folder outside, each with a link into the other."""
    inside, outside = work / "root" / "inside", work / "outside"
    inside.mkdir(parents=True)
    outside.mkdir()
    os.symlink(outside, work / "root" / "link-out")
    os.symlink(inside, work / "link-into")
    found = {
        "inside": inside,
        "outside": outside,
        "link into": work / "link-into",
        "link out": work / "root" / "link-out",
    }
    return {name: str(path) for name, path in found.items()}


def _shows(answer: dict[str, Any], scene: Scene) -> bool:
    result = answer.get("result") or {}
    return bool(result.get("exists") or result.get("entries")) or (
        bool(scene.session) and json.dumps(scene.session) in json.dumps(result)
    )


def _places(row: GateRow, *, place: str, inside: str, named: str) -> dict[str, Any]:
    """The row's parameters that name places."""
    given: dict[str, Any] = {}
    for name, kind in row.places:
        path = place if named in ("", name) else inside
        if kind == "folder":
            given[name] = path
        elif kind == "folders":
            given[name] = [path]
        elif kind == "servers":
            given[name] = [{"name": "s", "command": f"{path}/server", "args": [], "env": []}]
        elif kind == "blocks":
            link = {"type": "resource_link", "name": "x", "uri": f"file://{path}/x.py"}
            given[name] = [*text("hello"), link]
        else:
            given["extra"] = {"deep": [{"filePath": f"{path}/x.py"}]}
    return given
