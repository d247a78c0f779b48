"""`dragoman check translate`: an agent examined with and without the interpreter in between, and compared."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dragoman.cli.check_agent import check_scenes
from dragoman.cli.check_interruption import Interruption
from dragoman.cli.check_report import BROKEN, CLEAN, MISTAKEN, UNEXAMINED, say_progress
from dragoman.cli.console import say, say_json
from dragoman.cli.files import explain_error
from dragoman.errors import LocalMistake

if TYPE_CHECKING:
    from dragoman.check.agent.stage import ExaminationSettings
    from dragoman.check.comparison import VerdictDifference
    from dragoman.check.recording import Recording

EPILOG = """examples:
  dragoman check translate -- my-agent --acp
  dragoman check translate --agent v1 --only TURN,CAN -- my-agent --acp

With and without `dragoman translate` in between, an agent must mean the same. The examination is that of
`dragoman check agent`. A requirement is worse if it is broken only behind the interpreter, lost if it never
showed there, better if it is mended there, shown if it shows only there.

exit status:
    0  nothing is worse
    1  something is (with --strict: or lost)
    2  the command line makes no sense
    4  the agent could not be examined, with or without the interpreter
  128  and the number of a signal: it came first, and only what both examinations show was compared
"""


class _Unexamined(LocalMistake):
    """There is nothing to compare."""


def add_parser(parts: argparse._SubParsersAction[Any]) -> None:
    translate = parts.add_parser(
        "translate",
        help="examine an agent with and without the interpreter",
        description="Examine an agent with and without `dragoman translate` in between, and compare.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    translate.splits = True
    translate.add_argument("--client", metavar="DIALECT", default="v1", help="what the examiner speaks (v1)")
    translate.add_argument("--agent", metavar="DIALECT", default="auto", help="what the agent speaks (auto)")
    translate.add_argument("--only", metavar="IDS", action="append", default=[], help="ids, areas, patterns")
    translate.add_argument("--exclude", metavar="IDS", action="append", default=[], help="all but these")
    translate.add_argument("--prompts", metavar="FILE", help="TOML: what to say to make it do a thing")
    translate.add_argument("--timeout", type=float, default=30.0, metavar="S", help="for each wait (30)")
    translate.add_argument("--jobs", type=int, default=2, metavar="N", help="scenes at once (2)")
    translate.add_argument("--scene", metavar="NAME", action="append", help="play only this scene")
    translate.add_argument("--strict", action="store_true", help="what is lost counts like what is worse")
    translate.add_argument("--quiet", action="store_true", help="no progress on standard error")
    translate.add_argument("--json", action="store_true", help="the differences as JSON")
    translate.add_argument("command", metavar="COMMAND", nargs="*", help="the agent's command, after --")
    translate.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    from dragoman.check.comparison import compare_verdicts
    from dragoman.check.packs import selection
    from dragoman.check.verdict import judge
    from dragoman.cli.check_report import split

    between = [sys.executable, "-m", "dragoman", "translate"]
    between += ["--client", chosen.client, "--agent", chosen.agent, "--"]
    with Interruption() as interruption:
        try:
            only = selection(split(chosen.only), split(chosen.exclude), ())
            direct = _settings(chosen, chosen.command)
            through = _settings(chosen, [*between, *chosen.command])
            before = _examine(direct, chosen, interruption, how="without")
            after = _examine(through, chosen, interruption, how="with")
        except (LocalMistake, OSError) as error:
            say(f"dragoman check translate: {explain_error(error)}", file=sys.stderr)
            return UNEXAMINED if isinstance(error, _Unexamined) else MISTAKEN
        if blocked := interruption.reason:
            before, after = _in_both(before, after), _in_both(after, before)
        differences = compare_verdicts(judge(before, "agent", only=only), judge(after, "agent", only=only))
        _show(differences, blocked, as_json=chosen.json)
        if blocked:
            return interruption.close_report()
        grave = ("worse", "lost") if chosen.strict else ("worse",)
        return BROKEN if any(difference.change in grave for difference in differences) else CLEAN


def _settings(chosen: argparse.Namespace, command: Sequence[str]) -> ExaminationSettings:
    from dragoman.check.agent.prompts import read_prompts
    from dragoman.check.agent.stage import ExaminationSettings

    if not chosen.command:
        raise LocalMistake("name the agent's command after --")
    check_scenes(chosen.scene or ())
    return ExaminationSettings(
        command=command,
        cwd=".",
        patience=chosen.timeout,
        jobs=chosen.jobs,
        catalogue=read_prompts(chosen.prompts),
    )


def _examine(
    settings: ExaminationSettings, chosen: argparse.Namespace, interruption: Interruption, *, how: str
) -> list[Recording]:
    from dragoman.check.agent.examination import examine

    def say_scene(scene: str, number: int, count: int) -> None:
        say_progress(f"{scene}, {how} the interpreter", number, count)

    progress = None if chosen.quiet else say_scene
    found = interruption.run(
        lambda stop: examine(settings, progress=progress, scenes=chosen.scene, stop=stop)
    )
    if found.failure:
        raise _Unexamined(f"cannot be examined {how} the interpreter: {found.failure}")
    return found.recordings


def _in_both(recordings: list[Recording], others: list[Recording]) -> list[Recording]:
    """Those of scenes that the others show too: only they can be compared after an early end."""
    shown = {recording.facts.get("scene") for recording in others}
    return [recording for recording in recordings if recording.facts.get("scene") in shown]


def _show(differences: list[VerdictDifference], blocked: str, *, as_json: bool) -> None:
    if as_json:
        import msgspec

        say_json(msgspec.json.encode({"differences": differences, "blocked": blocked}))
        return
    if blocked:
        say(f"BLOCKED: {blocked}")
    for difference in differences:
        change = f"{difference.before} → {difference.after}: {difference.why or difference.text}"
        say(f"{difference.change}: {difference.requirement} {change}")
    counts = {
        change: sum(difference.change == change for difference in differences) for change in ("worse", "lost")
    }
    say(f"{counts['worse']} worse, {counts['lost']} lost, {len(differences) - sum(counts.values())} other")
