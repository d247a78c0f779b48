"""Golden transcripts: compares a conversation with an earlier one that a person has approved.

    assert_golden(transcript, "tests/golden/echo/hello.ndjson")

The file holds one line a frame, readable and in order. What differs from run to run is replaced before
comparing: ids by their number of first appearance (and their kind), times, and whatever `replace` names. To
accept what is new, run with `--update-golden` or set `DRAGOMAN_UPDATE_GOLDEN=1`, and read the difference
before committing.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from dragoman.testing.transcript import TranscriptFrame, other_party
from dragoman.wire.envelope import Json, JsonObject

UPDATE = "DRAGOMAN_UPDATE_GOLDEN"

KINDS = {
    "sessionId": "session",
    "toolCallId": "call",
    "terminalId": "terminal",
    "messageId": "message",
    "elicitationId": "elicitation",
}
"""Fields with a generated id, and our name for it."""

_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)")


def assert_golden(
    frames: Iterable[TranscriptFrame | bytes],
    path: str | os.PathLike[str],
    *,
    update: bool | None = None,
    replace: Mapping[str, str] | None = None,
) -> None:
    """Compare a transcript with the file, or write the file if an update was requested.

        transcript = []
        async with talking_to(agent, transcript=transcript) as handle:
            await handle.new_session(cwd="/tmp")
        assert_golden(transcript, "golden/hello.ndjson")

    Read the difference before you commit an update.
    """
    lines = normalise(frames, replace=replace)
    file = Path(path)
    if update or (update is None and os.environ.get(UPDATE, "0") not in ("", "0")):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return
    if not file.exists():
        raise AssertionError(f"{file} does not exist; run with --update-golden to write it, and read it")
    golden_lines = file.read_text(encoding="utf-8").splitlines()
    if lines != golden_lines:
        difference = "\n".join(
            difflib.unified_diff(golden_lines, lines, str(file), "this run", lineterm="", n=2)
        )
        raise AssertionError(f"what passed is not what is in {file}:\n{difference}")


def normalise(
    frames: Iterable[TranscriptFrame | bytes], *, replace: Mapping[str, str] | None = None
) -> list[str]:
    """Return one line of JSON for each frame, without anything that differs between runs.

        lines = normalise(transcript, replace={"/home/ann": "<home>"})

    Ids and times become names; `replace` names what else differs.
    """
    names = _Names(replace or {})
    return [names.line(frame) for frame in frames]


class _Names:
    """Gives the same name to the same thing, in order of appearance."""

    def __init__(self, replace: Mapping[str, str]) -> None:
        self._replace = replace
        self._names_by_value: dict[tuple[str, Json], str] = {}
        self._counts: dict[str, int] = {}

    def line(self, frame: TranscriptFrame | bytes) -> str:
        transcript_frame = frame if isinstance(frame, TranscriptFrame) else None
        text = frame.frame if isinstance(frame, TranscriptFrame) else frame
        fields: JsonObject = {} if transcript_frame is None else {"to": transcript_frame.to}
        try:
            value = json.loads(text)
        except ValueError:
            fields["text"] = self._text(text.decode(errors="backslashreplace"))
        else:
            fields["frame"] = self._envelope(value, transcript_frame)
        return json.dumps(fields, ensure_ascii=False)

    def _envelope(self, value: object, frame: TranscriptFrame | None) -> Json:
        if not isinstance(value, dict) or "id" not in value or isinstance(value["id"], dict | list):
            return self._value(value)
        # An id belongs to who asked: the sender of a request, the receiver of an answer.
        asker = "" if frame is None else other_party(frame.to) if "method" in value else frame.to
        rest = self._value({name: part for name, part in value.items() if name != "id"})
        id_name = None if value["id"] is None else self._name(f"{asker}-id".lstrip("-"), value["id"])
        return {name: id_name if name == "id" else rest[name] for name in value}

    def _value(self, value: object, member: str = "") -> Json:
        if isinstance(value, dict):
            return {name: self._value(part, name) for name, part in value.items()}
        if isinstance(value, list):
            return [self._value(part, member) for part in value]
        if not isinstance(value, str):
            return value
        if member in KINDS:
            return self._name(KINDS[member], value)
        return self._text(value)

    def _text(self, text: str) -> str:
        for old, new in self._replace.items():
            text = text.replace(old, new)
        text = _TIME.sub("<time>", text)
        return _UUID.sub(lambda match: self._uuid(match[0]), text)

    def _uuid(self, text: str) -> str:
        """An id that was met under its own name keeps it wherever it stands."""
        for kind in KINDS.values():
            if (kind, text) in self._names_by_value:
                return self._names_by_value[kind, text]
        return self._name("uuid", text)

    def _name(self, kind: str, value: object) -> str:
        key = (kind, (type(value).__name__, value) if kind.endswith("id") and kind != "uuid" else value)
        if key not in self._names_by_value:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._names_by_value[key] = f"<{kind}-{self._counts[kind]}>"
        return self._names_by_value[key]
