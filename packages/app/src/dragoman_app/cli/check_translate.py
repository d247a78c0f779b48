"""`dragoman check translate`: tests an agent with and without the interpreter, and compares the results."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from dragoman.errors import LocalMistake
from dragoman_app.apps.console import CommandFailed, ErrorStatus, say, say_json
from dragoman_app.cli.check_agent import check_scenes
from dragoman_app.cli.check_interruption import Interruption
from dragoman_app.cli.check_report import BROKEN, CLEAN, MISTAKEN, UNEXAMINED, say_progress, split
from dragoman_check.agent.examination import examine
from dragoman_check.agent.prompts import read_prompts
from dragoman_check.agent.stage import ExaminationSettings
from dragoman_check.comparison import VerdictDifference, compare_verdicts
from dragoman_check.packs import selection
from dragoman_check.recording import Recording
from dragoman_check.verdict import judge


def run(args: argparse.Namespace) -> int:
    between = [sys.executable, "-m", "dragoman", "translate"]
    between += ["--client", args.client, "--agent", args.agent, "--"]
    with Interruption() as interruption:
        with ErrorStatus(OSError, status=MISTAKEN):
            only = selection(split(args.only), split(args.exclude), ())
            direct = _settings(args, args.command)
            through = _settings(args, [*between, *args.command])
            before = _examine(direct, args, interruption, how="without")
            after = _examine(through, args, interruption, how="with")
        if block_reason := interruption.reason:
            before, after = _in_both(before, after), _in_both(after, before)
        differences = compare_verdicts(judge(before, "agent", only=only), judge(after, "agent", only=only))
        _show(differences, block_reason, as_json=args.json)
        if block_reason:
            return interruption.close_report()
        grave = ("worse", "lost") if args.strict else ("worse",)
        return BROKEN if any(difference.change in grave for difference in differences) else CLEAN


def _settings(args: argparse.Namespace, command: Sequence[str]) -> ExaminationSettings:
    if not args.command:
        raise LocalMistake(
            "the agent's command is missing. Put it after --, for example: dragoman check "
            "agent -- my-agent --acp"
        )
    check_scenes(args.scene or ())
    return ExaminationSettings(
        command=command,
        cwd=".",
        patience=args.timeout,
        jobs=args.jobs,
        catalogue=read_prompts(args.prompts),
    )


def _examine(
    settings: ExaminationSettings, args: argparse.Namespace, interruption: Interruption, *, how: str
) -> list[Recording]:
    def say_scene(scene: str, number: int, count: int) -> None:
        say_progress(f"{scene}, {how} the interpreter", number, count)

    progress = None if args.quiet else say_scene
    examination = interruption.run(
        lambda stop: examine(settings, progress=progress, scenes=args.scene, stop=stop)
    )
    if examination.failure:
        raise CommandFailed(
            f"cannot be examined {how} the interpreter: {examination.failure}", status=UNEXAMINED
        )
    return examination.recordings


def _in_both(recordings: list[Recording], other_recordings: list[Recording]) -> list[Recording]:
    """Those of scenes that the others show too: only they can be compared after an early end."""
    scenes = {recording.facts.get("scene") for recording in other_recordings}
    return [recording for recording in recordings if recording.facts.get("scene") in scenes]


def _show(differences: list[VerdictDifference], block_reason: str, *, as_json: bool) -> None:
    if as_json:
        say_json({"differences": differences, "blocked": block_reason})
        return
    if block_reason:
        say(f"BLOCKED: {block_reason}")
    for difference in differences:
        change = f"{difference.before} → {difference.after}: {difference.why or difference.text}"
        say(f"{difference.change}: {difference.requirement} {change}")
    counts = {
        change: sum(difference.change == change for difference in differences) for change in ("worse", "lost")
    }
    say(f"{counts['worse']} worse, {counts['lost']} lost, {len(differences) - sum(counts.values())} other")
