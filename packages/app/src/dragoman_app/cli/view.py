"""`dragoman view`: a recording as one HTML file."""

from __future__ import annotations

import argparse
import webbrowser
from pathlib import Path
from typing import Any

from dragoman.errors import BadTranscript
from dragoman.system.replacement import replace_private
from dragoman_app.apps.console import MISTAKEN, ErrorStatus, say
from dragoman_app.cli.recordings import read_entries, recording_of
from dragoman_check.trace.view.page import make_page
from dragoman_check.verdict import judge
from dragoman_local.journal.contract import Entry


def run(args: argparse.Namespace) -> int:
    path = Path(args.recording)
    target = Path(args.output) if args.output else path.with_suffix(".html")
    no_recording = ErrorStatus(BadTranscript, status=MISTAKEN, before=f"{path} is not a recording: ")
    with ErrorStatus(OSError, status=MISTAKEN), no_recording:
        entries = read_entries(path)
    page = make_page(entries, title=args.title or path.name, findings=_findings(entries))
    with ErrorStatus(OSError, status=MISTAKEN, act="write"), replace_private(target) as file:
        file.write(page)
    say(target)
    if args.open:
        webbrowser.open(target.resolve().as_uri())
    return 0


def _findings(entries: list[Entry]) -> list[dict[str, Any]]:
    """What the rules of `check trace` say about both sides, at the first frame of each finding."""
    recording = recording_of(entries)
    levels = {"failed": "fail", "warned": "warn"}
    findings = [
        {
            "frame": finding.frames[0],
            "rule": verdict.requirement,
            "level": levels[verdict.status],
            "why": finding.why,
        }
        for side in ("agent", "client")
        for verdict in judge([recording], side)
        if verdict.status in levels
        for finding in verdict.findings
        if finding.frames
    ]
    return sorted(findings, key=lambda item: item["frame"])
