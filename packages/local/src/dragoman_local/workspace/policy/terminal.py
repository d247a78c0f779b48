"""Asks the user in a terminal: for permission, and for an agent's forms and links, field by field.

    lines, lock = TerminalLines(0), asyncio.Lock()
    asker = TerminalAsker(lines, write=sys.stderr.write, lock=lock)
    forms = TerminalForms(lines, write=sys.stderr.write, lock=lock)

One question at a time; the others wait. A question that is taken back (its turn was cancelled) says so and
makes room for the next. An empty line is no answer; the end of the input chooses nothing. Forms say who asks,
check each value and show all of them before anything is sent. What looks like a secret is not echoed, and an
address is shown whole, with its host, and never opened or fetched by us.

Lines are waited for without a thread. One reader per descriptor; bytes behind a line end are kept for the
next line. Where a system cannot watch a descriptor, a thread waits for it; where a terminal cannot be asked
not to echo, a secret is refused.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from functools import partial
from typing import Any, Final, TypeAlias, cast

from dragoman.errors import LocalMistake
from dragoman.schema import v1
from dragoman.schema.base import Unknown
from dragoman.text.sanitize import sanitize_line
from dragoman_local.workspace.policy.decision import option_name
from dragoman_local.workspace.policy.elicitation import (
    BadFormValue,
    Field,
    Value,
    cautions,
    check_value,
    choices_of,
    default_of,
    description_of,
    fields_of,
    host_of,
    looks_secret,
    matches,
    parse_line,
    required_in,
    title_of,
)
from dragoman_local.workspace.policy.judge import PermissionPrompt

MOST_BYTES: Final = 1_048_576
"""The most bytes of a line: nobody answers with a longer one."""


def clock_time() -> str:
    """Return the time of day, to show since when a question is open."""
    return time.strftime("%H:%M")


class TerminalLines:
    """Reads lines of text. Constructing uses nothing."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._partial_line = b""
        self._has_ended = False

    async def read(self, *, secret: bool = False) -> str | None:
        """Return the next line without its end, or None at the end of input."""
        with self._silent() if secret else nullcontext():
            while (
                b"\n" not in self._partial_line
                and not self._has_ended
                and len(self._partial_line) < MOST_BYTES
            ):
                data = await self._more()
                self._has_ended = not data
                self._partial_line += data
        line, newline, self._partial_line = self._partial_line.partition(b"\n")
        return line.decode("utf-8", "replace").removesuffix("\r") if newline or line else None

    async def _more(self) -> bytes:
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        try:
            loop.add_reader(self._descriptor, ready.set)
        except (PermissionError, NotImplementedError):
            # A plain file is always ready, and the system will not say so; some systems watch sockets alone.
            return await asyncio.to_thread(os.read, self._descriptor, 65_536)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(self._descriptor)
        try:
            return os.read(self._descriptor, 65_536)
        except BlockingIOError:
            return await self._more()
        except OSError:  # the terminal has hung up
            return b""

    @contextmanager
    def _silent(self) -> Iterator[None]:
        if not os.isatty(self._descriptor):
            yield
            return
        try:
            import termios
        except ImportError:
            why = "a secret cannot be read here without showing it: this system has no POSIX terminals"
            raise LocalMistake(f"{why}; set it as a variable, or give it in a file") from None
        before = termios.tcgetattr(self._descriptor)
        quiet = termios.tcgetattr(self._descriptor)
        quiet[3] &= ~termios.ECHO
        termios.tcsetattr(self._descriptor, termios.TCSADRAIN, quiet)
        try:
            yield
        finally:
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, before)


Write: TypeAlias = Callable[[str], object]

_KINDS: Final = {
    "allow_once": "allow once",
    "allow_always": "always allow",
    "reject_once": "reject",
    "reject_always": "always reject",
}


_KEYS: Final = {"y": "allow_once", "a": "allow_always", "n": "reject_once"}


class _TerminalTalk:
    """`lock` is shared with others that use the same terminal."""

    def __init__(self, lines: TerminalLines, *, write: Write, lock: asyncio.Lock | None = None) -> None:
        self._lines = lines
        self._write = write
        self._lock = lock or asyncio.Lock()

    @asynccontextmanager
    async def _floor(self) -> AsyncIterator[None]:
        """Nobody else asks meanwhile."""
        async with self._lock:
            try:
                yield
            except asyncio.CancelledError:
                self._write("\n(This question is closed.)\n")
                raise


class TerminalAsker(_TerminalTalk):
    """Implements `Asker` with its `ask`."""

    async def ask(self, question: PermissionPrompt) -> str | None:
        async with self._floor():
            text = await asyncio.to_thread(lambda: question.text)
            numbers = {str(number): option for number, option in enumerate(question.options, 1)}
            menu = "".join(
                f"  {number}) [{_KINDS.get(option.kind, sanitize_line(option.kind))}]"
                f" {option_name(option.name)}\n"
                for number, option in numbers.items()
            )
            self._write(f"\n{text}\n\n{menu}")
            keys = {  # letters for kinds of which there is one: yes once, always, no
                key: found[0]
                for key, kind in _KEYS.items()
                if len(found := [option for option in question.options if option.kind == kind]) == 1
            }
            answers = keys | numbers
            named = "".join(f"{key} ({_KINDS[option.kind]}), " for key, option in keys.items())
            self._write(
                f"Asked at {clock_time()}. Choose {named}1-{len(question.options)}, or q to choose nothing: "
            )
            while (answer := await self._lines.read()) is not None:
                reply = answer.strip().casefold()
                if reply == "q":
                    return None
                if reply in answers:
                    return answers[reply].option_id
                self._write("Choose one of these letters or numbers: ")
            self._write("\n")
            return None


