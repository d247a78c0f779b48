"""Whatever an author writes: it is refused in the author's own call, or the official schema accepts it.

Every public method that sends something is called with a wrong value in the place of each argument. A method
that is missing from the tables here fails a test, so a new one cannot be forgotten.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dragoman import Agent, Client, Turn
from dragoman.errors import CallFailed, InvalidHandler, InvalidValue, LocalMistake
from dragoman.schema import v1, valid
from dragoman.schema.codec import read
from dragoman.schema.strict import write_strictly
from dragoman.sdk.agent.prompt_rules import response_to
from dragoman.sdk.agent.session import AgentSession, ClientHandle
from dragoman.sdk.agent.terminal import Terminal
from dragoman.sdk.agent.tool_call import ToolCallReport
from dragoman.sdk.capabilities import (
    AGENT_NOTIFICATIONS,
    AGENT_REQUESTS,
    CLIENT_NOTIFICATIONS,
    CLIENT_REQUESTS,
)
from dragoman.sdk.client.agent_handle import AgentHandle, Session
from dragoman.sdk.sync.turn import SyncTurn as BlockingTurn
from tests.schema.published_schemas import Judge, definitions, needs_schemas
from tests.sdk.ends import EVERYTHING, RawAgent, RawClient, raw_agent, raw_client

pytestmark = [needs_schemas, pytest.mark.bound(30)]


@pytest.fixture(autouse=True)
def checked_from_the_first_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """The quick check of a type is otherwise made when there were many messages of it."""
    monkeypatch.setattr(valid, "WORTHWHILE", 1)


WRONG: list[Any] = [
    123,
    -1,
    1.5,
    float("nan"),
    True,
    None,
    b"bytes",
    ["a", 5],
    {"a": 1},
    object(),
    "\ud800",
    "odd",
]
FORM = v1.ElicitationSchema(properties={"name": v1.StringPropertySchema(title="Name")})
CALL = v1.ToolCallUpdate(tool_call_id="t", title="T")
COMMAND = v1.AvailableCommand(name="go", description="Goes")

# Arguments that are right. What takes `*args` has them under "*".
TURN: dict[str, dict[str, Any]] = {
    "say": {"text": "a", "message_id": "m"},
    "think": {"text": "a", "message_id": "m"},
    "echo": {"text": "a", "message_id": "m"},
    "update": {"update": v1.AgentMessageChunk(content=v1.TextContent(text="a"))},
    "plan": {"entries": [("Look", "pending")]},
    "usage": {"used": 1, "size": 2, "cost": 0.5, "currency": "USD"},
    "commands": {"commands": [COMMAND]},
    "mode": {"mode_id": "m"},
    "title": {"title": "t"},
    "notice": {"title": "t", "severity": "info", "description": "d"},
    "read_text_file": {"path": "/x", "line": 1, "limit": 2},
    "write_text_file": {"path": "/x", "content": "c"},
    "create_terminal": {"command": "ls", "*": ("-l",), "cwd": "/", "env": {"A": "b"}, "output_byte_limit": 9},
    "ask": {"tool_call": CALL, "options": [v1.PermissionOption(option_id="o", name="n", kind="allow_once")]},
    "elicit": {"message": "m", "schema": FORM, "tool_call_id": "t"},
    "elicit_url": {"message": "m", "url": "https://example.org", "elicitation_id": "e", "tool_call_id": "t"},
    "tool": {
        "title": "t",
        "kind": "read",
        "name": "n",
        "raw_input": {"a": 1},
        "locations": [v1.ToolCallLocation(path="/x")],
        "tool_call_id": "t",
        "status": "pending",
    },
}
REPORT: dict[str, dict[str, Any]] = {
    "announce": {"status": "pending"},
    "progress": {
        "status": "in_progress",
        "title": "t",
        "content": ["c"],
        "locations": [v1.ToolCallLocation(path="/x")],
        "raw_output": {"a": 1},
    },
    "ask": {"options": [v1.PermissionOption(option_id="o", name="n", kind="allow_once")]},
    "complete": {"*": ("c",), "raw_output": 1},
    "fail": {"*": ("c",), "raw_output": 1},
}
PEER: dict[str, dict[str, Any]] = {
    "call": {"method": "_x", "params": {"a": 1}},
    "notify": {"method": "_x", "params": {"a": 1}},
}
SESSION: dict[str, dict[str, Any]] = {
    "prompt": {"*": ("Hello",)},
    "set_mode": {"mode_id": "m"},
    "set_config_option": {"config_id": "c", "value": "v"},
    "cancel": {},
    "interrupt": {},
    "close": {},
}
SETUP = {"cwd": "/tmp", "mcp_servers": [v1.McpServerStdio(name="n", command="c", args=[], env=[])]}
SETUP["additional_directories"] = ["/var"]
HANDLE: dict[str, dict[str, Any]] = {
    **PEER,
    "new_session": SETUP,
    "load_session": {"session_id": "s", **SETUP},
    "resume_session": {"session_id": "s", **SETUP},
    "fork_session": {"session_id": "s", "cwd": "/tmp"},
    "list_sessions": {"cwd": "/tmp"},
    "delete_session": {"session_id": "s"},
    "authenticate": {"method_id": "m"},
    "logout": {},
}
SILENT = {
    # They send nothing themselves, or only what the methods above hand them.
    Turn: {"close", "take_steering", "when_sent"},
    ToolCallReport: set(),
    Terminal: {"kill", "output", "release", "wait"},
    ClientHandle: {"ask", "ask_for", "behind", "check_allowed", "introduce", "ready"},
    Session: {
        *("hand_over", "inlet", "keep", "leave", "listen", "wake_listener"),
        *("turn_ended", "weigh_backlog"),
        "steer",  # into a turn that runs: see packages/sdk/tests/schema/test_steering.py
    },
    AgentHandle: {"ask", "introduce", "open_session"},
}


def public(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}


def test_every_public_method_is_in_a_table() -> None:
    assert public(Turn) - SILENT[Turn] == set(TURN)
    assert public(AgentSession) <= set(TURN)
    assert public(BlockingTurn) - SILENT[Turn] == set(TURN)
    assert public(ToolCallReport) == set(REPORT)
    assert public(Terminal) == SILENT[Terminal]
    assert public(ClientHandle) - SILENT[ClientHandle] == set(PEER)
    assert public(Session) - SILENT[Session] == set(SESSION)
    assert public(AgentHandle) - SILENT[AgentHandle] == set(HANDLE)


def attempts(table: dict[str, dict[str, Any]], target: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Each method as it should be called, and with each wrong value for each of its arguments."""
    for name, right in table.items():
        method = getattr(target, name)
        yield name, bound(method, right)
        for argument, wrong in ((argument, wrong) for argument in right for wrong in WRONG):
            value = (wrong,) if argument == "*" else wrong
            yield f"{name}({argument}={wrong!r})", bound(method, {**right, argument: value})


