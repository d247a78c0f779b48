"""From a peer of a dialect to one that speaks v1, and nothing in between where nothing is needed."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from dragoman.dialect import EdgeSettings, Ledger, Message, Out
from dragoman.dialect.haven import HavenAgent
from dragoman.sdk.interpreter import speaking
from dragoman.testing.transports import SinkRecorder
from dragoman.transport.memory import memory_pair
from dragoman.transport.translated_transport import TranslatedTransport


def spoken(dialect: str, peer: Any, ledger: Ledger, *, quirks: bool) -> Any:
    return speaking(dialect, peer, position="agent", settings=EdgeSettings(), ledger=ledger, quirks=quirks)


async def test_before_a_client_of_v1_stands_nothing_unless_its_quirks_are_repaired() -> None:
    peer, _ = memory_pair()
    client = speaking("v1", peer, position="client", settings=EdgeSettings(), ledger=Ledger(), quirks=False)
    assert client is peer
    assert isinstance(spoken("v1", peer, Ledger(), quirks=True), TranslatedTransport)
    assert isinstance(spoken("haven", peer, Ledger(), quirks=False), TranslatedTransport)


async def test_a_mistake_of_an_edge_is_logged_by_its_place_and_not_by_what_was_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(self: HavenAgent, message: Message) -> list[Out]:
        raise ValueError("hunter2")

    monkeypatch.setattr(HavenAgent, "from_peer", fail)
    theirs, ours = memory_pair()
    ledger, heard = Ledger(), SinkRecorder()
    transport = spoken("haven", ours, ledger, quirks=False)
    transport.start(heard)
    theirs.start(SinkRecorder())
    with caplog.at_level(logging.ERROR):
        theirs.write(b'{"jsonrpc":"2.0","id":1,"result":"hunter2"}\n')
        await heard.until(lambda: bool(heard.blocks))
    assert b'"code":-32603' in heard.stream
    assert "an edge failed at" in caplog.text
    assert "test_dialect_transport.py" in caplog.text
    assert "ValueError" in caplog.text
    assert "hunter2" not in caplog.text + repr(ledger.entries) + heard.stream.decode()
    await transport.aclose()
    await theirs.aclose()


@pytest.mark.parametrize(
    "key", ["dragoman/credentials", "dr\\u0061goman/credentials", "dragoman\\/credentials"]
)
async def test_an_agent_does_not_say_in_place_of_its_edge_that_it_takes_credentials(key: str) -> None:
    theirs, ours = memory_pair()
    heard = SinkRecorder()
    transport = spoken("v1", ours, Ledger(), quirks=True)
    transport.start(heard)
    theirs.start(SinkRecorder())
    meta = f'{{"{key}":true,"dragoman":{{"tools":[]}},"vendor":1}}'
    theirs.write(f'{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":1,"_meta":{meta}}}}}\n'.encode())
    await heard.until(lambda: bool(heard.blocks))
    result = json.loads(heard.stream)["result"]
    assert result["_meta"] == {"dragoman": {"tools": []}, "vendor": 1}
    await transport.aclose()
    await theirs.aclose()


@pytest.mark.parametrize("quirks", [True, False])
async def test_an_agent_of_v1_does_not_speak_in_place_of_an_edge_later_either(quirks: bool) -> None:
    theirs, ours = memory_pair()
    heard = SinkRecorder()
    transport = spoken("v1", ours, Ledger(), quirks=quirks)
    transport.start(heard)
    theirs.start(SinkRecorder())
    info = '{"protocolVersion":1,"agentInfo":{"name":"a","version":"1"}}'
    theirs.write(f'{{"jsonrpc":"2.0","id":1,"result":{info}}}\n'.encode())
    await heard.until(lambda: bool(heard.blocks))
    heard.blocks.clear()
    asked = '{"sessionId":"s","options":[],"_meta":{"dragoman/question":{"title":"ls"},"vendor":1}}'
    theirs.write(
        f'{{"jsonrpc":"2.0","id":2,"method":"session/request_permission","params":{asked}}}\n'.encode()
    )
    await heard.until(lambda: bool(heard.blocks))
    assert json.loads(heard.stream)["params"]["_meta"] == {"vendor": 1}
    await transport.aclose()
    await theirs.aclose()
