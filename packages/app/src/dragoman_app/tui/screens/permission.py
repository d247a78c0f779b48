"""A permission request: the whole command or change, and one key for each answer.

Nothing is chosen by default. A key that was on its way to the prompt when this appeared is no answer: after
typing, the dialog waits until the keyboard has been still for a moment.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import Key
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from dragoman.schema import v1
from dragoman.text.sanitize import sanitize_line
from dragoman_app.tui.ports import Caution, PermissionQuestion
from dragoman_app.tui.screens.dialog import Dialog
from dragoman_app.tui.text.lines import hanging, plain
from dragoman_app.tui.widgets.lines_view import LinesView

MOST_NAME = 60
"""The most characters of an agent's name for an option."""

STILL = 0.7
"""The seconds without a key before the next key counts for this dialog."""

_KINDS = {
    "allow_once": "allow once",
    "allow_always": "always allow",
    "reject_once": "reject",
    "reject_always": "always reject",
}
_SEVERITIES = {
    "critical": "bold $text-error",
    "high": "bold $text-error",
    "medium": "$text-warning",
    "low": "$text-warning",
}
_LETTERS = {"y": ("allow_once",), "a": ("allow_always",), "n": ("reject_once", "reject_always")}


class PermissionScreen(Dialog[str]):
    """Returns the id of the chosen option."""

    DEFAULT_CSS = """
    PermissionScreen {
        & #question { height: auto; max-height: 1fr; min-height: 1; }
        & #options { height: auto; max-height: 8; border: none; padding: 0; margin-top: 1; }
        & #options, & #options:focus { background: $surface; }
        & .dialog { border: round $warning; border-title-color: $text-warning; }
    }
    """

    def __init__(
        self, question: PermissionQuestion, *, typed_at: float = 0.0, asked_at: float | None = None
    ) -> None:
        """`asked_at` is in seconds since 1970; the default is now."""
        super().__init__()
        self.question = question
        self._asked_at = time.time() if asked_at is None else asked_at
        self._drawn_lines: tuple[int, Sequence[Content]] = (-1, ())
        self._cautions: Sequence[Caution] = ()
        self._last_key = typed_at
        self._is_armed = time.monotonic() - typed_at > STILL

    def compose(self) -> ComposeResult:
        dialog = Vertical(classes="dialog")
        dialog.border_subtitle = "y yes · a always · n no · esc nothing"
        with dialog:
            yield LinesView(self._lines, id="question")
            if self.question.why:
                yield Static(
                    Content(f"Why you are asked: {sanitize_line(self.question.why)}"), classes="quiet"
                )
            yield OptionList(*self._options(), id="options", markup=False, compact=True)

    def on_mount(self) -> None:
        self.show_age("Permission", self._asked_at)
        self._fit()
        if self.question.cautions is not None:
            self.run_worker(self._judge(self.question.cautions), exit_on_error=False)
        options = self.query_one("#options", OptionList)
        options.highlighted = None
        options.focus()

    async def _judge(self, find_cautions: Callable[[], Awaitable[Sequence[Caution]]]) -> None:
        """The dialog is there already; what is found comes on top of it."""
        self._cautions = await find_cautions()
        if self._cautions and self.is_mounted:
            self._drawn_lines = (-1, ())
            self._fit().show(self._lines)

    def _fit(self) -> LinesView:
        view = self.query_one("#question", LinesView)
        view.styles.height = min(len(self._lines(self._width)), max(3, self.app.size.height - 9))
        return view

    @property
    def _width(self) -> int:
        return min(self.app.size.width - 4, 110) - 5

    def _lines(self, width: int) -> Sequence[Content]:
        if width != self._drawn_lines[0]:
            self._drawn_lines = (width, self._draw(width))
        return self._drawn_lines[1]

    def _draw(self, width: int) -> Sequence[Content]:
        lines: list[Content] = []
        for caution in self._cautions:
            style, head = _SEVERITIES.get(caution.severity, ""), f"{caution.severity} risk: "
            words = (head if caution.severity else "") + sanitize_line(caution.text)
            lines += hanging(plain(words, style), width, Content("  "))
        for line in self.question.text.split("\n"):
            indent = len(line) - len(line.lstrip(" "))
            text = line[indent:].expandtabs(4)
            lines += hanging(plain(text, _style(indent, text)), width, Content(" " * min(indent, width // 2)))
        return lines

    def _options(self) -> list[Option]:
        keys = {self._option_for(kinds): letter for letter, kinds in _LETTERS.items()}
        return [
            Option(
                Content.assemble(
                    (f" {number} ", "bold"),
                    " ".join(sanitize_line(option.name).split())[:MOST_NAME],
                    (f"  {_KINDS.get(option.kind, sanitize_line(option.kind))}", "dim"),
                    (f"  ({keys[option.option_id]})" if option.option_id in keys else "", "dim"),
                )
            )
            for number, option in enumerate(self.question.options, 1)
        ]

    def _option_for(self, kinds: Sequence[str]) -> str | None:
        options: Sequence[v1.PermissionOption] = [o for o in self.question.options if o.kind in kinds]
        return options[0].option_id if options else None

    def on_key(self, event: Key) -> None:
        now = time.monotonic()
        still, self._last_key = now - self._last_key > STILL, now
        self._is_armed = self._is_armed or still
        view = self.query_one("#question", LinesView)
        if event.key in ("pageup", "pagedown", "home", "end", "ctrl+u", "ctrl+d"):
            event.stop()
            event.prevent_default()
            up = event.key in ("pageup", "home", "ctrl+u")
            (view.scroll_page_up if up else view.scroll_page_down)(animate=False)
            return
        option_id = self._option_of(event.key)
        if option_id is not None:
            event.stop()
            event.prevent_default()
            if self._is_armed:
                self.end(option_id)
        elif not self._is_armed and event.key in ("enter", "escape"):
            event.stop()
            event.prevent_default()

    def _option_of(self, key: str) -> str | None:
        if key.isdecimal() and 1 <= int(key) <= len(self.question.options):
            return self.question.options[int(key) - 1].option_id
        return self._option_for(_LETTERS[key]) if key in _LETTERS else None

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if self._is_armed:
            self.end(self.question.options[event.option_index].option_id)


def _style(indent: int, text: str) -> str:
    if indent == 0:
        return "bold" if text.endswith(":") else ""
    if text.startswith("+"):
        return "$text-success"
    if text.startswith("-"):
        return "$text-error"
    return "dim" if text.startswith("@@") else ""
