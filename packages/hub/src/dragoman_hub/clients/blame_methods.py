"""`_dragoman/hub/blame`: a user sees who wrote the lines of a session's file, and after which prompt.

Lines may come from turns of any session in that folder. Of a session that the client may not see, nothing is
told but that it was an agent or a command.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import groupby

from msgspec import Raw

from dragoman.errors import ErrorAnswer
from dragoman.wire.codes import invalid_params
from dragoman.wire.envelope import JsonObject
from dragoman_hub.clients.client import ClientHub, HubClient
from dragoman_hub.clients.views import SessionViews
from dragoman_hub.lending.line_authors import AuthoredFile, LineAuthors, OwnTurn, Place
from dragoman_hub.session.frames import value_of
from dragoman_local.workspace.folder_memory import BlamedLine

PROMPT = 200
"""Characters of a prompt: as much as a line of a screen has."""


class BlameMethods:
    """The scope was checked at the gate."""

    def __init__(self, hub: ClientHub, views: SessionViews) -> None:
        self._hub = hub
        self._views = views
        self._authors = LineAuthors(hub.changes)

    async def blame(self, client: HubClient, params: dict[str, Raw]) -> JsonObject:
        """A file's lines, and the ranges of them that have one author."""
        session = await client.session(params)
        far_side = self._hub.changes.far_side(session.id)
        if far_side is not None:
            raise ErrorAnswer(-32002, f"the files of this session are on {far_side.place}: ask there")
        first, last = value_of(params.get("first"), 1), value_of(params.get("last"))
        if not isinstance(first, int) or not isinstance(last, int | None):
            raise invalid_params("first or last is not a number")
        if not 1 <= first <= (first if last is None else last):
            raise invalid_params("first and last are not a range of lines")
        file = await self._authors.find(
            (session.state.cwd, *session.state.folders),
            client.text(params, "path"),
            grant=client.grant,
            journal=self._hub.journal,
        )
        if first > max(len(file.lines), 1):
            raise invalid_params(f"the file has {len(file.lines)} lines")
        wanted = file.lines[first - 1 : last]
        seen = await self._seen(client, file, wanted)
        return {
            "path": file.path,
            "text": "".join(f"{text}\n" for text in file.texts[first - 1 : last]),
            "first": first,
            "isCovered": file.is_covered,
            "isCut": file.is_cut,
            "ranges": await asyncio.to_thread(_ranges, wanted, seen),
        }

    async def _seen(
        self, client: HubClient, file: AuthoredFile, lines: Sequence[BlamedLine]
    ) -> Mapping[Place, OwnTurn]:
        """The turns of these lines whose sessions the client may see."""
        turns = {place: file.turns[place] for line in lines if (place := _place(line)) in file.turns}
        sessions = {turn.session for turn in turns.values()}
        visible = {name for name in sessions if await self._views.may_see(client, name)}
        return {place: turn for place, turn in turns.items() if turn.session in visible}


def _place(line: BlamedLine) -> Place:
    return line.session, line.turn


def _ranges(lines: Sequence[BlamedLine], seen: Mapping[Place, OwnTurn]) -> list[JsonObject]:
    ranges: list[JsonObject] = []
    for about, group in groupby(lines, lambda line: _about(line, seen.get(_place(line)))):
        numbers = [line.line for line in group]
        ranges.append({"first": numbers[0], "last": numbers[-1], **about})
    return ranges


def _about(line: BlamedLine, turn: OwnTurn | None) -> JsonObject:
    if line.session is None:
        return {"by": line.by}
    if turn is None:
        return {"by": line.by, "isHidden": True}
    about = {
        "by": line.by,
        "sessionId": turn.session,
        "turn": line.turn,
        "cursor": str(turn.prompt_place or ""),
        "prompt": " ".join((line.prompt or "").split())[:PROMPT],
        "agent": line.agent,
        "model": line.model,
        "toolCall": line.tool_call,
        "answer": line.approved_by,
        "answeredBy": line.approver,
    }
    return {name: value for name, value in about.items() if value}
