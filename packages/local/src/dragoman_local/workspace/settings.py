"""Settings for lending files and terminals: the answer for a missing file, the handling of conflicting
writes, the allowed commands, sizes.

They are chosen for a workspace and can be chosen anew for each session, because what makes one agent work
confuses another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from dragoman_local.sandbox.boundary import SandboxChoice
    from dragoman_local.workspace.policy.policy import Approve

KIBIBYTE = 1024
MEBIBYTE = 1024 * KIBIBYTE


class FileSettings(Struct, frozen=True, kw_only=True):
    """The defaults lose nothing and hide nothing."""

    missing: Literal["not_found", "empty"] = "not_found"
    """What reading a file that does not exist is answered with: an error, or no text. Some agents read every
    file before they create it, and take any error for a reason not to.
    """

    outside: Literal["forbidden", "not_found"] = "forbidden"
    """What reading a path outside the folders is answered with, whether or not something is there. Agents
    that look for instructions in every parent folder know what a missing file is, and may take anything else
    for a failure.
    """

    stale: Literal["refuse", "ask", "merge"] = "refuse"
    """What happens to a write over a file that has changed since the agent read it."""

    strict: bool = False
    """Whether an existing file may be written only after it was read."""

    foreign_text: Literal["refuse", "latin-1"] = "refuse"
    """What happens to text that is neither UTF-8 nor marked as UTF-16. Latin-1 fits every byte, so it is
    right only where somebody knows that it is.
    """

    form: Literal["keep", "exact"] = "keep"
    """Whether a file that is overwritten keeps its encoding, its byte order mark and, if the new text has
    `\\n` alone, line endings that were `\\r\\n` throughout; or whether the text is written as it came.
    """

    fsync: bool = False
    """Whether a write waits until the disk has it. It is atomic either way."""

    read_bytes: int = 16 * MEBIBYTE
    """The longest text, or range of bytes, in one answer."""

    write_bytes: int = 64 * MEBIBYTE
    """The longest text that is written."""

    scan_bytes: int = 1024 * MEBIBYTE
    """How far into a file lines are looked for. It bounds the time of one read."""

    hash_bytes: int = 64 * MEBIBYTE
    """Up to this size the version of a file is told by what it holds, above by the system's record of when it
    was changed: reading it all for every line would take too long.
    """

    base_bytes: int = 32 * MEBIBYTE
    """What is kept, for each session, of texts as the agent knows them, to merge with."""

    glob_matches: int = 1000
    glob_entries: int = 100_000
    """How many names a search may look at."""
    glob_seconds: float = 2.0

    @property
    def keeps_base(self) -> bool:
        """Whether merges are possible."""
        return self.stale != "refuse"


DEFAULT_SETTINGS = FileSettings()

Place: TypeAlias = Literal["here", "there", "nowhere"]
"""Where an agent's files are: lent from here; lent there, and decided here; or none of our business."""


class LocalRules(Struct, frozen=True, kw_only=True):
    """The permission options of a command line."""

    policy: str | None = None
    """The absolute path of a file whose rules come first."""
    approve: Approve | None = None
    """Who answers what no rule answers, if it is not a person."""
    shell_lines: bool = False
    """Whether a line of shell is run by a shell, once it is permitted; else it is refused."""
    sandbox: SandboxChoice = "auto"
    """The sandbox around commands in terminals of ours."""


class TerminalSettings(Struct, frozen=True, kw_only=True):
    """The defaults run programs, no shell lines, and hand on no secrets."""

    shell_lines: bool = False
    """Whether a `command` that only a shell understands is given to one. A guard sees the line first."""

    allow_env: tuple[str, ...] = ()
    """Patterns of further variables of ours that commands get. Names that look like secrets must be spelled
    out.
    """

    confine_cwd: bool = True
    """Whether a command must start within the folders of the session. Where it goes from there is for
    `sandbox` to say.
    """

    output_bytes: int = MEBIBYTE
    """What is kept of the output of a command whose request does not say."""

    most_output_bytes: int = 8 * MEBIBYTE
    """What is kept at most, whatever the request says."""

    most_running: int = 32
    """Commands that may run at once in one session."""

    most_kept: int = 256
    kept_bytes: int = 64 * MEBIBYTE
    """Ended commands whose output is kept, for agents that never release one; the oldest are forgotten."""

    grace: float = 1.0
    """Seconds from asking a command to end to killing it."""

    sandbox: SandboxChoice = "auto"
    """The sandbox around commands. `auto` is `workspace` where the machine can hold it, and none where not; a
    profile by name is refused where it cannot be held.
    """

    secrets: tuple[str, ...] = ()
    """Files and folders that commands in the sandbox do not see, beside those of the home folder."""


DEFAULT_TERMINALS = TerminalSettings()
