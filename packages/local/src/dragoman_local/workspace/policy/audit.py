"""The audit log: the agent's action, the decision, its author and its reason.

JSON lines, only ever appended to, readable by their owner alone. Each line is one write, so that lines of
several processes never mix. A log that has grown large is renamed (`audit.jsonl.1` is the latest) and a new
one is begun. Each line has the number and the digest of the one before it, also across files, and a small
file beside the log (`audit.jsonl.head`) has those of the last one: `verify_audit_log` checks them. Secrets
are covered as far as they can be told; file contents are never written here.

A line holds: `time`, `agent`, `session`, `method`, `kind`, `tool`, `title`, `paths`, `command`, `outcome`,
`rule`, `why`, `by` (`policy`, `person`, `deadline` or `cancel`), `option` and, at a hub, `person`: the name
of the token whose holder answered. What a subagent wanted has `requester`: its name, and for whom it works.
What was denied for want of a rule has `remedy`: the command line with which a person allows it.
At its end a line has `n`, its number, and `prev`, the SHA-256 of the line before it without its newline.

A line that was changed, taken out, put in or moved breaks the chain at the next one; lines that were cut
from the end are missed by the head. There is no secret in it: whoever may write both files can write a chain
of their own from some line on. Who needs more than that copies the digest of the last line to another place,
and compares it later.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from io import FileIO
from typing import Any, Final, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from dragoman.decoders import json_decoder
from dragoman.system.files import CAREFUL, lock, open_regular
from dragoman_local.secrets.search import redact
from dragoman_local.workspace.policy.act import Act
from dragoman_local.workspace.policy.decision import PolicyDecision
from dragoman_local.workspace.policy.policy_paths import policy_paths

log = logging.getLogger(__name__)

MOST_BYTES: Final = 16 * 1024 * 1024
By: TypeAlias = Literal["policy", "person", "deadline", "cancel"]
"""Who or what decided; `cancel` is the end of a withdrawn question."""

KEPT: Final = 3
"""The number of older logs to keep."""

BEGINNING: Final = "0" * 64
"""The value of the very first line in place of the previous digest."""

HEAD_BYTES: Final = 256
"""The most bytes of a head."""


class AuditEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the log."""

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
    remedy: str = ""


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
        time=_timestamp(time),
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
        remedy=redact(decision.remedy),
    )


def attempt_entry(
    method: str,
    title: str,
    *,
    outcome: Literal["allow", "deny"],
    why: str,
    by: By = "person",
    person: str = "",
    agent: str = "",
    session: str = "",
    kind: str = "other",
    paths: tuple[str, ...] = (),
    command: str | None = None,
) -> AuditEntry:
    """An attempt to change a mode or to answer another user's question."""
    return AuditEntry(
        time=_timestamp(datetime.now(UTC)),
        agent=agent,
        session=session,
        method=method,
        kind=kind,
        tool="",
        title=redact(title),
        paths=paths,
        command=command,
        outcome=outcome,
        rule="",
        why=redact(why),
        by=by,
        option=None,
        person=person,
    )


def write_approve_mode(door: str, approve: str | None, *, agent: str) -> None:
    """Write one line for a command that allows what the policy would ask about. If writing fails, nothing is
    permitted.
    """
    if approve in ("all", "reads"):
        why = "what no rule covers is allowed" + (", if it only reads" if approve == "reads" else "")
        entry = attempt_entry(door, f"approve {approve}", outcome="allow", why=why, agent=agent, kind="mode")
        with suppress(OSError):
            AuditLog(policy_paths().audit).append(entry)


