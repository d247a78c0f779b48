"""Two foreign sides at once: a threads client, a crow agent, and an interpreter that speaks v1 in between.

Neither edge knows of the other dialect. Both peers are written from the documents of their dialects alone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.dialect import EdgeSettings, Ledger, Translator, make_edge
from tests.dialect.crow.document_client import AGENT, TRANSLATE
from tests.dialect.edges import remarks
from tests.dialect.threads.pipe import talking
from tests.dialect.threads.stage import chunk, user


@pytest.mark.bound(40)  # two programs start slowly on a busy machine
async def test_a_threads_client_and_a_crow_agent_hold_a_whole_conversation(tmp_path: Path) -> None:
    lost = tmp_path / "lost.json"
    options = ("--client", "threads", "--agent", "crow", "--cwd", str(tmp_path), "--ledger", str(lost))
    async with talking([*TRANSLATE, *options, "--", *AGENT]) as client:
        assert await client.call("getThreads") == {"threads": []}
        thread = (await client.call("createThread"))["threadId"]
        assert await client.send(thread, "hello") is None
        assert client.said(thread) == "You said: hello"

        assert await client.send(thread, "count") is None
        assert client.said(thread) == "Nobody knows.", "nobody was asked, so nobody has consented"

        assert "error" in await client.send(thread, "fail")
        assert await client.send(thread, "again") is None
        assert client.said(thread) == "You said: again"

        entries = (await client.call("getThreadEntries", {"threadId": thread}))["entries"]
        said = [(entry["role"], "".join(one["chunk"] for one in entry["chunks"])) for entry in entries]
        assert said == [
            ("user", "hello"),
            ("assistant", "You said: hello"),
            ("user", "count"),
            ("assistant", "Nobody knows."),
            ("user", "fail"),
            ("user", "again"),
            ("assistant", "You said: again"),
        ]
        assert [one["id"] for one in (await client.call("getThreads"))["threads"]] == [thread]
        assert await client.call("openThread", {"threadId": thread}) is None
        assert "error" in await client.call("openThread", {"threadId": "nowhere"})
        assert (await client.call("flyToTheMoon"))["error"]["code"] == -32601
    noted = {(entry["dialect"], entry["what"]) for entry in json.loads(lost.read_text())["entries"]}
    for what in ("thoughts", "plans", "tool calls that read no file", "a request for permission"):
        assert ("threads", what) in noted


class Chain:
    """The same without programs: lines in, lines out on either side."""

    def __init__(self, settings: EdgeSettings) -> None:
        self.ledger = Ledger()
        self._client = Translator([make_edge("threads", "client", settings, self.ledger)], self.ledger)
        self._agent = Translator([make_edge("crow", "agent", settings, self.ledger)], self.ledger)
        self.to_client: list[Any] = []
        self.to_agent: list[Any] = []

    def client_says(self, message: Any) -> None:
        self._take("client", self._client.from_peer(_line(message)))

    def agent_says(self, **message: Any) -> None:
        self._take("agent", self._agent.from_peer(_line({"jsonrpc": "2.0", **message})))

    def _take(self, side: str, passed: Any) -> None:
        heard = self.to_client if side == "client" else self.to_agent
        heard += [json.loads(line) for line in passed.peer.splitlines()]
        if passed.inside and side == "client":
            self._take("agent", self._agent.from_inside(passed.inside))
        elif passed.inside:
            self._take("client", self._client.from_inside(passed.inside))

    def answer_agent(self, result: Any) -> None:
        """The agent answers what it was asked last."""
        self.agent_says(id=self.to_agent[-1]["id"], result=result)

    def update(self, kind: str, **fields: Any) -> None:
        self.agent_says(
            method="session/update", params={"sessionId": "s", "update": {"@type": kind, **fields}}
        )


def _line(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


def opened(settings: EdgeSettings) -> Chain:
    """A chain whose agent is introduced, with a thread `s` that is being opened."""
    chain = Chain(settings)
    chain.client_says({"id": 0, "method": "openThread", "params": {"threadId": "s"}})
    assert chain.to_agent[-1]["params"]["protocol_version"] == 1
    chain.answer_agent({"protocol_version": 1, "agent_capabilities": {"load_session": True}})
    assert chain.to_agent[-1]["method"] == "session/load"
    assert chain.to_agent[-1]["params"]["session_id"] == "s"
    return chain


def test_what_the_agent_replays_is_what_the_thread_holds() -> None:
    chain = opened(EdgeSettings(cwd="/field"))
    loading = chain.to_agent[-1]["id"]
    for kind, text in (
        ("user_message_text", "Where?"),
        ("agent_thought_text", "Hm."),
        ("agent_message_text", "There"),
        ("agent_message_text", "."),
    ):
        chain.update(kind, text=text)
    chain.agent_says(id=loading, result={})
    assert chain.to_client == [{"id": 0, "result": None}]
    chain.client_says({"id": 1, "method": "getThreadEntries", "params": {"threadId": "s"}})
    assert chain.to_client[-1]["result"]["entries"] == [
        {"type": "message", "role": "user", "chunks": [chunk("Where?")]},
        {"type": "message", "role": "assistant", "chunks": [chunk("There"), chunk(".")]},
    ]


@pytest.mark.parametrize(("consents", "told"), [(True, "approve"), (False, "reject")])
def test_a_permission_that_the_client_cannot_be_asked_for_is_the_policys(consents: bool, told: str) -> None:
    chosen = "approve" if consents else None
    chain = opened(EdgeSettings(cwd="/field", consent=lambda question: chosen))
    chain.answer_agent({})
    chain.client_says({"id": 1, "method": "sendMessage", "params": user("s", "count")})
    prompt = chain.to_agent[-1]["id"]
    options = [{"id": "approve", "title": "Approve", "is_primary": True}, {"id": "reject", "title": "Reject"}]
    question = {"tool_call_id": "c", "title": "counter", "arguments": "--eggs", "permission_options": options}
    chain.update("permission_request", **question)
    assert chain.to_agent[-1]["method"] == "permission_response"
    assert chain.to_agent[-1]["params"]["option_id"] == told
    chain.answer_agent({})
    chain.agent_says(id=prompt, result={"stop_reason": "end_turn"})
    assert chain.to_client[-1] == {"id": 1, "result": None}
    assert ("lost", "a request for permission") in remarks(chain.ledger)
