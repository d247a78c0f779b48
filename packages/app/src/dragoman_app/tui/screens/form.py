"""A question of the agent with fields to fill in, or an address to open.

Every value is checked before it is sent. What looks like a secret is warned about and not echoed. An address
is shown whole and never opened by us.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Input, Select, Static

from dragoman.text.sanitize import sanitize, sanitize_line
from dragoman_app.tui.ports import FieldRefused, FormAnswer, FormField, FormPrompt, Value
from dragoman_app.tui.screens.dialog import Dialog
from dragoman_app.tui.widgets.ticks import Ticks


class FormScreen(Dialog[FormAnswer]):
    """Returns the answer; escape returns `cancel`."""

    DEFAULT_CSS = """
    FormScreen {
        & #body { height: auto; max-height: 1fr; scrollbar-size-vertical: 1; }
        & #buttons { height: 1; margin-top: 1; }
        & Button { margin-right: 2; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [("ctrl+s", "send", "Send"), ("f4", "decline", "Decline")]

    def __init__(self, form: FormPrompt, *, asked_at: float | None = None) -> None:
        """`asked_at` is in seconds since 1970; the default is now."""
        super().__init__()
        self.form = form
        self._asked_at = time.time() if asked_at is None else asked_at

    def compose(self) -> ComposeResult:
        dialog = Vertical(classes="dialog")
        dialog.border_subtitle = "ctrl+s send · F4 decline · esc cancel"
        with dialog:
            with VerticalScroll(id="body", can_focus=False):
                yield Static(Content.styled(f"{sanitize_line(self.form.agent) or 'The agent'} asks:", "bold"))
                yield Static(Content(sanitize(self.form.message)))
                if self.form.url is not None:
                    yield Static(
                        Content.assemble("Address: ", (sanitize_line(self.form.url), "bold")), classes="field"
                    )
                for caution in self.form.cautions:
                    yield Static(Content(f"Take care: {sanitize_line(caution)}"), classes="bad")
                for at, field in enumerate(self.form.fields):
                    yield from _field(at, field)
            yield Static("", classes="bad", id="wrong", markup=False)
            with Horizontal(id="buttons"):
                yield Button("Agree" if self.form.url is not None else "Send", id="send", compact=True)
                yield Button("Decline", id="decline", compact=True)

    def on_mount(self) -> None:
        self.show_age("Question", self._asked_at)
        body = self.query_one("#body")
        body.styles.max_height = max(3, self.app.size.height - 7)
        inputs = [*self.query("Input, Select, Ticks").results(Widget)]
        # What is asked stays in sight: the first field is below it.
        (inputs[0] if inputs else self.query_one("#decline")).focus(scroll_visible=False)
        self.call_after_refresh(body.scroll_home, animate=False)

    async def on_button_pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "send":
            await self.action_send()
        else:
            self.action_decline()

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.focus_next()

    def action_leave(self) -> None:
        self.end(FormAnswer(action="cancel"))

    def action_decline(self) -> None:
        self.end(FormAnswer(action="decline"))

    async def action_send(self) -> None:
        values: dict[str, Value] = {}
        for at, field in enumerate(self.form.fields):
            try:
                value = await self._value(at, field)
            except FieldRefused as error:
                self._complain(at, field, str(error))
                return
            if value is not None:
                values[field.name] = value
        self.end(FormAnswer(action="accept", values=values))

    async def _value(self, at: int, field: FormField) -> Value | None:
        value = _value_of(self.query_one(f"#field-{at}"), field) if field.kind != "unknown" else None
        if value is None or value == []:
            if field.is_required:
                raise FieldRefused("this one is needed")
            return None
        return await self.form.check(field.name, value)

    def _complain(self, at: int, field: FormField, why: str) -> None:
        self.query_one("#wrong", Static).update(
            Content(f"{sanitize_line(field.title)}: {sanitize_line(why)}")
        )
        if field.kind != "unknown":
            self.query_one(f"#field-{at}").focus()


def _field(at: int, field: FormField) -> ComposeResult:
    hint = "" if field.is_required else "  may be left empty"
    yield Static(Content.assemble((sanitize_line(field.title), "bold"), (hint, "dim")), classes="field")
    if field.description:
        yield Static(Content(sanitize(field.description)), classes="quiet")
    if field.is_secret:
        yield Static(
            Content("Take care: this field seems to ask for a secret. A form must not do that."),
            classes="bad",
        )
    yield _widget(f"field-{at}", field)


def _widget(ident: str, field: FormField) -> Widget:
    default: Any = field.default
    if isinstance(default, bool):
        default = "yes" if default else "no"
    match field.kind:
        case "yes_no" | "one":
            options = [(Content(sanitize_line(title)), value) for value, title in _choices(field)]
            initial: dict[str, Any] = {"value": default} if default in [value for _, value in options] else {}
            return Select(options, id=ident, compact=True, prompt="choose", **initial)
        case "several":
            return Ticks(field.choices, default if isinstance(default, list) else (), id=ident)
        case "unknown":
            return Static(Content("(Unknown type of field: it stays empty.)"), classes="quiet")
    text = "" if default is None else str(default)
    return Input(
        sanitize_line(text),
        id=ident,
        placeholder="type here",
        password=field.is_secret,
        compact=True,
        select_on_focus=False,
    )


def _choices(field: FormField) -> Sequence[tuple[str, str]]:
    return (("yes", "yes"), ("no", "no")) if field.kind == "yes_no" else field.choices


def _value_of(widget: Widget, field: FormField) -> Value | None:
    """What the person said; None if nothing."""
    if isinstance(widget, Ticks):
        return widget.ticked_values
    if isinstance(widget, Select):
        return None if widget.is_blank() else str(widget.value)
    assert isinstance(widget, Input)
    return widget.value if widget.value.strip() else None
