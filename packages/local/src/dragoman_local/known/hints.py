"""Explains common failures by the last lines that a program printed.

A table: the first pattern that fits gives meaning and advice. Nothing fits an unknown failure, and then
nothing is guessed: the words themselves are the evidence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hint:
    """One known failure."""

    pattern: str
    meaning: str
    advice: str


def _hint(pattern: str, meaning: str, advice: str) -> Hint:
    return Hint(pattern, meaning, advice)


HEADERS = _hint(
    r"content-length",
    "it puts a Content-Length header before each message, as language servers do; ACP has one message a line",
    "use a version or an option of it that speaks ACP over standard input and output",
)

HINTS = (
    HEADERS,
    _hint(
        r"no longer (maintained|supported|developed)|is deprecated|has been (renamed|replaced|discontinued)",
        "its makers have given it up for another program",
        "install the program that its own message names, and use that",
    ),
    _hint(
        r"unknown (option|argument|flag|command)|unrecognized (option|argument)|unexpected argument"
        r"|no such (option|command)|invalid choice",
        "it does not know a word of its command; this version may name it otherwise, or lack the protocol",
        "look at its --help for the word that turns the protocol on, and update it",
    ),
    _hint(
        r"Cannot find (module|package)|ERR_MODULE_NOT_FOUND|ModuleNotFoundError|No module named|ImportError",
        "a part of the program is missing",
        "install it again, in the environment that its command uses",
    ),
    _hint(
        r"can't open file|No such file or directory|ENOENT",
        "it did not find a file that it needs",
        "check the paths in its command; relative ones count from the working directory",
    ),
    _hint(r": (command )?not found", "a program that it starts is not on PATH", "install that program"),
    _hint(
        r"ENOTFOUND|EAI_AGAIN|getaddrinfo|ECONNREFUSED|ETIMEDOUT|network is unreachable",
        "it could not reach the network",
        "check the connection and the proxy variables (HTTPS_PROXY, NO_PROXY)",
    ),
    _hint(
        r"EACCES|Permission denied", "it was not allowed to touch a file", "check who owns the files it names"
    ),
    _hint(
        r"unsupported engine|requires node|SyntaxError: Unexpected token|ERR_REQUIRE_ESM|requires python",
        "its runtime is too old for it",
        "update node or Python",
    ),
    _hint(
        r"not a (tty|terminal)|inappropriate ioctl|raw mode is not supported|stdin is not",
        "it wants a terminal: this is not the mode of it that speaks the protocol",
        "add the option that turns the protocol on, such as --acp",
    ),
    _hint(
        r"api[_ ]?key|not logged in|unauthori[sz]ed|log ?in|authenticat|credential",
        "it wants a login or a key",
        'log in with its own command, or hand its key on: allow = ["NAME_OF_ITS_KEY"]',
    ),
)

SIGNALS = {
    "SIGKILL": (
        "the system or a person killed it; the usual reason is too little memory",
        "read the system's log",
    ),
    "SIGSEGV": ("it crashed", "update it, or report the crash to its makers"),
    "SIGABRT": ("it aborted", "its standard error says why"),
    "SIGILL": ("it was built for another processor", "install the build for this machine"),
    "SIGBUS": ("it crashed", "update it, or report the crash to its makers"),
}

STATUSES = {
    126: ("what its command names was found but could not be run", "check its permissions"),
    127: ("what its command names was not found", "install it, or mend the command"),
    0: (
        "it ended without sending one message of the protocol",
        "its command may be one that does a job and ends; add the option that turns the protocol on",
    ),
}


def explain(text: str, *, returncode: int | None = None, signal: str | None = None) -> tuple[str, str]:
    """Return meaning and advice; empty if the failure is unknown."""
    for hint in HINTS:
        if re.search(
            hint.pattern, text, re.IGNORECASE
        ):  # compiled when it is needed: this is imported at every start
            return hint.meaning, hint.advice
    if signal is not None:
        return SIGNALS.get(signal, ("", ""))
    return STATUSES.get(returncode, ("", "")) if returncode is not None else ("", "")
