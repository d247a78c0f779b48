import base64
import logging
import os
import pty
import struct
import sys
import zlib

import pytest

from dragoman import ToolState
from dragoman.schema import v1
from dragoman_app.tui.drawing import pictures
from dragoman_app.tui.drawing.pictures import HALF, draw_picture, open_picture
from dragoman_app.tui.drawing.tools import draw_tool
from dragoman_app.tui.model.entries import ToolEntry


def png(width: int, height: int, pixel: bytes = b"\xff\x00\x00") -> str:
    """A picture of one colour, in base64."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    rows = zlib.compress((b"\0" + pixel * width) * min(height, 100))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return base64.b64encode(data).decode()


def test_a_picture_is_named_where_it_cannot_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = draw_picture("image/\x1b[31mpng", png(4, 4), 78, coloured=False)
    assert line.plain.startswith("▣ picture, image/␛[31mpng, ")
    monkeypatch.setattr(pictures, "has_pixels", lambda: False)
    lines = draw_picture("image/png", png(4, 4), 200)
    assert [line.plain for line in lines] == [
        "▣ picture, image/png, 75 bytes, pip install 'dragoman[pictures]' shows it"
    ]
    image = v1.Content(content=v1.ImageContent(data=png(4, 4), mime_type="image/png"))
    tool = ToolEntry(ToolState.of(v1.ToolCall(tool_call_id="t", title="shot", content=[image])))
    assert any("│ ▣ picture" in line.plain for line in draw_tool(tool, 120, lambda _: None))


def test_a_picture_is_drawn_in_half_blocks_and_a_broken_one_is_named() -> None:
    pytest.importorskip("PIL")
    lines = draw_picture("image/png", png(40, 20), 70, rows=6)
    assert "40×20" in lines[0].plain
    assert [line.plain for line in lines[1:]] == ["  " + HALF * 24] * 6
    assert str(lines[1].spans[0].style) == "#ff0000 on #ff0000"
    for data in (
        "not base64!",
        base64.b64encode(b"GIF89a").decode(),
        png(10_000, 10_000),
        png(100_000, 100_000),
    ):
        assert open_picture(data) is None
        assert len(draw_picture("image/png", data, 80)) == 1
    cut_off = base64.b64encode(base64.b64decode(png(40, 20))[:60]).decode()
    assert len(draw_picture("image/png", cut_off, 80)) == 1


def test_a_terminal_that_does_not_tell_the_size_of_its_letters_is_worth_no_traceback() -> None:
    pytest.importorskip("textual_image")
    pictures.prepare_pictures()
    assert not logging.getLogger("textual_image._terminal").isEnabledFor(logging.WARNING)


def test_a_terminal_that_says_it_has_no_size_is_worth_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("textual_image")
    ours, theirs = pty.openpty()  # its size is 0 by 0, as over a serial line
    for name in [name for name in sys.modules if name.startswith("textual_image")]:
        monkeypatch.delitem(sys.modules, name)
    with open(theirs, "w") as screen, open(os.dup(theirs)) as keyboard:
        monkeypatch.setattr(sys, "__stdout__", screen)
        monkeypatch.setattr(sys, "__stdin__", keyboard)
        pictures.prepare_pictures()
        assert pictures.native_picture(png(4, 4)) is None
    os.close(ours)
