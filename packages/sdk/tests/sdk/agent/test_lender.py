"""What an agent borrows from its client: files, terminals, and answers of the user."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dragoman import Agent, Client, Limits, Terminal, Turn, connect
from dragoman.errors import BadAnswer, CallFailed, CallTimeout, ErrorAnswer
from dragoman.schema.v1 import (
    CreateElicitationResponse,
    CreateTerminalRequest,
    CreateTerminalResponse,
    ElicitationAcceptAction,
    ElicitationFormMode,
    ElicitationSchema,
    KillTerminalRequest,
    ReadTextFileRequest,
    ReadTextFileResponse,
    ReleaseTerminalRequest,
    TerminalOutputRequest,
    TerminalOutputResponse,
    WaitForTerminalExitRequest,
    WaitForTerminalExitResponse,
    WriteTextFileRequest,
)
from tests.runtime.clock import virtually
from tests.runtime.raw import result, until
from tests.sdk.ends import EVERYTHING, cancel, raw_client


def agent_of(body: Any) -> Agent:
    agent = Agent("borrower")

    @agent.prompt
    async def reply(turn: Turn) -> Any:
        return await body(turn)

    return agent


async def test_files_are_read_and_written_in_the_session() -> None:
    files = {"/x": "old"}
    client, seen = Client(), []

    @client.read_text_file
    async def read(message: ReadTextFileRequest) -> ReadTextFileResponse:
        seen.append((message.session_id, message.line, message.limit))
        if message.path not in files:
            raise ErrorAnswer(-32002, "Resource not found")
        return ReadTextFileResponse(content=files[message.path])

    @client.write_text_file
    async def write(message: WriteTextFileRequest) -> None:
        files[message.path] = message.content

    async def body(turn: Turn) -> None:
        assert await turn.read_text_file("/x", line=3, limit=7) == "old"
        await turn.write_text_file("/x", "new")
        assert await turn.session.read_text_file("/x") == "new"
        with pytest.raises(CallFailed) as failed:
            await turn.read_text_file("/y")
        assert failed.value.code == -32002
        await turn.say("fine")

    async with connect(agent_of(body), client=client) as handle:
        session = await handle.new_session(cwd="/tmp")
        assert (await session.prompt("go")).text == "fine"
    assert files == {"/x": "new"}
    assert seen[0] == (session.id, 3, 7)


async def test_a_senseless_answer_is_the_clients_mistake() -> None:
    caught: list[BadAnswer] = []

    async def body(turn: Turn) -> None:
        with pytest.raises(BadAnswer) as bad:
            await turn.read_text_file("/x")
        caught.append(bad.value)

    async with raw_client(agent_of(body)) as client:
        client.prompt(1, await client.open(EVERYTHING))
        asked = await client.asks("fs/read_text_file")
        client.send(result(asked["id"], {"content": ["secret"]}))
        await client.answer_to(1)
    assert "fs/read_text_file" in str(caught[0])
    assert "secret" not in str(caught[0])


def test_a_client_that_does_not_answer_is_given_up() -> None:
    async def play() -> None:
        ended: list[str] = []

        async def body(turn: Turn) -> None:
            asked = TerminalOutputRequest(session_id=turn.session_id, terminal_id="t")
            with pytest.raises(CallTimeout):
                await turn.client.ask("terminal/output", asked, TerminalOutputResponse)
            with pytest.raises(CallTimeout):
                await turn.client.call("_now", deadline=30)
            ended.append("both")

        async with raw_client(agent_of(body), limits=Limits(call_seconds=30)) as client:
            client.prompt(1, await client.open(EVERYTHING))
            await client.answer_to(1)
            assert 60 <= asyncio.get_running_loop().time() < 61
        assert ended == ["both"]

    virtually(play())


def test_the_user_may_think_for_as_long_as_it_takes() -> None:
    async def play() -> None:
        async def body(turn: Turn) -> None:
            async with turn.tool("Delete") as call:
                assert await call.ask()
            answer = await turn.elicit("Which?", ElicitationSchema(properties={}))
            assert isinstance(answer, ElicitationAcceptAction)

        async with raw_client(agent_of(body), limits=Limits(call_seconds=30)) as client:
            client.prompt(1, await client.open(EVERYTHING))
            asked = await client.asks("session/request_permission")
            await asyncio.sleep(86_400)
            client.send(result(asked["id"], {"outcome": {"outcome": "selected", "optionId": "allow_once"}}))
            asked = await client.asks("elicitation/create")
            await asyncio.sleep(86_400)
            client.send(result(asked["id"], {"action": "accept", "content": {}}))
            assert (await client.answer_to(1))["result"] == {"stopReason": "end_turn"}

    virtually(play())


async def test_forms_and_pages_are_asked_for_in_the_form_of_the_protocol() -> None:
    async def body(turn: Turn) -> None:
        await turn.elicit("Which?", ElicitationSchema(properties={}), tool_call_id="t")
        await turn.elicit_url("Log in", "https://example.com", "e1")

    async with raw_client(agent_of(body)) as client:
        session = await client.open(EVERYTHING)
        client.prompt(1, session)
        form = await client.asks("elicitation/create")
        client.send(result(form["id"], {"action": "decline"}))
        page = await client.asks("elicitation/create")
        client.send(result(page["id"], {"action": "cancel"}))
        await client.answer_to(1)
    assert (form["params"]["mode"], form["params"]["toolCallId"]) == ("form", "t")
    assert (page["params"]["mode"], page["params"]["elicitationId"]) == ("url", "e1")
    assert {form["params"]["sessionId"], page["params"]["sessionId"]} == {session}


async def test_between_two_of_ours_a_form_is_filled_in() -> None:
    client = Client()

    @client.elicit
    async def fill_in(message: Any) -> CreateElicitationResponse:
        assert isinstance(message, ElicitationFormMode)
        return ElicitationAcceptAction(content={"colour": "blue"})

    async def body(turn: Turn) -> None:
        answer = await turn.elicit("Which colour?", ElicitationSchema(properties={}))
        assert isinstance(answer, ElicitationAcceptAction)
        await turn.say(str(answer.content))

    async with connect(agent_of(body), client=client) as handle:
        ended = await (await handle.new_session(cwd="/tmp")).prompt("go")
    assert ended.text == "{'colour': 'blue'}"


class Terminals:
    """A client's terminals, as a list of what happened to them."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.created = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.client = client = Client()
        client.create_terminal(self.create)
        client.terminal_output(self.output)
        client.wait_for_terminal_exit(self.wait)
        client.kill_terminal(self.kill)
        client.release_terminal(self.release)

    async def create(self, message: CreateTerminalRequest) -> CreateTerminalResponse:
        self.log.append(f"create {message.command} {message.args or ''}".strip())
        self.created += 1
        name = f"t{self.created}"
        await self.gate.wait()
        return CreateTerminalResponse(terminal_id=name)

    async def output(self, message: TerminalOutputRequest) -> TerminalOutputResponse:
        return TerminalOutputResponse(output=f"of {message.terminal_id}", truncated=False)

    async def wait(self, message: WaitForTerminalExitRequest) -> WaitForTerminalExitResponse:
        return WaitForTerminalExitResponse(exit_code=0)

    async def kill(self, message: KillTerminalRequest) -> None:
        self.log.append(f"kill {message.terminal_id}")

    async def release(self, message: ReleaseTerminalRequest) -> None:
        self.log.append(f"release {message.terminal_id}")