def _timestamp(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class AuditLog:
    """The audit log. Constructing creates nothing; the first line does. May be used from any thread."""

    def __init__(
        self,
        path: str,
        *,
        most_bytes: int = MOST_BYTES,
        rotated_files: int = KEPT,
    ) -> None:
        self.path = path
        self._most_bytes = most_bytes
        self._rotated_files = rotated_files
        self._lock = threading.Lock()

    def append(self, line: AuditEntry) -> None:
        """Write one line; raises `OSError` if that fails."""
        entry = msgspec.json.encode(line)
        with (
            self._lock,
            self._open_locked() as descriptor,
            FileIO(os.open(head_path(self.path), os.O_RDWR | os.O_CREAT | CAREFUL, 0o600), "r+") as head_file,
        ):
            head = _last_line(descriptor, _read(_heads, head_file.read(HEAD_BYTES)))
            text = b'%b,"n":%d,"prev":"%b"}' % (entry[:-1], head.number + 1, head.digest.encode())
            byte_count = os.write(descriptor, text + b"\n")
            if byte_count != len(text) + 1:
                # A full disk took a part: end the line, so that the next one is whole.
                os.write(descriptor, b"\n")
                raise OSError("the audit log took only a part of a line")
            size = os.fstat(descriptor).st_size
            head_file.seek(0)
            head_file.write(write_head(AuditHead(head.number + 1, digest_of(text), size)))

    def has_written(self, line: AuditEntry) -> bool:
        """Write one line; return whether that succeeded."""
        try:
            self.append(line)
        except OSError:
            log.exception("the audit log cannot be written; nothing is permitted until it can")
            return False
        return True

    @contextmanager
    def _open_locked(self) -> Iterator[int]:
        """The log, locked against being renamed by another process meanwhile."""
        with suppress(FileExistsError):
            os.makedirs(os.path.dirname(os.path.abspath(self.path)), mode=0o700)
        while True:
            descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | CAREFUL, 0o600)
            try:
                lock(descriptor)
                is_current = self._is_current(descriptor)
                if is_current and os.fstat(descriptor).st_size < self._most_bytes:
                    yield descriptor
                    return
                if is_current:
                    self._rotate()
            finally:
                os.close(descriptor)

    def _is_current(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(descriptor))
        except FileNotFoundError:
            return False

    def _rotate(self) -> None:
        for number in range(self._rotated_files - 1, 0, -1):
            with suppress(FileNotFoundError):  # fewer logs than may be kept
                os.replace(f"{self.path}.{number}", f"{self.path}.{number + 1}")
        os.replace(self.path, f"{self.path}.1")


# The chain.


class AuditHead(Struct, frozen=True, array_like=True):
    """The last line of a log: its number, its digest, and the size of the file after it."""

    number: int
    digest: str
    size: int


def head_path(path: str) -> str:
    return f"{path}.head"


def digest_of(line: bytes) -> str:
    """Return the digest of a line without its newline."""
    return hashlib.sha256(line).hexdigest()


def write_head(head: AuditHead) -> bytes:
    """Write the head, always in the same length, so that one write replaces another."""
    return b'[%20d,"%b",%20d]\n' % (head.number, head.digest.encode(), head.size)


class ChainLink(Struct, frozen=True):
    """The number of a line, and the digest of the one before it."""

    n: int
    prev: str


_heads = json_decoder(AuditHead)
_chains = json_decoder(ChainLink)
T = TypeVar("T")


