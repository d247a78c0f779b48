"""What commands print. Whatever a peer, a file or a hub put into a text is sanitized here.

A text is sanitized as many lines. Whoever puts a name or a title into a line sanitizes it as one line
first, so that it cannot pretend to be another line. What commands log is in `log_lines`.
"""

from __future__ import annotations

import sys
from typing import TextIO

from dragoman.errors import LocalMistake
from dragoman.text.json_values import encode_json, in_ascii
from dragoman.text.sanitize import sanitize
from dragoman_app.apps.files import FileAct, explain_error

MISTAKEN = 2
"""The exit status of a command that was asked for what cannot be."""


class CommandFailed(LocalMistake):
    """A command ends with this status: what happened, and what to do next. `cli.main` tells the person."""

    def __init__(self, what: str, next_step: str = "", *, status: int = 1) -> None:
        super().__init__(what)
        self.next_step = next_step
        self.status = status


class UsageMistake(CommandFailed):
    """A command cannot do what its arguments say: what is wrong, and what to do next."""

    def __init__(self, what: str, next_step: str = "dragoman run --help") -> None:
        super().__init__(what, next_step, status=MISTAKEN)


class ErrorStatus:
    """A block in which an error of these kinds ends the command with this status. `before` stands before what
    the error says, and `act` is what was done with the file that it names.
    """

    def __init__(
        self,
        *kinds: type[BaseException],
        status: int,
        act: FileAct = "read",
        before: str = "",
        next_step: str = "",
    ) -> None:
        self._kinds = kinds
        self._status = status
        self._act: FileAct = act
        self._before = before
        self._next_step = next_step

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        # That nobody reads any more is not a failure.
        if isinstance(error, self._kinds) and not isinstance(error, CommandFailed | BrokenPipeError):
            what = f"{self._before}{explain_error(error, act=self._act)}"
            raise CommandFailed(what, self._next_step, status=self._status) from error


def say(text: object = "", *, file: TextIO | None = None, end: str = "\n", flush: bool = False) -> None:
    """Print a text, to standard output unless `file` is another one."""
    print(sanitize(str(text)), file=file, end=end, flush=flush)


def confirm(question: str, *, is_agreed: bool) -> None:
    """Ask a person on the terminal, unless `is_agreed` (`--yes`). Raises `LocalMistake` without a yes."""
    if is_agreed:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise LocalMistake("can't ask you without a terminal. Add --yes, or --dry-run to see the plan")
    say(f"{question} [y/N] ", file=sys.stderr, end="", flush=True)
    if sys.stdin.readline().strip().casefold() not in ("y", "yes"):
        raise LocalMistake("cancelled; nothing has changed")


def tell_person(command: str, text: object) -> None:
    """Print what goes on in a command to standard error, at once."""
    say(f"dragoman {command}: {text}", file=sys.stderr, flush=True)


def refuse(command: str, mistake: LocalMistake) -> int:
    """Say on standard error why a command cannot do what was asked of it; returns its exit status."""
    failure = mistake if isinstance(mistake, CommandFailed) else CommandFailed(str(mistake), status=MISTAKEN)
    next_step = f"\nTry: {failure.next_step}" if failure.next_step else ""
    tell_person(command, f"{failure}{next_step}")
    return failure.status


def say_json(value: object, *, indent: int = 0, flush: bool = False) -> None:
    """Print a value as JSON to standard output, which may have an encoding that lacks characters of it."""
    text = encode_json(value, indent=indent).decode()
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = in_ascii(text)
    print(text, flush=flush)


def print_json(value: object) -> int:
    """Print a value as indented JSON, and return the exit status of a command that succeeded."""
    say_json(value, indent=2)
    return 0


def write_stderr(text: str) -> None:
    """Write a text that is sanitized already to standard error, at once. A closed standard error is no
    failure: its owner wants to read nothing.
    """
    if sys.stderr is None:  # `2>&-`; printing to nothing would print to standard output
        return
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):  # it was closed meanwhile
        pass
