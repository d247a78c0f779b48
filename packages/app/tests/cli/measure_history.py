"""Measures `dragoman policy test --history` on 10,000 recorded acts, as a user starts it.

    python -m tests.cli.measure_history [--acts 10000] [--changed 0.4] [--runs 5] [--folder DIR]

It makes a journal of recorded conversations with real agents, each copied with names of its own for its
session and its tool calls. In a part of the turns, `--changed`, files and commands have names of their own,
too. It then runs the command with the example policy of `docs/policy.md` and prints the processor time of
all its processes, and the time by the clock. With `--folder`, the journal stays there for the next time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from dragoman_local.journal import Entry, open_journal
from dragoman_local.workspace.proof.recorded_acts import ActFold
from tests.workspace.policy.count_questions import RECORDINGS, example_policy

TOGETHER: Final = 0.005
"""Seconds between messages that an agent sent together, and that are stored in one append."""

_NAMES: Final = re.compile(rb'"(?:toolCallId|sessionId)":"([^"]{4,})"')
_VARIED: Final = re.compile(rb"hello\.txt|run-step")


def conversations() -> list[tuple[str, list[Entry]]]:
    """Each recorded conversation with an agent: its name, and its messages as a journal has them."""
    found = []
    for file in sorted(RECORDINGS.glob("agents-v1/*.ndjson")):
        lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
        found.append((file.stem, [_entry(line) for line in lines if "msg" in line]))
    return found


def _entry(line: dict[str, Any]) -> Entry:
    frame = json.dumps(line["msg"], separators=(",", ":"), ensure_ascii=False).encode()
    return Entry("to_agent" if line["dir"] == "c2a" else "to_client", frame, line["ts"])


def copy_of(entries: list[Entry], chance: random.Random, changed: float) -> Iterator[Entry]:
    """The same conversation at another time: other names, and in some turns other files and commands."""
    names = {name for entry in entries for name in _NAMES.findall(entry.frame)}
    others = {name: b"%s-%08x" % (name[:16], chance.getrandbits(32)) for name in sorted(names)}
    any_name = re.compile(b"|".join(map(re.escape, sorted(others, key=len, reverse=True))) or b"(?!)")
    suffix = b""
    for entry in entries:
        if b'"session/prompt"' in entry.frame:
            suffix = b"-%x" % chance.getrandbits(40) if chance.random() < changed else b""
        renamed = any_name.sub(lambda match: others[match[0]], entry.frame)
        yield Entry(entry.direction, _VARIED.sub(rb"\g<0>" + suffix, renamed), entry.time)


def with_acts(entries: list[Entry]) -> list[Entry]:
    """The opening of a conversation, and those of its turns in which the agent did something. The other turns
    tried what a client may do to an agent.
    """
    turns: list[list[Entry]] = [[]]
    for entry in entries:
        if b'"session/prompt"' in entry.frame:
            turns.append([])
        turns[-1].append(entry)
    opening = turns[0]
    return [*opening, *(entry for turn in turns[1:] if count_acts([*opening, *turn]) for entry in turn)]


def count_acts(entries: list[Entry]) -> int:
    fold = ActFold(stream="one", home="/nowhere")
    runs = [(each.direction, [each.frame], each.time, False) for each in entries]
    return len([*fold.add_runs(1, runs), *fold.finish()])


async def fill(path: Path, *, acts: int, changed: float) -> tuple[int, int]:
    """Write the journal; gives the numbers of its acts and messages."""
    chance = random.Random(1)
    originals = [
        (name, kept, count_acts(kept)) for name, each in conversations() for kept in [with_acts(each)]
    ]
    if not originals:
        raise SystemExit(f"no recordings of agents are in {RECORDINGS}")
    made = messages = copies = 0
    async with open_journal(path, durability="off", redact=None) as journal:
        while made < acts:
            name, entries, number = originals[copies % len(originals)]
            stream, copies = f"{copies:05}-{name}", copies + 1
            last = 0
            for batch in _appends(copy_of(entries, chance, changed)):
                await journal.append(stream, batch, after=last)
                last += len(batch)
            await journal.describe(stream, agent=name, cwd=f"/srv/work/{name}", title=name)
            made, messages = made + number, messages + len(entries)
    return made, messages


def _appends(entries: Iterator[Entry]) -> Iterator[list[Entry]]:
    batch: list[Entry] = []
    for entry in entries:
        if batch and (entry.direction != batch[0].direction or entry.time - batch[-1].time > TOGETHER):
            yield _at_once(batch)
            batch = []
        batch.append(entry)
    yield _at_once(batch)


def _at_once(batch: list[Entry]) -> list[Entry]:
    return [Entry(each.direction, each.frame, batch[0].time) for each in batch]


def measure(command: list[str], environ: dict[str, str]) -> tuple[float, float, dict[str, Any]]:
    """Seconds of the processor, seconds by the clock, and what the command printed."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    printed = subprocess.run(command, env=environ, stdout=subprocess.PIPE, check=True).stdout
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, seconds, json.loads(printed)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--acts", type=int, default=10_000)
    parser.add_argument("--changed", type=float, default=0.4, help="the part of the turns, from 0 to 1")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="keep the journal here")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        path, policy = folder / f"history-{args.acts}-{args.changed}.db", folder / "policy.toml"
        policy.write_text(example_policy(), encoding="utf-8")
        if not path.exists():
            asyncio.run(fill(path, acts=args.acts, changed=args.changed))
        command = [sys.executable, "-m", "dragoman", "policy", "test", "--history"]
        command += ["--journal", str(path), "--policy", str(policy), "--json"]
        environ = {**os.environ, "HOME": str(folder)}
        for _ in range(args.runs):
            spent, seconds, report = measure(command, environ)
            distinct = len({(each["act"], each["source"]) for each in report["verdicts"]})
            judged = f"{len(report['verdicts']):,} acts, {distinct:,} different"
            load = os.getloadavg()[0]
            print(f"{judged}: {spent:.2f} s of processor, {seconds:.2f} s by the clock, load {load:.0f}")


if __name__ == "__main__":
    main()
