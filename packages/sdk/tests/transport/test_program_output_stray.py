"""Text that is not a frame is kept, bounded, to explain the end of a peer; a broken frame is no such text."""

from dragoman.core import Connection, ErrorReply
from dragoman.transport.program_output import LONGEST_LINE, MOST_LINES, StrayOutput
from dragoman.wire import decode
from tests.every import every


@every(
    ("frame", "is_stray"),
    [
        (b"usage: agent [-h]", True),
        (b"[INFO] started", True),
        (b"\xff\xfe", True),
        (b'{"jsonrpc":"2.0","method":"session/upd', False),
        (b"  {", False),
    ],
)
def test_a_frame_that_was_cut_is_no_stray_text(frame: bytes, is_stray: bool) -> None:
    event = Connection[None]().receive(decode(frame))
    assert isinstance(event, ErrorReply)
    assert bool(event.stray) == is_stray


def test_lines_are_bounded_in_number_and_length_and_counted() -> None:
    stray = StrayOutput()
    for _ in range(MOST_LINES + 3):
        stray.add("ä".encode() * 100_000)
    assert stray.lines == ["ä" * LONGEST_LINE + "…"] * MOST_LINES
    assert stray.text.endswith("\n(3 more lines)")
