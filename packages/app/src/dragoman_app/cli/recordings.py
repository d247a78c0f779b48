"""Recordings in files, for the commands that test, show or replay them.

A transcript of ours is read, one of another recorder, and plain frames one a line, whose directions follow
from their methods. What an examination noted beside the frames (marks and facts) travels as notes of the
transcript, so that a file can be judged again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from dragoman.decoders import convert
from dragoman.schema.method import Kind
from dragoman.schema.v1.methods import METHODS
from dragoman.system.replacement import replace_private
from dragoman_app.apps.files import open_private
from dragoman_check.recording import Frame, Recording, Stretch
from dragoman_local.journal.contract import Direction, Entry, StreamInfo
from dragoman_local.journal.transcript import header, line, read_transcript


def read_entries(path: str | os.PathLike[str]) -> list[Entry]:
    """Return all entries of a file. Raises `OSError`, and `BadTranscript` for a file that
    is not a recording.
    """
    lines = Path(path).read_bytes().splitlines(keepends=True)
    if _is_plain(lines):
        return list(_plain_entries(lines))
    return list(read_transcript(lines))


def read_recording(path: str | os.PathLike[str]) -> Recording:
    """Return a file in the form for rules."""
    return recording_of(read_entries(path))


def recording_of(entries: Iterable[Entry]) -> Recording:
    """Return entries in the form for rules."""
    recording = Recording(frames=[], marks=[], facts={})
    complaints: list[str] = []
    for entry in entries:
        if entry.direction != "note":
            number = len(recording.frames) + 1
            recording.frames.append(Frame(number, entry.direction, entry.time, entry.frame))
            continue
        note = _object(entry.frame)
        if note.get("event") == "mark":
            recording.marks.append(convert({**note, "event": None}, Stretch))
        elif note.get("event") == "fact":
            recording.facts[str(note.get("name"))] = note.get("value")
        elif note.get("event") == "exit":
            recording.facts.setdefault("exit", note.get("status"))
        elif note.get("event") == "stderr":
            complaints.append(str(note.get("text")))
    recording.stderr = "\n".join(complaints).encode(errors="replace")
    return recording


def write_recording(
    path: str | os.PathLike[str],
    recording: Recording,
    *,
    title: str,
    hide: Callable[[bytes], bytes] = bytes,
) -> None:
    """Write a recording as a transcript, changed by `hide`; an existing file is not overwritten."""
    at = recording.frames[-1].at if recording.frames else 0.0
    notes: list[dict[str, Any]] = [
        *(
            {"event": "stderr", "text": text}
            for text in recording.stderr.decode(errors="replace").splitlines()
        ),
        *({"event": "mark", **msgspec.to_builtins(mark)} for mark in recording.marks),
        *({"event": "fact", "name": name, "value": value} for name, value in recording.facts.items()),
    ]
    with open_private(path, how="create") as file:
        file.write(hide(header(StreamInfo(stream=Path(path).stem, title=title)).rstrip(b"\n")) + b"\n")
        for frame in recording.frames:
            file.write(line(Entry(frame.direction, hide(frame.raw), frame.at)))
        for note in notes:
            file.write(line(Entry("note", hide(msgspec.json.encode(note)), at)))


def hide_in_file(path: Path, hide: Callable[[bytes], bytes]) -> None:
    """Hide the secrets in a recording that another process wrote."""
    lines = path.read_bytes().splitlines()
    with replace_private(path) as file:
        file.writelines(hide(text) + b"\n" for text in lines)


def _is_plain(lines: list[bytes]) -> bool:
    """Whether the first line that says anything is a frame and not an entry of a recorder."""
    first = next((_object(text) for text in lines if text.strip()), {})
    return (
        "dir" not in first
        and "transcript" not in first
        and bool(first.keys() & {"method", "result", "error"})
    )


def _plain_entries(lines: list[bytes]) -> Iterator[Entry]:
    request_directions: dict[Any, Direction] = {}  # who asked under an id last
    for number, text in enumerate(lines):
        frame = text.strip()
        if frame:
            yield Entry(_direction(_object(frame), request_directions), frame, float(number))


def _direction(message: dict[str, Any], request_directions: dict[Any, Direction]) -> Direction:
    method, key = message.get("method"), repr(message.get("id"))
    if not isinstance(method, str):
        return "to_client" if request_directions.pop(key, "to_agent") == "to_agent" else "to_agent"
    kind: Kind = "request" if "id" in message else "notification"
    for_client = METHODS.get(method, kind=kind, receiver="client") is not None
    for_agent = METHODS.get(method, kind=kind, receiver="agent") is not None
    direction: Direction = "to_client" if for_client and not for_agent else "to_agent"
    if "id" in message:
        request_directions[key] = direction
    return direction


def _object(text: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
