"""The review of a turn's changes on disk: keep or revert them, file by file.

Nothing is put back before it is asked for, and a file that has changed again since is refused, with the
reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from dragoman.errors import LocalMistake
from dragoman.text.sanitize import sanitize_line
from dragoman_app.tui.ports import ChangeReview, ReviewedFile
from dragoman_app.tui.screens.dialog import Dialog
from dragoman_app.tui.text.lines import cut, patch_lines, plain
from dragoman_app.tui.widgets.lines_view import LinesView

_MARKS = {"added": "+", "modified": "~", "removed": "-"}


class ReviewScreen(Dialog[bool]):
    """Returns True after the user has reviewed them."""

    DEFAULT_CSS = """
    ReviewScreen {
        & .dialog { height: 100%; max-width: 160; margin: 0; }
        & #files { height: auto; max-height: 8; border: none; padding: 0; }
        & #diff { border-top: solid $primary; margin-top: 0; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        ("r", "revert", "Put back"),
        ("k", "keep", "Keep"),
        ("R", "revert_all", "Put all back"),
        ("q", "leave", "Close"),
        ("pagedown,space", "scroll(1)", "Down"),
        ("pageup", "scroll(-1)", "Up"),
    ]

    def __init__(self, review: ChangeReview, *, cwd: str) -> None:
        super().__init__()
        self.review = review
        self._cwd = cwd
        self._fates: dict[str, str] = {}

    def compose(self) -> ComposeResult:
        dialog = Vertical(classes="dialog")
        dialog.border_title = "Changed on disk"
        dialog.border_subtitle = "k keep · r put back · R all back · space scrolls · esc done"
        with dialog:
            yield OptionList(id="files", markup=False, compact=True)
            yield Static(
                Content("\n".join(sanitize_line(note) for note in self.review.notes)),
                classes="quiet",
                id="notes",
            )
            yield LinesView(self._diff, id="diff")

    def on_mount(self) -> None:
        self.query_one("#notes").display = bool(self.review.notes)
        self._list()
        files = self.query_one("#files", OptionList)
        files.highlighted = 0
        files.focus()

    @property
    def _file(self) -> ReviewedFile | None:
        at = self.query_one("#files", OptionList).highlighted
        files = self.review.files
        return files[at] if at is not None and at < len(files) else None

    def _list(self) -> None:
        files = self.query_one("#files", OptionList)
        at = files.highlighted
        files.clear_options()
        width = max(20, self.app.size.width - 8)
        files.add_options(Option(self._file_line(file, width)) for file in self.review.files)
        files.highlighted = at

    def _file_line(self, file: ReviewedFile, width: int) -> Content:
        path = sanitize_line(file.path.removeprefix(self._cwd + "/"))
        size = "binary" if file.binary else f"+{file.added_lines} -{file.removed_lines}"
        fate = self._fates.get(file.path, "")
        return Content.assemble(
            f"{_MARKS.get(file.kind, '?')} {cut(path, width - len(size) - len(fate) - 6)}",
            (f"  {size}", "dim"),
            (f"  {fate}" if fate else "", "bold"),
        )

    def _diff(self, width: int) -> Sequence[Content]:
        file = self._file
        if file is None:
            return ()
        if file.diff is None:
            return [plain("It is binary." if file.binary else "It is too large to be shown.", "dim")]
        return list(patch_lines(file.diff, width))

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        self.query_one("#diff", LinesView).show(self._diff)

    def action_scroll(self, step: int) -> None:
        diff = self.query_one("#diff", LinesView)
        (diff.scroll_page_down if step > 0 else diff.scroll_page_up)(animate=False)

    def action_keep(self) -> None:
        if self._file is not None and self._fates.get(self._file.path) != "put back":
            self._fates[self._file.path] = "kept"
            self._next()

    async def action_revert(self) -> None:
        if self._file is not None:
            await self._revert(self._file)
            self._next()

    async def action_revert_all(self) -> None:
        # Added files first: a folder of theirs may stand where another file was.
        for file in sorted(self.review.files, key=lambda file: file.kind != "added"):
            if file.path not in self._fates:
                await self._revert(file)
        self._list()

    async def _revert(self, file: ReviewedFile) -> None:
        if self._fates.get(file.path) == "put back":
            return
        try:
            await self.review.revert(file.path)
        except (LocalMistake, OSError) as error:
            self._fates[file.path] = "not put back"
            self.app.notify(sanitize_line(str(error)), severity="error", markup=False)
        else:
            self._fates[file.path] = "put back"

    def _next(self) -> None:
        files = self.query_one("#files", OptionList)
        at = files.highlighted or 0
        self._list()
        files.highlighted = min(at + 1, len(self.review.files) - 1)

    def action_leave(self) -> None:
        self.end(True)