def bound(method: Callable[..., Any], arguments: dict[str, Any]) -> Callable[[], Any]:
    positional = [
        name
        for name, one in inspect.signature(method).parameters.items()
        if one.kind is one.POSITIONAL_OR_KEYWORD
    ]
    args = [arguments[name] for name in positional] + list(arguments.get("*", ()))
    named = {name: one for name, one in arguments.items() if name not in positional and name != "*"}
    return lambda: method(*args, **named)


async def outcome(call: Callable[[], Any]) -> str:
    """`sent`, or the mistake that the author was told of."""
    try:
        made = call()
        if isinstance(made, ToolCallReport):
            async with made:
                return "sent"
        if inspect.isasyncgen(made):
            async for _ in made:
                pass
        elif inspect.isawaitable(made):
            await made
    except InvalidValue as mistake:
        return str(mistake)
    except CallFailed:
        return "sent"  # and refused by the peer
    return "sent"


UNIONS = {
    "elicitation/create": "CreateElicitationRequest",
    "session/set_config_option": "SetSessionConfigOptionRequest",
}
JUDGE = Judge(definitions("v1"))


def assert_official(frames: list[dict[str, Any]], methods: dict[str, Any]) -> None:
    for frame in frames:
        method = frame.get("method", "")
        if method in methods:
            definition = UNIONS.get(method) or methods[method].params.__name__
            assert JUDGE.accepts({"$ref": f"#/$defs/{definition}"}, frame["params"]), frame
        else:
            assert not method or (isinstance(method, str) and method.startswith(("_", "odd", "$/"))), frame


TO_CLIENT = {**CLIENT_REQUESTS, **CLIENT_NOTIFICATIONS}
TO_AGENT = {**AGENT_REQUESTS, **AGENT_NOTIFICATIONS}

