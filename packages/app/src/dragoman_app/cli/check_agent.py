"""`dragoman check agent`: tests a running agent and reports the result."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from dragoman.dialect.explain import explain
from dragoman.errors import LocalMistake
from dragoman.text.sanitize import sanitize_line
from dragoman_app.apps.console import ErrorStatus, say
from dragoman_app.cli.check_interruption import Interruption
from dragoman_app.cli.check_report import MISTAKEN, UNEXAMINED, Examined, Wishes, frame_lines, say_progress
from dragoman_app.cli.recordings import write_recording
from dragoman_check.agent.examination import Examination, examine, examine_again
from dragoman_check.agent.prompts import read_prompts
from dragoman_check.agent.scenes import SCENES
from dragoman_check.agent.stage import ExaminationSettings
from dragoman_check.recording import Recording
from dragoman_check.verdict import judge


def run(args: argparse.Namespace) -> int:
    with ErrorStatus(OSError, status=MISTAKEN):
        wishes = Wishes(args)
        settings = _settings(args)
        _check_folder(args.save)
    with Interruption() as interruption:
        return _examine(args, wishes, settings, interruption)


def _examine(
    args: argparse.Namespace, wishes: Wishes, settings: ExaminationSettings, interruption: Interruption
) -> int:
    progress = None if args.quiet else say_progress
    examination = interruption.run(
        lambda stop: examine(settings, progress=progress, scenes=args.scene, stop=stop)
    )
    if args.dialect == "v1":
        _advise_dialect(examination.recordings)
    title = shlex.join(args.command)
    saved_paths = _save(Path(args.save), examination, title, wishes.hide) if args.save else []
    if examination.failure:
        say(f"dragoman check agent: cannot be examined: {examination.failure}", file=sys.stderr)
        if not _has_answered_wrongly(examination):
            return UNEXAMINED
    names = [
        f"{at:02} {recording.facts.get('scene')}" for at, recording in enumerate(examination.recordings, 1)
    ]

    def look_again(scenes: set[str]) -> list[Recording]:
        if interruption.reason:
            return []
        if not args.quiet:
            scene_names = ", ".join(sorted(scenes))
            say(f"repeating failed scenes to be sure: {scene_names}", file=sys.stderr, flush=True)
        return interruption.run(lambda stop: examine_again(settings, scenes, stop=stop))

    return wishes.finish(
        Examined(
            examination.recordings,
            ("agent",),
            title,
            saved_paths or names,
            [frame_lines(path) for path in saved_paths],
        ),
        block_reason=_why_blocked(examination),
        look_again=look_again,
        interruption=interruption,
    )


def _has_answered_wrongly(examination: Examination) -> bool:
    """Whether the handshake failed because its answer has another id: that is a finding, and no silence."""
    verdicts = judge(examination.recordings, "agent", only=["RPC-03"])
    return any(verdict.status == "failed" for verdict in verdicts)


def _settings(args: argparse.Namespace) -> ExaminationSettings:
    if not args.command:
        raise LocalMistake(
            "the agent's command is missing. Put it after --, for example: dragoman check "
            "agent -- my-agent --acp"
        )
    check_scenes(args.scene or ())
    return ExaminationSettings(
        command=interpreted_command(args.command, args.dialect),
        cwd=args.cwd,
        patience=args.timeout,
        seed=args.seed,
        jobs=args.jobs,
        catalogue=read_prompts(args.prompts),
        protocol=args.protocol,
        login=args.login,
    )


def _advise_dialect(recordings: Sequence[Recording]) -> None:
    """An agent of another dialect fails nearly every rule. Its author may want to know that, or not."""
    frames = (frame for recording in recordings for frame in recording.frames)
    agent = explain(("client" if f.direction == "to_agent" else "agent", f.raw) for f in frames).agent
    if agent.sure and agent.dialect != "v1":
        say(
            f"dragoman check agent: {sanitize_line(agent.text)}. It is tested as an agent of v1; "
            f"--dialect {agent.dialect} examines it through the interpreter",
            file=sys.stderr,
        )


def check_scenes(names: Sequence[str]) -> None:
    """Raise `LocalMistake` for an unknown scene."""
    scene_names = [scene.name for scene in SCENES]
    for name in names:
        if name not in scene_names:
            raise LocalMistake(f"unknown scene {name!r}. Choose from {', '.join(scene_names)}")


def interpreted_command(command: list[str], dialect: str) -> list[str]:
    """Return the command with the interpreter in front of an agent with another dialect: the tests speak the
    protocol.
    """
    if dialect == "v1":
        return command
    return [
        sys.executable,
        "-m",
        "dragoman",
        "translate",
        "--client",
        "v1",
        "--agent",
        dialect,
        "--",
        *command,
    ]


def _check_folder(path: str | None) -> None:
    if path is None:
        return
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise LocalMistake(f"{path} is not empty. Choose a new folder for the recordings")


def _save(folder: Path, examination: Examination, title: str, hide: Callable[[bytes], bytes]) -> list[str]:
    """Where each recording was written."""
    paths = []
    for number, recording in enumerate(examination.recordings, 1):
        scene = str(recording.facts.get("scene", "")).replace(" ", "-")
        path = folder / f"{number:02}-{scene}.ndjson"
        write_recording(path, recording, title=f"{scene}: {title}", hide=hide)
        paths.append(str(path))
    return paths


def _why_blocked(examination: Examination) -> str:
    blocked_method = examination.profile.blocked_by
    if not blocked_method:
        return ""
    ids = [str(method.get("id")) for method in examination.profile.login_methods if isinstance(method, dict)]
    offer = f"; it offers {', '.join(ids)}" if ids else ""
    return f"the agent answers {blocked_method} with -32000: log in first{offer}"
