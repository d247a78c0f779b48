"""The two handles: asking and telling the other side anything, typed or not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import Raw

from dragoman import Agent, Client, Turn, connect
from dragoman.errors import CallFailed, CallTimeout, NotAdvertised
from dragoman.schema.v1 import (
    ForkSessionResponse,
    ListSessionsRequest,
    ListSessionsResponse,
    McpServer,
    McpServerAcp,
    McpServerHttp,
    McpServerSse,
    McpServerStdio,
    SessionInfo,
    SessionMode,
    SessionModeState,
)
from tests.runtime.clock import virtually
from tests.runtime.raw import result, until
from tests.sdk.ends import raw_agent


async def test_extensions_are_plain_data_in_both_directions() -> None:
    agent, client = Agent("a"), Client()
    told: list[Any] = []

    @agent.extension("_double")
    async def double(params: Any) -> Any:
        return [params, params]

    @agent.extension("_tell")
    async def agent_told(params: Any) -> None:
        told.append(("agent", params))

    @client.extension("_ask")
    async def ask(params: Any) -> Any:
        return {"asked": params}

    @client.extension("_tell")
    def client_told(params: Any) -> None:
        told.append(("client", params))

    @agent.prompt
    async def reply(turn: Turn) -> None:
        assert await turn.client.call("_ask", {"x": 1}) == {"asked": {"x": 1}}
        assert await turn.client.call("_ask", Raw(b"[1,2]")) == {"asked": [1, 2]}
        await turn.client.notify("_tell", "from the agent")
        with pytest.raises(CallFailed) as failed:
            await turn.client.call("_unknown")
        assert failed.value.code == -32601

    async with connect(agent, client=client) as handle:
        assert await handle.call("_double", [1, None]) == [[1, None], [1, None]]
        assert await handle.call("_double") == [None, None]
        await handle.notify("_tell", "from the client")
        await (await handle.new_session(cwd="/tmp")).prompt("go")
        await until(lambda: len(told) == 2)
    assert sorted(told) == [("agent", "from the client"), ("client", "from the agent")]


def test_a_deadline_can_be_given_for_one_call() -> None:
    async def body() -> None:
        async with raw_agent() as (handle, agent):
            with pytest.raises(CallTimeout):
                await handle.call("_slow", deadline=3)
            assert 3 <= asyncio.get_running_loop().time() < 4
            asking = asyncio.create_task(handle.call("_slow", deadline=None))
            await agent.asks("_slow")
            asked = await agent.asks("_slow")
            await asyncio.sleep(100_000)
            agent.send(result(asked["id"], "at last"))
            assert await asking == "at last"

    virtually(body())


async def test_sessions_are_listed_page_by_page() -> None:
    agent = Agent("pages")
    asked: list[Any] = []

    @agent.list_sessions
    async def page(message: ListSessionsRequest) -> ListSessionsResponse:
        asked.append((message.cwd, message.cursor))
        start = int(message.cursor or 0)
        found = [SessionInfo(session_id=str(n), cwd="/tmp") for n in range(start, start + 2)]
        following: Any = {"next_cursor": str(start + 2)} if start < 4 else {}
        return ListSessionsResponse(sessions=found, **following)

    async with connect(agent) as handle:
        listed = [session.session_id async for session in handle.list_sessions(cwd="/tmp")]
    assert listed == [str(n) for n in range(6)]
    assert [cursor or None for _, cursor in asked] == [None, "2", "4"]
    assert {cwd for cwd, _ in asked} == {"/tmp"}


async def test_sessions_are_forked_resumed_and_deleted() -> None:
    agent = Agent("stores")
    log: list[Any] = []

    @agent.fork_session
    async def fork(message: Any) -> ForkSessionResponse:
        log.append(("fork", message.session_id))
        mode = SessionMode(id="m", name="M")
        modes = SessionModeState(current_mode_id="m", available_modes=[mode])
        return ForkSessionResponse(session_id="forked", modes=modes)

    @agent.resume_session
    async def resume(message: Any) -> None:
        log.append(("resume", message.session_id))

    @agent.delete_session
    async def delete(message: Any) -> None:
        log.append(("delete", message.session_id))

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(turn.session.id)

    async with connect(agent) as handle:
        old = await handle.resume_session("old", cwd="/tmp")
        forked = await handle.fork_session("old", cwd="/tmp")
        assert forked.modes is not None
        assert forked.modes.current_mode_id == "m"
        assert ((await old.prompt("x")).text, (await forked.prompt("x")).text) == ("old", "forked")
        await handle.delete_session("old")
    assert log == [("resume", "old"), ("fork", "old"), ("delete", "old")]


async def test_login_may_take_its_time_and_logout_is_asked_for() -> None:
    agent = Agent("login")
    log: list[str] = []

    @agent.authenticate
    async def authenticate(message: Any) -> None:
        log.append(message.method_id)

    @agent.logout
    async def logout(message: Any) -> None:
        log.append("out")

    async with connect(agent) as handle:
        await handle.authenticate("web")
        await handle.logout()
    assert log == ["web", "out"]


async def test_calls_nested_through_both_sides_and_every_kind_of_handler_end() -> None:
    agent, client = Agent("deep"), Client()
    path: list[str] = []

    @agent.prompt
    async def reply(turn: Turn) -> None:
        path.append("prompt")
        assert await turn.client.call("_two", 1) == "two"
        await turn.say("first")

    @client.extension("_two")
    async def two(params: Any, peer: Any) -> str:
        path.append("request handler of the client")
        assert await peer.call("_three") == "three"
        return "two"

    @agent.extension("_three")
    async def three(params: Any, peer: Any) -> str:
        path.append("request handler of the agent")
        assert await peer.call("_four") == "four"
        return "three"

    @client.extension("_four")
    async def four(params: Any, peer: Any) -> str:
        path.append("innermost")
        return "four"

    @client.update
    async def updated(note: Any, peer: Any) -> None:
        path.append("update handler")
        assert await peer.call("_three") == "three"

    async with connect(agent, client=client) as handle:
        ended = await (await handle.new_session(cwd="/tmp")).prompt("go")
    assert ended.text == "first"
    assert path == [
        "prompt",
        "request handler of the client",
        "request handler of the agent",
        "innermost",
        "update handler",
        "request handler of the agent",
        "innermost",
    ]


async def test_update_handlers_may_prompt_other_sessions_three_deep() -> None:
    agent, client = Agent("inner"), Client()
    answers: list[str] = []

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(f"re: {turn.text}")

    @client.update
    async def updated(note: Any, peer: Any) -> None:
        if len(answers) < 3:
            answers.append("")
            session = await peer.new_session(cwd="/tmp")
            answers.append((await session.prompt("inner")).text)

    async with connect(agent, client=client) as handle:
        session = await handle.new_session(cwd="/tmp")
        assert (await session.prompt("outer")).text == "re: outer"
    assert answers == ["", "", "", "re: inner", "re: inner", "re: inner"]


async def test_a_permission_handler_may_ask_the_agent_and_prompt_it() -> None:
    agent, client = Agent("asks"), Client()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        if turn.text == "why?":
            await turn.say("because")
            return
        async with turn.tool("Delete") as call:
            await turn.say("yes" if await call.ask() else "no")

    @client.request_permission
    async def decide(question: Any, peer: Any) -> Any:
        from dragoman.schema.v1 import RequestPermissionResponse, SelectedPermissionOutcome

        other = await peer.new_session(cwd="/tmp")
        chosen = "allow_once" if (await other.prompt("why?")).text == "because" else "reject_once"
        return RequestPermissionResponse(outcome=SelectedPermissionOutcome(option_id=chosen))

    async with connect(agent, client=client) as handle:
        assert (await (await handle.new_session(cwd="/tmp")).prompt("go")).text == "yes"


REMOTE: dict[str, McpServer] = {
    "http": McpServerHttp(name="far", url="https://example.com/mcp", headers=[]),
    "sse": McpServerSse(name="far", url="https://example.com/sse", headers=[]),
    "acp": McpServerAcp(name="near", server_id="m-1"),
}


@pytest.mark.parametrize("kind", REMOTE)
async def test_a_server_of_a_kind_that_the_agent_does_not_take_is_not_sent(kind: str) -> None:
    local = McpServerStdio(name="here", command="/bin/server", args=[], env=[])
    servers: list[McpServer] = [local, REMOTE[kind]]
    async with raw_agent() as (handle, agent):
        for opening in (
            handle.new_session(cwd="/tmp", mcp_servers=servers),
            handle.load_session("s", cwd="/tmp", mcp_servers=servers),
            handle.resume_session("s", cwd="/tmp", mcp_servers=servers),
        ):
            with pytest.raises(NotAdvertised) as refused:
                await opening
            assert refused.value.capability == f"mcpCapabilities.{kind}"
        await handle.new_session(cwd="/tmp", mcp_servers=[local])
    assert [frame["method"] for frame in agent.seen] == ["initialize", "session/new"]


async def test_a_server_of_a_kind_that_the_agent_takes_is_sent() -> None:
    taken: list[Any] = []
    agent = Agent("a", mcp_http=True)

    @agent.prompt
    async def look(turn: Turn) -> None:
        taken.extend(turn.session.mcp_servers)

    async with connect(agent) as handle:
        session = await handle.new_session(cwd="/tmp", mcp_servers=[REMOTE["http"]])
        await session.prompt("look")
    assert taken == [REMOTE["http"]]
