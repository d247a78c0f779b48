"""A v2 client and a v2 agent with v1 between them: both edges together give the conversation that was held.

What v1 has no words for travels as its original in `_meta`, or is said in another form; what is compared is
what a person would see.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from dragoman.dialect import EdgeSettings, Ledger, Message
from dragoman.dialect.message import Object, answer, decode, notification, request, update_of
from dragoman.dialect.v2 import V2Agent, V2Client
from tests.dialect.v2.client_play import deviations, judged
from tests.every import every
from tests.interop.recordings import ELSEWHERE, Conversation, conversations

RECORDINGS = sorted((ELSEWHERE / "agents-v2").glob("*.ndjson"))
needs_recordings = pytest.mark.skipif(not RECORDINGS, reason="needs recordings of real v2 agents")


class Chain:
    """Both edges of an interpreter between two peers of v2."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self._front = V2Client(EdgeSettings(nonce="front"), self.ledger)
        self._back = V2Agent(EdgeSettings(nonce="back"), self.ledger)
        self.to_client: list[Any] = []
        self.to_agent: list[Any] = []

    def client(self, message: Message) -> None:
        self._from_front(self._front.from_peer(message))

    def agent(self, message: Message) -> None:
        self._from_back(self._back.from_peer(message))

    def _from_front(self, outs: list[Any]) -> None:
        for toward, message in outs:
            if toward == "peer":
                self.to_client.append(message)
            else:
                self._from_back(self._back.from_inside(message))

    def _from_back(self, outs: list[Any]) -> None:
        for toward, message in outs:
            if toward == "peer":
                self.to_agent.append(message)
            elif toward == "inside":
                self._from_front(self._front.from_inside(message))


class Held(Chain):
    """A recorded conversation, with the recorded agent at the end of the chain."""

    def __init__(self, recorded: Conversation) -> None:
        super().__init__()
        self.asked: dict[Any, str] = {}
        self.direct: list[Any] = []  # what the client heard when it was held
        for frame in recorded.frames:
            message: Any = decode(frame.raw)
            if message is None:
                continue
            if frame.to == "agent":
                if message.is_request:
                    self.asked[message.id] = message.method
                self.client(message)
            else:
                self.direct.append(message)
                self.agent(message)


def seen(messages: list[Any]) -> dict[str, Any]:
    """What a person sees of a conversation."""
    texts: dict[str, str] = {}
    calls: dict[str, Any] = {}
    ends, titles, plans = [], [], []
    for message in messages:
        update = update_of(message)
        kind = update.get("sessionUpdate", "")
        if kind in ("agent_message", "agent_message_chunk", "agent_thought", "agent_thought_chunk"):
            _say(texts, update)
        elif kind == "tool_call_update":
            call = calls.setdefault(update["toolCallId"], {})
            call |= {name: update[name] for name in ("title", "kind", "status") if update.get(name)}
        elif kind == "plan_update":
            plans.append(update["plan"].get("entries"))
        elif update.get("state") == "idle" and "stopReason" in update:
            ends.append(update["stopReason"])
        if message.method == "session/request_permission":
            titles.append([message.params["title"], message.params["options"]])
    return {"said": "".join(texts.values()), "calls": calls, "plans": plans, "ends": ends, "asked": titles}


def _say(texts: dict[str, str], update: dict[str, Any]) -> None:
    content: Any = update.get("content")
    whole = type(content) is list
    said = "".join(block.get("text", "") for block in (content if whole else [content]) if block)
    texts[update["messageId"]] = said if whole else texts.get(update["messageId"], "") + said


@needs_recordings
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_recorded_conversation_is_the_same_through_both_edges(path: Path) -> None:
    for recorded in conversations(path):
        held = Held(recorded)
        assert seen(held.to_client) == seen(held.direct)
        answered = {message.id for message in held.to_client if message.is_answer}
        assert answered == {message.id for message in held.direct if message.is_answer}


@needs_recordings
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_recorded_conversation_is_v2_through_both_edges(path: Path) -> None:
    for recorded in conversations(path):
        held = Held(recorded)
        assert deviations(judged(held.to_client, held.asked)) == []


INFO = {"name": "x", "version": "1"}