_HELP: Final = "(!d declines, !q cancels the question)"


class _FormStopped(Exception):
    """The person does not go on: its argument is the answer."""


class TerminalForms(_TerminalTalk):
    """Implements `FormAsker`."""

    async def fill(self, form: v1.ElicitationFormMode, *, agent: str) -> v1.CreateElicitationResponse:
        return await self._talk(form.message, agent, partial(self._fill, form))

    async def visit(self, request: v1.ElicitationUrlMode, *, agent: str) -> v1.CreateElicitationResponse:
        return await self._talk(request.message, agent, partial(self._visit, request.url))

    async def _talk(
        self, message: str, agent: str, talk: Callable[[], Awaitable[v1.CreateElicitationResponse]]
    ) -> v1.CreateElicitationResponse:
        lines = "\n".join(f"  {sanitize_line(line)}" for line in message.split("\n"))
        async with self._floor():
            self._write(
                f"\n{sanitize_line(agent) or 'The agent'} asks: {_HELP} (asked at {clock_time()})\n{lines}\n"
            )
            try:
                return await talk()
            except _FormStopped as stop:
                return cast(v1.CreateElicitationResponse, stop.args[0])

    async def _visit(self, url: str) -> v1.CreateElicitationResponse:
        self._write(f"It asks you to open this address:\n  {sanitize_line(url, exact=True)}\n{_about(url)}")
        while True:
            reply = (await self._read("Do you agree? yes or no: ")).strip().casefold()
            if reply in ("y", "yes"):
                return v1.ElicitationAcceptAction()
            if reply in ("n", "no"):
                return v1.ElicitationDeclineAction()

    async def _fill(self, form: v1.ElicitationFormMode) -> v1.CreateElicitationResponse:
        fields, required_names = fields_of(form), required_in(form)
        values: dict[str, Value] = {}
        names = list(fields)
        while True:
            for name in names:
                value = await self._field(name, fields[name], is_required=name in required_names)
                values.pop(name, None)
                if value is not None:
                    values[name] = value
            self._review(fields, values)
            reply = (await self._read("Send this? yes, no, or the name of a field to change: ")).strip()
            if reply.casefold() in ("y", "yes"):
                return v1.ElicitationAcceptAction(content=values)
            if reply.casefold() in ("n", "no"):
                return v1.ElicitationDeclineAction()
            names = [reply] if reply in fields else []

    async def _field(self, name: str, field: Field, *, is_required: bool) -> Value | None:
        secret = looks_secret(name, field)
        self._write(_describe(name, field, is_required=is_required, secret=secret))
        if isinstance(field, Unknown):
            self._write("  (Unknown type of field: it stays empty.)\n")
            if is_required:
                raise _FormStopped(v1.ElicitationCancelAction())
            return None
        while True:
            line = await self._read("> ", secret=secret)
            value: Any = parse_line(field, line) if line.strip() else default_of(field)
            if value is not None:
                try:
                    return await asyncio.to_thread(check_value, field, value, matches=matches)
                except BadFormValue as error:
                    self._write(f"Not taken: {sanitize_line(str(error))}.\n")
            elif not is_required:
                return None
            else:
                self._write("This one is needed.\n")

    async def _read(self, prompt: str, *, secret: bool = False) -> str:
        self._write(prompt)
        line = await self._lines.read(secret=secret)
        if line is None or line.strip() == "!q":
            raise _FormStopped(v1.ElicitationCancelAction())
        if line.strip() == "!d":
            raise _FormStopped(v1.ElicitationDeclineAction())
        return line

    def _review(self, fields: Any, values: dict[str, Value]) -> None:
        self._write("\nThis would be sent:\n")
        for name, value in values.items():
            is_secret = looks_secret(name, fields[name])
            text = "(not shown)" if is_secret else sanitize_line(_value_text(value), exact=True)
            self._write(f"  {sanitize_line(name)} = {text}\n")
        if not values:
            self._write("  (nothing)\n")


_HINTS: Final = (
    (v1.MultiSelectPropertySchema, "  (several, separated by commas)"),
    (v1.BooleanPropertySchema, "  (yes or no)"),
)


def _value_text(value: Value) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


def _describe(name: str, field: Field, *, is_required: bool, secret: bool) -> str:
    lines = [f"\n{sanitize_line(title_of(name, field))}{'' if is_required else ' (may be left empty)'}"]
    if description := description_of(field):
        lines.append(f"  {sanitize_line(description)}")
    lines += [
        f"  {number}) {sanitize_line(title)}"
        + (f"  [{sanitize_line(value, exact=True)}]" if value != title else "")
        for number, (value, title) in enumerate(choices_of(field), 1)
    ]
    lines += [hint for kind, hint in _HINTS if isinstance(field, kind)]
    if (default := default_of(field)) is not None:
        lines.append(f"  (an empty line takes {sanitize_line(_value_text(default), exact=True)})")
    if secret:
        lines.append(
            "  Take care: this field seems to ask for a secret. A form must not do that. It is not echoed."
        )
    return "\n".join(lines) + "\n"


def _about(url: str) -> str:
    """Points to check before an address is opened."""
    host = host_of(url)
    name = "" if host is None else f"  host: {sanitize_line(host, exact=True)}\n"
    return name + "".join(f"  Take care: {sanitize_line(caution)}.\n" for caution in cautions(url))
