"""What must hold, judged from outside: by what clients sent and heard, what agents were told and said, and
what the journal holds when everything has come to rest.
"""

from __future__ import annotations

import json
from itertools import combinations
from typing import TYPE_CHECKING, Any

from dragoman_local.journal import StoredEntry

if TYPE_CHECKING:
    from tests.hub.simulate.clients import SimulatedClient
    from tests.hub.simulate.records import Attempt, Segment
    from tests.hub.simulate.world import World


class StreamReading:
    """What a stream holds: the texts of updates, and how each prompt ended."""

    def __init__(self, entries: list[StoredEntry]) -> None:
        self.texts: list[str] = []
        self.ends: dict[str, list[str]] = {}
        self.given: list[str] = []
        """Keys of prompts that were stored for the agent."""
        self.steered: dict[str, list[str]] = {}
        """What came of messages into turns."""
        self.successors: list[str] = []
        """Sessions in which it was handed over."""
        for entry in entries:
            message = json.loads(entry.frame)
            if entry.direction == "to_client" and message.get("method") == "session/update":
                update = message["params"]["update"]
                if update["sessionUpdate"] == "agent_message_chunk":
                    self.texts.append(update["content"]["text"])
            elif entry.direction == "to_agent" and message.get("method") == "session/prompt":
                self.given.append(message["params"]["_meta"]["dragoman"]["key"])
            elif entry.direction == "note" and message.get("hub") == "turn_ended":
                self.ends.setdefault(message["key"], []).append(outcome_of(message))
            elif entry.direction == "note" and message.get("hub") == "steered":
                self.steered.setdefault(message["key"], []).append(steer_outcome_of(message))
            elif entry.direction == "note" and message.get("hub") == "continued":
                self.successors.append(message["session"])


def outcome_of(message: dict[str, Any]) -> str:
    """The part of an answer that is the same for everybody who gets it."""
    if "error" in message:
        return f"error {message['error']['code']} {message['error']['message']}"
    return f"result {(message.get('result') or {}).get('stopReason')}"


def steer_outcome_of(message: dict[str, Any]) -> str:
    """The same of an answer to a message into a turn."""
    if "error" in message:
        return f"error {message['error']['message']}"
    return f"result {(message.get('result') or {}).get('outcome')}"


def key_of(text: str) -> str:
    return text.partition("#")[0]


def runs_of(said: list[str]) -> list[list[str]]:
    """What a session may have of what an agent has said for a key, each time that it was given the prompt. A
    prompt of a session that was deleted may run again: a fork that was made before has what was said the
    first time, and the session has both times if its agent has told it again what was said before.
    """
    begins = [place for place, text in enumerate(said) if text.partition("#")[2] == "1"]
    return [said[begin:end] for begin, end in combinations([*begins, len(said)], 2)]