def met() -> Chain:
    chain = Chain()
    chain.client(request(0, "initialize", {"protocolVersion": 2, "info": INFO, "capabilities": {}}))
    capabilities: Object = {"session": {"prompt": {}, "mcp": {"stdio": {}}}}
    chain.agent(answer(0, {"protocolVersion": 2, "info": INFO, "capabilities": capabilities}))
    chain.client(request(1, "session/new", {"cwd": "/home/ann"}))
    option = {
        "configId": "mode",
        "type": "select",
        "name": "Mode",
        "category": "mode",
        "currentValue": "ask",
        "options": [{"value": "ask", "name": "Ask"}],
    }
    chain.agent(answer(1, {"sessionId": "s", "configOptions": [option]}))
    assert chain.to_client[-1].result["configOptions"] == [option]
    return chain


def prompted(chain: Chain, *blocks: Any) -> None:
    chain.client(request(2, "session/prompt", {"sessionId": "s", "prompt": list(blocks)}))
    tell(chain, "user_message", messageId="u", content=list(blocks))
    chain.agent(answer(2, {"messageId": "u"}))
    tell(chain, "state_update", state="running")


def tell(chain: Chain, kind: str, /, **fields: Any) -> dict[str, Any]:
    """The agent's update; what the client heard last."""
    update = {"sessionUpdate": kind, **fields}
    chain.agent(notification("session/update", {"sessionId": "s", "update": update}))
    return update_of(chain.to_client[-1]) if chain.to_client else {}


def test_content_that_v1_does_not_know_arrives_as_it_was_both_ways() -> None:
    chain = met()
    hologram = {"type": "_hologram", "beams": 3}
    prompted(chain, hologram)
    assert chain.to_agent[-1].params["prompt"] == [hologram]
    assert tell(chain, "agent_message_chunk", messageId="a", content=hologram)["content"] == hologram


def test_a_tool_call_arrives_with_what_v1_cannot_say() -> None:
    chain = met()
    prompted(chain, {"type": "text", "text": "go"})
    diff = {
        "type": "diff",
        "changes": [{"operation": "delete", "path": "/home/ann/old.txt"}],
        "patch": {"format": "git_patch", "text": "diff --git /home/ann/old.txt /home/ann/old.txt\n"},
    }
    call = {"toolCallId": "t", "title": "Tidy up", "kind": "_tidy", "status": "paused", "content": [diff]}
    heard = tell(chain, "tool_call_update", **call)
    assert {name: heard[name] for name in call} == call
    assert "_meta" not in heard


def test_a_question_arrives_with_its_own_title() -> None:
    chain = met()
    prompted(chain, {"type": "text", "text": "go"})
    subject = {"type": "tool_call", "toolCall": {"toolCallId": "t", "title": "rm -r /tmp/x"}}
    options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
    asked = {"sessionId": "s", "title": "Tidy up?", "description": "It is old.", "subject": subject}
    chain.agent(request("q", "session/request_permission", {**asked, "options": options}))
    question = chain.to_client[-1]
    assert question.params == {**asked, "options": options}
    chain.client(answer(question.id, {"outcome": {"outcome": "selected", "optionId": "y"}}))
    given = [message for message in chain.to_agent if message.is_answer][-1]
    assert (given.id, given.result) == ("q", {"outcome": {"outcome": "selected", "optionId": "y"}})


def test_a_turn_ends_for_the_reason_that_the_agent_gave() -> None:
    chain = met()
    prompted(chain, {"type": "text", "text": "go"})
    assert tell(chain, "state_update", state="idle", stopReason="_bored") == {
        "sessionUpdate": "state_update",
        "state": "idle",
        "stopReason": "_bored",
    }
    acknowledged = next(message for message in chain.to_client if message.id == 2)
    said = [update_of(message) for message in chain.to_client if "messageId" in update_of(message)]
    assert said[0]["messageId"] == acknowledged.result["messageId"]
    assert chain.to_client[-1].error is UNSET


@every(
    "kept",
    [
        {"type": "_hologram", "beams": 4},
        {"type": "text", "text": "something else"},
        {"type": 3},
        "nonsense",
    ],
)
def test_an_original_that_means_something_else_is_not_believed(kept: Any) -> None:
    edge = V2Client(EdgeSettings(), Ledger())
    meta = {"dragoman/dialect": {"name": "v2", "raw": kept}}
    content = {"type": "text", "text": "plain", "_meta": meta}
    update = {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": content}
    ((_, heard),) = edge.from_inside(notification("session/update", {"sessionId": "s", "update": update}))
    assert update_of(heard)["content"] == {"type": "text", "text": "plain"}
