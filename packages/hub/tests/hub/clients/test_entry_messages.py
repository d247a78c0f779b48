"""What a client is told of entries: the short ways say what the long way says."""

from __future__ import annotations

from dragoman_hub.clients.entry_messages import HistoryView, block_of, messages
from dragoman_hub.session.frames import UPDATE
from dragoman_local.journal.entry_runs import FrameRun, RunPage

CHUNK = (
    UPDATE + b'"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text"}}}}'
)
HEARD = b'{"hub":"heard","n":7}'
LIKE_A_MARKER = b'{"hub":"heard",' + CHUNK[1:]
ENDED = b'{"hub":"turn_ended","key":"k","result":{"stopReason":"end_turn"}}'


class Alone(HistoryView):
    """Of a session without relatives."""

    has_relatives = False

    def __init__(self) -> None: ...


RUNS = [
    FrameRun("to_client", (CHUNK, CHUNK), 1.0),
    FrameRun("note", (HEARD,), 1.0),
    FrameRun("to_client", (CHUNK,), 1.0),
    FrameRun("to_client", (LIKE_A_MARKER,), 1.0),
    FrameRun("note", (HEARD, ENDED), 1.0),
]


def test_a_block_is_what_its_entries_are_one_by_one() -> None:
    page, view = RunPage(5, RUNS), Alone()
    lines = block_of("s", page, view).splitlines()
    assert lines == [line.rstrip(b"\n") for entry in page for line in messages("s", entry, view)]
    assert sum(b"agent_message_chunk" in line for line in lines) == 4
    assert b'"cursor":"11"' in lines[-1]
