"""The common parts of all dialogs: their look, and withdrawing a question below another screen."""

from __future__ import annotations

import time
from typing import ClassVar, TypeVar

from textual.binding import BindingType
from textual.screen import ModalScreen

from dragoman_app.tui.model.board import age

T = TypeVar("T")

AGE_SECONDS = 15.0
"""The seconds between two updates of a question's age."""

STYLE = """
    align: center middle;
    & > .dialog {
        width: 100%;
        max-width: 110;
        height: auto;
        max-height: 100%;
        padding: 0 1;
        margin: 0 2;
        background: $surface;
        border: round $primary;
        border-title-color: $text-primary;
        border-subtitle-color: $text-muted;
    }
    & .quiet { color: $text-muted; }
    & .field { height: auto; margin-top: 1; }
    & .bad { color: $text-error; height: auto; }
"""


class Dialog(ModalScreen[T | None]):
    """A dialog. Escape closes it without a choice."""

    DEFAULT_CSS = "Dialog {" + STYLE + "}"
    AUTO_FOCUS = ""  # each says itself what it begins with
    BINDINGS: ClassVar[list[BindingType]] = [("escape", "leave", "Close")]

    def __init__(self) -> None:
        super().__init__()
        self._is_over = False

    def action_leave(self) -> None:
        self.end(None)

    def end(self, result: T | None) -> None:
        """Close it once, at the latest when no other screen covers it any more."""
        if self._is_over:
            return
        self._is_over = True
        if self.is_current:
            self.dismiss(result)

    def show_age(self, title: str, asked_at: float) -> None:
        """Show the question's age in the title, and update it. Times are since 1970."""

        def tell() -> None:
            seconds = time.time() - asked_at
            words = f"{title} · asked {age(seconds)}" if seconds >= 60 else title
            self.query_one(".dialog").border_title = words

        tell()
        self.set_interval(AGE_SECONDS, tell)

    def take_back(self) -> None:
        """Withdraw the question."""
        self.end(None)

    def on_screen_resume(self) -> None:
        if self._is_over:
            self.dismiss(None)
