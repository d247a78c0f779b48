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
"""In the order in which they matter: the first that occurs speaks for the whole."""

FRAMES = 4
"""How many frames of one finding are shown; the first and the last of them say the most."""


class ReportPart(Struct, kw_only=True):
    """The verdicts on one side."""

    side: Side
    peer: str = ""
    """Its name and version, as it gave them."""
    verdicts: list[Verdict]

    def of(self, *statuses: Status) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if verdict.status in statuses]

    @property
    def counts(self) -> dict[Status, int]:
        return count(verdict.status for verdict in self.verdicts)


class PackItem(Struct, kw_only=True, frozen=True):
    """One line of a guide's list, and its status."""

    says: str
    status: Status
    requirements: tuple[str, ...] = ()
    exercised_count: int = 0
    """How many of its requirements showed."""
    reason: str = ""
    """Why it cannot be seen, or what was wrong."""
    connection: int = 0
    """Where that was: which recording, counted from 1; 0 if nowhere."""
    frames: tuple[int, ...] = ()


class PackResult(Struct, kw_only=True, frozen=True):
    name: str
    about: str
    side: Side
    items: list[PackItem]


class CheckReport(Struct, kw_only=True):
    """Everything that a format shows."""

    title: str
    parts: list[ReportPart]
    recordings: Sequence[Recording] = ()
    names: Sequence[str] = ()
    """What each recording is called: its file, where it has one."""
    lines: Sequence[Sequence[int]] = ()
    """For each recording, on which line of its file each frame stands; empty if that is not known."""
    packs: list[PackResult] = []
    complaints: list[str] = []
    """About the examination itself: waivers that are used up, and the like."""
    blocked_by: str = ""
    """Why most of it could not be tried, such as a login; empty if it could."""
    tool: str = "dragoman"
    hide: Callable[[bytes], bytes] = bytes

    @property
    def counts(self) -> dict[Status, int]:
        return count(verdict.status for part in self.parts for verdict in part.verdicts)

    def name_of(self, connection: int) -> str:
        is_named = 0 < connection <= len(self.names)
        return self.names[connection - 1] if is_named else f"connection {connection}"

    def line_of(self, connection: int, number: int) -> int | None:
        """The line of a frame in its file."""
        lines = self.lines[connection - 1] if 0 < connection <= len(self.lines) else ()
        return lines[number - 1] if 0 < number <= len(lines) else None

    def evidence(self, finding: Violation, *, length: int = 480) -> list[Evidence]:
        """The frames of a finding, in order, cut to a readable length and without secrets."""
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
    """How often each occurs; every status is named."""
    counts: dict[Status, int] = dict.fromkeys(STATUSES, 0)
    for status in statuses:
        counts[status] += 1
    return counts


def worst(statuses: Iterable[Status]) -> Status:
    """The worst status of all."""
    present = set(statuses)
    return next((status for status in STATUSES if status in present), "not exercised")


def peer_name(recordings: Iterable[Recording], side: Side) -> str:
    """The name of a side in its first handshake."""
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
    """Says of what was not exercised that it could not be, because of `reason`."""
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
    """Seconds since the first frame of its recording."""
    text: str


def shorten(raw: bytes, *, length: int) -> str:
    """A frame in at most about `length` characters; one that fits is shown as it is."""
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
