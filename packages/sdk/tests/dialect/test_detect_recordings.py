"""Real programs of v1, met by somebody who does not know what they speak: they pass untouched."""

from __future__ import annotations

from pathlib import Path

from dragoman.dialect import AUTO, Edge, EdgeSettings, Ledger, Position, Translator, make_edge
from tests.every import every
from tests.interop.recordings import ELSEWHERE, FIXTURES, Conversation, conversations

FILES = [
    # One offers version 99, and is lowered to ours.
    *(path for path in sorted(FIXTURES.glob("*.ndjson")) if path.stem != "version_99"),
    *(path for path in sorted(ELSEWHERE.glob("*/*.ndjson")) if path.parent.name != "agents-v2"),
]


def met(position: Position) -> Translator:
    ledger = Ledger()
    return Translator([make_edge(AUTO, position, EdgeSettings(), ledger)], ledger)


def carried(translator: Translator, position: Position, conversation: Conversation) -> dict[str, bytes]:
    """Everything that was said, as it came out on the other side, by whom it is for."""
    heard = {"agent": b"", "client": b""}
    for frame in conversation.frames:
        if frame.to == position:
            passed = translator.from_inside(frame.raw + b"\n")
            heard[frame.to] += passed.peer
        else:
            passed = translator.from_peer(frame.raw + b"\n")
            heard[frame.to] += passed.inside
            heard[position] += passed.peer
    return heard


@every("position", ["client", "agent"])
@every("path", FILES, ids=[path.stem for path in FILES])
def test_a_recorded_conversation_of_v1_passes_untouched(path: Path, position: Position) -> None:
    for conversation in conversations(path):
        translator = met(position)
        heard = carried(translator, position, conversation)
        for to, stream in heard.items():
            assert stream == b"".join(frame.raw + b"\n" for frame in conversation.frames if frame.to == to)
        assert {decision.dialect for decision in translator.ledger.decisions} <= {"v1"}
        assert translator.ledger.entries == []


@every("position", ["client", "agent"])
@every("path", FILES, ids=[path.stem for path in FILES])
def test_nothing_stands_in_the_way_of_a_peer_that_is_known(path: Path, position: Position) -> None:
    for conversation in conversations(path):
        translator = met(position)
        carried(translator, position, conversation)
        if translator.ledger.decisions:
            assert [type(edge) for edge in translator.edges] == [Edge]
        else:  # nobody ever asked for a turn
            assert b"session/prompt" not in b"".join(frame.raw for frame in conversation.frames)
