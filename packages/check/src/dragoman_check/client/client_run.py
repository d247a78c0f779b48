"""Starts a client under test with the stand-in as its agent, and waits until the client ends.

Where the client's command says `{agent}` stands the stand-in's command as one line of shell words,
`{agent_json}` the same as a JSON list, and a word that is `{agent_words}` becomes as many words.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from dragoman.errors import LinkClosed, LocalMistake
from dragoman.transport.contract import Grace
from dragoman.transport.process import spawn

PLACES = ("{agent}", "{agent_json}", "{agent_words}")

TAIL = 4000
"""The bytes of a client's output to keep, to explain an early end."""

GRACE = Grace.steps(2.0)


class ClientRun(Struct, frozen=True, kw_only=True):
    """The result of a client's run."""

    status: int | None
    """Its exit status, negative for a signal; None if it had to be ended."""
    output: str
    complaints: str


def fill_command(command: Sequence[str], stand_in: Sequence[str]) -> list[str]:
    """Return the client's command with the stand-in's command in place. Raises `LocalMistake` without a place
    for it.
    """
    if not any(place in word for word in command for place in PLACES):
        raise LocalMistake(
            f"the client's command does not say where the agent goes: add one of {', '.join(PLACES)}"
        )
    words: list[str] = []
    for word in command:
        if word == "{agent_words}":
            words += stand_in
            continue
        word = word.replace("{agent_json}", msgspec.json.encode(list(stand_in)).decode())
        words.append(word.replace("{agent}", shlex.join(stand_in)))
    return words


async def run_client(
    command: Sequence[str],
    *,
    says: Sequence[str] = (),
    cwd: str | os.PathLike[str] | None,
    seconds: float,
    grace: Grace = GRACE,
) -> ClientRun:
    """Start the client, write lines to its standard input, close that, and wait. Raises `SpawnFailed`."""
    tail, complaints = _Tail(), _Tail()
    child = spawn(command, cwd=cwd, grace=grace, on_stderr=complaints.feed)
    child.start(tail)
    try:
        try:
            child.write("".join(f"{line}\n" for line in says).encode())
            await child.close_input()
        except LinkClosed:
            pass  # it does not read
        in_time = await child.tree.wait(seconds)
    finally:
        await child.aclose()
    status = child.tree.returncode if in_time else None
    return ClientRun(status=status, output=tail.text, complaints=complaints.text)


class _Tail:
    """The end of what a program says; the sink of its transport too."""

    def __init__(self) -> None:
        self._output = bytearray()

    @property
    def text(self) -> str:
        return bytes(self._output).decode(errors="replace")

    def feed(self, block: bytes) -> None:
        self._output += block
        del self._output[:-TAIL]

    def on_oversized(self, size: int) -> None:
        pass  # it is not kept anyway

    def on_end(self, reason: BaseException | None) -> None:
        pass  # the tree tells
