"""An agent's actions in a turn, from the journal: named files, written lines, commands.

The store of trees says that a turn ran while a file changed. That the agent changed it is known if it
announced so: by a tool call with a diff, or with the file as the place of an edit, or by a write through us.
A command changed it if one ran when the system says that the file was changed. Of the rest only the turn is
known. What changed after the answer to the prompt is not the turn's, unless announced. Journals are given.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from math import inf
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from dragoman.decoders import decode_json
from dragoman.errors import DragomanError
from dragoman_local.workspace.diffs import unified_diff
from dragoman_local.workspace.line_history import Origin
from dragoman_local.workspace.tree_store import Change, Turn

SLACK = 0.5
"""The seconds by which the announcement of work may arrive after its first effect, or before its last."""

AFTER = 0.05
"""The seconds by which the clocks of files and of processes differ."""

_WRITING = frozenset({"edit", "delete", "move"})

By = Literal["agent", "person", "command", "unknown"]


class RecordedFrame(Protocol):
    """A frame of a stream, with its position, time and receiver."""

    @property
    def sequence(self) -> int: ...
    @property
    def direction(self) -> str: ...
    @property
    def frame(self) -> bytes: ...
    @property
    def time(self) -> float: ...


class RecordedStreams(Protocol):
    """The parts of a journal that this module needs."""

    async def info(self, stream: str) -> object | None: ...
    def replay(self, stream: str) -> AsyncIterator[Sequence[RecordedFrame]]: ...


OpenJournal: TypeAlias = Callable[[str], AbstractAsyncContextManager[RecordedStreams]]
"""Opens the journal at a path; FileNotFoundError if there is none."""


class CommandRun(NamedTuple):
    """A command that ran in a turn."""

    text: str
    outcome: str = ""
    """`completed` or `failed`; empty if unknown."""


class TurnFacts:
    """The facts of one turn. Feed it the frames of its stream in order."""

    def __init__(self, root: str, *, key: str = "", keeps_diffs: bool = True) -> None:
        """With the key of its prompt, if a hub ran it."""
        self._key = key
        self._keeps_diffs = keeps_diffs
        self.approvals: dict[str, str] = {}
        """By tool call, what was answered when its agent asked."""
        self.approvers: dict[str, str] = {}
        """By tool call, who answered, where a hub noted it."""
        self.thoughts: dict[str, str] = {}
        """By tool call, what the agent thought since the one before."""
        self._diffs: dict[str, tuple[str, bytes, bytes]] = {}  # by tool call, what it said that it changes
        self.model = ""
        """What the agent said of its model, if it said so."""
        self.prompt_place = 0
        """Where its prompt is in the stream of a hub; 0 if nobody knows."""
        self.runs: dict[str, CommandRun] = {}
        """By tool call or terminal, the commands that ran."""
        self._thinking: list[str] = []
        self._root = root
        self._lines: dict[str, dict[str, tuple[str, float]]] = {}
        """By path and line that a diff adds, the last tool call with it, and when it was first told of."""
        self._writes: dict[str, dict[str, float]] = {}
        """By path and line, when a write through us first had it."""
        self._texts: dict[str, Counter[str]] = {}  # by path, the lines that the agent read or wrote last
        self._found: set[tuple[str, str]] = set()  # path and line of its writes that it had only read
        self._named: dict[str, str] = {}  # by path, the last tool call that names it
        self._works: dict[str, set[str]] = {}  # by tool call or write, the files that it named
        self._begins: dict[str, float] = {}  # of these works, or when they may have begun
        self._ends: dict[str, float] = {}  # by tool call, terminal or write, when it was over
        self.answered_at = inf
        """When the agent answered the prompt; infinite if it did not."""
        self._is_over = False  # once the next prompt is heard
        self._kinds: dict[str, str] = {}
        self._commands: dict[str, float] = {}  # by tool call or terminal, when the command may have begun
        self._terminal_calls: dict[str, str] = {}
        self._questions: dict[str, tuple[str, Mapping[str, Any]]] = {}  # the agent's, without an answer
        self._asked_calls: dict[str, str] = {}  # by the place of the question, the tool call that it is about
        self._times = [0.0, 0.0]  # of the last frame, and of the one before it that came at another time

    def feed(self, direction: str, time: float, frame: Mapping[str, Any], sequence: int = 0) -> None:
        if self._is_over:
            return
        match frame:
            case (
                {"hub": "turn_ended", "key": self._key}
                | {"result": {"stopReason": _}}
                | {"params": {"update": {"stopReason": _}}}
            ):
                self.answered_at = min(self.answered_at, time)
        if direction == "note":
            call = self._asked_calls.get(str(frame.get("request")))
            if call in self.approvals and frame.get("hub") == "settled":
                self.approvers[call] = str(frame.get("by", ""))
            return
        params = _members(frame.get("params"))
        match frame.get("method"):
            case "session/update":
                self._see_update(_members(params.get("update")), time)
            case "session/prompt":
                self._is_over = self.answered_at < inf
            case "terminal/release" | "terminal/kill":
                self._ends.setdefault(f"terminal {params.get('terminalId')}", time)
            case str(method) if direction == "to_client":
                self._questions[str(frame.get("id"))] = (method, params)
                self._see_question(method, params, str(frame.get("id")), time, sequence)
            case None if direction == "to_agent":
                self._see_answer(frame, time)
        if time > self._times[0] + 0.001:
            self._times = [time, self._times[0]]

    def _see_question(
        self, method: str, params: Mapping[str, Any], request: str, time: float, sequence: int
    ) -> None:
        if method == "fs/write_text_file":
            self._see_write(params, f"write {request}", time)
        elif method == "session/request_permission" and isinstance(params.get("toolCall"), dict):
            self._asked_calls[str(sequence)] = str(params["toolCall"].get("toolCallId"))
        elif method == "terminal/create":
            words = params.get("args")
            command = [params.get("command"), *(words if isinstance(words, list) else ())]
            self.runs[f"request {request}"] = CommandRun(" ".join(map(str, command)))
            self._commands[f"request {request}"] = self._begin(time)

    def _begin(self, time: float) -> float:
        """When a command may have begun that is announced now: not before what was heard before it."""
        before = self._times[1] if time <= self._times[0] + 0.001 else self._times[0]
        return max(before, time - SLACK)

    def _last(self, name: str, slack: float) -> float:
        """The last moment of work. Open ends and slack reach to the answer: behind it, a person may write."""
        end = self._ends.get(name, inf)
        return end if self.answered_at < end < inf else min(end + slack, self.answered_at)

    def _see_update(self, update: Mapping[str, Any], time: float) -> None:
        if update.get("sessionUpdate") == "agent_thought_chunk":
            self._thinking.append(str(_members(update.get("content")).get("text", "")))
        if update.get("sessionUpdate") not in ("tool_call", "tool_call_update"):
            return
        call, status = str(update.get("toolCallId")), update.get("status")
        if call not in self.thoughts:
            self.thoughts[call] = "".join(self._thinking)
            self._thinking.clear()
        kind = self._kinds.setdefault(call, str(update.get("kind", "other")))
        if kind == "execute":
            self._see_run(call, update)
            self._commands.setdefault(call, self._begin(time))
        if status in ("completed", "failed"):
            self._ends[call] = self._ends.get(call, time) if kind == "execute" else time
        if status == "failed":
            self._works.pop(call, None)
            return
        if kind in _WRITING:
            self._see_places(call, update.get("locations"), -inf if status == "completed" else time - SLACK)
        for part in _objects(update.get("content")):
            if part.get("type") == "diff":
                self._see_diff(part, call, time)
            elif part.get("type") == "terminal":
                self._terminal_calls[f"terminal {part.get('terminalId')}"] = call

    def _see_places(self, call: str, places: object, time: float) -> None:
        """The files that an edit names, if it does."""
        paths = [self._relative(place.get("path")) for place in _objects(places)]
        self._named |= dict.fromkeys(paths, call)
        self._begin_work(call, time).update(paths)

    def _begin_work(self, name: str, time: float) -> set[str]:
        """The files that it has named."""
        self._begins.setdefault(name, time)
        return self._works.setdefault(name, set())

    def _see_run(self, call: str, update: Mapping[str, Any]) -> None:
        run = self.runs.get(call, CommandRun(""))
        command = _members(update.get("rawInput")).get("command")
        words = " ".join(map(str, command)) if isinstance(command, list) else command
        state = update.get("status") if update.get("status") in ("completed", "failed") else run.outcome
        self.runs[call] = CommandRun(str(words or run.text or update.get("title") or ""), str(state))

    def _see_answer(self, frame: Mapping[str, Any], time: float) -> None:
        method, params = self._questions.pop(str(frame.get("id")), ("", {}))
        result = _members(frame.get("result"))
        if method == "terminal/create":
            begin = self._commands.pop(f"request {frame.get('id')}", None)
            run = self.runs.pop(f"request {frame.get('id')}", None)
            if begin is not None and run is not None and "terminalId" in result:
                self._commands[f"terminal {result['terminalId']}"] = begin
                self.runs[f"terminal {result['terminalId']}"] = run
        elif method == "terminal/wait_for_exit":
            terminal = f"terminal {params.get('terminalId')}"
            self._ends.setdefault(terminal, time)
            if terminal in self.runs:
                ended = "completed" if result.get("exitCode") == 0 else "failed"
                self.runs[terminal] = self.runs[terminal]._replace(outcome=ended)
        elif method == "fs/write_text_file":
            self._ends[f"write {frame.get('id')}"] = time
            if "error" in frame:
                self._works.pop(f"write {frame.get('id')}", None)
        elif method == "fs/read_text_file":
            self._texts[self._relative(params.get("path"))] = Counter(_lines(result.get("content")))
        elif method == "session/request_permission":
            call = params.get("toolCall")
            chosen = _members(result.get("outcome")).get("optionId")
            for option in _objects(params.get("options")):
                if isinstance(call, dict) and chosen is not None and option.get("optionId") == chosen:
                    name = str(call.get("toolCallId"))
                    self.approvals[name] = str(option.get("name") or option.get("kind"))
                    if call.get("kind") == "execute" and str(option.get("kind")).startswith("allow"):
                        # Some agents announce a command when it is over.
                        self._kinds.setdefault(name, "execute")
                        self._commands.setdefault(name, time)

    def _see_diff(self, part: Mapping[str, Any], call: str, time: float) -> None:
        """What it adds. Lines that were there before may be anybody's."""
        name = self._relative(part.get("path"))
        before, after = (str(part.get(side) or "") for side in ("oldText", "newText"))
        if self._keeps_diffs:
            self._diffs[call] = name, before.encode(errors="replace"), after.encode(errors="replace")
        files = (part, *_objects(part.get("changes")))  # of a later protocol, for several files
        self._begin_work(call, time - SLACK).update(self._relative(file.get("path")) for file in files)
        old, new = Counter(_lines(before)), Counter(_lines(after))
        known = self._lines.setdefault(name, {})
        for line in new - old:
            known[line] = (call, known.get(line, ("", time))[1])

    def diff(self, call: str) -> str:
        """Return the change that a tool call reported."""
        return unified_diff(*self._diffs[call]).text or "" if call in self._diffs else ""

    def _see_write(self, params: Mapping[str, Any], name: str, time: float) -> None:
        path, lines = self._relative(params.get("path")), _lines(params.get("content"))
        self._begin_work(name, time - AFTER).add(path)
        known = self._writes.setdefault(path, {})
        fresh, self._texts[path] = Counter(lines) - self._texts.get(path, Counter()), Counter(lines)
        self._found |= {(path, line) for line in lines if line not in known and line not in fresh}
        known.update({line: time for line in lines if line not in known})

    def _relative(self, path: object) -> str:
        whole = os.path.normpath(os.path.join(self._root, str(path)))
        folder = os.path.realpath(os.path.dirname(whole))
        return os.path.relpath(os.path.join(folder, os.path.basename(whole)), self._root)

    def who(self, path: str, line: str, changed_at: int | None) -> tuple[By, str | None]:
        """Return who wrote a line in this turn, and in which tool call."""
        text = line.strip()
        if text and text in self._lines.get(path, {}):
            return "agent", self._lines[path][text][0]
        written_at = self._writes.get(path, {}).get(text)
        command = self._command_at(changed_at)
        if command is None and written_at is not None and path in self._lines:
            # The agent wrote it, and not as its own: it was there, and is new in this turn.
            command = self._command_before(written_at)
        if command is not None:
            return "command", self._terminal_calls.get(command, None if " " in command else command)
        call = self._named.get(path, "")
        # What it had read before it wrote the whole file, or what changed after its call, may be a person's.
        is_late = changed_at is not None and changed_at / 1e9 > self._last(call, AFTER)
        is_own = (path, text) not in self._found if written_at is not None else call and not is_late
        if is_own and (written_at is not None or path not in self._lines):
            return "agent", call or None
        return "unknown", None

    def announced_at(self, path: str, line: str) -> float | None:
        """Return when the agent first announced this line."""
        text = line.strip()
        times = (self._lines.get(path, {}).get(text, ("", None))[1], self._writes.get(path, {}).get(text))
        return min((time for time in times if time is not None and text), default=None)

    def _command_before(self, time: float) -> str | None:
        """The last command that had ended then."""
        ended = [(end, name) for name in self._commands if (end := self._ends.get(name, inf)) <= time]
        return max(ended)[1] if ended else None

    def is_at_work_on(self, path: str, changed_at: int | None) -> bool:
        """Whether the agent named a file, or a command ran when it changed."""
        return path in {*self._lines, *self._writes, *self._named} or self._command_at(changed_at) is not None

    def may_have_changed(self, path: str, changed_at: int | None) -> bool:
        """Whether agent or command may have changed a file then. A call that names no file may change any."""
        return self.had_command(changed_at) or any(
            changed_at is None or self._begins[name] <= changed_at / 1e9 <= self._last(name, SLACK)
            for name, paths in self._works.items()
            if not paths or path in paths
        )

    def had_command(self, changed_at: int | None) -> bool:
        """Whether a command ran then; at an unknown moment, whether one ran at all."""
        return bool(self._commands) if changed_at is None else self._command_at(changed_at) is not None

    def _command_at(self, changed_at: int | None) -> str | None:
        if changed_at is None:
            return None
        moment = changed_at / 1e9
        running = [
            (begin, name)
            for name, begin in self._commands.items()
            if begin - AFTER <= moment <= self._last(name, AFTER)
        ]
        return max(running)[1] if running else None


