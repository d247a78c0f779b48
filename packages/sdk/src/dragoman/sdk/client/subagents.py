"""Subagents as a client sees them: the parent session of each, its state, and its last message.

An agent announces a child session with a `subagent_update` of the parent, and sends what happens there under
the child's own id. A tree takes the notifications of one connection and keeps what a person needs to see who
works for whom. It is pure and bounded: announcements beyond the limits are not kept. An early draft of the
protocol, which agents still speak, has `subagent_spawned` and `subagent_state_update` for the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from dragoman.decoders import decode_json
from dragoman.schema import subagent_words, v1
from dragoman.schema.base import Unknown, given
from dragoman.schema.codec import read
from dragoman.schema.errors import SchemaError

MOST_SUBAGENTS = 1024
"""The most subagents of one connection; real agents have a few."""

MOST_LEVELS = 16
"""The most levels below a session of a client."""

TAIL = 400
"""The most characters of a subagent's last text to keep."""

NAME = 80
"""The most characters of a name in a sentence; a title may be a whole task."""

ANNOUNCEMENTS = tuple(f'"{kind}"'.encode() for kind in subagent_words.ANNOUNCEMENTS)
"""Words that every frame contains if it announces or changes a subagent."""

_ENDS = {"cancelled": "cancelled", "error": "failed", "refusal": "refused"}


class Subagent(Struct, frozen=True, kw_only=True):
    """One child session."""

    id: str
    parent: str
    """The parent session."""
    title: str = ""
    description: str = ""
    state: str = ""
    """The last reported state: `running`, `requires_action`, `idle`, `unknown`; empty if there is none."""
    stop_reason: str = ""
    """The stop reason of its last turn, while it is idle."""
    can_cancel: bool = False

    @property
    def name(self) -> str:
        return " ".join(self.title.split())[:NAME] or self.id

    @property
    def is_running(self) -> bool:
        return self.state in ("running", "requires_action")

    @property
    def standing(self) -> str:
        """The subagent's state in a word or two."""
        if self.state == "requires_action":
            return "waits for an answer"
        if self.state == "idle":
            return _ENDS.get(self.stop_reason, "done")
        return self.state.replace("_", " ") or "started"


class SubagentTree:
    """The subagents of all sessions of one connection.

    tree = SubagentTree()
    tree.hear(notification)
    print(tree.requester(notification.session_id))
    """

    def __init__(self) -> None:
        self._subagents: dict[str, Subagent] = {}
        self._children: dict[str, list[str]] = {}
        self._tails: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._subagents)

    def __contains__(self, session_id: object) -> bool:
        return session_id in self._subagents

    def __iter__(self) -> Iterator[Subagent]:
        return iter(self._subagents.values())

    def get(self, session_id: str) -> Subagent | None:
        return self._subagents.get(session_id)

    # What is heard.

    def hear(self, notification: v1.SessionNotification) -> Subagent | None:
        """Read a notification; return the subagent that it announces or changes, if any."""
        session_id = notification.session_id
        if session_id in self._subagents:
            self._keep_words(session_id, notification.update)
        update = announcement_in(notification.update)
        if update is None:
            return None
        before = self._subagents.get(update.session_id)
        subagent = before or self._add(update.session_id, parent=session_id)
        if subagent is None:
            return None
        after = self._subagents[subagent.id] = _patch(subagent, update)
        return None if after == before else after

    def _add(self, session_id: str, *, parent: str) -> Subagent | None:
        """None if there is no room for it."""
        if session_id not in self._subagents and self._has_room(parent, session_id):
            self._subagents[session_id] = Subagent(id=session_id, parent=parent)
            self._children.setdefault(parent, []).append(session_id)
        return self._subagents.get(session_id)

    def _has_room(self, parent: str, session_id: str) -> bool:
        above = [parent, *(subagent.parent for subagent in self.lineage(parent))]
        return len(self._subagents) < MOST_SUBAGENTS and len(above) <= MOST_LEVELS and session_id not in above

    def _keep_words(self, session_id: str, update: v1.SessionUpdate | Unknown) -> None:
        match update:
            case v1.AgentMessageChunk(content=v1.TextContent(text=text)):
                self._tails[session_id] = (self._tails.get(session_id, "") + text)[-TAIL:]
            case v1.ToolCall(title=str(title)) if title:
                self._tails[session_id] = f"{title}\n"[-TAIL:]

    # Who works for whom.

    def last_line(self, session_id: str) -> str:
        """The last line of a subagent's text, or the last tool that it started to use."""
        lines = [line.strip() for line in self._tails.get(session_id, "").splitlines()]
        return next((line for line in reversed(lines) if line), "")

    def lineage(self, session_id: str) -> list[Subagent]:
        """The subagent, its parent, and so on; empty for a session of the client."""
        subagents = []
        subagent = self._subagents.get(session_id)
        while subagent is not None:
            subagents.append(subagent)
            subagent = self._subagents.get(subagent.parent)
        return subagents

    def root_of(self, session_id: str) -> str:
        """The client's session at the root of this one; the session itself, unless it is a subagent."""
        subagents = self.lineage(session_id)
        return subagents[-1].parent if subagents else session_id

    def children_of(self, session_id: str) -> list[Subagent]:
        """The direct subagents of this session, in the order of their announcements."""
        return [self._subagents[child] for child in self._children.get(session_id, ())]

    def below(self, session_id: str, level: int = 0) -> Iterator[tuple[int, Subagent]]:
        """All subagents below this session with their levels, each before its own subagents."""
        for subagent in self.children_of(session_id):
            yield level, subagent
            yield from self.below(subagent.id, level + 1)

    def requester(self, session_id: str) -> str:
        """The chain of parents: `linter, for reviewer, for main session`; empty for a session of the
        client.
        """
        names = [subagent.name for subagent in self.lineage(session_id)]
        return ", for ".join([*names, "main session"]) if names else ""