RESULTS = {
    "fs/read_text_file": {"content": "c"},
    "fs/write_text_file": {},
    "terminal/create": {"terminalId": "t"},
    "session/request_permission": {"outcome": {"outcome": "cancelled"}},
    "elicitation/create": {"action": "cancel"},
}


async def served(agent: Agent) -> tuple[RawClient, str]:
    """One turn of the agent, whose questions are answered at once."""

    class Obliging(RawClient):
        def feed(self, block: bytes) -> None:
            known = len(self.seen)
            super().feed(block)
            for frame in self.seen[known:]:
                if "method" in frame and "id" in frame:
                    told = {"result": RESULTS.get(frame["method"], {})}
                    self.send({"jsonrpc": "2.0", "id": frame["id"], **told})

    async with raw_client(agent) as client:
        client.__class__ = Obliging
        session = await client.open(EVERYTHING)
        client.prompt(1, session)
        assert "result" in await client.answer_to(1), client.seen[-1]
        return client, session


async def test_a_turn_sends_only_what_the_schema_accepts() -> None:
    agent, told = Agent("strict"), dict[str, str]()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        for target, table in ((turn, TURN), (turn.session, dict(TURN)), (turn.client, PEER)):
            if target is turn.session:
                del table["tool"]
            for name, call in attempts(table, target):
                told[name] = await outcome(call)
        async with turn.tool("T", tool_call_id="t") as report:
            for name, call in attempts(REPORT, report):
                told[f"report.{name}"] = await outcome(call)

    client, _ = await served(agent)
    assert_official(client.seen, TO_CLIENT)
    assert [name for name in TURN if told[name] != "sent"] == []
    assert len([one for one in told.values() if one != "sent"]) > 250
    assert told["plan(entries=123)"] == "entries is 123; it must be a list"
    assert told["say(text=123)"] == "text is 123; it must be a string or a content block"
    assert told["create_terminal(*=['a', 5])"] == "args[0] is ['a', 5]; it must be `str` (in terminal/create)"
    assert "kind is 'odd'; it must be one of 'read', 'edit'" in told["tool(kind='odd')"]
    assert (
        "status is 'odd'; it must be one of 'pending', 'in_progress'" in told["report.progress(status='odd')"]
    )


async def test_a_status_of_a_plan_is_refused_with_the_allowed_ones() -> None:
    agent = Agent("planner")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        for wrong in ([("Look", "doing")], [{"content": "x", "priority": "low", "status": "doing"}]):
            with pytest.raises(InvalidValue):
                await turn.plan(wrong)  # type: ignore[arg-type]
        why = r"entries\[0\]\.status is 'doing'; it must be one of 'pending', 'in_progress', 'completed'"
        with pytest.raises(InvalidValue, match=why):
            await turn.plan([("Look", "doing")])  # type: ignore[list-item]
        await turn.say("done")

    client, session = await served(agent)
    assert client.texts(session) == ["done"]


def test_a_turn_of_a_plain_function_sends_only_what_the_schema_accepts() -> None:
    agent, told = Agent("strict"), dict[str, str]()

    @agent.prompt
    def reply(turn: BlockingTurn) -> None:
        for name, call in attempts(TURN, turn):
            try:
                made = call()
                if name.startswith("tool"):
                    made.announce()
                told[name] = "sent"
            except InvalidValue as mistake:
                told[name] = str(mistake)

    client, _ = asyncio.run(served(agent))
    assert_official(client.seen, TO_CLIENT)
    assert [name for name in TURN if told[name] != "sent"] == []
    assert len([one for one in told.values() if one != "sent"]) > 150


CAPABILITIES = {
    "loadSession": True,
    "sessionCapabilities": {
        name: {} for name in ("list", "resume", "fork", "close", "delete", "additionalDirectories")
    },
    "auth": {"logout": {}},
}


async def test_a_client_sends_only_what_the_schema_accepts() -> None:
    told = dict[str, str]()
    async with raw_agent(capabilities=CAPABILITIES) as (handle, agent):
        oblige(agent)
        session = await handle.new_session(cwd="/tmp")
        for table, target in ((SESSION, session), (HANDLE, handle)):
            for name, call in attempts(table, target):
                told[name] = await outcome(call)
    assert_official(agent.seen, TO_AGENT)
    assert [name for name in (*SESSION, *HANDLE) if told[name] != "sent"] == []
    assert len([one for one in told.values() if one != "sent"]) > 100
    assert told["prompt(*=123)"] == "content[0] is 123; it must be a string or a content block"


