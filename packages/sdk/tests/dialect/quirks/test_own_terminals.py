"""Output of an agent's own commands: every piece arrives, in bounded updates and bounded memory."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialect import EdgeSettings, Ledger, Translator
from dragoman.dialect.quirks.edge import Quirks
from dragoman.dialect.quirks.own_terminals import MOST_CALLS
from dragoman.dialect.shown_terminal import KEPT
from tests.dialect.odd import values

ANYTHING = values(["type", "terminalId", "terminal_id", "data"], ["terminal", "t", "content"])


class Conversation:
    """A client and an agent with the quirk; collects what the client hears."""

    def __init__(self, meta: dict[str, Any] | None = None) -> None:
        ledger = Ledger()
        self.translator = Translator([Quirks("agent", EdgeSettings(), ledger)], ledger, on_mistake=_raise)
        self.updates: list[dict[str, Any]] = []
        capabilities = {} if meta is None else {"_meta": meta}
        params = {"protocolVersion": 1, "clientCapabilities": capabilities}
        self.translator.from_inside(_line({"id": 0, "method": "initialize", "params": params}))
        info = {"name": "@agentclientprotocol/codex-acp", "version": "2.6.0"}
        self.say({"id": 0, "result": {"protocolVersion": 1, "agentInfo": info}})

    def say(self, message: dict[str, Any]) -> None:
        for text in self.translator.from_peer(_line(message)).inside.splitlines():
            heard = json.loads(text)
            if heard.get("method") == "session/update":
                self.updates.append(heard["params"]["update"])

    def update(self, call: Any, kind: str = "tool_call_update", **members: Any) -> None:
        update = {"sessionUpdate": kind, "toolCallId": call, **members}
        self.say({"method": "session/update", "params": {"sessionId": "s", "update": update}})

    def print(self, call: str, data: str, **members: Any) -> None:
        self.update(call, _meta={"terminal_output_delta": {"data": data, "terminal_id": call}}, **members)

    @property
    def size(self) -> int:
        return sum(len(json.dumps(update)) for update in self.updates)

    def shown(self, call: str) -> str:
        """The text that the call has in the end."""
        contents = [
            update["content"]
            for update in self.updates
            if update["toolCallId"] == call and update.get("content")
        ]
        (item,) = contents[-1]
        return str(item["content"]["text"])


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def _raise(error: Exception) -> None:
    raise error


@given(st.lists(st.text("ab \n", max_size=20), max_size=40))
def test_however_the_output_is_cut_all_of_it_is_there_before_the_answer(pieces: list[str]) -> None:
    talk = Conversation()
    talk.translator.from_inside(_line({"id": 1, "method": "session/prompt", "params": {"sessionId": "s"}}))
    talk.update("t", "tool_call", title="make", content=[{"type": "terminal", "terminalId": "t"}])
    for piece in pieces:
        talk.print("t", piece)
    talk.say({"id": 1, "result": {"stopReason": "end_turn"}})
    output = "".join(pieces)
    if output:
        assert talk.shown("t") == f"```console\n{output.rstrip(chr(10))}\n```"
    else:
        assert [update.get("content") for update in talk.updates if update.get("content")] == []


def test_output_that_grows_by_lines_costs_a_few_times_its_size() -> None:
    talk = Conversation()
    for number in range(4000):
        talk.print("t", f"line {number}\n")
    talk.print("t", "end\n", status="completed")
    assert talk.shown("t").endswith("line 3999\nend\n```")
    assert talk.size < 12 * len(talk.shown("t"))


def test_endless_output_shows_its_end_and_is_kept_in_bounds() -> None:
    talk = Conversation()
    for _ in range(5):
        talk.print("t", "x" * (KEPT // 2))
    talk.print("t", "end\n", status="completed")
    assert len(talk.shown("t")) < KEPT + 100
    assert "[…]" in talk.shown("t")
    for number in range(MOST_CALLS * 2):
        talk.print(f"t{number}", "hello\n")
    (chain,) = talk.translator.edges
    (quirk,) = [edge for edge in chain._edges if edge.title == "own-terminals"]  # type: ignore[attr-defined]
    assert len(quirk._calls) == MOST_CALLS


def test_a_replay_shows_its_output_once() -> None:
    talk = Conversation()
    for _ in range(2):
        talk.update("t", "tool_call", title="ls", status="completed")
        talk.print("t", "one\n")
    assert [len(update.get("content", [])) for update in talk.updates] == [0, 1, 0, 1]
    assert talk.shown("t") == "```console\none\n```"


def test_a_client_that_knows_the_members_gets_them_as_they_are() -> None:
    talk = Conversation({"terminal_output": True})
    talk.update("t", "tool_call", title="ls", content=[{"type": "terminal", "terminalId": "t"}])
    talk.print("t", "one\n")
    assert talk.updates[0]["content"] == [{"type": "terminal", "terminalId": "t"}]
    assert talk.updates[1]["_meta"]["terminal_output_delta"]["data"] == "one\n"


def test_a_question_shows_no_terminal_that_the_client_does_not_have() -> None:
    talk = Conversation()
    call = {"toolCallId": "t", "content": [{"type": "terminal", "terminalId": "t"}]}
    question = {"id": 5, "method": "session/request_permission", "params": {"toolCall": call}}
    heard = json.loads(talk.translator.from_peer(_line(question)).inside)
    assert heard["params"]["toolCall"]["content"] == []


@given(ANYTHING, ANYTHING)
def test_nothing_that_an_agent_sends_makes_it_fail(meta: Any, content: Any) -> None:
    talk = Conversation()
    names = ("terminal_output", "terminal_output_delta", "terminal_exit", "terminal_info")
    talk.update("t", _meta=dict.fromkeys(names, meta), content=[{"type": "terminal", "terminalId": content}])
    talk.update(content, _meta={"terminal_exit": {"exit_code": meta, "signal": content}}, content=content)
