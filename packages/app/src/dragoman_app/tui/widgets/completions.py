"""Completions: a short list above the prompt, chosen with the arrows, Tab or Enter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from dragoman.text.sanitize import sanitize_line
from dragoman_app.tui.text.lines import cut

MOST = 8


class Completion(NamedTuple):
    """One completion."""

    text: str
    """The text to insert."""
    label: str
    about: str = ""
    is_final: bool = False
    """Whether Enter sends it at once, because it needs no more text."""


class Completions(OptionList, can_focus=False):
    """Hidden while there is nothing to choose."""

    DEFAULT_CSS = """
    Completions {
        height: auto;
        max-height: 8;
        display: none;
        border: none;
        padding: 0 1;
        background: $panel;
    }
    """

    def __init__(self, on_choice: Callable[[Completion, bool], None]) -> None:
        super().__init__(markup=False, compact=True)
        self._completions: Sequence[Completion] = ()
        self._on_choice = on_choice

    def offer(self, completions: Sequence[Completion]) -> None:
        self._completions = completions[:MOST]
        self.clear_options()
        width = max(20, self.app.size.width - 4)
        self.add_options(Option(_completion_line(completion, width)) for completion in self._completions)
        self.display = bool(self._completions)
        self.highlighted = 0 if self._completions else None

    @property
    def is_open(self) -> bool:
        return bool(self._completions)

    def take_key(self, key: str) -> bool:
        """Handle a key of the prompt; return whether it was for the list."""
        if not self._completions:
            return False
        if key in ("up", "down"):
            at = (self.highlighted or 0) + (1 if key == "down" else -1)
            self.highlighted = at % len(self._completions)
        elif key in ("tab", "enter"):
            completion = self._completions[self.highlighted or 0]
            self.offer(())
            self._on_choice(completion, key == "enter")
        elif key == "escape":
            self.offer(())
        else:
            return False
        return True

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if event.option_index < len(self._completions):
            completion = self._completions[event.option_index]
            self.offer(())
            self._on_choice(completion, False)


def _completion_line(completion: Completion, width: int) -> Content:
    name = cut(sanitize_line(completion.label), width)
    about = cut(sanitize_line(completion.about), max(0, width - len(name) - 2)) if completion.about else ""
    return Content.assemble((f" {name}", "bold"), (f"  {about}" if about else "", "dim"))
