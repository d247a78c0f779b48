"""`python -m tests.interop.matrix`, which is `make interop`: installs, tries, and writes the table.

    --only NAME      this program; may be repeated. The rows of the others stay as they were
    --json           the results as JSON on standard output; progress goes to standard error in any case
    --keep           leave homes, work folders and frames behind, and say where
    --timeout N      seconds for each step on a quiet machine; a busy one has up to five times as many
    --sandbox P      agents run in the sandbox of this profile; implies --no-write
    --no-write       leave docs/compatibility.* and the list of agents that ships alone
    --jobs N         programs that are tried at the same time (2)
    --minutes N      when so many have passed, no further program is begun (60)
    --resume         leave out what the run before has tried, if that was not finished

Status 0 says that everything was tried, whatever came out of it; 2 that the command line or the catalogue
makes no sense; 3 that time was over before everything was tried. The table is written after each program, so
that whoever stops it keeps what was found, and `--resume` goes on with the rest. What differs from the table
as it was is printed at the end, and stands in the page.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from dragoman.testing.models import scripted_model
from dragoman.testing.pace import pace
from dragoman_local.known.installation.registry import SHIPPED
from dragoman_local.sandbox.boundary import Profile, parse_profile
from tests.interop.matrix.agent_trial import AgentTrial
from tests.interop.matrix.catalogue import BadCatalogue, Catalogue, CatalogueRow, load_catalogue
from tests.interop.matrix.client_trial import ClientTrial
from tests.interop.matrix.effects import Finding, Matrix, MatrixRow, no, yes
from tests.interop.matrix.installation import InstallFailed, install, installed_hash
from tests.interop.matrix.listing import render_list, update_list
from tests.interop.matrix.model import answer
from tests.interop.matrix.run import MatrixRun
from tests.interop.matrix.stage import MatrixStage
from tests.interop.matrix.table import render_badge, render_page

ROOT = Path(__file__).parents[3]
INSTALLED = ROOT / "build" / "interop" / "installed"
PAGE = ROOT / "docs" / "compatibility.md"
DATA = ROOT / "docs" / "compatibility.json"
LIST = SHIPPED
BADGES = ROOT / "docs" / "compatibility"
RUN = ROOT / "build" / "interop" / "run.json"
WALL: Profile = "workspace"
"""The sandbox of the effect `sandbox`."""
LONGEST_PACE = 5.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    options = _parser().parse_args(arguments)
    try:
        whole = load_catalogue()
        chosen = whole.choose(options.only)
    except BadCatalogue as error:
        sys.stderr.write(f"{error}\n")
        return 2
    is_written = not options.no_write and options.sandbox == "off"
    run = MatrixRun.begin(RUN, before=read_results(), is_resumed=options.resume and is_written)
    rows = [(row, kind) for kind in ("agent", "client") for row in getattr(chosen, kind)]
    remaining = [(row, kind) for row, kind in rows if not run.has(row)]
    left = asyncio.run(_try_all(remaining, run, whole if is_written else None, options))
    if options.json:
        sys.stdout.write(_encode(run.found).decode())
    for name, lines in run.before.merge(run.found, order=[row.name for row, _ in rows]).changes.items():
        _progress(name, "; ".join(lines))
    if left:
        _progress("time is over", f"{', '.join(left)} were not tried; --resume goes on with them")
        return 3
    if is_written and all(run.has(row) for row in (*whole.agent, *whole.client)):
        RUN.unlink(missing_ok=True)
    return 0


async def _try_all(
    rows: list[tuple[CatalogueRow, str]],
    run: MatrixRun,
    written: Catalogue | None,
    options: argparse.Namespace,
) -> list[str]:
    """Try these, a few at a time; returns the names of those for which there was no time. The table is
    written for this catalogue, if there is one.
    """
    end = time.monotonic() + options.minutes * 60
    left: list[str] = []
    waiting = iter(rows)

    async def work() -> None:
        for row, kind in waiting:
            if time.monotonic() > end:
                left.append(row.name)
                continue
            seconds = step_seconds(options.timeout, pace=pace())
            result = await _try(row, kind, seconds=seconds, keep=options.keep, sandbox=options.sandbox)
            (run.found.agents if kind == "agent" else run.found.clients).append(result)
            if written is not None:
                write_results(run.before, run.found, written)
                if not options.only or options.resume:
                    run.write(RUN)

    async with asyncio.TaskGroup() as group:
        for _ in range(options.jobs):
            group.create_task(work())
    return left


def step_seconds(timeout: float, *, pace: float) -> float:
    """Seconds for a step at this pace of the machine: agents that import for a minute must not be taken for
    dead, and one that hangs must not hold up the others for an hour.
    """
    return timeout * min(pace, LONGEST_PACE)


def write_results(before: Matrix, matrix: Matrix, whole: Catalogue) -> None:
    """Put these rows into the table as it was before, its page, the badges, and the list of agents that
    ships. Notes, and what is untried, are always those of the catalogue.
    """
    notes = {row.name: row.note for row in (*whole.agent, *whole.client)}
    order = list(notes)
    merged = before.merge(matrix, order=order).annotate(notes, untried=whole.untried)
    DATA.write_bytes(_encode(merged))
    PAGE.write_text(render_page(merged), encoding="utf-8")
    LIST.write_text(render_list(update_list(json.loads(LIST.read_bytes()), merged)), encoding="utf-8")
    BADGES.mkdir(exist_ok=True)
    rows = [*merged.agents, *merged.clients]
    for path in BADGES.glob("*.svg"):
        if path.stem not in order:
            path.unlink()
    for row in rows:
        (BADGES / f"{row.name}.svg").write_text(render_badge(row), encoding="utf-8")


def read_results() -> Matrix:
    """The committed table; an empty one if there is none."""
    return msgspec.json.decode(DATA.read_bytes(), type=Matrix) if DATA.is_file() else Matrix()


async def _try(row: CatalogueRow, kind: str, *, seconds: float, keep: bool, sandbox: Profile) -> MatrixRow:
    begin = time.monotonic()
    _progress(row.name, f"installing {row.package}")
    try:
        programs = await asyncio.to_thread(install, row, INSTALLED)
    except InstallFailed as error:
        _progress(row.name, f"not installed: {error}")
        return _result(row, no(str(error)), {})
    # In a sandbox, /tmp is another one: the home of a person is not there.
    behind = Path(tempfile.mkdtemp(prefix=f"interop-{row.name}-", dir=INSTALLED))
    folder = Path(tempfile.mkdtemp(prefix=f"interop-{row.name}-")) if sandbox == "off" else behind
    try:
        async with scripted_model(answer, strict=False) as model:
            stage = MatrixStage(row, programs=programs, folder=folder, model=model, sandbox=sandbox)
            on_effect = _reporter(row.name)
            if kind == "agent":
                walled = _walled(stage, behind) if sandbox == "off" else None
                trial = AgentTrial(stage, seconds=seconds, on_effect=on_effect, walled=walled)
                effects = await trial.run()
            else:
                effects = await ClientTrial(stage, seconds=seconds, on_effect=on_effect).run()
        if keep:
            stage.write_frames()
            _progress(row.name, f"kept in {folder}")
    finally:
        if not keep:
            for place in (folder, behind):
                shutil.rmtree(place, ignore_errors=True)
    _progress(row.name, f"done after {time.monotonic() - begin:.0f} s")
    places = {str(stage.work): "$project", str(stage.home): "$home", str(folder): "$folder"}
    places[str(behind)] = "$folder"
    places |= {str(INSTALLED): "$installed", str(ROOT): "$root"}
    return _result(row, yes(), {name: finding.without(places) for name, finding in effects.items()})


def _walled(stage: MatrixStage, folder: Path) -> MatrixStage:
    return MatrixStage(stage.row, programs=stage.programs, folder=folder, model=stage.model, sandbox=WALL)


def _result(row: CatalogueRow, installed: Finding, effects: dict[str, Finding]) -> MatrixRow:
    return MatrixRow(
        name=row.name,
        title=row.title,
        package=row.package,
        version=row.version,
        date=datetime.now(UTC).date().isoformat(),
        system=f"{platform.system()} {platform.machine()}",
        hash=installed_hash(row, INSTALLED),
        note=row.note,
        install=installed,
        effects=effects,
    )


def _reporter(name: str) -> Callable[[str, Finding], None]:
    def report(effect: str, finding: Finding) -> None:
        _progress(name, f"{effect}: {finding.verdict}{f' ({finding.evidence})' if finding.evidence else ''}")

    return report


def _progress(name: str, text: str) -> None:
    sys.stderr.write(f"{name}: {text}\n")
    sys.stderr.flush()


def _encode(matrix: Matrix) -> bytes:
    return msgspec.json.format(msgspec.json.encode(matrix), indent=1) + b"\n"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make interop",
        description="Try real agents and clients of other makers on a scripted model, and write the table.",
        epilog='example: make interop ARGS="--only claude --only qwen --timeout 120"',
    )
    parser.add_argument("--only", metavar="NAME", action="append", default=[], help="try this program only")
    parser.add_argument("--json", action="store_true", help="write the results to standard output")
    parser.add_argument("--keep", action="store_true", help="leave folders and frames behind")
    parser.add_argument(
        "--timeout", type=float, default=60.0, help="seconds for each step on a quiet machine (60)"
    )
    parser.add_argument(
        "--sandbox", type=parse_profile, default="off", metavar="P", help="the sandbox around agents (off)"
    )
    parser.add_argument("--no-write", action="store_true", help="leave the table in docs alone")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="programs at the same time (2)")
    parser.add_argument(
        "--minutes", type=float, default=60.0, metavar="N", help="begin no further program after these (60)"
    )
    parser.add_argument("--resume", action="store_true", help="go on with a run that was not finished")
    return parser


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # what was found so far is written already
        sys.exit(130)
