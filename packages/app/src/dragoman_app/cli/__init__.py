"""The command `dragoman`: parses the command line and starts the command.

Every failure says what happened, why, and what to do next, on standard error and with exit status 2 for a
mistaken command line and 1 for anything else, unless a command documents more. What was asked of a command
and cannot be, it raises as `LocalMistake`; the message and status 2 are made of it here. `commands` is the
table of all commands, `options` what they take, `parser` makes a parser of both.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

from dragoman.errors import LocalMistake
from dragoman_app.cli.parser import load, make_parser

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status. Without `arguments`, run as the whole program."""
    if arguments is not None:
        return _run(arguments)
    # What a start loads stays, and what is there at the end goes with the process: to look for garbage in it
    # takes a tenth of a short run.
    gc.disable()
    if sys.stdout is not None and hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # as a locale has it: some lack characters that we print
    try:
        return _run(sys.argv[1:])
    finally:
        gc.freeze()


def _run(words: Sequence[str]) -> int:
    options = make_parser(words).parse_args(words)
    command = options.command_row
    if command.claims_stdio:
        load("dragoman.transport.stdio:claim_stdio")()
    if not command.starts_early:
        load("dragoman_app.apps.log_lines:sanitize_log_lines")()
    try:
        run = load(command.run)
    except KeyboardInterrupt:
        return 130  # nothing was started yet
    except ImportError as error:
        return _explain_import(command.name, error)
    if not command.starts_early:
        gc.enable()
    try:
        status: int = run(options)
        if sys.stdout is not None:  # as it is for a program that was started with its output closed
            sys.stdout.flush()
    except ImportError as error:
        return _explain_import(command.name, error)
    except LocalMistake as mistake:
        refused: int = load("dragoman_app.apps.console:refuse")(command.name, mistake)
        return refused
    except BrokenPipeError:
        # `dragoman … | head`: nobody reads any more, and Python shall not complain about it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141  # what a shell reports of a program that SIGPIPE ended
    except OSError as error:
        if error.errno is None:  # not of the system
            raise
        return _explain(command.name, error)
    return status


def _explain_import(command: str, error: ImportError) -> int:
    """Say which package is missing: `dragoman.pyz` has the smallest set, and people install without
    dependencies. Returns the exit status.
    """
    package = (error.name or "dragoman").partition(".")[0]
    if package.startswith("dragoman"):
        raise error
    needs = f"needs the package {package}, which is not installed. Try: pip install dragoman"
    load("dragoman_app.apps.console:say")(f"dragoman {command}: {needs}", file=sys.stderr)
    return 2


def _explain(command: str, error: OSError) -> int:
    """Say what the system refused that the command does not expect at each of its steps: a full disk, a
    folder that cannot be written, a current folder that is gone. Returns the exit status.
    """
    try:
        sys.stdout.flush()
    except OSError:  # it is what cannot be written; Python shall not try again at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    tell = load("dragoman_app.apps.console:tell_person")
    if isinstance(error, FileNotFoundError) and not _is_somewhere():
        tell(command, "the current folder is gone; change to another one first")
        return 2
    place = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
    tell(command, f"{place}{(error.strerror or str(error)).lower()}")
    return 1


def _is_somewhere() -> bool:
    """Whether the current folder is still there; what is asked for relative to one that is not, fails."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True