class Oracle:
    def __init__(self, world: World) -> None:
        self.chosen: dict[str, set[str]] = {}
        """What people have answered to each question."""
        self.cancelled: set[str] = set()
        self.closed: dict[str, float] = {}
        self.deleted: set[str] = set()
        self._world = world
        self._find = world.story.find

    def on_close(self, session: str, *, deletes: bool = False) -> None:
        self.cancelled.add(session)
        self.closed[session] = self._world.loop.time()
        if deletes:
            self.deleted.add(session)

    def is_deleted(self, session: str) -> bool:
        return session in self.deleted

    def on_answer(self, client: SimulatedClient, attempt: Attempt, segment: Segment | None) -> None:
        """Everything of a turn is told before its end is."""
        assert attempt.answer is not None
        book = self._world.book
        if outcome_of(attempt.answer) != "result end_turn":
            return
        if book.finished.get(attempt.key) != "end_turn":
            self._find(f"{attempt.key} was answered with end_turn, which no agent said")
        whole = segment is not None and segment.how in ("session/new", "session/load") and segment.is_followed
        if segment is not None and whole and attempt.session not in self.closed:
            missing = [text for text in book.said.get(attempt.key, []) if text not in segment.texts]
            if missing:
                self._find(f"{client.name} got the answer of {attempt.key} before {missing[0]}")

    # At rest.

    def judge(self, streams: dict[str, StreamReading], observer: SimulatedClient) -> None:
        self._judge_prompts(streams)
        self._judge_refusals()
        self._judge_steers(streams)
        self._judge_handovers(streams)
        self._judge_questions()
        for session, reading in streams.items():
            self._judge_stream(session, reading)
        for client in (*self._world.clients, observer):
            for segment in client.segments:
                final = self._final(segment.session, streams)
                self._judge_segment(client, segment, final, is_known=segment.session in streams)
        for segment in observer.segments:
            if segment.session in streams and segment.texts != streams[segment.session].texts:
                self._find(
                    f"who loads {segment.session} does not hear what is stored: "
                    + _gap(segment.texts, streams[segment.session].texts)
                )

    def _judge_prompts(self, streams: dict[str, StreamReading]) -> None:
        book = self._world.book
        for key, times in book.told.items():
            if key not in self._world.prompts:
                self._find(f"{key} was given to an agent, and nobody may ask for it")
                continue
            session, _ = self._world.prompts[key]
            if len(times) > 1 and session not in self.deleted:  # its keys are forgotten with it
                self._find(f"{key} was given to agents {len(times)} times")
        for key, (session, _) in self._world.prompts.items():
            if session in self.deleted:
                continue
            reading = streams.get(session)
            attempts = [one for one in self._attempts(key) if one.answer is not None]
            told = {outcome_of(one.answer) for one in attempts if one.answer is not None}
            results = {one for one in told if one.startswith("result")}
            if len(results) > 1:
                self._find(f"{key} has several outcomes: {sorted(told)}")
            if reading is None:
                continue
            ends = reading.ends.get(key, [])
            if len(ends) > 1:
                self._find(f"{key} has ended {len(ends)} times in its stream: {ends}")
            if results and set(ends) != results:
                self._find(f"{key} was answered with {sorted(results)}, and its stream says {ends}")
            if key in book.told and not ends:
                self._find(f"{key} was given to an agent and has no end in its stream")
            if key in book.told and key not in reading.given:
                self._find(f"{key} was given to an agent before it was stored for it")

    def _judge_steers(self, streams: dict[str, StreamReading]) -> None:
        """A message is given to an agent at most once, and everybody who sends it is told its one outcome."""
        book = self._world.book
        for key, session in book.steers.items():
            if session in self.deleted:  # its keys are forgotten with it
                continue
            if book.steered.get(key, 0) > 1:
                self._find(f"message {key} was given to agents {book.steered[key]} times")
            told = {steer_outcome_of(one.answer) for one in self._attempts(key) if one.answer is not None}
            results = sorted(outcome for outcome in told if outcome.startswith("result"))
            if len(results) > 1:
                self._find(f"message {key} has several outcomes: {results}")
            if results and key not in book.steered:
                self._find(f"message {key} was answered with {results}, and no agent has it")
            if session not in streams:
                continue
            stored = streams[session].steered.get(key, [])
            if len(stored) > 1:
                self._find(f"message {key} has {len(stored)} outcomes in its stream: {stored}")
            if results and stored != results:
                self._find(f"message {key} was answered with {results}, and its stream says {stored}")
            if key in book.steered and not stored:
                self._find(f"message {key} was given to an agent and has no outcome in its stream")

    def _judge_handovers(self, streams: dict[str, StreamReading]) -> None:
        """One key of one token makes one session, and is written once."""
        for session, reading in streams.items():
            if not _is_unique(reading.successors):
                self._find(f"the hand-over of {session} is written twice: {reading.successors}")
            for client in self._world.clients:
                made = {
                    one.answer["result"]["sessionId"]
                    for one in client.attempts
                    if one.key == f"handover-{session}" and one.answer is not None and "result" in one.answer
                }
                if session not in self.deleted and (len(made) > 1 or not made <= set(reading.successors)):
                    self._find(
                        f"{session} was handed over to {sorted(made)}: its stream says {reading.successors}"
                    )

    def _attempts(self, key: str) -> list[Attempt]:
        return [one for client in self._world.clients for one in client.attempts if one.key == key]

    def _judge_refusals(self) -> None:
        """Who was told that a prompt will not run must be able to rely on it."""
        for key, times in self._world.book.told.items():
            attempts = self._attempts(key)
            for attempt in attempts:
                if attempt.answer is None or outcome_of(attempt.answer) == "result end_turn":
                    continue
                others = [one for one in attempts if one is not attempt]
                is_asked_again = any(
                    one.sent > attempt.answered_at
                    or one.answer is None
                    or one.answered_at > attempt.answered_at
                    for one in others
                )
                if times[0] > attempt.answered_at and not is_asked_again:
                    said = outcome_of(attempt.answer)
                    if "no node has the session" in said:
                        continue  # it says that nobody knows
                    self._find(f"{key} was given to an agent after its client had been told: {said}")

    def _judge_questions(self) -> None:
        for name, answers in self._world.book.answers.items():
            for answer in answers:
                if '"selected"' in answer:
                    option = json.loads(answer)["optionId"]
                    expires = self._world.options.expire > 0 and option == "reject"
                    if not expires and option not in self.chosen.get(name, set()):
                        self._find(
                            f"the agent's question {name} was answered with {option}, which nobody said"
                        )

    def _judge_stream(self, session: str, reading: StreamReading) -> None:
        book = self._world.book
        texts = [text for text in reading.texts if not self._may_run_again(key_of(text))]
        if not _is_unique(texts):
            twice = next(text for text in texts if texts.count(text) > 1)
            self._find(f"{session} has {twice} {texts.count(twice)} times")
        by_key: dict[str, list[str]] = {}
        for text in reading.texts:
            by_key.setdefault(key_of(text), []).append(text)
        for key, texts in by_key.items():
            said = book.said.get(key, [])
            runs = runs_of(said) if self._may_run_again(key) else [said]
            if not any(texts == run[: len(texts)] for run in runs):
                self._find(f"{session} does not have what the agent said for {key}: {_gap(texts, said)}")
            if reading.ends.get(key) == ["result end_turn"] and texts not in runs:
                self._find(f"{session} has lost a part of {key}: {_gap(texts, said)}")

    def _may_run_again(self, key: str) -> bool:
        """A session that was deleted here, and loaded from its agent again, knows no keys of before."""
        return key in self._world.prompts and self._world.prompts[key][0] in self.deleted

    def _final(self, session: str, streams: dict[str, StreamReading]) -> list[str]:
        """All that was ever said in a session. Of a deleted one, the longest that anybody has heard."""
        if session in streams:
            return streams[session].texts
        heard = [
            one.texts for client in self._world.clients for one in client.segments if one.session == session
        ]
        return max(heard, key=len, default=[])

    def _judge_segment(
        self, client: SimulatedClient, segment: Segment, final: list[str], *, is_known: bool
    ) -> None:
        texts = _replayed_texts(segment, final, was_closed=segment.session in self.closed)
        ended = [key for key in segment.ended_turns if not self._may_run_again(key)]
        # What a connection was still to be told when the client asked for everything comes before that.
        cuts = range(len(ended) + 1) if segment.how == "session/load" else (0,)
        if not any(_is_unique(ended[:cut]) and _is_unique(ended[cut:]) for cut in cuts):
            self._find(f"{client.name} heard of the end of a turn twice: {segment.ended_turns}")
        begins = 0
        if texts and segment.how not in ("session/new", "session/load"):
            begins = final.index(texts[0]) if texts[0] in final else 0
        if segment.session in self.closed:  # whoever prompts in it later follows it from there on
            places = [final.index(text) for text in texts if text in final]
            if is_known and (places != sorted(set(places)) or len(places) != len(texts)):
                self._find(f"{client.name} did not hear {segment.session} in order: {texts}")
            return
        if final[begins : begins + len(texts)] != texts and (is_known or segment.how == "session/load"):
            self._find(
                f"{client.name} did not hear {segment.session} in order: {_gap(texts, final[begins:])}"
            )
        whole = segment.is_followed and is_known
        if whole and texts and final[begins:] != texts:
            self._find(
                f"{client.name} has not heard the last of {segment.session}: {_gap(texts, final[begins:])}"
            )


