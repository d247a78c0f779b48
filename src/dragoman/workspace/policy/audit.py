"""The log of decisions: what an agent wanted, what was decided, by whom and why.

JSON lines, only ever appended to, readable by their owner alone. Each line is one write, so that lines of
several processes never mix. A log that has grown large is renamed (`audit.jsonl.1` is the latest) and a new
one is begun. Secrets are covered as far as they can be told; file contents are never written here.

A line holds: `time`, `agent`, `session`, `method`, `kind`, `tool`, `title`, `paths`, `command`, `outcome`,
`rule`, `why`, `by` (`policy`, `person`, `deadline` or `cancel`), `option` and, at a hub, `person`: the name
of the token whose holder answered. What a subagent wanted has `requester`: its name, and for whom it works.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from dragoman.system.files import CAREFUL, lock
from dragoman.workspace.policy.act import Act
from dragoman.workspace.policy.decision import PolicyDecision
from dragoman.workspace.policy.redaction import redact

MOST_BYTES: Final = 16 * 1024 * 1024
By: TypeAlias = Literal["policy", "person", "deadline", "cancel"]
"""Who or what decided; `cancel` is the end of a question that was taken back."""

KEPT: Final = 3
"""How many older logs are kept."""


class AuditEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line."""

    time: str
    agent: str
    session: str
    method: str
    kind: str
    tool: str
    title: str
    paths: tuple[str, ...]
    command: str | None
    outcome: str
    rule: str
    why: str
    by: str
    option: str | None
    person: str = ""
    requester: str = ""


def audit_entry(
    act: Act,
    decision: PolicyDecision,
    *,
    by: By = "policy",
    person: str = "",
    option: str | None = None,
    time: datetime,
) -> AuditEntry:
    return AuditEntry(
        time=time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        agent=act.agent,
        session=act.session_id,
        method=act.method,
        kind=act.kind,
        tool=act.tool,
        title=redact(act.title),
        paths=act.paths,
        command=None if act.script is None else redact(act.script.text),
        outcome=decision.outcome,
        rule=decision.rule,
        why=redact(decision.why),
        by=by,
        option=option,
        person=person,
        requester=redact(act.requester),
    )


class AuditLog:
    """Constructing one creates nothing; the first line does. May be used from any thread."""

    def __init__(
        self,
        path: str,
        *,
        most_bytes: int = MOST_BYTES,
        rotated_files: int = KEPT,
        sync: bool = False,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.path = path
        self.now = now
        self._most_bytes = most_bytes
        self._rotated_files = rotated_files
        self._sync = sync
        self._lock = threading.Lock()

    def append(self, line: AuditEntry) -> None:
        """Write one line; raises `OSError` if that is not possible."""
        data = msgspec.json.encode(line) + b"\n"
        with self._lock, self._open_locked() as descriptor:
            byte_count = os.write(descriptor, data)
            if byte_count != len(
                data
            ):  # a full disk took a part: end the line, so that the next one is whole
                os.write(descriptor, b"\n")
                raise OSError("the audit log took only a part of a line")
            if self._sync:
                os.fsync(descriptor)

    @contextmanager
    def _open_locked(self) -> Iterator[int]:
        """The log, locked against being renamed by another process meanwhile."""
        while True:
            descriptor = self._open()
            try:
                lock(descriptor)
                if not self._is_current(descriptor):
                    continue
                if os.fstat(descriptor).st_size >= self._most_bytes:
                    self._rotate()
                    continue
                yield descriptor
                return
            finally:
                os.close(descriptor)

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | CAREFUL
        try:
            return os.open(self.path, flags, 0o600)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            return os.open(self.path, flags, 0o600)

    def _is_current(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(descriptor))
        except FileNotFoundError:
            return False

    def _rotate(self) -> None:
        for number in range(self._rotated_files - 1, 0, -1):
            try:
                os.replace(f"{self.path}.{number}", f"{self.path}.{number + 1}")
            except FileNotFoundError:
                pass  # fewer logs than may be kept
        if self._rotated_files:
            os.replace(self.path, f"{self.path}.1")
        else:
            os.unlink(self.path)


def read_entries(text: str) -> Iterator[dict[str, Any]]:
    """The lines of a log; what is no line of ours is left out."""
    for line in text.splitlines():
        try:
            entry = msgspec.json.decode(line)
        except msgspec.DecodeError:  # the torn end of a full disk
            continue
        if isinstance(entry, dict):
            yield entry