def _read(decoder: msgspec.json.Decoder[T], data: bytes) -> T | None:
    """The head of a log, or the link of a line; None if it is missing or damaged."""
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _last_line(descriptor: int, head: AuditHead | None) -> AuditHead:
    """The last line, which the next one follows. The file tells, where the head does not know of all of it:
    it was killed before it was written, or an older version has written lines since.
    """
    size = os.fstat(descriptor).st_size
    if head is not None and (head.size == size or not size):  # an empty log is new, and goes on
        return head
    if not size:
        return AuditHead(0, BEGINNING, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    line = os.read(descriptor, size).rstrip(b"\n").rpartition(b"\n")[2]
    place = _read(_chains, line) or ChainLink(0 if head is None else head.number, "")
    return AuditHead(place.n, digest_of(line), size)


def read_entries(text: str) -> Iterator[dict[str, Any]]:
    """Return the entries of a log; invalid lines are left out."""
    for line in text.splitlines():
        with suppress(msgspec.DecodeError):  # the torn end of a full disk
            if isinstance(entry := msgspec.json.decode(line), dict):
                yield entry


_ROTATED: Final = re.compile(r"(.+)\.(\d+)")


class AuditReport(Struct, kw_only=True):
    """The result of a check, as `dragoman audit verify --json` prints it."""

    files: list[str] = []
    lines: int = 0
    chained: int = 0
    """The number of lines in the chain."""
    first: int = 0
    """The number of the first of them."""
    last_digest: str = ""
    broken: str = ""
    """The place and kind of the first break; empty if there is none."""
    notes: list[str] = []
    """Remarks that are not breaks."""


def verify_audit_log(path: str) -> AuditReport:
    """Check a log with its older files, or one of the older files alone. Raises `OSError` if it can't be
    read.
    """
    is_old = _ROTATED.fullmatch(path) is not None
    report = AuditReport(files=[path] if is_old else _files_of(path))
    _follow(report)
    if report.first > 1:
        report.notes.append(
            f"The {report.first - 1} lines before number {report.first} are not here: "
            "dropped by age, or removed."
        )
    if not (report.broken or is_old):
        _compare(report)
    return report


def _files_of(path: str) -> list[str]:
    """The oldest first."""
    names = map(_ROTATED.fullmatch, os.listdir(os.path.dirname(path) or "."))
    numbers = [int(name[2]) for name in names if name is not None and name[1] == os.path.basename(path)]
    return [*(f"{path}.{number}" for number in sorted(numbers, reverse=True)), path]


def _lines(report: AuditReport) -> Iterator[tuple[str, bytes]]:
    for path in report.files:
        with open_regular(path) as file:
            for number, line in enumerate(file, 1):
                yield f"{path}, line {number}", line.rstrip(b"\n")


def _follow(report: AuditReport) -> None:
    """Read all lines, up to the first that does not follow the one before it."""
    number, digest, unchained = 0, "", 0
    for place, line in _lines(report):
        report.lines += 1
        before, digest = digest, digest_of(line)
        chain = _read(_chains, line)
        if chain is None:  # of an older version, or torn: the next line has its digest
            unchained += 1
        elif not report.broken:
            report.broken = _objection(place, chain, number=number, digest=before)
            report.first = report.first or chain.n
            report.chained += 1
            number, report.last_digest = chain.n, digest
    if unchained:
        report.notes.append(
            f"{unchained} lines have no digest: an older version wrote them, or a full disk cut them."
        )


def _objection(place: str, chain: ChainLink, *, number: int, digest: str) -> str:
    if not number and not digest and chain.n > 1:
        return ""  # what it follows is not here
    if chain.prev != (digest or BEGINNING):
        return f"{place}: it does not follow the line before it, which was changed, removed or put in"
    if number and chain.n != number + 1:
        return f"{place}: it is number {chain.n}, and the one before it {number}"
    return ""


def _compare(report: AuditReport) -> None:
    """Compare the last line with the head, if there is one."""
    head = None
    with suppress(FileNotFoundError), open_regular(head_path(report.files[-1])) as file:
        head = _read(_heads, file.read(HEAD_BYTES))
    last = report.first + report.chained - 1 if report.chained else 0
    if head is None:
        if report.chained:
            report.broken = f"{head_path(report.files[-1])} is missing: lines may have been cut from the end"
    elif head.number > last:
        report.broken = f"{report.files[-1]}: {head.number - last} lines were cut from the end"
    elif head.number == last and report.last_digest != head.digest:
        report.broken = f"{report.files[-1]}: its last line was changed, or lines were added after it"
    elif head.number < last:
        report.notes.append("The last line is younger than the head: a process was stopped while it wrote.")
