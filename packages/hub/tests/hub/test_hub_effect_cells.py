"""Effects of agents × who lends × who decides: every cell through a hub, with real files and commands, and
the line of the audit log for each.

The rows are all that an agent can cause through something that it is lent, the request for permission, and
MCP servers that a client names. What is added to the protocol or to what the hub lends needs a row here.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dragoman import Agent, Turn, connect
from dragoman.errors import CallFailed
from dragoman.schema.v1.methods import METHODS
from dragoman.transport.memory import memory_pair
from dragoman_hub.agents.specs import specs_of
from dragoman_hub.clients.client import LENT
from dragoman_hub.engine.options import HubOptions
from dragoman_hub.gate.admission import Grant
from dragoman_hub.hub import Hub
from dragoman_hub.lending.lender import HubLender
from dragoman_hub.settings import AgentSettings
from dragoman_local.journal.memory import MemoryJournal
from dragoman_local.workspace.policy.policy_paths import policy_paths
from tests.forks import forked
from tests.house import COUNTED
from tests.hub.sessions.stage import Stage, Talker, staged
from tests.hub.test_hub_effects import ALLOW_ALL, ASK_ALL, DENY_ALL, FILES, Witness, logged
from tests.sdk.test_connect_dialects import READER, texts

pytestmark = pytest.mark.bound(30)

MCP = "mcp"
PERMISSION = "session/request_permission"

OPTIONS = [
    {"optionId": "allow", "name": "Yes", "kind": "allow_once"},
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "reject", "name": "No", "kind": "reject_once"},
]


class EffectRow(NamedTuple):
    """One effect: its parameters, in which `{folder}` is the session's, and what holds without a policy."""

    params: dict[str, Any]
    is_read: bool = False
    of_terminal: bool = False
    """Whether it is about a terminal that was permitted when it was created."""


COMMAND = {"toolCallId": "call", "title": "Build", "kind": "execute", "rawInput": {"command": "make"}}
ROWS: dict[str, EffectRow] = {
    PERMISSION: EffectRow({"toolCall": COMMAND, "options": OPTIONS}),
    "fs/read_text_file": EffectRow({"path": "{folder}/.env"}, is_read=True),
    "fs/write_text_file": EffectRow({"path": "{folder}/new.txt", "content": "text\n"}),
    "terminal/create": EffectRow({"command": "touch", "args": ["made.txt"], "cwd": "{folder}"}),
    "terminal/output": EffectRow({}, of_terminal=True),
    "terminal/wait_for_exit": EffectRow({}, of_terminal=True),
    "terminal/kill": EffectRow({}, of_terminal=True),
    "terminal/release": EffectRow({}, of_terminal=True),
    "_dragoman/fs/stat": EffectRow({"path": "{folder}/.env"}, is_read=True),
    "_dragoman/fs/glob": EffectRow({"pattern": "*.txt"}, is_read=True),
    "_dragoman/fs/read_range": EffectRow({"path": "{folder}/.env", "offset": 0, "limit": 3}, is_read=True),
    MCP: EffectRow({"name": "tools", "command": "npx", "args": [], "env": []}),
}

NO_EFFECT = {"elicitation/create", "mcp/message"}
"""A question to people that permits nothing, and what nobody lends through a hub."""


class Decided(NamedTuple):
    """How a cell is decided."""

    rules: str
    says: str
    """What people answer if they are asked; nothing if nobody is there."""
    is_done: bool
    by: str
    """Who decides, as the audit log has it."""


MCP_ASK = '[[rule]]\ndecision = "ask"\nmethod = "mcp"\n'
DECISIONS: dict[str, Decided] = {
    "a rule allows": Decided(ALLOW_ALL, "reject", True, "policy"),
    "a rule denies": Decided(
        DENY_ALL + '[[rule]]\ndecision = "deny"\nmethod = "mcp"\n', "allow", False, "policy"
    ),
    "a person says yes": Decided(ASK_ALL + MCP_ASK, "allow", True, "person"),
    "a person says no": Decided(ASK_ALL + MCP_ASK, "reject", False, "person"),
    "nobody answers": Decided(ASK_ALL + MCP_ASK, "", False, "deadline"),
    "a person said always": Decided("", "always", True, "policy"),
    "no policy, and yes": Decided("", "allow", True, "person"),
    "no policy, and no": Decided("", "reject", False, "person"),
}


def lenders_of(method: str) -> list[str]:
    """The hub lends everything; a client what it can announce."""
    return ["hub", "client"] if method in LENT else ["hub"]


CELLS = [
    (method, lender, decision) for method in ROWS for lender in lenders_of(method) for decision in DECISIONS
]


