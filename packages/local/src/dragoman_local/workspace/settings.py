"""Settings for providing files and terminals: the answer for a missing file, the handling of conflicting
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
    """Settings for files. The defaults lose nothing and hide nothing."""

    missing: Literal["not_found", "empty"] = "not_found"
    """The answer for reading a missing file: an error, or no text. Some agents read every file before they
    create it, and stop at any error.
    """

    outside: Literal["forbidden", "not_found"] = "forbidden"
    """The answer for reading a path outside the folders, even if it exists. Agents that search for
    instructions in every parent folder handle a missing file, but may take any other error for a failure.
    """

    stale: Literal["refuse", "ask", "merge"] = "refuse"
    """The handling of a write to a file that has changed since the agent read it."""

    strict: bool = False
    """Whether an existing file may be written only after it was read."""

    foreign_text: Literal["refuse", "latin-1"] = "refuse"
    """The handling of text that is neither UTF-8 nor marked as UTF-16. Latin-1 fits every byte, so use it
    only if it is known to be right.
    """

    form: Literal["keep", "exact"] = "keep"
    """Whether an overwritten file keeps its encoding, its byte order mark and, if the new text has only
    `\\n`, line endings that were `\\r\\n` throughout; or whether the text is written unchanged.
    """

    fsync: bool = False
    """Whether a write waits until it is on the disk. It is atomic in either case."""

    read_bytes: int = 16 * MEBIBYTE
    """The longest text, or range of bytes, in one answer."""

    write_bytes: int = 64 * MEBIBYTE
    """The longest text to write."""

    scan_bytes: int = 1024 * MEBIBYTE
    """The most bytes of a file to search for lines, which limits the time of one read."""

    hash_bytes: int = 64 * MEBIBYTE
    """Up to this size the version of a file is computed from its content, above from its metadata: reading it
    all for every line would take too long.
    """

    base_bytes: int = 32 * MEBIBYTE
    """The most bytes of texts to keep for merging in each session."""

    glob_matches: int = 1000
    glob_entries: int = 100_000
    """The most names that a search may read."""
    glob_seconds: float = 2.0

    @property
    def keeps_base(self) -> bool:
        """Whether merges are possible."""
        return self.stale != "refuse"


DEFAULT_SETTINGS = FileSettings()

Place: TypeAlias = Literal["here", "there", "nowhere"]
"""Where an agent's files are: provided from here; provided there, and decided here; or not handled by us."""


class LocalRules(Struct, frozen=True, kw_only=True):
    """The permission options of a command line."""

    policy: str | None = None
    """The absolute path of a file whose rules come first."""
    approve: Approve | None = None
    """Who answers without a rule, if not a person."""
    shell_lines: bool = False
    """Whether a shell runs a permitted line of shell; otherwise it is refused."""
    sandbox: SandboxChoice = "auto"
    """The sandbox around commands in our terminals."""


class TerminalSettings(Struct, frozen=True, kw_only=True):
    """Settings for terminals. The defaults run programs, no shell lines, and pass on no secrets."""

    shell_lines: bool = False
    """Whether a `command` that needs a shell is run by one. A guard sees the line first."""

    allow_env: tuple[str, ...] = ()
    """Patterns of further variables of ours for commands. Names that look like secrets must be written in
    full.
    """

    confine_cwd: bool = True
    """Whether a command must start in the session's folders. `sandbox` limits where it goes from there."""

    output_bytes: int = MEBIBYTE
    """The default bytes to keep of a command's output."""

    most_output_bytes: int = 8 * MEBIBYTE
    """The most bytes to keep, for any request."""

    most_running: int = 32
    """The most running commands in one session."""

    most_kept: int = 256
    kept_bytes: int = 64 * MEBIBYTE
    """The bytes of ended commands' output to keep, for agents that never release one; the oldest are
    forgotten.
    """

    grace: float = 1.0
    """The seconds from asking a command to end to killing it."""

    sandbox: SandboxChoice = "auto"
    """The sandbox around commands. `auto` is `workspace` if the machine supports it, otherwise none; a named
    profile is refused if it is not supported.
    """

    secrets: tuple[str, ...] = ()
    """Files and folders to hide from commands in the sandbox, besides those of the home folder."""


DEFAULT_TERMINALS = TerminalSettings()
