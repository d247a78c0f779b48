"""What each client was told, held against the journal: see `checker`.

A client's record of a session is cut into followings, from one `Joined` to the next or to `Left`. In each,
the cursors grow; every update of the agent that is stored between where it began and the last thing that it
was told was told once, word for word; and one that still follows at the end was told everything.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.cluster.digest import Digest
from tests.cluster.findings import Finding
from tests.cluster.records import (
    Answered,
    ClientLine,
    Ended,
    Joined,
    Left,
    Prompted,
    Storm,
    Told,
)


@dataclass
class Following:
    """`open` if it never ended."""

    client: str
    session: str
    after: int
    told: list[Told] = field(default_factory=list)
    open: bool = True


def check_clients(storm: Storm, digests: Mapping[str, Digest]) -> Iterator[Finding]:
    for client, lines in storm.clients.items():
        for following in followings(client, lines):
            made = digests.get(following.session)
            if made is None:
                yield Finding("lost", following.session, 0, 0, f"{client} follows what is not stored at all")
            else:
                yield from _told(following, made)
        yield from _prompts(client, lines, digests)
    yield from _answers(storm, digests)


def followings(client: str, lines: Sequence[ClientLine]) -> list[Following]:
    found: list[Following] = []
    current: dict[str, Following] = {}
    for line in lines:
        if isinstance(line, Joined | Left) and line.session in current:
            current.pop(line.session).open = False
        if isinstance(line, Joined):
            following = Following(client, line.session, position(line.after)[0])
            current[line.session] = following
            found.append(following)
        elif isinstance(line, Told) and line.session in current:
            current[line.session].told.append(line)
    return found


def position(cursor: str) -> tuple[int, int]:
    """An entry that is told in parts has cursors `17.1`, `17.2`, and `17` for the last part."""
    whole, _, part = cursor.partition(".")
    return (int(whole or 0), int(part) if part else 1_000_000)


def _told(following: Following, made: Digest) -> Iterator[Finding]:
    before = (following.after, 1_000_000)
    for line in following.told:
        place = position(line.cursor)
        if place <= before:
            text = f"{following.client} was told {line.kind} {line.text!r} again, or behind what follows it"
            yield Finding("told twice", following.session, place[0], line.t, text)
            return
        before = place
    updates = [line for line in following.told if line.kind == "update"]
    yield from _updates(following, made, updates, up_to=before[0])
    yield from _events(following, made, up_to=before[0])
    if following.open and made.updates and before[0] < made.updates[-1].sequence:
        text = f"{following.client} was told nothing behind {before[0]}, and it goes on to {made.last}"
        yield Finding("not told", following.session, before[0], 0, text)


def _updates(following: Following, made: Digest, told: list[Told], *, up_to: int) -> Iterator[Finding]:
    """The first difference; whatever comes behind it differs too."""
    stored = {one.sequence: one.text for one in made.updates if following.after < one.sequence <= up_to}
    heard = {position(line.cursor)[0]: line for line in told}
    for sequence in sorted({*stored, *heard}):
        here = heard.get(sequence)
        if here is None:
            text = f"{following.client} was never told the update {stored[sequence]}"
            yield Finding("not told", following.session, sequence, 0, text)
            return
        if stored.get(sequence) != here.text:
            there = stored.get(sequence, "something else")
            text = f"{following.client} was told {here.text!r}, and {there!r} is stored there"
            yield Finding("lost", following.session, sequence, here.t, text)
            return


def _events(following: Following, made: Digest, *, up_to: int) -> Iterator[Finding]:
    """Ends of turns, and what came of approvals: the first that it was not told."""
    ends = {end.sequence: f"the end of {key}" for key, all_ in made.ends.items() for end in all_}
    for request, verdicts in made.verdicts.items():
        ends |= {one.sequence: f"what came of the approval at {request}" for one in verdicts}
    heard = {position(line.cursor)[0] for line in following.told if line.kind in ("turn_ended", "settled")}
    for sequence in sorted(ends):
        if following.after < sequence <= up_to and sequence not in heard:
            text = f"{following.client} was never told {ends[sequence]}"
            yield Finding("not told", following.session, sequence, 0, text)
            return


def _prompts(client: str, lines: Sequence[ClientLine], digests: Mapping[str, Digest]) -> Iterator[Finding]:
    """Each prompt has one answer, and it is the one that is stored."""
    answers: dict[tuple[str, str], list[Ended]] = defaultdict(list)
    for line in lines:
        if isinstance(line, Ended):
            answers[line.session, line.key].append(line)
    for line in lines:
        if not isinstance(line, Prompted):
            continue
        got = answers[line.session, line.key]
        if len(got) != 1:
            kind, times = ("answered twice", len(got)) if got else ("never answered", 0)
            text = f"{client} got {times} answers to its prompt {line.key}"
            yield Finding(kind, line.session, 0, line.t, text)
        for answer in got:
            yield from _outcome(client, answer, digests)


def _outcome(client: str, answer: Ended, digests: Mapping[str, Digest]) -> Iterator[Finding]:
    made = digests.get(answer.session)
    ends = made.ends.get(answer.key, []) if made else []
    if any(end.outcome == answer.outcome for end in ends):
        return
    if not ends and answer.outcome.startswith("error:") and (made is None or answer.key not in made.accepted):
        return  # it was refused, not acknowledged
    stored = ends[0].outcome if ends else "nothing"
    text = f"{client} was told that {answer.key} ended with {answer.outcome!r}, and {stored!r} is stored"
    yield Finding("lost", answer.session, ends[0].sequence if ends else 0, answer.t, text)


def _answers(storm: Storm, digests: Mapping[str, Digest]) -> Iterator[Finding]:
    """An answer that counted is the only one that did, and it is what is stored."""
    counted: dict[tuple[str, str], list[tuple[str, Answered]]] = defaultdict(list)
    for client, lines in storm.clients.items():
        for line in lines:
            if isinstance(line, Answered) and line.settled:
                counted[line.session, line.request].append((client, line))
    for (session, request), all_ in counted.items():
        for client, line in all_[1:]:
            text = f"{client} and {all_[0][0]} were both told that their answers count"
            yield Finding("settled twice", session, int(request), line.t, text)
        client, line = all_[0]
        made = digests.get(session)
        options = [one.option for one in made.verdicts.get(request, [])] if made else []
        if options[:1] != [line.option]:
            text = f"{client} was told that {line.option!r} counts, and {options!r} is stored"
            yield Finding("another answer", session, int(request), line.t, text)
