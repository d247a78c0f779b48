"""Output of commands. Text from a peer, a file or a hub is sanitized here.

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
"""The exit status of a command with an invalid request."""


class CommandFailed(LocalMistake):
    """Ends a command with this status: what happened, and what to do next. `cli.main` shows it."""

    def __init__(self, what: str, next_step: str = "", *, status: int = 1) -> None:
        super().__init__(what)
        self.next_step = next_step
        self.status = status


class UsageMistake(CommandFailed):
    """A command can't do what its arguments request: the mistake, and what to do next."""

    def __init__(self, what: str, next_step: str = "dragoman run --help") -> None:
        super().__init__(what, next_step, status=MISTAKEN)


class ErrorStatus:
    """A block in which an error of these kinds ends the command with this status. `before` is a prefix for
    the error's text, and `act` is the action on the file that the error names.
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
    """Print a text, to standard output unless `file` is set."""
    print(sanitize(str(text)), file=file, end=end, flush=flush)


def counted(count: int, noun: str) -> str:
    """Return `1 file` or `2 files`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


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
    """Print progress of a command to standard error, at once."""
    say(f"dragoman {command}: {text}", file=sys.stderr, flush=True)


def refuse(command: str, mistake: LocalMistake) -> int:
    """Print to standard error why a command failed; return its exit status."""
    failure = mistake if isinstance(mistake, CommandFailed) else CommandFailed(str(mistake), status=MISTAKEN)
    next_step = f"\nTry: {failure.next_step}" if failure.next_step else ""
    tell_person(command, f"{failure}{next_step}")
    return failure.status


def say_json(value: object, *, indent: int = 0, flush: bool = False) -> None:
    """Print a value as JSON to standard output, whose encoding may lack some of its characters."""
    text = encode_json(value, indent=indent).decode()
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = in_ascii(text)
    print(text, flush=flush)


def print_json(value: object) -> int:
    """Print a value as indented JSON, and return the exit status of success."""
    say_json(value, indent=2)
    return 0


def write_stderr(text: str) -> None:
    """Write a sanitized text to standard error, at once. A closed standard error is not an error: its owner
    reads nothing.
    """
    if sys.stderr is None:  # `2>&-`; printing to nothing would print to standard output
        return
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):  # it was closed meanwhile
        pass
