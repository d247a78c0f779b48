"""Reads the acts in a recording: permission requests, uses of files and terminals, other tool calls.

    fold = ActFold(stream="20261118-…", agent="claude", cwd="/project", home="/home/me")
    for recorded in fold.add_runs(first, runs): ...
    for recorded in fold.finish(): ...

It takes the entries of one stream of a journal, of `run` and `chat` or of a hub, and makes the `Act` that was
judged then, by the readers that make it in a live session. An act comes out when it was answered, so what
follows from a yes comes after it. Links are looked up on the disk of today: where they led then, nobody wrote
down. What a frame held that was made unreadable is gone; `flaw` says so where the act depends on it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from dragoman.decoders import json_decoder
from dragoman.errors import ErrorAnswer
from dragoman.schema import v1
from dragoman.schema.codec import read, write
from dragoman.schema.errors import SchemaError
from dragoman_local.secrets.names import REDACTED
from dragoman_local.workspace.policy.act import READS, Act, ActContext
from dragoman_local.workspace.policy.act_reader import act_of_call, act_of_file, act_of_request
from dragoman_local.workspace.policy.decision import usable_options
from dragoman_local.workspace.policy.judge import act_of_access, resolve
from dragoman_local.workspace.policy.tool_calls import CallUpdate, ToolCalls
from dragoman_local.workspace.policy.tool_inputs import FileChange, changes_in
from dragoman_local.workspace.proof.known_acts import UPDATES, KnownActs, essence, read_update, tells_no_call
from dragoman_local.workspace.remote_access import PERMIT_METHOD, read_access

Source: TypeAlias = Literal["request", "lent", "announced"]
"""A permission request, a use of the client's files or terminals, or an announced call without a question."""

Answer: TypeAlias = Literal["allow", "deny", "none"]
"""The agent's answer; `none` if nobody decided: it was cancelled, it failed, or it was not asked."""

UNREADABLE: Final = "the request cannot be read"
HIDDEN: Final = "a secret in it was made unreadable"

MOST_TEXTS: Final = 64
MOST_CHARACTERS: Final = 1024 * 1024
"""The most files with a known text, and the longest such text: a write is compared with the shown change."""

_HUB: Final = b'{"hub":'
_HUBS_ID: Final = b'"hub:'
"""How the hub's notes begin, and the ids of its own questions; it refuses such ids of agents."""

_LENT: Final = {
    "fs/read_text_file": "read",
    "fs/write_text_file": "write",
    "_dragoman/fs/stat": "read",
    "_dragoman/fs/read_range": "read",
}
_CALL_TAGS: Final = ("tool_call", "tool_call_update")
_OPENINGS: Final = ("session/new", "session/load", "session/resume", "session/fork")


class RecordedAct(Struct, frozen=True, kw_only=True):
    """One act, and its outcome."""

    stream: str
    sequence: int
    time: float
    source: Source
    act: Act | None
    """None if it is unreadable."""
    turn: int = 0
    answer: Answer = "none"
    by: str = ""
    """Who answered: `policy`, or the name of a person; empty if the recording does not have it."""
    flaw: str = ""
    """The reason why it can't be judged exactly."""


class _Envelope(Struct):
    id: Raw | UnsetType = UNSET
    method: str = ""
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class _HubNote(Struct):
    """The members of the hub's notes that say something of acts; its `session/notes.py` has all."""

    hub: str
    agent: str = ""
    cwd: str = ""
    folders: list[str] = []
    request: str = ""
    by: str = ""
    result: Raw | UnsetType = UNSET


class _Pending(Struct, kw_only=True):
    """An act that waits for its answer."""

    recorded: RecordedAct
    options: Mapping[str, str] = {}
    """Of a request for permission: the kinds of the options by their ids."""
    file: tuple[str, str | None] | None = None
    """Of a lent file: its path, and the text that is written, or None if the answer holds the whole file."""
    about: int = 0
    """Of a question of the hub's own: the agent's request that waits for it."""
    is_question: bool = False


