"""The text of a prompt: words of the command line, a file, standard input, in this order.

Standard input is read only when nothing else was said, or where a word is `-`: a program that was started by
another often inherits an input that is not meant for it, and that may never end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from dragoman_app.apps.console import UsageMistake

STDIN = "-"


def read_prompt(words: Sequence[str], prompt_file: str | None) -> str:
    """Return the prompt; raises `UsageMistake` without one."""
    parts = [" ".join(word for word in words if word != STDIN)]
    wants_stdin = STDIN in words or prompt_file == STDIN
    if prompt_file is not None and prompt_file != STDIN:
        parts.append(read_text(prompt_file, "the prompt file"))
    if wants_stdin or (not any(map(str.strip, parts)) and prompt_file is None):
        parts.append(_read_stdin(asked_for=wants_stdin))
    text = "\n\n".join(part.strip("\n") for part in parts if part.strip())
    if not text:
        raise UsageMistake("the prompt is empty", 'give the agent a task: dragoman run "…"')
    if not is_text(text):
        raise UsageMistake("the prompt is not UTF-8 text", "convert it first")
    return text


def is_text(argument: str) -> bool:
    """Whether a word of the command line is valid text: bytes that are not UTF-8 are lone
    surrogates in it.
    """
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_text(path: str, what: str) -> str:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            return file.read()
    except OSError as error:
        raise UsageMistake(f"cannot read {what} {path!r}: {error.strerror}", "check the path") from error
    except UnicodeDecodeError as error:
        raise UsageMistake(f"{what} {path!r} is not UTF-8 text", "convert it first") from error


def _read_stdin(*, asked_for: bool) -> str:
    if sys.stdin is None:
        return ""
    if os.isatty(sys.stdin.fileno()) and not asked_for:
        return ""  # a person who typed nothing wants to be told so, not to be waited for
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageMistake("standard input is not UTF-8 text", "convert it first") from error