def _lines(text: object) -> list[str]:
    return [line.strip() for line in str(text or "").split("\n")]


def _members(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


_NOTES = (b'"settled"', b'"turn_ended"')

_MODEL_NAMES = (b'"configOptions"', b'"currentModelId"')


def _object_in(frame: bytes) -> dict[str, Any]:
    """What is not a frame says nothing."""
    try:
        return decode_json(frame, dict[str, Any])
    except msgspec.MsgspecError:
        return {}


def _key_of(frame: bytes) -> str:
    """What a hub calls a prompt."""
    match _object_in(frame):
        case {"params": {"_meta": {"dragoman": {"key": str(key)}}}}:
            return key
    return ""


def model_in(value: object) -> str:
    """Return the model in a frame: in an answer, an update or a note of the hub; empty if none."""
    match value:
        case {"configOptions": [*options]}:
            for option in _objects(options):
                if option.get("category") == "model" and isinstance(option.get("currentValue"), str):
                    return str(option["currentValue"])
        case {"models": {"currentModelId": str(model)}}:
            return model
    if isinstance(value, dict):
        inner = (value.get(name) for name in ("result", "params", "update"))
        return next(filter(None, map(model_in, filter(None, inner))), "")
    return ""


_NOTHING = TurnFacts("")


class FactsReader:
    """Reads the facts of turns, each once."""

    def __init__(
        self,
        roots: Mapping[int, str],
        ends: Mapping[int, float],
        open_journal: OpenJournal,
        *,
        most_bytes: float = inf,
    ) -> None:
        """By turn: its folder, and the start of the snapshot after it. A limit in bytes of frames drops older
        turns, and all diffs.
        """
        self._open_journal = open_journal
        self._roots = roots
        self._ends = ends
        self._bytes_left = most_bytes
        self._known: dict[int, TurnFacts] = {}

    @property
    def is_cut(self) -> bool:
        """Whether the limit left out frames."""
        return self._bytes_left < 0

    async def read(self, turns: Sequence[Turn]) -> None:
        """Read the missing facts. An unreadable journal gives none."""
        by_stream: dict[tuple[str, str], list[Turn]] = {}
        for turn in turns:
            if turn.id not in self._known and not self.is_cut:
                self._known[turn.id] = TurnFacts(
                    self._roots[turn.id], key=turn.key, keeps_diffs=self._bytes_left == inf
                )
                by_stream.setdefault((turn.journal, turn.stream), []).append(turn)
        for path in {journal for journal, _ in by_stream}:
            try:
                async with self._open_journal(path) as journal:
                    for (place, stream), own in by_stream.items():
                        if place == path and await journal.info(stream) is not None:
                            await self._read_stream(journal, stream, own)
            except (DragomanError, OSError):
                continue

    async def _read_stream(self, journal: RecordedStreams, stream: str, turns: Sequence[Turn]) -> None:
        model = ""
        async for page in journal.replay(stream):
            # Off the loop: a page is taken apart when it is read, and the disk is asked where paths lead.
            after = await asyncio.to_thread(self._feed_page, turns, page, model)
            if after is None:
                return
            model = after

    def _end_of(self, turn: Turn) -> float:
        return self._ends.get(turn.id, inf) + 1

    def _feed_page(self, turns: Sequence[Turn], page: Sequence[RecordedFrame], model: str) -> str | None:
        """The model that the agent has after it; None if nothing behind it is wanted."""
        self._bytes_left -= sum(len(entry.frame) for entry in page)
        if self.is_cut:
            for turn in turns:
                if self._end_of(turn) > page[0].time:
                    del self._known[turn.id]
            return None
        near = [turn for turn in turns if turn.time <= page[-1].time and page[0].time <= self._end_of(turn)]
        for entry in page:
            if any(name in entry.frame for name in _MODEL_NAMES):
                model = model_in(_object_in(entry.frame)) or model
            if entry.direction == "to_agent" and b'"session/prompt"' in entry.frame:
                key = _key_of(entry.frame)
                for turn in turns:
                    if key and turn.key == key:
                        self._known[turn.id].prompt_place = entry.sequence
            self._feed(near, entry, model)
        return model if page[-1].time <= max(map(self._end_of, turns)) else None

    def _feed(self, turns: Sequence[Turn], entry: RecordedFrame, model: str) -> None:
        own = [turn for turn in turns if turn.time <= entry.time <= self._end_of(turn)]
        if own and (entry.direction != "note" or any(name in entry.frame for name in _NOTES)):
            value = _object_in(entry.frame)
            for turn in own:
                self._known[turn.id].model = model
                self._known[turn.id].feed(entry.direction, entry.time, value, entry.sequence)

    def explain(self, turns: Sequence[Turn], change: Change) -> bool:
        """Whether one of these turns may have made a change, by what it announced."""
        return any(
            self.of(turn).may_have_changed(change.path, change.changed_at)
            for turn in turns
            # If it looks as if the snapshot after the answer came before it, the clock was set back.
            if not self._ends.get(turn.id, inf) < self.of(turn).answered_at < inf
        )

    def has(self, turn: Turn) -> bool:
        """Whether the facts of these turns were read."""
        return turn.id in self._known

    def of(self, turn: Turn) -> TurnFacts:
        return self._known.get(turn.id, _NOTHING)

    def choose(self, turns: Sequence[Turn], change: Change, line: str) -> Turn | None:
        """Return which of several turns wrote a line: the one that announced it first, since others then
        found it in the file; or the only one that worked there.
        """
        if any(turn.id not in self._known for turn in turns):
            return None
        times = [(self.of(turn).announced_at(change.path, line), turn) for turn in turns]
        known = [(time, turn.id, turn) for time, turn in times if time is not None]
        own = (
            [min(known)[2]]
            if known
            else [turn for turn in turns if self.of(turn).is_at_work_on(change.path, change.changed_at)]
        )
        return own[0] if len(own) == 1 else None

    def who(self, origin: Origin) -> tuple[By, str | None]:
        if origin.turn is None:
            return ("person" if origin.is_known else "unknown"), None
        return self.of(origin.turn).who(origin.path, origin.text, origin.changed_at)