def test_every_effect_has_a_row() -> None:
    async def nobody(access: object) -> None: ...

    asked = {one.name for one in METHODS._methods if (one.kind, one.receiver) == ("request", "client")}
    lent = HubLender(guard=nobody)._handlers.names
    assert (asked | lent | LENT.keys() | {MCP}) - NO_EFFECT == ROWS.keys()


def caller() -> Agent:
    """An agent that makes the calls of its prompt, and says what came of each."""
    agent = Agent("caller")

    @agent.prompt
    async def make_calls(turn: Turn) -> None:
        terminal = "none"
        for method, params in json.loads(turn.text):
            if method.startswith("terminal/") and method != "terminal/create":
                params["terminalId"] = terminal
            try:
                result = await turn.client.call(method, {"sessionId": turn.session.id, **params})
                terminal = (result or {}).get("terminalId", terminal)
                await turn.say(json.dumps({"result": result}))
            except CallFailed as error:
                await turn.say(json.dumps({"code": error.code, "data": error.data}))

    return agent


@pytest.fixture(autouse=True)
def nobodys_own_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "project/.env").write_text("S=1")
    return tmp_path / "project"


class EffectStage:
    """One hub with one policy; its cells differ in effect and lender."""

    def __init__(self, stage: Stage, project: Path, decided: Decided) -> None:
        self._stage = stage
        self._project = project
        self._decided = decided

    async def perform(self, method: str, lender: str) -> tuple[bool, int]:
        """Whether the effect was permitted and happened, and how many questions were asked for it."""
        client = await self._stage.client().begin(**(FILES if lender == "client" else {}))
        if method == MCP:
            return await self._name_server(client)
        witness = Witness(client, self._decided.says)
        session = await client.new(str(self._project))
        permitted = "terminal/create" if ROWS[method].of_terminal else method
        if self._decided.says == "always":
            await self._call(witness, session, permitted)
            while witness.questions and not Path(policy_paths().remembered_file).exists():  # noqa: ASYNC110 -- nobody tells us
                await asyncio.sleep(0)
            witness.questions.clear()
            witness.lent.clear()
        methods = [permitted, method] if ROWS[method].of_terminal else [method]
        outcomes = await self._call(witness, session, *methods)
        done = [self._is_done(each, outcome) for each, outcome in zip(methods, outcomes, strict=True)]
        assert done[0] == done[-1] or lender == "client"  # a client knows its own terminals
        assert (permitted in witness.lent) == (lender == "client" and done[0])
        return done[0], len(witness.questions)

    async def _call(self, witness: Witness, session: str, *methods: str) -> list[dict[str, Any]]:
        calls = [(method, ROWS[method].params) for method in methods]
        text = json.dumps(calls).replace("{folder}", str(self._project))
        before = len(witness.client.texts())
        await witness.follow(session, text)
        return [json.loads(said) for said in witness.client.texts()[before:]]

    def _is_done(self, method: str, outcome: dict[str, Any]) -> bool:
        if method == PERMISSION:
            return outcome["result"]["outcome"].get("optionId") in ("allow", "always")
        if "result" not in outcome and method in ("terminal/create", "fs/write_text_file"):
            assert (outcome["code"], outcome["data"]["reason"]) == (403, "policy")
        return "result" in outcome

    async def _name_server(self, client: Talker) -> tuple[bool, int]:
        person = await self._stage.client().begin()
        await person.call("_dragoman/hub/watch")
        number = client.ask("session/new", {"cwd": str(self._project), "mcpServers": [ROWS[MCP].params]})
        questions = 0
        if self._decided.by != "policy" and self._decided.rules:
            asked = await person.until(lambda one: one.get("method") == "_dragoman/hub/asked")
            questions = 1
            if self._decided.says:
                question = asked["params"]["request"]
                chosen = {"outcome": {"outcome": "selected", "optionId": self._decided.says}}
                named = {name: question[name] for name in ("sessionId", "request")}
                await person.call("_dragoman/hub/answer", {**named, "result": chosen})
        return "result" in await client.answer(number), questions


def expected(method: str, lender: str, decided: Decided) -> tuple[bool, int, str]:
    """Whether it is done, how often people are asked, and who decides."""
    if not decided.rules:
        if method == MCP or ROWS[method].is_read:  # naming a server is the client's own act
            return True, 0, "policy"
        if lender == "client":
            return True, 0, "policy"  # the client has a person of its own; the log has every attempt
    return decided.is_done, int(decided.by != "policy"), decided.by


