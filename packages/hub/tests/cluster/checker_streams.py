"""What the journal alone must show: see `checker`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from tests.cluster.digest import Digest, Update
from tests.cluster.findings import Finding
from tests.cluster.records import Storm


def check_streams(storm: Storm, digests: Mapping[str, Digest]) -> Iterator[Finding]:
    for made in digests.values():
        yield from _sequences(made)
        yield from _updates(storm, made)
        yield from _turns(storm, made)
        yield from _verdicts(storm, made)


def _sequences(made: Digest) -> Iterator[Finding]:
    for place, sequence in enumerate(made.sequences, 1):
        if sequence != place:
            yield Finding(
                "gap", made.session, sequence, 0, f"the stream has {sequence} where {place} belongs"
            )
            return


def _updates(storm: Storm, made: Digest) -> Iterator[Finding]:
    """Each turn's own numbers, from 0, one by one; and between its beginning and its end."""
    turns: dict[str, list[Update]] = defaultdict(list)
    for update in made.updates:
        turns[update.key].append(update)
    for key, updates in turns.items():
        for place, update in enumerate(updates):
            if update.number != place:
                yield _misplaced(storm, made.session, update, place)
                break
        yield from _outside(storm, made, key, updates)


def _misplaced(storm: Storm, session: str, update: Update, place: int) -> Finding:
    when = update.time - storm.wall
    if update.number < place:
        kind, words = "doubled", "stands there a second time, or behind later ones"
    else:
        kind, words = "lost", f"stands where number {place} belongs"
    return Finding(kind, session, update.sequence, when, f"the update {update.text} {words}")


def _outside(storm: Storm, made: Digest, key: str, updates: list[Update]) -> Iterator[Finding]:
    begin = made.given.get(key, [])
    end = made.ends.get(key, [])
    for update in updates:
        when = update.time - storm.wall
        if not begin or update.sequence < begin[0]:
            text = f"the update {update.text} is stored before its prompt was given to an agent"
        elif end and update.sequence > end[0].sequence:
            text = f"the update {update.text} is stored behind the end of its turn at {end[0].sequence}"
        else:
            continue
        yield Finding("outside", made.session, update.sequence, when, text)


def _turns(storm: Storm, made: Digest) -> Iterator[Finding]:
    for key, sequence in made.accepted.items():
        when = made.times[sequence] - storm.wall
        given, ends = made.given.get(key, []), made.ends.get(key, [])
        if len(given) > 1:
            yield Finding("run twice", made.session, given[1], when, f"the prompt {key} was given again")
        if not ends:
            yield Finding("never ended", made.session, sequence, when, f"the prompt {key} has no end")
        if len(ends) > 1:
            text = f"the prompt {key} has ended before, at {ends[0].sequence}"
            yield Finding("ended twice", made.session, ends[1].sequence, when, text)


def _verdicts(storm: Storm, made: Digest) -> Iterator[Finding]:
    for request, name in made.asked.items():
        verdicts = made.verdicts.get(request, [])
        when = made.times[int(request)] - storm.wall
        if not verdicts:
            text = f"nothing came of the approval {name}"
            yield Finding("never settled", made.session, int(request), when, text)
        for second in verdicts[1:]:
            text = f"the approval {name} was settled before, at {verdicts[0].sequence}"
            yield Finding("settled twice", made.session, second.sequence, second.time - storm.wall, text)
