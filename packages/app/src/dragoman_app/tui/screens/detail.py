"""All details of an entry: the whole output, the whole change, a tool's input and result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content

from dragoman_app.tui.drawing.entries import DrawingContext, DrawnEntry
from dragoman_app.tui.drawing.pictures import draw_picture, native_picture
from dragoman_app.tui.drawing.tools import draw_tool
from dragoman_app.tui.model.entries import CommandEntry, PictureEntry, SpeechEntry, ToolEntry, TranscriptEntry
from dragoman_app.tui.screens.dialog import Dialog
from dragoman_app.tui.text.lines import block, output_lines, wrap_content
from dragoman_app.tui.widgets.lines_view import LinesView


class DetailScreen(Dialog[bool]):
    """Shows an entry until the user closes the screen."""

    DEFAULT_CSS = """
    DetailScreen {
        & .dialog { height: 100%; max-width: 160; margin: 0; }
        & .picture { width: auto; height: 100%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [("q,o", "leave", "Close")]

    def __init__(self, entry: TranscriptEntry, around: DrawingContext) -> None:
        super().__init__()
        self.entry = entry
        self._around = around

    def compose(self) -> ComposeResult:
        dialog = Vertical(classes="dialog")
        dialog.border_title = "All of it"
        dialog.border_subtitle = "arrows and space scroll · esc closes"
        with dialog:
            native = native_picture(self.entry.data) if isinstance(self.entry, PictureEntry) else None
            yield LinesView(self._lines, id="detail") if native is None else native

    def on_mount(self) -> None:
        for view in self.query("#detail"):
            view.focus()

    def _lines(self, width: int) -> Sequence[Content]:
        match self.entry:
            case ToolEntry():
                return draw_tool(self.entry, width, self._around.terminals, cwd=self._around.cwd, whole=True)
            case SpeechEntry():
                return block(self.entry.text, width)
            case PictureEntry():
                rows = max(4, self.app.size.height - 6)
                coloured = self._around.has_colours
                return draw_picture(
                    self.entry.mime_type, self.entry.data, width, rows=rows, columns=width, coloured=coloured
                )
            case CommandEntry():
                return [
                    part
                    for line in output_lines(self.entry.output.text)
                    for part in wrap_content(line, width)
                ]
        return DrawnEntry(self.entry, width, self._around).lines
