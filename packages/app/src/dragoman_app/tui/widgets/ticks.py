"""A list in which Enter or Space ticks items. The ticks are visible without colours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from dragoman.text.sanitize import sanitize_line


class Ticks(OptionList):
    """`ticked` are the chosen values, in the order of the list."""

    DEFAULT_CSS = "Ticks { height: auto; max-height: 8; border: none; padding: 0; }"
    BINDINGS: ClassVar[list[BindingType]] = [("space", "select", "Tick")]

    def __init__(self, choices: Sequence[tuple[str, str]], ticked_values: Iterable[str], *, id: str) -> None:
        super().__init__(id=id, markup=False, compact=True)
        self._choices = choices
        self._ticked_values = set(ticked_values)

    def on_mount(self) -> None:
        self._show()

    @property
    def ticked_values(self) -> list[str]:
        return [value for value, _ in self._choices if value in self._ticked_values]

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._ticked_values ^= {self._choices[event.option_index][0]}
        self._show()

    def _show(self) -> None:
        at = self.highlighted
        self.clear_options()
        self.add_options(
            Option(Content(f"{'☑' if value in self._ticked_values else '☐'} {sanitize_line(title)}"))
            for value, title in self._choices
        )
        self.highlighted = at
