"""Shows a terminal that the agent runs itself to a v1 client, as text.

In v1 a terminal belongs to the client, so a client can show an agent's own only as text. This collects what
the agent says about it; `text` is all of that, for the tool call that shows it. It also says when it has
grown enough to be sent again: each time the whole text is sent, and doing that for every chunk would cost the
square of the output.
"""

from __future__ import annotations

import re

KEPT = 256 * 1024
"""The most bytes of a terminal's output to show: enough to read, and a limit for the size of an update."""
GROWTH = 8
"""Send a terminal again when it has grown by this fraction."""

# CSI, OSC, other escapes of two characters, and what erases or rings.
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])|[\x00-\x08\x0e-\x1a]"
)


class ShownTerminal:
    """One terminal of one session."""

    def __init__(self) -> None:
        self.command = ""
        self.cwd = ""
        self.exit = ""
        self.cut = False
        self.output = bytearray()
        self.unsent = 0
        """Bytes that are in no update yet; one for news that is no output."""

    def append(self, data: bytes) -> bool:
        """Add output; return whether older output was dropped for it."""
        self.output += data
        self.unsent += len(data)
        if len(self.output) <= KEPT:
            return False
        self.cut = True
        del self.output[:-KEPT]
        return True

    @property
    def has_grown(self) -> bool:
        """Whether there is enough new output to send all of it again."""
        return self.unsent * GROWTH >= len(self.output) and self.unsent > 0

    @property
    def is_empty(self) -> bool:
        return not (self.output or self.command or self.exit)

    def text(self) -> str:
        """Return the whole text so far, and count it as shown."""
        self.unsent = 0
        output = _ESCAPES.sub("", self.output.decode("utf-8", "replace")).replace("\r\n", "\n")
        lines = [f"{self.cwd} $ {self.command}".lstrip()] if self.command else []
        lines += ["[…]"] if self.cut else []
        lines += [output.rstrip("\n")] if output else []
        lines += [f"[{self.exit}]"] if self.exit else []
        return as_code_block("\n".join(lines), "console")


def exit_text(code: object, signal: object) -> str:
    """Describe how a command ended; empty if the agent does not report it."""
    if type(signal) is str:
        return f"ended by signal {signal}"
    return f"exit code {code}" if type(code) is int else ""


def as_code_block(text: str, language: str) -> str:
    """Return `text` as a code block, between fences longer than any in the text."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}"
