"""The sandbox that a recorded session would need: the smallest profile, its written paths and its hosts.

Only what the recording says: what commands wrote, and what they reached over the network, nobody wrote down.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Final, Literal

from msgspec import Struct

from dragoman_local.workspace.policy.act import Act
from dragoman_local.workspace.policy.program_calls import read_call
from dragoman_local.workspace.proof.recorded_acts import RecordedAct

_HOST: Final = re.compile(
    r"\b(?:https?|wss?|ftps?|ssh|git)://(?:[^/@\s'\"]*@)?(\[[0-9a-f:]+\]|[\w.-]+)|\b[\w.-]+@([\w.-]+\.\w+):",
    re.IGNORECASE,
)


class SessionNeeds(Struct, frozen=True, kw_only=True):
    """The needs of a session's acts, without the refused ones."""

    profile: Literal["read-only", "workspace"]
    writes: tuple[str, ...] = ()
    """Changed files and folders at the top of the session's folders."""
    outside: tuple[str, ...] = ()
    """Changed folders outside of them."""
    hosts: tuple[str, ...] = ()
    """Hosts in commands and in inputs of tools."""
    has_commands: bool = False


def needs_of(acts: Iterable[RecordedAct]) -> SessionNeeds:
    writes: dict[str, None] = {}
    outside: dict[str, None] = {}
    hosts: dict[str, None] = {}
    has_commands = may_write = False
    for act in (each.act for each in acts if each.act is not None and each.answer != "deny"):
        hosts |= dict.fromkeys(_hosts_in(act))
        if act.script is not None:
            has_commands = True
            may_write |= act.script.objection is not None or not all(
                read_call(words).only_reads for words in act.script.commands
            )
        for path in act.written_paths if act.script is None else ():
            root = next((root for root in act.roots if act.is_in_roots(path) and path.startswith(root)), None)
            if root is None:
                outside[os.path.dirname(path)] = None
            else:
                writes[os.path.relpath(path, root).split("/")[0]] = None
    is_writer = bool(writes or outside or may_write)
    return SessionNeeds(
        profile="workspace" if is_writer else "read-only",
        writes=tuple(sorted(writes)),
        outside=tuple(sorted(outside)),
        hosts=tuple(sorted(hosts)),
        has_commands=has_commands,
    )


def _hosts_in(act: Act) -> Iterator[str]:
    for text in (*act.unknown_texts, act.script.text if act.script is not None else act.title):
        for match in _HOST.finditer(text):
            yield (match[1] or match[2]).lower()
