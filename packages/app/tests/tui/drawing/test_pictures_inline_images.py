"""Pictures in iTerm2's protocol: the bytes are read back as a terminal and a tmux would read them."""

import base64
import re
from io import BytesIO

import pytest
from textual.app import App, ComposeResult
from textual.geometry import Region

from dragoman_app.tui.drawing import pictures
from dragoman_app.tui.drawing.pictures import (
    PART,
    InlinePicture,
    InlineTerminal,
    encode_inline_image,
    find_inline_terminal,
    native_picture,
    prepare_pictures,
)
from tests.tui.drawing.test_pictures import png


def commands(text: str) -> list[str]:
    """Commands of iTerm2 in a text that has nothing else in it."""
    found = re.findall(r"\x1b\]1337;([^\a\x1b]*)\a", text)
    assert "".join(f"\x1b]1337;{command}\a" for command in found) == text
    return found


def through_tmux(text: str) -> list[str]:
    """What tmux passes on, sequence by sequence: it ends one at an ESC that is not doubled."""
    found = re.findall(r"\x1bPtmux;((?:[^\x1b]|\x1b\x1b)*)\x1b\\", text)
    assert "".join(f"\x1bPtmux;{sequence}\x1b\\" for sequence in found) == text
    return [sequence.replace("\x1b\x1b", "\x1b") for sequence in found]


def arguments(text: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in text.split(";"))


def test_a_file_is_sent_whole_with_the_cells_that_it_may_take() -> None:
    (command,) = commands(encode_inline_image(b"\x89PNG\r\n\0", 40, 12, InlineTerminal()))
    name, _, rest = command.partition("=")
    options, _, text = rest.partition(":")
    assert (name, base64.b64decode(text, validate=True)) == ("File", b"\x89PNG\r\n\0")
    assert arguments(options) == {
        "inline": "1",
        "size": "7",
        "width": "40",
        "height": "12",
        "preserveAspectRatio": "1",
        "doNotMoveCursor": "1",
    }


@pytest.mark.parametrize("size", [1, PART * 3 // 4, PART * 3 // 4 + 1, 3 * PART])
def test_in_tmux_a_file_goes_in_parts_that_it_passes_on(size: int) -> None:
    data = bytes(number % 251 for number in range(size))
    sequences = through_tmux(encode_inline_image(data, 40, 12, InlineTerminal(in_tmux=True)))
    assert max(len(sequence) for sequence in sequences) < 2 * PART
    first, *parts, last = [command for sequence in sequences for command in commands(sequence)]
    assert first.startswith("MultipartFile=inline=1;")
    assert arguments(first.partition("=")[2])["size"] == str(size)
    assert last == "FileEnd"
    assert all(part.startswith("FilePart=") for part in parts)
    text = "".join(part.removeprefix("FilePart=") for part in parts)
    assert base64.b64decode(text, validate=True) == data


PLAIN, IN_TMUX = InlineTerminal(), InlineTerminal(in_tmux=True)
TMUX = {"TMUX": "/tmp/tmux-1/default,1,0", "TERM": "tmux-256color", "TERM_PROGRAM": "tmux"}
NEW = {"LC_TERMINAL": "iTerm2", "LC_TERMINAL_VERSION": "3.5.4"}
OLD = {"LC_TERMINAL": "iTerm2", "LC_TERMINAL_VERSION": "3.4.19"}


@pytest.mark.parametrize(
    ("environ", "passes", "terminal"),
    [
        ({"TERM_PROGRAM": "iTerm.app"}, False, PLAIN),
        ({"TERM_PROGRAM": "WezTerm"}, False, PLAIN),
        (OLD, False, PLAIN),  # over SSH
        ({**TMUX, **NEW}, True, IN_TMUX),
        ({"TERM": "screen-256color", **NEW}, True, IN_TMUX),  # over SSH from within tmux
        ({**TMUX, **NEW}, False, None),
        ({**TMUX, **OLD}, True, None),
        ({**TMUX, "LC_TERMINAL": "WezTerm"}, True, None),
        ({"TERM_PROGRAM": "Apple_Terminal", "TERM": "xterm-256color"}, True, None),
        ({}, True, None),
    ],
)
def test_a_terminal_is_known_by_what_it_says(
    environ: dict[str, str], passes: bool, terminal: InlineTerminal | None
) -> None:
    assert find_inline_terminal(environ, lambda: passes) == terminal


@pytest.fixture
def iterm(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TMUX", "LC_TERMINAL", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM_PROGRAM", "iTerm.app")
    monkeypatch.setattr(pictures, "_inline_terminal", None)


async def test_a_picture_is_drawn_over_the_cells_of_its_widget(iterm: None) -> None:
    image = pytest.importorskip("PIL.Image")
    prepare_pictures()
    widget = native_picture(png(900, 600))
    assert isinstance(widget, InlinePicture)
    picture: InlinePicture = widget
    assert native_picture("not base64!") is None

    class Frame(App[None]):
        CSS = "InlinePicture { width: 20; height: 6; offset: 3 2; }"
        is_headless = False  # else nothing is written

        def compose(self) -> ComposeResult:
            yield picture

    app = Frame()
    async with app.run_test(size=(60, 20)) as pilot:
        written: list[str] = []
        assert app._driver is not None
        app._driver.write = written.append  # type: ignore[method-assign, assignment]
        widget.refresh()
        await pilot.pause()
        found = re.search(r"(\x1b\[[\d;]*H)(\x1b\]1337;[^\a]*\a)(\x1b\[[\d;]*H)", "".join(written))
        assert found is not None, written
        assert (found[1], found[3]) == ("\x1b[3;4H", "\x1b[8;24H")
        (command,) = commands(found[2])
        options, _, data = command.removeprefix("File=").partition(":")
        assert (arguments(options)["width"], arguments(options)["height"]) == ("20", "6")
        sent = image.open(BytesIO(base64.b64decode(data)))
        assert (sent.format, sent.size) == ("PNG", (360, 240))  # no more than those cells can show
        assert [strip.cell_length for strip in widget.render_lines(Region(0, 0, 20, 6))] == [20] * 6
        cut = widget.render_lines(Region(0, 2, 20, 4))
        assert "1337" not in "".join(segment.text for strip in cut for segment in strip)
