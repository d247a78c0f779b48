"""Permissions for one act: allowed when an agent asked, and not asked again when it then acts through us.

A grant holds what was shown: the command with its folder and variables, or the change of a file. It is
used up by one act and ends with its turn. A No to the same act ends it, too.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from dragoman_local.workspace.policy.act import READS, Act
from dragoman_local.workspace.policy.changes import FileChange, result_of
from dragoman_local.workspace.policy.programs import AGENT_MARKS

MOST_GRANTS: Final = 256
"""Granted and not used yet; the oldest are forgotten, and asked about again."""


class Grant(Struct, frozen=True, kw_only=True):
    """One file that may be read or changed once, or one command that may be run once."""

    session_id: str
    verb: str
    subject: str
    changes: tuple[FileChange, ...] = ()
    """What was shown of the file's change."""


class Grants:
    """The grants of any number of sessions that are not used yet. Several threads may use them."""

    def __init__(self) -> None:
        self._grants: deque[Grant] = deque(maxlen=MOST_GRANTS)
        self._lock = threading.Lock()

    def add(self, act: Act) -> None:
        """An agent's request for permission was answered with yes."""
        with self._lock:
            self._grants.extend(_grants_in(act))

    def take_back(self, act: Act) -> None:
        """The same was answered with no."""
        refused = {(grant.session_id, grant.subject) for grant in _grants_in(act)}
        self._keep(lambda grant: (grant.session_id, grant.subject) not in refused)

    def use(self, act: Act) -> bool:
        """Whether something lent was granted before. A granted command or change is used up by this."""
        wanted = _grants_in(act)
        with self._lock:
            found = [self._find(grant) for grant in wanted]
            if not wanted or any(grant is None for grant in found):
                return False
            for want, grant in zip(wanted, found, strict=True):
                # Whoever may change a file may look at it first, and then still change it.
                if grant is not None and grant.verb == want.verb and grant in self._grants:
                    self._grants.remove(grant)
        return True

    def sessions(self) -> frozenset[str]:
        with self._lock:
            return frozenset(grant.session_id for grant in self._grants)

    def forget(self, session_id: str) -> None:
        """The turn of a session has ended."""
        self._keep(lambda grant: grant.session_id != session_id)

    def clear(self) -> None:
        self._keep(lambda _: False)

    def _find(self, want: Grant) -> Grant | None:
        near = [
            grant
            for grant in self._grants
            if (grant.session_id, grant.subject) == (want.session_id, want.subject)
        ]
        if want.verb == "read":
            return next((grant for grant in near if grant.verb in ("read", "edit")), None)
        return next((grant for grant in near if grant.verb == want.verb and _gives(grant, want)), None)

    def _keep(self, is_kept: Callable[[Grant], bool]) -> None:
        with self._lock:
            kept = [grant for grant in self._grants if is_kept(grant)]
            self._grants.clear()
            self._grants.extend(kept)


def _gives(grant: Grant, want: Grant) -> bool:
    """Whether a write gives the result that was shown. A write is one change, of the file as it is."""
    if want.verb != "edit":
        return True
    (write,) = want.changes
    return result_of(grant.changes, write.old) == write.new


def _grants_in(act: Act) -> list[Grant]:
    """What an act is about, as things that can be compared: files, or one command. A yes to changes that the
    agent has not told in one way is no yes to any of them.
    """
    if act.script is not None:
        return [Grant(session_id=act.session_id, verb="run", subject=_command(act))]
    verb = "edit" if act.kinds <= {"edit"} else "read" if act.kinds <= READS else None
    if verb is None or (verb == "edit" and act.doubts):
        return []
    return [
        Grant(
            session_id=act.session_id,
            verb=verb,
            subject=path,
            changes=tuple(change for change in act.changes if change.path == path),
        )
        for path in act.real_paths
    ]


def _command(act: Act) -> str:
    """The same words elsewhere, or with other variables, are another command: what is run may look at any of
    them, however harmless it is to programs that we know. Agents that mark all their commands do not say so
    when they ask.
    """
    assert act.script is not None
    text = repr(act.script.commands) if act.script.objection is None else act.script.text
    return repr((text, act.real_start, sorted(set(act.variables) - AGENT_MARKS)))
