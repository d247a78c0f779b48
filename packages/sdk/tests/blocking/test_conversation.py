"""Conversations without `await`: each with both servers at the other end."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from dragoman.blocking import Agent, AgentHandle, Client, Session, Turn, connect
from dragoman.errors import CallFailed, LocalMistake, NotAdvertised
from dragoman.schema.v1 import (
    AgentMessageChunk,
    ReadTextFileRequest,
    ReadTextFileResponse,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SelectedPermissionOutcome,
    SessionNotification,
    SessionUpdate,
    TextContent,
)
from tests.blocking.ends import SERVERS, connected

seen: list[str] = []


def lending_client() -> Client:
    client = Client("lender")

    @client.read_text_file
    def read(request: ReadTextFileRequest) -> ReadTextFileResponse:
        return ReadTextFileResponse(content=request.path)

    @client.request_permission
    def decide(request: RequestPermissionRequest) -> RequestPermissionResponse:
        seen.append("asked")
        return RequestPermissionResponse(outcome=SelectedPermissionOutcome(option_id="allow_once"))

    @client.extension("_count_down")
    def count_down(number: int, agent: AgentHandle) -> int:
        answer: int = agent.call("_call_back", number)
        return answer + 1

    @client.extension("_never")
    async def never(params: None) -> None:
        raise AssertionError("only asked for where nobody answers")

    return client


@pytest.fixture(scope="module", params=SERVERS)
def agent(request: pytest.FixtureRequest) -> Iterator[AgentHandle]:
    with connected(request.param, client=lending_client()) as handle:
        yield handle


@pytest.fixture
def session(agent: AgentHandle) -> Session:
    return agent.new_session(cwd="/")


def texts(updates: list[SessionUpdate]) -> list[str]:
    chunks = [update for update in updates if isinstance(update, AgentMessageChunk)]
    return [chunk.content.text for chunk in chunks if isinstance(chunk.content, TextContent)]


def test_the_agent_is_introduced(agent: AgentHandle) -> None:
    assert agent.info is not None
    assert agent.info.name == "plain"
    assert "loadSession" in agent.capabilities


def test_every_update_comes_in_order_and_before_the_result(session: Session) -> None:
    turn = session.prompt("count 500")
    assert texts(list(turn)) == [f"{number} " for number in range(500)]
    assert turn.result.text == "".join(f"{number} " for number in range(500))
    assert turn.result.stop_reason == "end_turn"


def test_the_result_of_a_turn_that_nobody_iterates_over_waits_for_its_end(session: Session) -> None:
    assert session.prompt("count 3").result.text == "0 1 2 "


def test_a_turn_can_be_iterated_over_once(session: Session) -> None:
    turn = session.prompt("count 1")
    list(turn)
    with pytest.raises(LocalMistake):
        list(turn)


def test_there_is_no_result_in_the_middle_of_a_turn(session: Session) -> None:
    turn = session.prompt("count 2")
    updates = iter(turn)
    next(updates)
    with pytest.raises(LocalMistake):
        _ = turn.result
    assert len(list(updates)) == 1
    assert turn.result.text == "0 1 "


def test_a_handler_reads_files_of_the_client(session: Session) -> None:
    assert session.prompt("reads 20").result.text == ",".join(f"/{number}" for number in range(20))


def test_threads_of_a_handler_may_ask_at_once(session: Session) -> None:
    expected = sorted(f"/{name}/{number}" for name in "abcd" for number in range(20))
    assert session.prompt("together").result.text == " ".join(expected)


def test_a_permission_brings_the_tool_call_to_its_end(session: Session) -> None:
    (tool,) = session.prompt("ask").result.tool_calls.values()
    assert (tool.title, tool.status) == ("Delete it", "completed")


def test_a_failing_handler_fails_its_tool_call_and_tells_no_secret(session: Session) -> None:
    turn = session.prompt("break")
    with pytest.raises(CallFailed) as failure:
        list(turn)
    assert failure.value.code == -32603
    assert "secret" not in str(failure.value)
    assert session.prompt("count 1").result.text == "0 "


def test_calls_may_be_nested(agent: AgentHandle) -> None:
    assert agent.call("_call_back", 5) == 11


def test_extensions_answer(agent: AgentHandle) -> None:
    assert agent.call("_double", 21) == 42
    with pytest.raises(CallFailed) as failure:
        agent.call("_unknown")
    assert failure.value.code == -32601


def test_what_is_not_advertised_is_not_asked(agent: AgentHandle) -> None:
    with pytest.raises(NotAdvertised, match=r"sessionCapabilities\.delete"):
        agent.delete_session("gone")


def test_a_load_brings_its_replay(agent: AgentHandle) -> None:
    assert texts(list(agent.load_session("stored", cwd="/").late)) == ["once", "upon", "a", "time"]


def test_all_pages_of_a_list_are_read(agent: AgentHandle) -> None:
    found = [info.session_id for info in agent.list_sessions()]
    assert found == ["0-0", "0-1", "1-0", "1-1", "2-0", "2-1"]


def test_a_handler_may_choose_its_stop_reason(session: Session) -> None:
    assert session.prompt("stop max_tokens").result.stop_reason == "max_tokens"
    with pytest.raises(CallFailed):
        _ = session.prompt("stop nonsense").result


def test_a_large_prompt_arrives_whole(session: Session) -> None:
    assert session.prompt("length " + "x" * 3_000_000).result.text == "3000000"


def test_what_is_printed_does_not_reach_the_wire(session: Session) -> None:
    assert session.prompt("show me").result.text == "shown"


def test_two_threads_may_use_one_connection(agent: AgentHandle) -> None:
    failures: list[Exception] = []

    def converse(number: int) -> None:
        try:
            session = agent.new_session(cwd="/")
            for _ in range(5):
                assert session.prompt("reads 10").result.text == ",".join(f"/{n}" for n in range(10))
                assert agent.call("_double", number) == 2 * number
        except Exception as error:  # noqa: BLE001  # it is shown by the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=converse, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.parametrize("server", SERVERS)
def test_what_was_said_before_a_question_is_seen_before_it_is_put(server: str) -> None:
    seen.clear()
    with connected(server, client=lending_client()) as agent:
        for update in agent.new_session(cwd="/").prompt("ask"):
            seen.extend(texts([update]))
    assert seen == ["May I? ", "asked", "yes"]


def test_async_handlers_of_a_client_are_run_too() -> None:
    client = Client("async")
    order: list[str] = []

    @client.read_text_file
    async def read(request: ReadTextFileRequest) -> ReadTextFileResponse:
        return ReadTextFileResponse(content=request.path.upper())

    @client.update
    async def update(note: SessionNotification, agent: object) -> None:
        order.extend(texts([note.update]))

    with connected(client=client) as agent:
        session = agent.new_session(cwd="/")
        assert session.prompt("reads 3").result.text == "/0,/1,/2"
        assert session.prompt("count 50").result.stop_reason == "end_turn"
    assert order[1:] == [f"{number} " for number in range(50)]


def test_an_agent_of_this_process_can_be_talked_to() -> None:
    agent = Agent("inside")

    @agent.prompt
    def reply(turn: Turn) -> None:
        turn.say(f"You said: {turn.text}")

    with connect(agent) as handle:
        assert handle.new_session(cwd="/").prompt("hi").result.text == "You said: hi"
