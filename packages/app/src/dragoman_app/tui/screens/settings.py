"""Modes and options of the session: a list of settings, and a list of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from dragoman.schema import v1
from dragoman.text.sanitize import sanitize_line
from dragoman_app.tui.model.facts import Facts
from dragoman_app.tui.screens.dialog import Dialog
from dragoman_app.tui.text.lines import cut


class SettingChoice(NamedTuple):
    """A setting and its value."""

    kind: Literal["mode", "option"]
    id: str
    value: str | bool


class SettingRow(NamedTuple):
    """One item to choose; without a setting it is a heading."""

    setting: SettingChoice | None
    name: str
    about: str
    is_current: bool


class SettingsScreen(Dialog[SettingChoice]):
    """Returns the chosen setting."""

    DEFAULT_CSS = """
    SettingsScreen { & #settings { height: auto; max-height: 1fr; border: none; padding: 0; } }
    """

    def __init__(self, facts: Facts) -> None:
        super().__init__()
        self.rows = rows_of(facts)

    def compose(self) -> ComposeResult:
        dialog = Vertical(classes="dialog")
        dialog.border_title = "Modes and options"
        dialog.border_subtitle = "enter sets · esc closes"
        width = max(20, min(self.app.size.width, 110) - 8)
        with dialog:
            options = [Option(_row_line(row, width), disabled=row.setting is None) for row in self.rows]
            empty_row = Option(Content("This agent has no modes and no options."), disabled=True)
            yield OptionList(*(options or [empty_row]), id="settings", markup=False, compact=True)

    def on_mount(self) -> None:
        settings = self.query_one("#settings", OptionList)
        settings.styles.max_height = max(3, self.app.size.height - 4)
        settings.highlighted = next((at for at, row in enumerate(self.rows) if row.is_current), None)
        settings.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.end(self.rows[event.option_index].setting)


def rows_of(facts: Facts) -> list[SettingRow]:
    rows: list[SettingRow] = []
    if facts.modes:
        rows.append(SettingRow(None, "Mode", "", is_current=False))
        rows += [
            SettingRow(
                SettingChoice("mode", mode.id, mode.id),
                mode.name,
                mode.description or "",
                mode.id == facts.mode,
            )
            for mode in facts.modes
        ]
    for option in facts.options:
        if isinstance(option, v1.SessionConfigSelect):
            rows.append(SettingRow(None, option.name, option.description or "", is_current=False))
            rows += [
                SettingRow(
                    SettingChoice("option", option.id, value.value),
                    value.name,
                    value.description or "",
                    value.value == option.current_value,
                )
                for value in _values(option)
            ]
        elif isinstance(option, v1.SessionConfigBoolean):
            rows.append(SettingRow(None, option.name, option.description or "", is_current=False))
            rows += [
                SettingRow(
                    SettingChoice("option", option.id, value),
                    "on" if value else "off",
                    "",
                    value == option.current_value,
                )
                for value in (True, False)
            ]
    return rows


def _values(option: v1.SessionConfigSelect) -> Sequence[v1.SessionConfigSelectOption]:
    values: list[v1.SessionConfigSelectOption] = []
    for entry in option.options:
        if isinstance(entry, v1.SessionConfigSelectGroup):
            values += entry.options
        else:
            values.append(entry)
    return values


def _row_line(row: SettingRow, width: int) -> Content:
    name, about = sanitize_line(row.name), sanitize_line(row.about)
    if row.setting is None:
        return Content.assemble(
            (cut(name, width), "bold"), (cut(f"  {about}", max(0, width - len(name))), "dim")
        )
    mark = "●" if row.is_current else "○"
    return Content.assemble(
        f"  {mark} {cut(name, width - 4)}", (cut(f"  {about}", max(0, width - len(name) - 4)), "dim")
    )