def _replayed_texts(segment: Segment, final: list[str], *, was_closed: bool) -> list[str]:
    """What a segment heard, without the live updates that were on their way when the client asked for a load.

    Only updates that continue what the same connection has heard before count as such. Of a session that was
    closed and loaded again, a connection that comes back by its cursor hears on without having asked: what it
    hears then has to be in order by itself.
    """
    texts = segment.texts
    if segment.how != "session/load" or not final or final[0] not in texts:
        return texts
    if segment.earlier is None and not was_closed:
        return texts
    earlier = [] if segment.earlier is None else segment.earlier.texts
    begins_of_replay = [place for place, text in enumerate(texts) if text == final[0]]
    # Twice at most: the live updates may begin with the first text of all, a replay is told once.
    for count in reversed(begins_of_replay[:2]):
        run = earlier + texts[:count]
        begins = final.index(run[0]) if run and run[0] in final else 0
        if final[begins : begins + len(run)] == run:
            return texts[count:]
    return texts


def _is_unique(values: list[str]) -> bool:
    return len(set(values)) == len(values)


def _gap(have: list[str], wanted: list[str]) -> str:
    """Where two lists part."""
    for place, (one, other) in enumerate(zip(have, wanted, strict=False)):
        if one != other:
            return f"{one} stands where {other} should (place {place})"
    rest = max(have, wanted, key=len)[min(len(have), len(wanted)) :]
    return f"{len(have)} instead of {len(wanted)}: {rest[:3]}"
