"""A report: the verdicts on one or both sides, with everything needed to show them.

What was not exercised is never counted as passed. Frames are shown only through `evidence`, which cuts them
and hides what whoever made the report gave a hiding function for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec
from msgspec import Struct

from dragoman.text.sanitize import sanitize_line
from dragoman.wire.decode import UNREADABLE_TEXT
from dragoman.wire.envelope import Json
from dragoman_check.conversation import Conversation
from dragoman_check.manifest import Side
from dragoman_check.recording import Direction, Recording
from dragoman_check.verdict import Status, Verdict, Violation

STATUSES: tuple[Status, ...] = (
    "failed",
    "warned",
    "recorded",
    "waived",
    "blocked",
    "passed",
    "not exercised",
    "not applicable",
)
"""The statuses by importance: the first that occurs is that of the whole report."""

FRAMES = 4
"""The most frames of one finding to show; the first and the last of them matter most."""


class ReportPart(Struct, kw_only=True):
    """The verdicts on one side."""

    side: Side
    peer: str = ""
    """Its name and version, from its handshake."""
    verdicts: list[Verdict]

    def of(self, *statuses: Status) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if verdict.status in statuses]

    @property
    def counts(self) -> dict[Status, int]:
        return count(verdict.status for verdict in self.verdicts)


class PackItem(Struct, kw_only=True, frozen=True):
    """One item of a pack, and its status."""

    says: str
    status: Status
    requirements: tuple[str, ...] = ()
    exercised_count: int = 0
    """How many of its requirements were tested."""
    reason: str = ""
    """The reason why it can't be tested, or the mistake."""
    connection: int = 0
    """The recording with the mistake, counted from 1; 0 if there is none."""
    frames: tuple[int, ...] = ()


class PackResult(Struct, kw_only=True, frozen=True):
    name: str
    about: str
    side: Side
    items: list[PackItem]


class CheckReport(Struct, kw_only=True):
    """Everything for the report formats."""

    title: str
    parts: list[ReportPart]
    recordings: Sequence[Recording] = ()
    names: Sequence[str] = ()
    """The name of each recording: its file, if it has one."""
    lines: Sequence[Sequence[int]] = ()
    """For each recording, the line of each frame in its file; empty if unknown."""
    packs: list[PackResult] = []
    complaints: list[str] = []
    """Remarks about the test itself: unused waivers, and the like."""
    blocked_by: str = ""
    """The reason why most tests were impossible, such as a login; empty if they were possible."""
    tool: str = "dragoman"
    hide: Callable[[bytes], bytes] = bytes

    @property
    def counts(self) -> dict[Status, int]:
        return count(verdict.status for part in self.parts for verdict in part.verdicts)

    def name_of(self, connection: int) -> str:
        is_named = 0 < connection <= len(self.names)
        return self.names[connection - 1] if is_named else f"connection {connection}"

    def line_of(self, connection: int, number: int) -> int | None:
        """Return the line of a frame in its file."""
        lines = self.lines[connection - 1] if 0 < connection <= len(self.lines) else ()
        return lines[number - 1] if 0 < number <= len(lines) else None

    def evidence(self, finding: Violation, *, length: int = 480) -> list[Evidence]:
        """Return the frames of a finding, in order, cut to a readable length and without secrets."""
        if not 0 < finding.connection <= len(self.recordings):
            return []
        frames = self.recordings[finding.connection - 1].frames
        numbers = sorted({number for number in finding.frames if 0 < number <= len(frames)})
        selected_numbers = numbers if len(numbers) <= FRAMES else [*numbers[: FRAMES - 1], numbers[-1]]
        began = frames[0].at if frames else 0.0
        return [
            Evidence(
                number=number,
                direction=frames[number - 1].direction,
                at=round(frames[number - 1].at - began, 3),
                text=shorten(self.hide(frames[number - 1].raw), length=length),
            )
            for number in selected_numbers
        ]


def count(statuses: Iterable[Status]) -> dict[Status, int]:
    """Return the number of each status, also zero."""
    counts: dict[Status, int] = dict.fromkeys(STATUSES, 0)
    for status in statuses:
        counts[status] += 1
    return counts


def worst(statuses: Iterable[Status]) -> Status:
    """Return the worst status of all."""
    present = set(statuses)
    return next((status for status in STATUSES if status in present), "not exercised")


def peer_name(recordings: Iterable[Recording], side: Side) -> str:
    """Return the name of a side in its first handshake."""
    for recording in recordings:
        exchange = Conversation(recording).initialize
        if exchange is None:
            continue
        fields = exchange.params if side == "client" else exchange.result
        info = fields.get("clientInfo" if side == "client" else "agentInfo", fields.get("info"))
        if type(info) is dict and type(info.get("name")) is str:
            version = info.get("version")
            return f"{info['name']} {version}" if type(version) is str and version else info["name"]
    return ""


def block(verdicts: Iterable[Verdict], reason: str) -> None:
    """Mark untested requirements as blocked because of `reason`."""
    for verdict in verdicts:
        if verdict.status == "not exercised":
            verdict.status, verdict.reason = "blocked", reason


# Formats frames for a report: one printable line, shortened, with its structure still visible.
#
# Long texts and lists within a frame are cut before the frame is, so that names and ids survive.

TEXT = 72
ITEMS = 4
DEEP = 12


class Evidence(Struct, frozen=True, kw_only=True):
    """One frame of a finding."""

    number: int
    direction: Direction
    at: float
    """The seconds since the first frame of its recording."""
    text: str


def shorten(raw: bytes, *, length: int) -> str:
    """Return a frame in at most about `length` characters; a shorter one is unchanged."""
    text = sanitize_line(raw.decode(errors="replace"))
    if len(text) > length:
        try:
            smaller = _cut(msgspec.json.decode(raw), 0)
            text = sanitize_line(msgspec.json.encode(smaller).decode())
        except UNREADABLE_TEXT:
            pass  # no JSON: then it is cut as the text that it is
    return text if len(text) <= length else f"{text[:length]}… ({len(text) - length} more)"


def _cut(value: object, depth: int) -> Json:
    if isinstance(value, str):
        return value if len(value) <= TEXT else f"{value[:TEXT]}… ({len(value) - TEXT} more)"
    if depth > DEEP:
        return "…"
    if isinstance(value, list):
        items = [_cut(item, depth + 1) for item in value[:ITEMS]]
        return items if len(value) <= ITEMS else [*items, f"… ({len(value) - ITEMS} more)"]
    if isinstance(value, dict):
        return {_cut(name, depth): _cut(member, depth + 1) for name, member in value.items()}
    return value
