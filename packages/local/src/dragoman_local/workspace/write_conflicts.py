"""Conflicts of writes with changed files: how they are noticed, decided and recorded.

Pure. An agent that read a version and writes over another one would undo what somebody else did, and nobody
would know. Here that is a `WriteClash`; what becomes of it is decided by the settings or by a person, and
every decision is a value that is recorded.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from dragoman.errors import ErrorAnswer
from dragoman_local.workspace.refusals import CONFLICT, refusal
from dragoman_local.workspace.versions import ABSENT, KnownVersion, Version

Kind = Literal["changed", "appeared", "deleted", "not_read", "forgotten"]
Verdict = Literal["refuse", "overwrite", "merge"]
Outcome = Literal["refused", "overwritten", "merged"]

_REASONS: dict[Kind, tuple[str, str]] = {
    "changed": ("changed_since_read", "the file was changed since it was read; read it again before writing"),
    "appeared": ("appeared", "the file was made by somebody else since it was found missing; read it first"),
    "deleted": ("deleted_since_read", "the file was deleted since it was read; read it again before writing"),
    "not_read": ("not_read", "an existing file must be read before it is written"),
    "forgotten": ("forgotten", "it is too long ago that the file was read; read it again before writing"),
}


class WriteClash(NamedTuple):
    """The existing file of a write, in place of the version that its agent knows."""

    kind: Kind
    path: str
    version: Version
    """The current version; `absent` if there is no file."""
    base: str | None
    """The text that the agent knows, if it was kept."""
    theirs: str | None
    """The current text, if it is text."""


class WriteConflict(Struct, frozen=True, kw_only=True):
    """The question to a person: may an agent overwrite a version that it does not know?"""

    session_id: str
    path: str
    kind: Kind
    base: str | None
    ours: str
    """The text that the agent wants to write."""
    theirs: str | None


class ConflictDecision(Struct, frozen=True, kw_only=True):
    """The outcome of a conflict."""

    session_id: str
    path: str
    kind: Kind
    outcome: Outcome


class WriteResult(NamedTuple):
    """A successful write."""

    path: str
    version: Version
    """The version after it."""
    is_created: bool
    outcome: Outcome | None = None
    """The decision on a conflict, if there was one."""


AskConflict: TypeAlias = Callable[[WriteConflict], Awaitable[Verdict]]
RecordConflict: TypeAlias = Callable[[ConflictDecision], None]


def kind_of_clash(
    version: KnownVersion | None, now: Version, *, strict: bool, has_forgotten: bool
) -> Kind | None:
    """Return how the file differs from the agent's version, or None if it may write."""
    if version is None:
        if now == ABSENT:
            return None
        return "not_read" if strict else "forgotten" if has_forgotten else None
    if version.version == now:
        return None
    if version.version == ABSENT:
        return "appeared"
    return "deleted" if now == ABSENT else "changed"


def base_of(version: KnownVersion | None) -> str | None:
    """Return the text that the agent expects in the file; empty for a missing file."""
    if version is None:
        return None
    return "" if version.version == ABSENT else version.base


def conflict_refused(clash: WriteClash, *, merge_failed: bool = False) -> ErrorAnswer:
    reason, why = _REASONS[clash.kind]
    if merge_failed:
        why += " (the changes could not be merged)"
    return refusal(CONFLICT, reason, why, version=clash.version)