def oblige(agent: RawAgent) -> None:
    empty: dict[str, Any] = {
        name: {}
        for name, row in AGENT_REQUESTS.items()
        if not row.needs_result and name not in agent.answers_to
    }
    made = {"sessionId": "s"}
    agent.answers_to |= empty | {
        "session/new": made,
        "session/fork": made,
        "session/prompt": {"stopReason": "end_turn"},
        "session/set_config_option": {"configOptions": []},
        "session/list": {"sessions": []},
        "_x": {},
        "odd": {},
    }


# What a handler returns, and what it is.


WEIRD = v1.PromptResponse(stop_reason="weird")  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", ["weird", 5, {"stopReason": "end_turn"}, WEIRD])
async def test_a_stop_reason_that_is_none_never_leaves(wrong: Any, caplog: pytest.LogCaptureFixture) -> None:
    agent = Agent("stopping")

    @agent.prompt
    async def reply(turn: Turn) -> Any:
        return wrong

    async with raw_client(agent) as client:
        session = await client.open()
        client.prompt(1, session)
        assert (await client.answer_to(1))["error"]["code"] == -32603
    assert "'max_turn_requests'" in caplog.text  # the author finds the allowed ones in the log


async def test_a_result_with_a_wrong_value_never_leaves() -> None:
    agent = Agent("opening")

    @agent.new_session
    async def open_session(message: v1.NewSessionRequest) -> v1.NewSessionResponse:
        return v1.NewSessionResponse(session_id=5)  # type: ignore[arg-type]

    async with raw_client(agent) as client:
        with pytest.raises(KeyError):
            await client.open()
        assert client.seen[-1]["error"]["code"] == -32603


def test_a_decorator_with_parentheses_says_that_it_takes_none() -> None:
    agent, client = Agent("a"), Client("c")
    registrations: list[Any] = [agent.prompt, agent.new_session, client.request_permission]
    for register in registrations:
        with pytest.raises(InvalidHandler, match="takes no parentheses"):
            register()


def test_a_handler_that_forgot_to_await_is_told_so() -> None:
    async def say() -> None: ...

    with pytest.raises(InvalidValue, match=r"say\(\)'; it has to be awaited"):
        response_to(say(), is_cancelled=False)


@pytest.mark.parametrize(
    "function",
    [
        lambda: None,
        lambda a, b, c: None,
        lambda turn, *, session: None,
        lambda **more: None,
        5,
    ],
    ids=["no parameters", "three parameters", "a required keyword", "keywords alone", "a number"],
)
def test_a_function_that_could_never_be_called_is_refused_when_it_is_registered(function: Any) -> None:
    agent, client = Agent("a"), Client("c")
    registrations: list[Callable[[Any], Any]] = [
        agent.prompt,
        agent.new_session,
        agent.cancel,
        agent.extension("_x"),
        client.request_permission,
        client.update,
        client.extension("_x"),
    ]
    for register in registrations:
        with pytest.raises(InvalidHandler):
            register(function)
    assert issubclass(InvalidHandler, LocalMistake)


@pytest.mark.parametrize(
    "function",
    [
        lambda turn: None,
        lambda turn, client: None,
        lambda turn, client=None: None,
        lambda turn=None: None,
        lambda *both: None,
        lambda turn, *, session=None: None,
        print,
    ],
)
def test_a_function_that_can_be_called_is_a_handler(function: Any) -> None:
    agent = Agent("a")
    assert agent.extension("_x")(function) is function


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: Agent(5), "name"),  # type: ignore[arg-type]
        (lambda: Agent("a", version=1), "version"),  # type: ignore[arg-type]
        (lambda: Agent("a", title=1), "title"),  # type: ignore[arg-type]
        (lambda: Agent("a", busy="later"), "busy"),  # type: ignore[arg-type]
        (lambda: Client(5), "name"),  # type: ignore[arg-type]
        (lambda: Client("c", elicitation_modes=("voice",)), "elicitation_modes"),
    ],
)
def test_a_wrong_declaration_is_refused_where_it_stands(make: Callable[[], Any], argument: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        make()
    assert refused.value.argument == argument


def test_what_a_peer_said_can_be_passed_on_with_all_that_nobody_knows() -> None:
    frame = b'{"sessionUpdate":"plan","entries":[],"later":{"a":1}}'
    known = read(frame, v1.Plan)
    assert write_strictly(known, v1.Plan) == frame
