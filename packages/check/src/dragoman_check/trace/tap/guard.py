"""Keeps noise out of the protocol: an agent's lines that are not JSON objects are shown elsewhere.

A line is held until its end is there, which is what a client does with it anyway. A line that grows beyond
all bounds is passed as it is: it is too long to be noise that somebody printed.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

BOUND = 1024 * 1024
"""Bytes of a line that are held back while it is not known what it is."""

_anything = msgspec.json.Decoder()


class StdoutGuard:
    """A sieve. `noise` gets each line that was kept off the wire, with its newline."""

    def __init__(self, noise: Callable[[bytes], None]) -> None:
        self.count = 0
        self._noise = noise
        self._partial_line = bytearray()
        self._passing = False  # in the middle of a line that is known to be no noise

    def take(self, chunk: bytes) -> bytes:
        self._partial_line += chunk
        output = bytearray()
        while (end := self._partial_line.find(b"\n") + 1) > 0:
            line = bytes(self._partial_line[:end])
            del self._partial_line[:end]
            if self._passing or not is_noise(line):
                output += line
            else:
                self._keep_off(line)
            self._passing = False
        if self._passing or len(self._partial_line) > BOUND:
            output += self._partial_line
            self._partial_line.clear()
            self._passing = True
        return bytes(output)

    def finish(self) -> bytes:
        """The last line may lack its newline."""
        rest = bytes(self._partial_line)
        self._partial_line.clear()
        if not rest or self._passing or not is_noise(rest):
            return rest
        self._keep_off(rest + b"\n")
        return b""

    def _keep_off(self, line: bytes) -> None:
        self.count += 1
        self._noise(line)


def is_noise(line: bytes) -> bool:
    """Whether no client could make sense of this line. Blank lines mean nothing, and hurt nobody."""
    text = line.strip()
    if not text:
        return False
    if not text.startswith(b"{"):
        return True
    try:
        _anything.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return True
    except RecursionError:
        return False
    return False
