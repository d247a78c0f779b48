"""The control: who wrote a line, guessed from transcripts alone, as tools do that see no tree.

A line belongs to the turn of the last tool call whose new text contains it, and to a person if there is none.
The transcripts are those that `dragoman sessions export` writes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tests.lab_memory.stage import Stage


class NoTranscript(AssertionError):
    """The control would look worse than it is."""


def transcripts(stage: Stage) -> list[list[dict[str, Any]]]:
    """The frames of all sessions, the oldest first."""
    listed = stage.dragoman("sessions", "--json", "list", "--limit", "0")
    if listed.returncode:
        raise NoTranscript(listed.stderr.decode())
    streams = sorted(json.loads(listed.stdout)["sessions"], key=lambda row: row["created"])
    found = []
    for row in streams:
        done = stage.dragoman("sessions", "export", row["stream"])
        if done.returncode:
            raise NoTranscript(done.stderr.decode())
        found.append([json.loads(line) for line in done.stdout.splitlines()][1:])
    return found


LONG = 20
"""Characters of a line that is taken for the same line in another file."""


class TranscriptBlame:
    """Answers by the text of a line: calls for its file come first, then long lines of any file.

    `is_careful` leaves out what a call shows in its old text, too.
    """

    def __init__(self, found: Iterable[list[dict[str, Any]]], *, is_careful: bool = False) -> None:
        self._prompts: dict[tuple[str, str], str] = {}
        prompt = ""
        for frames in found:
            for row in frames:
                message = row["msg"]
                params = message.get("params") or {}
                if message.get("method") == "session/prompt":
                    prompt = "".join(block.get("text", "") for block in params["prompt"])
                for content in (params.get("update") or {}).get("content") or ():
                    if isinstance(content, dict) and content.get("type") == "diff":
                        old = set((content.get("oldText") or "").splitlines()) if is_careful else set()
                        for line in content["newText"].splitlines():
                            if line in old:
                                continue
                            self._prompts[content["path"], line] = prompt
                            if len(line.strip()) >= LONG:
                                self._prompts["", line] = prompt

    def blame(self, path: str, lines: Iterable[str]) -> list[tuple[str, str | None]]:
        """For each line who wrote it (`agent` or `person`), and the prompt; the path is absolute."""
        found = [self._prompts.get((path, line)) or self._prompts.get(("", line)) for line in lines]
        return [("person" if prompt is None else "agent", prompt) for prompt in found]
