"""The options and outputs that all parts of `dragoman check` share: requirements, waivers, formats.

Whoever examines reads the wishes first, so that a mistake in them is known before minutes are spent, and lets
them finish: judge, waive, show, and tell the exit status.
"""

from __future__ import annotations

import argparse
import datetime
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from dragoman.errors import BadTranscript, LocalMistake
from dragoman.system.replacement import replace_private
from dragoman.version import VERSION
from dragoman_app.apps.console import say
from dragoman_app.cli.check_interruption import Interruption
from dragoman_app.cli.options.check import FORMAT_NAMES
from dragoman_check.examination_control import blame_once, keep_confirmed, scenes_to_repeat
from dragoman_check.manifest import Side
from dragoman_check.official_kit import requirements_of
from dragoman_check.packs import judge_pack, selection
from dragoman_check.recording import Recording
from dragoman_check.report import CheckReport, ReportPart, block, peer_name, render
from dragoman_check.report.text import as_text
from dragoman_check.trace.tap.secrets import SecretFilter
from dragoman_check.verdict import judge
from dragoman_check.waivers import Waiver, apply_waivers, read_waivers
from dragoman_local.journal.transcript import read_transcript

LookAgain: TypeAlias = "Callable[[set[str]], Sequence[Recording]]"
"""Plays scenes with these names again."""

CLEAN, BROKEN, MISTAKEN, BLOCKED, UNEXAMINED = 0, 1, 2, 3, 4


class Examined(NamedTuple):
    """The frames to judge, their side, and their name."""

    recordings: Sequence[Recording]
    sides: Sequence[Side]
    title: str
    names: Sequence[str] = ()
    lines: Sequence[Sequence[int]] = ()


class Wishes:
    """The requested tests and reports. Constructing raises `LocalMistake` or `OSError`."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.ids: str = args.ids
        self.only = selection(self._names(args.only), self._names(args.exclude), args.pack)
        self.packs: list[str] = args.pack
        self.waivers: list[Waiver] = (
            read_waivers(Path(args.waivers).read_text("utf-8")) if args.waivers else []
        )
        self.outputs = _outputs(args.format)
        self.strict: bool = args.strict
        self.details: bool = args.details
        self.hide: Callable[[bytes], bytes] = bytes if args.no_redact else SecretFilter(os.environ).hide

    def _names(self, values: Sequence[str]) -> list[str]:
        """Our names of what is chosen; ids of the official kit are known beside them if it is asked for."""
        names = split(values)
        return [our for name in names for our in ((self.ids and requirements_of(name)) or (name,))]

    def finish(
        self,
        examined: Examined,
        *,
        block_reason: str = "",
        complaints: Sequence[str] = (),
        look_again: LookAgain | None = None,
        interruption: Interruption | None = None,
    ) -> int:
        """Judge, waive, report; return the exit status. `block_reason` says why most tests were not possible.
        `look_again` repeats the failed scenes. `interruption` knows whether a signal came.
        """
        report = self.report(
            examined, block_reason=block_reason, look_again=look_again, interruption=interruption
        )
        report.complaints = [*complaints, *report.complaints]
        self.show(report)
        if interruption is None or report.blocked_by != interruption.reason or not report.blocked_by:
            return self.status(report)
        return interruption.close_report()

    def report(
        self,
        examined: Examined,
        *,
        block_reason: str = "",
        look_again: LookAgain | None = None,
        interruption: Interruption | None = None,
    ) -> CheckReport:
        recordings = examined.recordings
        parts = [
            ReportPart(
                side=side,
                peer=self._hide_text(peer_name(recordings, side)),
                verdicts=judge(recordings, side, only=self.only),
            )
            for side in examined.sides
        ]
        for part in parts:
            scenes = scenes_to_repeat(part.verdicts, recordings)
            if scenes is not None and look_again is not None:
                again = judge(look_again(scenes), part.side, only=self.only)
                keep_confirmed(
                    part.verdicts, again, is_interrupted=bool(interruption and interruption.reason)
                )
            blame_once(part.verdicts, recordings)
        if interruption is not None:  # only now: a signal may come while scenes are played again
            block_reason = interruption.reason or block_reason
        if block_reason:
            for part in parts:
                block(part.verdicts, block_reason)
        complaints = apply_waivers(self.waivers, parts, today=datetime.date.today())
        return CheckReport(
            title=self._hide_text(examined.title),
            parts=parts,
            recordings=recordings,
            names=examined.names,
            lines=examined.lines,
            packs=[judge_pack(name, part, recordings) for name in self.packs for part in parts],
            complaints=complaints,
            blocked_by=block_reason,
            tool=f"dragoman {VERSION}",
            hide=self.hide,
        )

    def _hide_text(self, text: str) -> str:
        return self.hide(text.encode(errors="replace")).decode()

    def show(self, report: CheckReport) -> None:
        # Files first: the terminal may be what is gone.
        for name, path in sorted(self.outputs, key=lambda output: output[1] is None):
            text = (
                as_text(report, details=self.details, ids=self.ids)
                if name == "text"
                else render(report, name)
            )
            if path is None:
                sys.stdout.write(text)
            else:
                with replace_private(path) as file:
                    file.write(text.encode())

    def status(self, report: CheckReport) -> int:
        counts = report.counts
        if counts["failed"] or (self.strict and counts["warned"]):
            return BROKEN
        return BLOCKED if report.blocked_by else CLEAN


def say_progress(scene: str, number: int, count: int) -> None:
    """Report a scene on standard error before it is played."""
    say(f"scene {number} of {count}: {scene}", file=sys.stderr, flush=True)


def split(values: Sequence[str]) -> list[str]:
    """Split `["TURN,CAN", "SES-04"]` into three names."""
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


def _outputs(formats: Sequence[str]) -> list[tuple[str, Path | None]]:
    outputs: list[tuple[str, Path | None]] = []
    for wish in formats or ["text"]:
        name, _, file = wish.partition("=")
        if name not in FORMAT_NAMES:
            raise LocalMistake(f"unknown format {name!r}. Choose from {', '.join(FORMAT_NAMES)}")
        outputs.append((name, Path(file) if file else None))
    if sum(path is None for _, path in outputs) > 1:
        raise LocalMistake(
            "only one format can go to standard output. Write the others to files: --format junit=FILE"
        )
    return outputs


def frame_lines(path: str | Path) -> list[int]:
    """Return the line of each frame in a recording: headers and notes have lines too."""
    return list(_frame_lines(Path(path).read_bytes().splitlines()))


def _frame_lines(lines: Sequence[bytes]) -> Iterator[int]:
    for number, text in enumerate(lines, 1):
        try:
            entries = list(read_transcript([text + b"\n"]))
        except BadTranscript:
            yield number  # a plain frame: the file was read already, so it is nothing worse
        else:
            if any(entry.direction != "note" for entry in entries):
                yield number