@pytest.mark.parametrize("decision", DECISIONS)
async def test_each_effect_is_done_or_refused_as_it_was_decided(
    project: Path, tmp_path: Path, decision: str, record_property: Callable[[str, object], None]
) -> None:
    decided = DECISIONS[decision]
    policy, audit = tmp_path / "policy.toml", tmp_path / "audit.jsonl"
    policy.write_text(decided.rules)
    audit.touch()
    options: dict[str, Any] = {"audit": str(audit), "expire": 0.05 if not decided.says else 0.0}
    if decided.rules:
        options["policy"] = str(policy)
    faults = []
    cells = [(method, lender) for method, lender, each in CELLS if each == decision]
    async with staged({"caller": caller}, **options) as stage:
        effects = EffectStage(stage, project, decided)
        for method, lender in cells:
            Path(policy_paths().remembered_file).unlink(missing_ok=True)
            before = len(logged(audit))
            done, questions = await effects.perform(method, lender)
            while (lines := logged(audit)[before:]) and lines[-1]["outcome"] == "ask":
                await asyncio.to_thread(time.sleep, 0)  # the line of a question that nobody answered comes
            by = lines[-1]["by"] if lines else ""
            wanted = expected(method, lender, decided)
            if (done, questions, by) != wanted or not all(fits(line, wanted[0]) for line in lines[-1:]):
                faults.append((method, lender, (done, questions, by), "expected", wanted, lines[-1:]))
    assert not faults
    record_property(COUNTED, f"effects through a hub, {decision}: {len(cells)} cells of effect × lender")


async def test_what_nobody_lends_is_refused(project: Path) -> None:
    async with staged({"caller": caller}) as stage:
        client = await stage.client().begin(**FILES)
        witness = Witness(client)
        message = {"serverId": "1", "requestId": "2", "method": "tools/list"}
        calls = [("mcp/message", message)]
        said = await witness.follow(await client.new(str(project)), json.dumps(calls))
        assert json.loads(said)["code"] == -32601
        assert witness.lent == []


def fits(line: dict[str, Any], is_done: bool) -> bool:
    has_person = bool(line.get("person")) is (line["by"] == "person")
    return line["outcome"] == ("allow" if is_done else "deny") and line["agent"] == "caller" and has_person


# Interpreters, which ask nobody.


def reading_agent(folder: Path, *, method: str, said: str) -> list[str]:
    """A program that asks one thing of the file that its prompt names, and says `said` of the answer."""
    program = folder / "reader.py"
    text = READER.replace("readTextFile", method).replace('frame["result"]["content"]', said)
    program.write_text(text)
    return forked([sys.executable, str(program)])


CONTENT = 'frame.get("result", {}).get("content", "no")'
EXISTS = '"S=1" if frame.get("result", {}).get("exists") else "no"'


@pytest.mark.parametrize(
    ("rules", "is_done"), [("", True), (ALLOW_ALL, True), (DENY_ALL, False), (ASK_ALL, False)]
)
async def test_an_interpreter_lends_files_by_the_rules_of_a_file(
    project: Path, tmp_path: Path, rules: str, is_done: bool
) -> None:
    policy = tmp_path / "rules.toml"
    policy.write_text(rules)
    named = str(policy) if rules else ""
    reader = reading_agent(tmp_path, method="readTextFile", said=CONTENT)
    async with connect(reader, dialect="threads", cwd=project, policy=named) as agent:
        session = await agent.new_session(cwd=str(project))
        said = texts([one async for one in session.prompt(f"{project}/.env")])
    assert said == ("S=1" if is_done else "no")
    (line,) = logged(Path(policy_paths().audit))
    assert (line["method"], line["outcome"], line["by"]) == (
        "fs/read",
        "allow" if is_done else "deny",
        "policy",
    )


@pytest.mark.parametrize(("rules", "is_done"), [(ALLOW_ALL, True), (DENY_ALL, False)])
async def test_the_interpreter_of_a_hubs_agent_lends_by_the_policy_of_the_hub(
    project: Path, tmp_path: Path, rules: str, is_done: bool
) -> None:
    policy = tmp_path / "rules.toml"
    policy.write_text(rules)
    reader = reading_agent(tmp_path, method="stat", said=EXISTS)  # which version 1 has no words for
    agents = {"reader": AgentSettings(command=tuple(reader), dialect="threads", env=own_places())}
    specs = specs_of(agents, tmp_path / "agents", policy=str(policy))
    async with Hub(MemoryJournal(), specs, options=HubOptions(default_agent="reader")) as hub:
        near, far = memory_pair()
        client = Talker(near)
        hub.accept(far, Grant("owner"))
        await client.begin()
        session = await client.new(str(project))
        await client.answer(client.prompt(session, f"{project}/.env"))
        assert "".join(client.texts()) == ("S=1" if is_done else "no")
    assert [line["outcome"] for line in logged(Path(policy_paths().audit))] == [
        "allow" if is_done else "deny"
    ]


def own_places() -> dict[str, str]:
    return {name: os.environ[name] for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME")}
