"""`make check-kit`: agents of ours and the hub against every requirement of the official test kit, `acp-tck`.

    --only NAME      this subject; may be repeated
    --no-write       leave docs/check-kit.md alone

Each is examined by `dragoman check agent`, in version 1 as it is and in version 2 through `dragoman
translate`; the verdicts are listed under the ids of the kit. The kit itself is not run. Status 0 says that
nothing failed, 1 that something did.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import sys
import tempfile
from asyncio.subprocess import DEVNULL
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from dragoman.testing.models import scripted_model
from dragoman.testing.pace import patience
from dragoman.version import VERSION
from dragoman_check.official_kit import ABSENT
from dragoman_check.report.text import KitVerdict, kit_verdicts
from dragoman_check.verdict import Status
from tests.forks import DRAGOMAN
from tests.hub.outside.process import ROOT, running_hub
from tests.requirements.cast import ROLES, environment, script

PAGE = ROOT / "docs" / "check-kit.md"
PROMPTS = '[default]\ntool = "please work"\nask = "please edit"\nwrite = "please edit"\n'
"""What the coder's scripted model knows."""

Found = dict[str, Status]
SIGNS = {"passed": "yes", "failed": "**no**", "warned": "warned", "recorded": "recorded"}
VERSIONS = (1, 2)

HEAD = """\
# The official test kit

`acp-tck` examines agents over stdio. `dragoman check` judges what the kit requires, and much more.
`dragoman check agent --ids tck -- COMMAND` lists its verdicts under the kit's ids. This page is made by
`make check-kit`, which examines agents of ours and the hub: in version 1 as they are, in version 2 through
[`dragoman translate`](dialects.md). The kit itself was not run: what its requirements mean was read from its
public list.

`yes`: seen, and kept each time. `–`: not offered, or it never showed. Ids in a note are ours:
`dragoman check explain ID` names the page of the specification that each follows.
"""


async def examine(
    name: str, command: Sequence[str], folder: Path, env: dict[str, str], version: int
) -> Found:
    """The verdicts on our requirements, by id."""
    place = folder / f"{name}-{version}"
    (place / "work").mkdir(parents=True)
    (place / "prompts.toml").write_text(PROMPTS)
    asked = ["--protocol", str(version), "--format", f"json={place / 'report.json'}", "--quiet"]
    asked += ["--cwd", str(place / "work"), "--prompts", str(place / "prompts.toml")]
    through = [*DRAGOMAN, "translate", "--client", "v2", "--"] if version == 2 else []
    words = [*DRAGOMAN, "check", "agent", *asked, "--", *through, *command]
    process = await asyncio.create_subprocess_exec(*words, cwd=ROOT, env=env, stdout=DEVNULL, stderr=DEVNULL)
    async with asyncio.timeout(patience(600)):
        await process.wait()
    (part,) = json.loads((place / "report.json").read_text())["parts"]
    return {verdict["requirement"]: verdict["status"] for verdict in part["verdicts"]}


async def examine_all(only: Sequence[str]) -> dict[int, dict[str, Found]]:
    """Version → subject → verdicts; two examinations at a time."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="check-kit-")))
        hub = stack.enter_context(running_hub(_made(folder / "hub")))
        token = folder / "token"
        token.write_text(hub.token)
        async with scripted_model(script(), strict=False) as model:
            subjects = {
                "echo": [*DRAGOMAN, "agent", "echo"],
                "review": ROLES["review"].start(_made(folder / "review"), model),
                "code": ROLES["code"].start(_made(folder / "code"), model),
                "script": [*DRAGOMAN, "agent", "script", str(ROOT / "tests/faults/scripts/echo.script")],
                "hub": [*DRAGOMAN, "connect", "--token-file", str(token), f"ws://{hub.place}/acp?agent=echo"],
            }
            chosen = {name: command for name, command in subjects.items() if not only or name in only}
            found: dict[int, dict[str, Found]] = {version: {} for version in VERSIONS}
            two = asyncio.Semaphore(2)

            async def work(name: str, command: list[str], version: int) -> None:
                async with two:
                    found[version][name] = await examine(name, command, folder, environment(folder), version)
                sys.stderr.write(f"{name}, version {version}: done\n")

            async with asyncio.TaskGroup() as group:
                for name, command in chosen.items():
                    for version in VERSIONS:
                        group.create_task(work(name, command, version))
    return {version: {name: by_name[name] for name in chosen} for version, by_name in found.items()}


def render(found: dict[int, dict[str, Found]], *, date: str) -> str:
    """The page. The same verdicts give the same text."""
    parts = [HEAD, f"\nDragoman {VERSION}, tried on {date}, {platform.system()} {platform.machine()}.\n"]
    for version, subjects in found.items():
        tables = {name: kit_verdicts(verdicts, version=version) for name, verdicts in subjects.items()}
        parts += [f"\n## Version {version}\n\n", *_table(tables)]
    return "".join(parts)


def _table(tables: dict[str, list[KitVerdict]]) -> list[str]:
    first = next(iter(tables.values()))
    judged = [row for row in first if row.status is not None]
    other = [row for row in first if row.status is None]
    lines = [f"{len(judged)} of {len(first)} requirements are judged.\n\n"]
    lines += [f"| acp-tck | ours | {' | '.join(tables)} |\n", f"|---|---|{'---|' * len(tables)}\n"]
    columns = {name: {row.ident: row for row in rows} for name, rows in tables.items()}
    for row in judged:
        cells = [SIGNS.get(str(column[row.ident].status), "–") for column in columns.values()]
        lines.append(f"| {row.ident} | {', '.join(row.requirements)} | {' | '.join(cells)} |\n")
    notes = [f"- {row.ident} ({', '.join(row.requirements)}): {row.note}\n" for row in judged if row.note]
    lines += (
        ["\nWhere the kit may judge otherwise, or ours judges more than it:\n\n", *notes] if notes else []
    )
    reasons: dict[str, list[str]] = {}
    for row in other:
        reasons.setdefault(_reason(row), []).append(row.ident)
    lines += ["\nNot judged:\n\n"] if reasons else []
    return lines + [f"- {', '.join(idents)}: {reason}\n" for reason, idents in reasons.items()]


def _reason(row: KitVerdict) -> str:
    """Its own reason, or that of the requirement that it names (`as ACP-BATCH-201`)."""
    return ABSENT.get(row.note.removeprefix("as "), row.note)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="make check-kit", description=str(__doc__).splitlines()[0])
    parser.add_argument("--only", metavar="NAME", action="append", default=[])
    parser.add_argument("--no-write", action="store_true")
    options = parser.parse_args(arguments)
    found = asyncio.run(examine_all(options.only))
    page = render(found, date=datetime.now(UTC).date().isoformat())
    if options.no_write or options.only:
        sys.stdout.write(page)
    else:
        PAGE.write_text(page, encoding="utf-8")
    return int("**no**" in page)


if __name__ == "__main__":
    sys.exit(main())