_envelopes = json_decoder(_Envelope)
_notes = json_decoder(_HubNote)
_members = json_decoder(dict[str, Raw])
_values = json_decoder(dict[str, Any])
_texts = json_decoder(str)
_UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class ActFold:
    """Reads the entries of one stream, in order."""

    def __init__(
        self,
        *,
        stream: str,
        agent: str = "",
        cwd: str = "",
        home: str = "",
        known: KnownActs | None = None,
    ) -> None:
        """`known` is shared by folds that are used one after the other: sessions are similar."""
        self._stream = stream
        self._is_hubs = False
        self._known = KnownActs() if known is None else known
        self._resolve = partial(resolve, real_path=self._known.real_path)
        self._setting = self._known.setting(agent, [cwd] if cwd else [], home)
        self._settings: dict[str, ActContext] = {}
        self._openings: dict[bytes, ActContext] = {}
        self._calls = ToolCalls()
        self._pending: dict[bytes, _Pending] = {}
        self._by_sequence: dict[int, bytes] = {}
        self._turn = 0
        self._prompts: set[bytes] = set()  # that are not answered: outside of turns, agents retell old ones
        self._announced: dict[tuple[str, str], tuple[int, float]] = {}
        self._requested: set[tuple[str, str]] = set()
        self._lent: list[Act] = []
        self._texts: OrderedDict[str, str] = OrderedDict()

    def add_runs(
        self, sequence: int, runs: Iterable[tuple[str, Sequence[bytes], float, bool]]
    ) -> Iterator[RecordedAct]:
        """Read the next entries by the run; return the acts that they complete. Nearly all are updates, most
        of them not about a call.
        """
        for direction, frames, time, _ in runs:
            for at, frame in enumerate(frames, sequence):
                is_update = direction == "to_client" and frame.startswith(UPDATES)
                if is_update and tells_no_call(frame):
                    continue
                found = read_update(frame) if is_update else None
                if found is None:
                    yield from self._add(at, direction, frame, time)
                elif found[1].tag in _CALL_TAGS:
                    self._on_call(at, *found, time)
            sequence += len(frames)

    def _add(self, sequence: int, direction: str, frame: bytes, time: float) -> Iterable[RecordedAct]:
        if direction == "note":
            return self._on_note(frame) if frame.startswith(_HUB) else ()
        try:
            envelope = _envelopes.decode(frame)
        except _UNREADABLE:
            return ()
        if direction == "to_agent":
            return self._to_agent(envelope)
        if envelope.method == "session/update":
            found = read_update(frame)
            if found is not None and found[1].tag in _CALL_TAGS:
                self._on_call(sequence, *found, time)
        elif envelope.method and envelope.id is not UNSET:
            self._on_request(sequence, envelope, time)
        elif envelope.id is not UNSET:
            self._on_agents_answer(bytes(envelope.id), envelope.result)
        return ()

    def finish(self) -> Iterator[RecordedAct]:
        """Mark requests that are still open as unanswered."""
        for key in list(self._pending):
            yield from self._settle(key, "none")
        yield from self._end_turn()

    def _on_agents_answer(self, key: bytes, result: Raw | UnsetType) -> None:
        self._prompts.discard(key)
        setting = self._openings.pop(key, None)
        if setting is not None and isinstance(name := _dict(result).get("sessionId"), str):
            self._settings[name] = setting

    # What was said to the agent.

    def _to_agent(self, envelope: _Envelope) -> Iterator[RecordedAct]:
        if envelope.method == "session/prompt":
            yield from self._end_turn()
            self._turn += 1
            self._prompts.add(bytes(envelope.id) if envelope.id is not UNSET else b"")
        elif envelope.method in _OPENINGS and envelope.id is not UNSET:
            params = _dict(envelope.params)
            folders = [params.get("cwd"), *_list(params.get("additionalDirectories"))]
            roots = [folder for folder in folders if isinstance(folder, str)]
            setting = self._known.setting(self._setting.agent, roots, self._setting.home)
            if roots:
                self._openings[bytes(envelope.id)] = setting
                self._setting = self._setting if self._setting.roots else setting
            if roots and isinstance(name := params.get("sessionId"), str):
                self._settings[name] = setting
        elif not envelope.method and envelope.id is not UNSET:
            yield from self._on_answer(bytes(envelope.id), envelope)

    def _on_answer(self, key: bytes, envelope: _Envelope) -> Iterator[RecordedAct]:
        pending = self._pending.get(key)
        if pending is None:
            return
        if pending.is_question:
            answer = _chosen(envelope.result, pending.options)
        elif envelope.error is not UNSET:
            answer = "deny" if _dict(_dict(envelope.error).get("data")).get("reason") == "policy" else "none"
        else:
            answer = "allow"
            self._learn_text(pending, envelope.result)
        if self._is_hubs:  # its note says who answered
            pending.recorded = replace(pending.recorded, answer=answer)
        else:
            yield from self._settle(key, answer)

    def _settle(self, key: bytes, answer: Answer, by: str = "") -> Iterator[RecordedAct]:
        pending = self._pending.pop(key)
        if not pending.about:
            yield replace(pending.recorded, answer=answer, by=by or pending.recorded.by)

    def _learn_text(self, pending: _Pending, result: Raw | UnsetType) -> None:
        if pending.file is None:
            return
        path, text = pending.file
        content = text if text is not None else _dict(result).get("content")
        self._texts.pop(path, None)
        if isinstance(content, str) and len(content) <= MOST_CHARACTERS:
            self._texts[path] = content
            if len(self._texts) > MOST_TEXTS:
                self._texts.popitem(last=False)

    # Notes of a hub.

    def _on_note(self, frame: bytes) -> Iterator[RecordedAct]:
        try:
            note = _notes.decode(frame)
        except _UNREADABLE:
            return
        self._is_hubs = True
        if note.hub in ("made", "continued", "folders"):
            roots = [note.cwd] if note.cwd else list(self._setting.roots[:1])
            agent = note.agent if note.hub == "made" and note.agent else self._setting.agent
            self._setting = self._known.setting(agent, [*roots, *note.folders], self._setting.home)
        elif note.hub == "turn_ended":
            self._prompts.clear()
        elif note.hub == "settled" and note.request.isdigit():
            key = self._by_sequence.pop(int(note.request), None)
            pending = None if key is None else self._pending.get(key)
            if key is None or pending is None:
                return
            answer = pending.recorded.answer
            if pending.is_question:
                answer = _chosen(note.result, pending.options)
            if pending.about:
                self._on_own_answer(pending.about, answer, note.by)
            yield from self._settle(key, answer, note.by if pending.is_question else "")

    def _on_own_answer(self, sequence: int, answer: Answer, by: str) -> None:
        """Note a person's answer to the hub's question about a file or terminal."""
        waiting = self._pending.get(self._by_sequence.get(sequence, b""))
        if waiting is not None:
            waiting.recorded = replace(waiting.recorded, answer=answer, by=by)

    # What the agent said.

    def _on_call(self, sequence: int, session_id: str, update: CallUpdate, time: float) -> None:
        name = self._calls.take(session_id, update)
        if name and self._prompts:
            self._announced.setdefault((session_id, name), (sequence, time))

    def _on_request(self, sequence: int, envelope: _Envelope, time: float) -> None:
        recorded = RecordedAct(
            stream=self._stream, sequence=sequence, time=time, source="request", act=None, turn=self._turn
        )
        if envelope.method == "session/request_permission":
            pending = self._permission(recorded, envelope)
        elif envelope.method in (*_LENT, "terminal/create", PERMIT_METHOD):
            pending = self._lent_act(recorded, envelope)
        else:
            return
        key = bytes(envelope.id if envelope.id is not UNSET else b"")
        self._pending[key] = pending
        self._by_sequence[sequence] = key

    def _permission(self, recorded: RecordedAct, envelope: _Envelope) -> _Pending:
        """Requests of the same words about a call of the same words are one act."""
        is_own = self._is_hubs and bytes(envelope.id or b"").startswith(_HUBS_ID)
        named = None if is_own else self._names_in(envelope.params)
        if named is None:
            return self._read_permission(recorded, envelope)
        session_id, name, key = named
        pending = self._known.remember(key, lambda: self._read_permission(recorded, envelope))
        if (act := pending.recorded.act) is not None:
            self._requested.add((session_id, name))
            act = replace(act, session_id=session_id)
        return replace(pending, recorded=replace(recorded, act=act, flaw=pending.recorded.flaw))

    def _names_in(self, params: Raw | UnsetType) -> tuple[str, str, object] | None:
        """The session and the call of a request, and all else that it depends on; None if nobody can say."""
        try:
            members = _members.decode(params if params is not UNSET else b"{}")
            call = _members.decode(members.pop("toolCall", b""))
            session_id, name = map(_texts.decode, (members.pop("sessionId"), call.pop("toolCallId")))
        except (*_UNREADABLE, KeyError):
            return None
        if (said := self._calls.said(session_id, name)) is None:
            return None
        setting = self._settings.get(session_id, self._setting)
        rest = tuple((key, bytes(value)) for key, value in (*members.items(), *call.items()))
        return session_id, name, (setting, len(members), rest, said)

    def _read_permission(self, recorded: RecordedAct, envelope: _Envelope) -> _Pending:
        try:
            params = Raw(b"{}") if envelope.params is UNSET else envelope.params
            request = read(params, v1.RequestPermissionRequest)
        except SchemaError:
            return _Pending(recorded=replace(recorded, flaw=UNREADABLE), is_question=True)
        options = {option.option_id: option.kind for option in usable_options(request.options)}
        if self._is_hubs and bytes(envelope.id or b"").startswith(_HUBS_ID):
            about = _dict(_dict(_dict(envelope.params).get("_meta")).get("dragoman")).get("about")
            number = int(about) if isinstance(about, str) and about.isdigit() else 0
            return _Pending(recorded=recorded, options=options, about=number, is_question=True)
        session_id, call = request.session_id, request.tool_call
        self._requested.add((session_id, call.tool_call_id))
        known_call = self._calls.find_call(session_id, call)
        act = self._act_of_call(session_id, call, known_call)
        recorded = replace(recorded, act=act, flaw=_flaw(act))
        return _Pending(recorded=recorded, options=options, is_question=True)

    def _act_of_call(
        self, session_id: str, call: v1.ToolCallUpdate, known_call: v1.ToolCallUpdate | None
    ) -> Act:
        setting = self._settings.get(session_id, self._setting)
        calls = [call] if known_call is None else [call, known_call]
        is_told_alike = not any(isinstance(each.raw_input, str) for each in calls) and (
            known_call is None or known_call.raw_input == call.raw_input
        )
        act = self._act_known_by(
            [setting, *(write(essence(each, keeps_texts=not is_told_alike)) for each in calls)],
            session_id,
            lambda: self._resolve(act_of_call(call, setting, known_call=known_call)),
        )
        if not act.changes or not is_told_alike:
            return act
        diffs = [item for each in calls for item in _list(each.content) if isinstance(item, v1.Diff)]
        changes = [change for change in changes_in(replace(call, content=diffs)) if change.path]
        return replace(
            act,
            changes=tuple(
                replace(change, path=known.path) for known, change in zip(act.changes, changes, strict=True)
            ),
        )

    def _act_known_by(self, parts: Sequence[object], session_id: str, make: Callable[[], Act]) -> Act:
        key = blake2b(repr(parts).encode(errors="surrogatepass"), digest_size=16).digest()
        return replace(self._known.remember(key, make), session_id=session_id)

    def _lent_act(self, recorded: RecordedAct, envelope: _Envelope) -> _Pending:
        recorded = replace(recorded, source="lent")
        params = _dict(envelope.params)
        session_id, path = params.get("sessionId"), params.get("path")
        session_id = session_id if isinstance(session_id, str) else ""
        setting = self._settings.get(session_id, self._setting)
        file: tuple[str, str | None] | None = None
        act: Act | None = None
        kind = _LENT.get(envelope.method)
        if kind is not None and isinstance(path, str) and "\0" not in path:
            # A guard is asked about the place that is really meant.
            real = self._known.real_path(path)
            content = params.get("content") if kind == "write" else None
            text = content if isinstance(content, str) else None
            is_whole = not params.get("limit") and (params.get("line") or 0) in (0, 1)
            if kind == "write" or (envelope.method == "fs/read_text_file" and is_whole):
                file = (real, text)
            act = self._file_act(kind, real, setting, session_id, text)
        elif envelope.method == "terminal/create":
            params.pop("sessionId", None)
            act = self._act_known_by(
                [setting, params], session_id, lambda: self._act_of_terminal(params, setting)
            )
        elif envelope.method == PERMIT_METHOD:
            try:
                act = self._resolve(act_of_access(read_access(params), setting), reads=False)
            except ErrorAnswer:
                act = None
        if act is None:
            return _Pending(recorded=replace(recorded, flaw=UNREADABLE))
        self._lent.append(act)
        return _Pending(recorded=replace(recorded, act=act, flaw=_flaw(act)), file=file)

    def _act_of_terminal(self, params: dict[str, Any], setting: ActContext) -> Act:
        act = act_of_request("terminal/create", params, setting)
        assert act is not None  # every use of this method is one
        return self._resolve(act)

    def _file_act(self, kind: str, path: str, setting: ActContext, session_id: str, text: str | None) -> Act:
        verb: Literal["read", "write"] = "write" if kind == "write" else "read"
        make = partial(act_of_file, verb, path, setting)
        act = self._known.remember((verb, path, setting), lambda: self._resolve(make(), reads=False))
        act = replace(act, session_id=session_id)
        if verb == "read" or text is None:
            return act
        # What the file held then is what the recording says of it; the disk of today says something else.
        change = FileChange(path=path, source="write", new=text, old=self._texts.get(path))
        return replace(act, changes=(change,))

    # What it did without asking.

    def _end_turn(self) -> Iterator[RecordedAct]:
        for (session_id, name), (sequence, time) in self._announced.items():
            if (session_id, name) in self._requested:
                continue
            said = self._calls.said(session_id, name)
            read_call = partial(self._read_announced, session_id, name)
            setting = self._settings.get(session_id, self._setting)
            act, has_terminal = self._known.remember((setting, said), read_call) if said else read_call()
            act = replace(act, session_id=session_id)
            has_effect = (
                act.script is not None or act.writes or act.fetches or not act.kinds <= {*READS, "other"}
            )
            if has_effect and not self._is_lent(act, has_terminal=has_terminal):
                yield RecordedAct(
                    stream=self._stream,
                    sequence=sequence,
                    time=time,
                    source="announced",
                    act=act,
                    turn=self._turn,
                    flaw=_flaw(act),
                )
        self._announced.clear()
        self._requested.clear()
        self._lent.clear()

    def _read_announced(self, session_id: str, name: str) -> tuple[Act, bool]:
        """The act of a call, and whether it shows a terminal."""
        blank = v1.ToolCallUpdate(tool_call_id=name)
        call = self._calls.find_call(session_id, blank) or blank
        has_terminal = any(isinstance(item, v1.Terminal) for item in _list(call.content))
        return self._act_of_call(session_id, call, None), has_terminal

    def _is_lent(self, act: Act, *, has_terminal: bool) -> bool:
        """Whether the agent used a file or terminal of the client, where it was decided."""
        if has_terminal:
            return any(lent.script is not None for lent in self._lent)
        if act.script is not None:
            return any(lent.script and lent.script.commands == act.script.commands for lent in self._lent)
        paths = {path for lent in self._lent if lent.writes for path in lent.real_paths}
        return bool(act.real_paths) and paths.issuperset(act.real_paths)


def _flaw(act: Act) -> str:
    """A secret in a file or in the value of a variable decides nothing; one in a command or a path may."""
    texts = [*act.paths, *act.unknown_texts, act.title, act.tool, act.cwd]
    texts += [act.script.text] if act.script is not None else []
    return HIDDEN if any(REDACTED in text for text in texts) else ""


def _chosen(result: Raw | UnsetType, options: Mapping[str, str]) -> Answer:
    outcome = _dict(_dict(result).get("outcome"))
    kind = options.get(str(outcome.get("optionId")), "") if outcome.get("outcome") == "selected" else ""
    return "allow" if kind.startswith("allow") else "deny" if kind.startswith("reject") else "none"


def _dict(value: object) -> dict[str, Any]:
    if isinstance(value, Raw):
        try:
            return _values.decode(value)
        except _UNREADABLE:
            return {}
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
