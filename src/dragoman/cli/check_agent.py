"""`dragoman check agent`: a live examination of an agent, judged and reported."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.cli.check_interruption import Interruption
from dragoman.cli.check_report import MISTAKEN, UNEXAMINED, Wishes, add_options, frame_lines, say_progress
from dragoman.cli.console import say
from dragoman.cli.dialect import add_option
from dragoman.cli.files import explain_error

if TYPE_CHECKING:
    from dragoman.check.agent.examination import Examination
    from dragoman.check.agent.stage import ExaminationSettings
    from dragoman.check.recording import Recording

EPILOG = """examples:
  dragoman check agent -- my-agent --acp
  dragoman check agent --prompts prompts.toml --save examination/ -- my-agent --acp
  dragoman check agent --only TURN,CAN --format junit=check.xml --format text -- my-agent --acp

The agent is started several times, in the folder you are in; its sessions work in folders of their own, that
are gone afterwards. It is sent right and wrong things, and prompted with texts that should make it use tools,
ask for permission, take long and so on. --prompts FILE has better texts for your agent; what could not be
triggered is "not exercised". With --save DIR each connection is kept as a recording, which
`dragoman check trace`, `view` and `replay` read.

An agent that wants a login is "blocked" (exit status 3): log in with its own command first, or name one of
its methods with --login.
"""


def add_parser(parts: argparse._SubParsersAction[Any]) -> None:
    agent = parts.add_parser(
        "agent",
        help="examine an agent",
        description="Examine an agent: whether it keeps to the protocol, requirement by requirement.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    agent.splits = True
    _add_examination(agent)
    add_options(agent)
    agent.add_argument("command", metavar="COMMAND", nargs="*", help="the agent's command, after --")
    agent.set_defaults(run=_run)


def _add_examination(agent: argparse.ArgumentParser) -> None:
    how = agent.add_argument_group("how it is examined")
    how.add_argument("--prompts", metavar="FILE", help="TOML: what to say to make it do a thing; see docs")
    how.add_argument("--timeout", type=_seconds, default=30.0, metavar="S", help="for each wait (30)")
    how.add_argument("--jobs", type=int, default=2, metavar="N", help="scenes at once (2)")
    how.add_argument(
        "--seed", type=int, default=0, metavar="N", help="for made-up ids and the order of scenes"
    )
    add_option(how, default="v1", said="v1: it is examined as it is")
    how.add_argument("--cwd", metavar="DIR", default=".", help="where the agent is started")
    how.add_argument("--protocol", type=int, choices=(1, 2), default=0, help="the version to ask for (1)")
    how.add_argument("--login", metavar="ID", default="", help="log in with this method first")
    how.add_argument("--scene", metavar="NAME", action="append", help="play only this scene; may be repeated")
    how.add_argument("--save", metavar="DIR", help="keep a recording of each connection in this folder")
    how.add_argument("--quiet", action="store_true", help="no progress on standard error")


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < 3600:
        raise argparse.ArgumentTypeError("seconds, more than none and less than an hour")
    return value


def _run(chosen: argparse.Namespace) -> int:
    from dragoman.errors import LocalMistake

    try:
        wishes = Wishes(chosen)
        settings = _settings(chosen)
        _check_folder(chosen.save)
    except (LocalMistake, OSError) as error:
        say(f"dragoman check agent: {explain_error(error)}", file=sys.stderr)
        return MISTAKEN
    with Interruption() as interruption:
        return _examine(chosen, wishes, settings, interruption)


def _examine(
    chosen: argparse.Namespace, wishes: Wishes, settings: ExaminationSettings, interruption: Interruption
) -> int:
    from dragoman.check.agent.examination import examine, examine_again

    progress = None if chosen.quiet else say_progress
    found = interruption.run(
        lambda stop: examine(settings, progress=progress, scenes=chosen.scene, stop=stop)
    )
    title = shlex.join(chosen.command)
    saved = _save(Path(chosen.save), found, title) if chosen.save else []
    if found.failure:
        say(f"dragoman check agent: cannot be examined: {found.failure}", file=sys.stderr)
        return UNEXAMINED
    names = [f"{at:02} {recording.facts.get('scene')}" for at, recording in enumerate(found.recordings, 1)]

    def look_again(scenes: set[str]) -> list[Recording]:
        if interruption.reason:
            return []
        if not chosen.quiet:
            played = ", ".join(sorted(scenes))
            say(f"something failed: played again to be sure: {played}", file=sys.stderr, flush=True)
        return interruption.run(lambda stop: examine_again(settings, scenes, stop=stop))

    return wishes.finish(
        found.recordings,
        sides=("agent",),
        title=title,
        names=saved or names,
        lines=[frame_lines(path) for path in saved],
        blocked=_why_blocked(found),
        look_again=look_again,
        interruption=interruption,
    )


def _settings(chosen: argparse.Namespace) -> ExaminationSettings:
    from dragoman.check.agent.prompts import read_prompts
    from dragoman.check.agent.stage import ExaminationSettings
    from dragoman.errors import LocalMistake

    if not chosen.command:
        raise LocalMistake("name the agent's command after --")
    check_scenes(chosen.scene or ())
    return ExaminationSettings(
        command=_interpreted(chosen.command, chosen.dialect),
        cwd=chosen.cwd,
        patience=chosen.timeout,
        seed=chosen.seed,
        jobs=chosen.jobs,
        catalogue=read_prompts(chosen.prompts),
        protocol=chosen.protocol,
        login=chosen.login,
    )


def check_scenes(names: Sequence[str]) -> None:
    """Raises `LocalMistake` for a scene that does not exist."""
    from dragoman.check.agent.scenes import SCENES
    from dragoman.errors import LocalMistake

    known = [scene.name for scene in SCENES]
    for name in names:
        if name not in known:
            raise LocalMistake(f"no scene is called {name!r}; there are {', '.join(known)}")


def _interpreted(command: list[str], dialect: str) -> list[str]:
    """An agent of another dialect is examined through the interpreter: the examiner speaks the protocol."""
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
    from dragoman.errors import LocalMistake

    if path is None:
        return
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise LocalMistake(f"{path} is not empty: name a new folder for the recordings")


def _save(folder: Path, found: Examination, title: str) -> list[str]:
    """Where each recording was written."""
    from dragoman.cli.recordings import write_recording

    saved = []
    for number, recording in enumerate(found.recordings, 1):
        scene = str(recording.facts.get("scene", "")).replace(" ", "-")
        path = folder / f"{number:02}-{scene}.ndjson"
        write_recording(path, recording, title=f"{scene}: {title}")
        saved.append(str(path))
    return saved


def _why_blocked(found: Examination) -> str:
    refused = found.profile.blocked
    if not refused:
        return ""
    ids = [str(method.get("id")) for method in found.profile.login_methods if isinstance(method, dict)]
    offered = f"; it offers {', '.join(ids)}" if ids else ""
    return f"the agent answers {refused} with -32000: it wants a login first{offered}"
