"""Waivers: known findings that a project accepts, each with a reason.

    [[waiver]]
    requirement = "TURN-06"          # an id, or a whole area: "TERM-*"
    reason = "updates of the title come late until we own the queue"
    until = 2027-01-31               # optional: it counts up to and on this day
    peer = "my-agent"                # optional: the name of the peer, with or without its version
    side = "agent"                   # optional

A waived finding is still shown. A waiver that nothing needs any more, or whose day has passed, is reported.
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from msgspec import Struct

from dragoman.errors import LocalMistake
from dragoman_check.manifest import requirements
from dragoman_check.report.model import ReportPart
from dragoman_check.verdict import Status

_WAIVABLE: tuple[Status, ...] = ("failed", "warned", "recorded")
_MEMBERS = {"requirement", "reason", "until", "peer", "side"}


class BadWaivers(LocalMistake):
    """A waiver file is invalid; the text names the place and the mistake."""


class Waiver(Struct, frozen=True, kw_only=True):
    requirement: str
    reason: str
    until: datetime.date | None = None
    peer: str = ""
    side: str = ""

    def covers(self, part: ReportPart, requirement: str) -> bool:
        return self.concerns(part) and fnmatchcase(requirement, self.requirement)

    def concerns(self, part: ReportPart) -> bool:
        """Whether it is about this peer."""
        name, _, _ = part.peer.rpartition(" ")
        return self.side in ("", part.side) and (
            not self.peer or any(fnmatchcase(peer_name, self.peer) for peer_name in (part.peer, name))
        )


def read_waivers(text: str) -> list[Waiver]:
    """Read a file. Raises `BadWaivers`."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadWaivers(f"no TOML: {error}") from error
    entries = table.get("waiver")
    if set(table) - {"waiver"} or not isinstance(entries, list):
        raise BadWaivers("a waiver file may contain only [[waiver]] tables")
    return [_waiver(entry, number) for number, entry in enumerate(entries, 1)]


def apply_waivers(
    waivers: Iterable[Waiver], parts: Iterable[ReportPart], *, today: datetime.date
) -> list[str]:
    """Waive the covered findings; return remarks on the waivers themselves."""
    complaints = []
    everything = list(parts)
    for waiver in waivers:
        matching_parts = [part for part in everything if waiver.concerns(part)]
        if not matching_parts:
            continue  # it is about another peer
        if waiver.until is not None and waiver.until < today:
            complaints.append(f"the waiver for {waiver.requirement} expired on {waiver.until}")
            continue
        statuses = [status for part in matching_parts for status in _apply(waiver, part)]
        if statuses and not any(status in (*_WAIVABLE, "waived") for status in statuses):
            complaints.append(
                f"the waiver for {waiver.requirement} is not needed: {', '.join(dict.fromkeys(statuses))}"
            )
    return complaints


def _apply(waiver: Waiver, part: ReportPart) -> Iterator[Status]:
    """The status that each covered requirement had before."""
    for verdict in part.verdicts:
        if waiver.covers(part, verdict.requirement):
            yield verdict.status
            if verdict.status in _WAIVABLE:
                verdict.status, verdict.reason = "waived", waiver.reason


def _waiver(entry: object, number: int) -> Waiver:
    where = f"waiver {number}"
    if not isinstance(entry, dict) or set(entry) - _MEMBERS:
        raise BadWaivers(f"{where}: knows only {', '.join(sorted(_MEMBERS))}")
    until = entry.pop("until", None)
    if until is not None and (not isinstance(until, datetime.date) or isinstance(until, datetime.datetime)):
        raise BadWaivers(f"{where}: until is a date, like 2027-01-31, without quotes")
    if any(not isinstance(value, str) for value in entry.values()):
        raise BadWaivers(f"{where}: every key except until is text")
    if not entry.get("reason", "").strip():
        raise BadWaivers(f"{where}: needs a reason")
    pattern = entry.get("requirement", "")
    if not any(fnmatchcase(requirement, pattern) for requirement in requirements()):
        raise BadWaivers(f"{where}: unknown requirement {pattern!r}")
    if entry.get("side", "") not in ("", "agent", "client", "server"):
        raise BadWaivers(f"{where}: side is agent, client or server")
    return Waiver(until=until, **entry)
