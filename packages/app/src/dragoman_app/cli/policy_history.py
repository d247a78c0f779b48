"""`dragoman policy test`, `suggest` and `learn`: apply rules to all recorded actions of agents, and find
missing rules.

It reads the history of `run` and `chat` and the journal of the hub, also while they are written to, and
changes nothing. Exit status 1 means that something cannot be read, 2 a mistaken command line.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from itertools import accumulate, groupby
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias

import msgspec

from dragoman.decoders import msgpack_decoder
from dragoman.errors import JournalError, LocalMistake
from dragoman.text.sanitize import sanitize_line
from dragoman_app.apps.console import CommandFailed, ErrorStatus, say, say_json, write_stderr
from dragoman_app.cli.policy import MEND, act_text
from dragoman_hub.settings import HubSettings
from dragoman_hub.settings_file import load_settings
from dragoman_local.journal import Journal, StreamInfo, open_journal, open_sealed, read_key
from dragoman_local.journal.entry_runs import first_of, runs_of
from dragoman_local.journal.history import history_path
from dragoman_local.journal.journal_copy import all_streams
from dragoman_local.sandbox.boundary import parse_profile
from dragoman_local.workspace.policy.policy import Policy
from dragoman_local.workspace.policy.policy_files import RememberedRules, load_policy
from dragoman_local.workspace.policy.policy_parser import PolicyError
from dragoman_local.workspace.policy.policy_paths import policy_paths
from dragoman_local.workspace.proof.known_acts import KnownActs
from dragoman_local.workspace.proof.policy_trial import (
    PolicyTrial,
    TrialCounts,
    TrialRecord,
    Verdict,
    count,
)
from dragoman_local.workspace.proof.recorded_acts import ActFold, RecordedAct, Source
from dragoman_local.workspace.proof.session_needs import SessionNeeds, needs_of
from dragoman_local.workspace.proof.suggestions import Suggestion, described, suggest

SHOWN: Final = 20
"""The most actions of a kind, and paths, to list; `--json` has all."""

SHARE_ENTRIES: Final = 20_000
"""The entries that another process is started for: with fewer, it would take longer than it saves."""

RecordedStream: TypeAlias = tuple[str, str, StreamInfo]
"""A journal, the file of its key, and a stream in it."""

_SOURCES: Final[dict[Source, str]] = {
    "request": "asked for",
    "lent": "files and terminals",
    "announced": "announced only",
}


def run_test(args: argparse.Namespace) -> int:
    with ErrorStatus(LocalMistake, status=1, next_step=MEND):
        _policy_in(args, ())  # a mistake is said also where there is nothing to judge
        trial = PolicyTrial(partial(_policy_in, args))
        record = _judge_all(args, trial)
    counts, verdicts = record.counts, record.verdicts
    names = sorted({layer.name for roots in record.roots for layer in trial.policy_in(roots).layers})
    if args.json:
        say_json(_report(counts, verdicts, names))
    else:
        _print(counts, verdicts, names)
    return 0


def _policy_in(args: argparse.Namespace, roots: tuple[str, ...]) -> Policy:
    return load_policy(roots=roots, file=args.policy)


def run_suggest(args: argparse.Namespace) -> int:
    file = args.policy or policy_paths().policy
    with ErrorStatus(LocalMistake, status=1, next_step=MEND):
        trial = PolicyTrial(partial(load_suggested, args))
        record = _judge_all(args, trial)
        suggestions = list(suggest(record.verdicts, trial.policy_in, source=file, least=args.least))
    return _propose(args, suggestions, record.counts.questions, file)


def run_learn(args: argparse.Namespace) -> int:
    """Show what one session needed: a profile of the sandbox, and rules for each of its questions."""
    file = args.policy or policy_paths().policy
    with ErrorStatus(LocalMistake, status=1, next_step=MEND):
        trial = PolicyTrial(partial(load_suggested, args))
        acts: list[RecordedAct] = []
        read_acts(*find_streams(args, session=args.session), acts.append)
        counts, verdicts = count(acts, trial)
        suggestions = list(suggest(verdicts, trial.policy_in, source=file, least=1))
    return _propose(args, suggestions, counts.questions, file, needs=needs_of(acts))


def load_suggested(args: argparse.Namespace, roots: tuple[str, ...]) -> Policy:
    """Return the policy there; a named file need not exist yet."""
    is_there = args.policy is not None and os.path.exists(args.policy)
    return load_policy(roots=roots, file=args.policy if is_there else None)


def _propose(
    args: argparse.Namespace,
    suggestions: Sequence[Suggestion],
    questions: int,
    file: str,
    *,
    needs: SessionNeeds | None = None,
) -> int:
    saved = sum(suggestion.saves for suggestion in suggestions)
    text = "\n".join(map(described, suggestions))
    if args.json:
        say_json(
            {
                "questions": questions,
                "saved": saved,
                "rules": suggestions,
                "written": file if args.write and suggestions else None,
                **({} if needs is None else {"needs": needs, "sandbox": _profile_for(needs)}),
            }
        )
    else:
        if needs is not None:
            _print_needs(needs)
        say(f"# {questions:,} questions, of which these rules would have saved {saved:,}.\n")
        say(text or "# No rules to suggest.")
    if args.write and suggestions:
        with ErrorStatus(OSError, PolicyError, status=1, next_step=f"look at {file}"):
            RememberedRules(os.path.abspath(file)).add(text)
        say(f"Written to {file}.", file=sys.stderr)
    return 0


def _print_needs(needs: SessionNeeds) -> None:
    say(f"# A sandbox that was enough: the profile {_profile_for(needs)}")
    if needs.writes:
        say(sanitize_line(f"# Changed in its folders: {_listed(needs.writes)}"))
    if needs.outside:
        say(sanitize_line(f"# Changed outside, which the sandbox refuses: {_listed(needs.outside)}"))
    if needs.hosts:
        say(sanitize_line(f"# Hosts that it named: {', '.join(needs.hosts)}"))
    if needs.has_commands:
        say("# What its commands wrote and reached is not recorded.")


def _listed(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - SHOWN:,} more; --json has all" if len(paths) > SHOWN else ""
    return ", ".join(paths[:SHOWN]) + more


def _profile_for(needs: SessionNeeds) -> str:
    """With the hosts that were named, if a profile can say them here."""
    narrow = f"workspace+net:{','.join(needs.hosts)}"
    try:
        parse_profile(narrow)
    except LocalMistake:
        return needs.profile
    return narrow if needs.hosts and needs.profile == "workspace" else needs.profile


# Judging.


def _judge_all(args: argparse.Namespace, trial: PolicyTrial) -> TrialRecord:
    """Judge everything that is recorded. Of a long history, further processes judge a part each; the parts
    are added in their order, so that the answer is the same.
    """
    record, (streams, since) = TrialRecord(trial), find_streams(args)
    first, *others = _shares(streams)
    helpers = [(share, *_start_helper(share, since, trial)) for share in others]
    try:
        read_acts(first, since, record.take)
        for share, _, pipe in helpers:
            try:
                text, judgements = msgpack_decoder(
                    tuple[str, list[tuple[RecordedAct, Verdict | None]]]
                ).decode(pipe.read())
            except msgspec.DecodeError:  # it did not come to its end: what was wrong is found again here
                read_acts(share, since, record.take)
                continue
            write_stderr(text)
            for judgement in judgements:
                record.add(*judgement)
    finally:
        for _, process, pipe in helpers:
            pipe.close()
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
    return record


def _shares(streams: Sequence[RecordedStream]) -> list[list[RecordedStream]]:
    """Cut a long history into parts of about the same length, one for a processor."""
    ends = [0, *accumulate(info.last for _, _, info in streams)]
    processors = len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
    shares: list[list[RecordedStream]] = [[] for _ in range(min(processors, 1 + ends[-1] // SHARE_ENTRIES))]
    for stream, start in zip(streams, ends, strict=False):
        shares[start * len(shares) // (ends[-1] + 1)].append(stream)
    return shares


def _start_helper(share: Sequence[RecordedStream], since: float, trial: PolicyTrial) -> tuple[int, BinaryIO]:
    """A process that judges a part, and the pipe on which it tells what it said and found."""
    reading, writing = os.pipe()
    if process := os.fork():
        os.close(writing)
        return process, open(reading, "rb")
    try:
        sys.stderr, found = io.StringIO(), []
        read_acts(share, since, lambda act: found.append(trial.judge_briefly(act)))
        with open(writing, "wb") as pipe:
            pipe.write(msgspec.msgpack.encode((sys.stderr.getvalue(), found)))
    finally:  # also after an error, which the first process finds again
        os._exit(0)


# Reading.


def find_streams(
    args: argparse.Namespace, *, session: str | None = None
) -> tuple[list[RecordedStream], float]:
    """Return the streams of the named journals in the order of reading, or those of one session, and the
    time from which on acts count; raises `CommandFailed` if there are none.
    """
    places = [(path, "") for path in args.journal] or usual_journals()
    found = [place for place in dict.fromkeys(places) if os.path.exists(place[0])]
    if any("://" in path for path, _ in places):
        say("The journal of your hub is on NATS, and is not read.", file=sys.stderr)
    if not found:
        what = ", ".join(path for path, _ in places)
        raise CommandFailed(f"nothing is recorded yet: no {what}", 'dragoman run "Explain this folder"')
    span = getattr(args, "since", None)
    since = 0.0 if span is None else time.time() - span
    with ErrorStatus(JournalError, OSError, LocalMistake, status=1):
        streams = [
            (path, key, info) for path, key in found for info in asyncio.run(_list(path, key, since=since))
        ]
    if session == "last":
        streams = sorted(streams, key=lambda each: each[2].updated)[-1:]
    elif session is not None:
        streams = [each for each in streams if session and session in (each[2].stream, each[2].session)]
    if session is not None and not streams:
        what = "no session is recorded yet" if session == "last" else f"no session {session!r} is recorded"
        raise CommandFailed(what, "dragoman sessions list")
    streams.sort(key=lambda each: (found.index(each[:2]), each[2].created, each[2].stream))
    return streams, since


def read_acts(streams: Sequence[RecordedStream], since: float, take: Callable[[RecordedAct], None]) -> None:
    """Hand over all acts of these streams, those of a journal together."""
    with ErrorStatus(JournalError, OSError, LocalMistake, status=1):
        for (path, key), group in groupby(streams, key=itemgetter(0, 1)):
            asyncio.run(_read(path, key, [info for _, _, info in group], take, since=since))


def usual_journals() -> list[tuple[str, str]]:
    """Return the journals of `run`, `chat` and the hub, with the files of their keys."""
    try:
        settings = load_settings()
    except LocalMistake:  # `dragoman config check` says what is wrong
        settings = HubSettings()
    return [(str(history_path()), ""), (settings.journal_place, settings.encryption.key)]


async def _list(path: str, key: str, *, since: float) -> list[StreamInfo]:
    async with _opened(Path(path), key) as journal:
        return [info async for info in all_streams(journal) if info.updated >= since]


async def _read(
    path: str, key: str, infos: Sequence[StreamInfo], take: Callable[[RecordedAct], None], *, since: float
) -> None:
    known, home = KnownActs(), policy_paths().home
    async with _opened(Path(path), key) as journal:
        for info in infos:
            async for act in acts_of(journal, info, known, home=home):
                if act.time >= since:
                    take(act)


def _opened(path: Path, key: str) -> AbstractAsyncContextManager[Journal]:
    return open_sealed(path, read_key(key)) if key else open_journal(path)


async def acts_of(
    journal: Journal, info: StreamInfo, known: KnownActs | None = None, *, home: str
) -> AsyncIterator[RecordedAct]:
    """Return the actions of one stream, up to a damaged entry if there is one."""
    fold = ActFold(stream=info.stream, agent=info.agent, cwd=info.cwd, home=home, known=known)
    try:
        async for page in journal.replay(info.stream, limit=info.last or None):
            for act in fold.add_runs(first_of(page), runs_of(page)):
                yield act
    except JournalError as error:
        say(f"{info.stream} is read up to here: {error}", file=sys.stderr)
    for act in fold.finish():
        yield act


# Telling.


def _print(counts: TrialCounts, verdicts: Sequence[Verdict], names: Sequence[str]) -> None:
    say(f"{counts.judged:,} actions in {counts.sessions:,} sessions, checked with")
    say(sanitize_line(f"  {', '.join(names) or 'no rules'}"))
    say(f"\n{'':<26}{'allow':>8}{'ask':>8}{'deny':>8}")
    for source, name in _SOURCES.items():
        row = counts.acts.get(source)
        if row is not None:
            say(f"{name:<26}{row['allow']:>8,}{row['ask']:>8,}{row['deny']:>8,}")
    say(f"\n{counts.questions:,} questions; the sandbox would answer {counts.held_by_wall:,} of them.")
    _print_acts("Would be denied, was allowed", [each for each in verdicts if each.is_stricter])
    _print_acts("Would be allowed, was refused", [each for each in verdicts if each.is_milder])
    for flaw, number in sorted(counts.flaws.items()):
        say(f"\n{number:,} acts are not judged as they were: {flaw}.")


def _print_acts(title: str, verdicts: Sequence[Verdict]) -> None:
    say(f"{title}: {len(verdicts):,}")
    for verdict in verdicts[:SHOWN]:
        say(
            sanitize_line(
                f"  {verdict.recorded.stream} #{verdict.recorded.sequence}  {act_text(verdict.act)}"
            )
        )
        say(sanitize_line(f"    {verdict.decision.rule}"))
    if len(verdicts) > SHOWN:
        say(f"  … and {len(verdicts) - SHOWN:,} more; --json has all")


def _report(counts: TrialCounts, verdicts: Sequence[Verdict], names: Sequence[str]) -> dict[str, object]:
    return {
        "sessions": counts.sessions,
        "policies": names,
        "acts": counts.acts,
        "questions": counts.questions,
        "heldByWall": counts.held_by_wall,
        "stricter": counts.stricter,
        "milder": counts.milder,
        "notAsTheyWere": counts.flaws,
        "verdicts": [_fields(verdict) for verdict in verdicts],
    }


def _fields(verdict: Verdict) -> dict[str, object]:
    recorded, decision = verdict.recorded, verdict.decision
    return {
        "session": recorded.stream,
        "entry": recorded.sequence,
        "source": recorded.source,
        "act": act_text(verdict.act),
        "outcome": decision.outcome,
        "rule": decision.rule,
        "why": decision.why,
        "answer": recorded.answer,
        "by": recorded.by,
        "flaw": recorded.flaw,
    }