async def test_a_terminal_is_used_and_released_once() -> None:
    terminals = Terminals()

    async def body(turn: Turn) -> None:
        async with await turn.create_terminal("ls", "-l", cwd="/tmp", env={"A": "b"}) as terminal:
            assert (await terminal.wait()).exit_code == 0
            await turn.say((await terminal.output()).output)
            assert terminal.content.terminal_id == "t1"
            await terminal.kill()
            await terminal.release()
        await terminal.release()

    async with connect(agent_of(body), client=terminals.client) as handle:
        ended = await (await handle.new_session(cwd="/tmp")).prompt("go")
    assert ended.text == "of t1"
    assert terminals.log == ["create ls ['-l']", "kill t1", "release t1"]


async def test_a_terminal_is_released_when_its_block_fails() -> None:
    terminals = Terminals()

    async def body(turn: Turn) -> None:
        async with await turn.create_terminal("ls"):
            raise RuntimeError

    async with connect(agent_of(body), client=terminals.client) as handle:
        with pytest.raises(CallFailed):
            await (await handle.new_session(cwd="/tmp")).prompt("go")
    assert terminals.log == ["create ls", "release t1"]


@pytest.mark.parametrize("when", ["while it runs", "while it is being created"])
async def test_a_terminal_is_released_when_its_turn_is_cancelled(when: str) -> None:
    terminals = Terminals()
    if when == "while it is being created":
        terminals.gate.clear()
    opened: list[Terminal] = []

    async def body(turn: Turn) -> None:
        async with await turn.create_terminal("sleep", "1000") as terminal:
            opened.append(terminal)
            await asyncio.Event().wait()

    async with connect(agent_of(body), client=terminals.client) as handle:
        session = await handle.new_session(cwd="/tmp")
        asking = asyncio.ensure_future(session.prompt("go"))
        await until(lambda: opened if terminals.gate.is_set() else terminals.log)
        await session.cancel()
        assert (await asking).stop_reason == "cancelled"
        terminals.gate.set()
        await until(lambda: "release t1" in terminals.log)
        assert not handle.link.connection.incoming_requests


async def test_a_release_that_fails_does_not_hide_what_went_wrong_before() -> None:
    caught: list[BaseException] = []

    async def body(turn: Turn) -> None:
        try:
            async with await turn.create_terminal("ls"):
                raise KeyError("first")
        except KeyError as error:
            caught.append(error)
        with pytest.raises(CallFailed):
            async with await turn.create_terminal("ls"):
                pass

    async with raw_client(agent_of(body)) as client:
        client.prompt(1, await client.open(EVERYTHING))
        for _ in range(2):
            client.send(result((await client.asks("terminal/create"))["id"], {"terminalId": "t"}))
            asked = await client.asks("terminal/release")
            client.send({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32603, "message": "x"}})
        assert (await client.answer_to(1))["result"] == {"stopReason": "end_turn"}
    assert isinstance(caught[0], KeyError)


async def test_a_cancel_takes_back_what_the_handler_was_asking_for() -> None:
    async def body(turn: Turn) -> None:
        await turn.read_text_file("/slow")

    async with raw_client(agent_of(body)) as client:
        session = await client.open(EVERYTHING)
        client.prompt(1, session)
        asked = await client.asks("fs/read_text_file")
        client.send(cancel(session))
        taken_back = await client.asks("$/cancel_request")
        assert taken_back["params"] == {"requestId": asked["id"]}
        assert (await client.answer_to(1))["result"] == {"stopReason": "cancelled"}