MARKS = {"done": "✓", "running": "◐", "waits for an answer": "?", "failed": "✗", "cancelled": "✗"}


def tree_lines(tree: SubagentTree, session_id: str) -> Iterator[str]:
    """All subagents of a session, one line each, with state and last line of text. Not sanitized."""
    for level, subagent in tree.below(session_id):
        last = tree.last_line(subagent.id)
        mark = MARKS.get(subagent.standing, "·")
        words = f" — {last}" if last else ""
        yield f"{'  ' * level}{mark} {subagent.name}: {subagent.standing}{words}"


def _patch(subagent: Subagent, update: v1.SubagentUpdate) -> Subagent:
    """What an update leaves out stays as it was, and null takes it back."""
    changes: dict[str, Any] = {}
    if update.title is not UNSET:
        changes["title"] = update.title or ""
    if update.description is not UNSET:
        changes["description"] = update.description or ""
    if update.capabilities is not UNSET:
        capabilities = update.capabilities or None
        changes["can_cancel"] = capabilities is not None and bool(given(capabilities.cancel, None))
    if update.state is not UNSET:
        changes.update(_state_of(update.state))
    return replace(subagent, **changes)


def _state_of(state: v1.StateUpdate | None) -> dict[str, str]:
    if state is None:
        return {"state": "", "stop_reason": ""}
    if isinstance(state, Unknown):
        return {"state": state.tag, "stop_reason": ""}
    reason = getattr(state, "stop_reason", "")
    is_failed = not reason and getattr(state, "error", None) not in (UNSET, None)
    return {
        "state": str(state.__struct_config__.tag),
        "stop_reason": "error" if is_failed else reason or "",
    }


MAY_ANNOUNCE = (v1.SubagentUpdate, Unknown)
"""Updates that may contain an announcement."""


def announcement_in(update: v1.SessionUpdate | Unknown) -> v1.SubagentUpdate | None:
    """Return the subagent in an update, also in the form of the early draft."""
    if isinstance(update, v1.SubagentUpdate):
        return update
    return _of_draft(update) if isinstance(update, Unknown) else None


def _of_draft(update: Unknown) -> v1.SubagentUpdate | None:
    if update.tag not in subagent_words.ANNOUNCEMENTS:
        return None
    try:
        members = subagent_words.as_subagent_update(decode_json(update.raw, dict[str, Any]))
        announcement = read(msgspec.json.encode(members), v1.SessionUpdate)
    except (msgspec.MsgspecError, SchemaError):
        return None
    return announcement if isinstance(announcement, v1.SubagentUpdate) else None
