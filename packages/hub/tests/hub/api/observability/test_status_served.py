"""What can be observed, at the address of a real hub."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from dragoman import Agent, Turn, connect
from dragoman.dialect import EdgeSettings, Ledger
from dragoman.sdk.interpreter.dialect_transport import speaking
from dragoman.sdk.serve import serving
from dragoman.testing.transports import SinkRecorder
from dragoman.transport.memory import memory_pair
from dragoman_hub.agents.channel import AgentChannel, DirectChannel
from dragoman_hub.agents.pool import AgentSpec
from dragoman_hub.api.app import HubApp
from dragoman_hub.api.endpoint import Visit
from dragoman_hub.api.history_api import HistoryApi, HistoryDoor
from dragoman_hub.api.listener import open_listener, open_socket
from dragoman_hub.api.observability.asgi import PATHS, ObservingPages
from dragoman_hub.api.observability.observer import Observer
from dragoman_hub.engine.options import HubOptions
from dragoman_hub.gate.admission import Admission, Grant, Scope, hash_token, local_hosts
from dragoman_hub.hub import Hub
from dragoman_local.journal import MemoryJournal
from tests.hub.api.observability.strict import parse

WATCHER: frozenset[Scope] = frozenset({"observe"})


def echo() -> Agent:
    agent = Agent("echo")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(f"You said: {turn.text}")

    return agent


@pytest.mark.bound(30)
async def test_a_turn_over_a_websocket_is_in_the_metrics_and_in_the_history() -> None:
    observer = Observer()
    ours, theirs = memory_pair()

    async def start() -> AgentChannel:
        return DirectChannel(ours)

    bound = open_socket("127.0.0.1", 0, tls=None, insecure=False)
    port = bound.getsockname()[1]
    grants = {hash_token("all"): Grant("owner"), hash_token("look"): Grant("watcher", WATCHER)}
    admission = Admission(grants, hosts=local_hosts(port))
    async with serving(echo(), theirs), MemoryJournal() as inner:
        journal = observer.measure(inner)
        spec = AgentSpec(name="echo", open=start)
        async with Hub(journal, {"echo": spec}, options=HubOptions(default_agent="echo")) as hub:
            seen = observer.see(hub, url=f"http://127.0.0.1:{port}/", journal="memory://")
            pages = ObservingPages(admission, lambda: observer.metrics(seen), draining=lambda: hub.draining)
            app = HubApp(hub, admission, observed_app=pages, observed_paths=PATHS)
            async with open_listener(app, bound), httpx2.AsyncClient(timeout=None, base_url=seen.url) as http:
                headers = {"authorization": "Bearer all"}
                async with connect(f"ws://127.0.0.1:{port}/acp", headers=headers) as agent:
                    session = await agent.new_session(cwd="/tmp")
                    await session.prompt("hello")
                    (connection,) = (await observer.status(seen)).connections
                    assert (connection.token, connection.transport) == ("owner", "websocket")
                told = await http.get("/metrics", headers={"authorization": "Bearer look"})
                assert (await http.get("/metrics")).status_code == 401
                assert (await http.get("/healthz")).text == "ok\n"
                hub.draining = True
                assert (await http.get("/healthz")).status_code == 503
            read = parse(told.content)
            assert read["dragoman_turns_total"].value(agent="echo", stop_reason="end_turn") == 1
            await _threads(hub, session.id)


async def _threads(hub: Hub, session_id: str) -> None:
    """A client of the thread protocol sees the same session as a thread, and may go on with it."""
    hub.draining = False
    wire, client = memory_pair()
    history = HistoryDoor(wire, HistoryApi(hub.journal), hub.owner, grant=Grant("anybody"))
    spoken = speaking(
        "threads", history, position="client", settings=EdgeSettings(cwd="/tmp"), ledger=Ledger()
    )
    heard = SinkRecorder()
    client.start(heard)
    hub.accept(spoken, Visit(Grant("old")).grant)
    params = {"threadId": session_id}
    message = {"role": "user", "chunks": [{"type": "text", "chunk": "again"}]}
    for number, (method, given) in enumerate(
        [("getThreads", None), ("openThread", params), ("sendMessage", {**params, "message": message})], 1
    ):
        client.write(json.dumps({"id": number, "method": method, "params": given}).encode() + b"\n")
    await heard.until(lambda: any(one.get("id") == 3 and "result" in one for one in _lines(heard)))
    client.write(json.dumps({"id": 4, "method": "getThreadEntries", "params": params}).encode() + b"\n")
    await heard.until(lambda: any(one.get("id") == 4 and "result" in one for one in _lines(heard)))
    answers = {one["id"]: one["result"] for one in _lines(heard) if "result" in one}
    assert [one["id"] for one in answers[1]["threads"]] == [session_id]
    assert [
        (one["role"], "".join(part["chunk"] for part in one["chunks"])) for one in answers[4]["entries"]
    ] == [
        ("user", "hello"),
        ("assistant", "You said: hello"),
        ("user", "again"),
        ("assistant", "You said: again"),
    ]
    await client.aclose()


def _lines(heard: SinkRecorder) -> list[dict[str, Any]]:
    return [json.loads(line) for line in heard.stream.splitlines()]
