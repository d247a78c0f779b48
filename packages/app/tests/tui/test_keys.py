"""The table of keys is what the screens bind, and what docs/chat.md shows."""

import re
from collections.abc import Iterable
from pathlib import Path

from textual.binding import Binding

from dragoman_app.tui.app import ChatApp
from dragoman_app.tui.keys import COMMANDS, KEYS, keys_markdown
from dragoman_app.tui.screens.board import BoardScreen
from dragoman_app.tui.screens.chat import ChatScreen
from dragoman_app.tui.screens.dialog import Dialog
from dragoman_app.tui.screens.file import FileScreen
from dragoman_app.tui.widgets.board_view import BoardView
from dragoman_app.tui.widgets.lines_view import LinesView
from dragoman_app.tui.widgets.transcript_view import TranscriptView

DOCS = Path(__file__).parents[4] / "docs" / "chat.md"

PLACES = {
    ("While a turn runs", "Sessions", "Reading"): (ChatApp, ChatScreen),
    ("In the conversation (Tab)",): (TranscriptView,),
    ("On the board",): (BoardScreen, BoardView, Dialog),
    ("In a file",): (FileScreen, LinesView, Dialog),
}


def bound(classes: Iterable[type]) -> dict[str, str]:
    """Keys and their actions, of these classes alone."""
    bindings = (
        binding if isinstance(binding, Binding) else Binding(*binding)
        for each in classes
        for binding in each.__dict__["BINDINGS"]
    )
    return {key: binding.action for binding in bindings for key in binding.key.split(",")}


def test_the_table_has_every_key_that_is_bound_and_no_other() -> None:
    for titles, classes in PLACES.items():
        rows = [row for section in KEYS if section.title in titles for row in section.rows]
        assert {key for row in rows for key in row.bound.split(",") if key} == set(bound(classes)), titles


def test_the_page_shows_the_table() -> None:
    text = DOCS.read_text("utf-8")
    shown = re.search(r"<!-- keys -->\n(.*?)<!-- end of keys -->", text, re.DOTALL)
    assert shown is not None
    assert shown[1].strip() == keys_markdown().strip(), "copy what keys_markdown() gives"


def test_a_command_of_the_palette_names_the_key_that_does_the_same() -> None:
    keys = bound((ChatApp, ChatScreen))
    same = {"stop": "stop_turn"}  # the key has other uses as well
    for command in COMMANDS:
        if command.key:
            action = keys[command.key.casefold().replace("esc", "escape")]
            assert command.action.removeprefix("app.") == same.get(action, action), command.title
        name = command.action.partition("(")[0]
        owner = ChatApp if name.startswith("app.") else ChatScreen
        assert hasattr(owner, f"action_{name.removeprefix('app.')}"), command.title
