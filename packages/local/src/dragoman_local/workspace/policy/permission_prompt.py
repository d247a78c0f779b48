"""How somebody is asked for permission: what is asked, and what may be answered."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from msgspec import Struct

from dragoman.schema import v1
from dragoman_local.workspace.policy.act import Act
from dragoman_local.workspace.policy.act_view import ActView
from dragoman_local.workspace.policy.audit import By
from dragoman_local.workspace.policy.changes import texts_of
from dragoman_local.workspace.policy.decision import PolicyDecision


class PermissionPrompt(Struct, frozen=True, kw_only=True):
    """One question to a person."""

    act: Act
    decision: PolicyDecision
    """Why it is asked."""
    view: ActView
    """All of it, for whoever draws it."""
    text: str
    """The same as text, ready to be printed: to draw a large change takes a while."""
    options: tuple[v1.PermissionOption, ...]
    """What may be answered. Their names are the agent's words."""
    meta: object = None
    """`_meta` of the request, if it was one."""

    @property
    def texts(self) -> tuple[v1.Diff, ...]:
        """What files would hold then, for whoever judges it."""
        return texts_of(self.act.changes, self.view.remarks)


class Settlement(NamedTuple):
    """What holds after a decision was written down."""

    decision: PolicyDecision
    option: str | None
    """The option that the agent is told; None if it is told that nothing was chosen."""
    kept: str = ""
    """The rule as which it is remembered, if it is."""


class PermissionChoice(Struct, frozen=True, kw_only=True):
    """An answer, from a place where several people can give it."""

    option_id: str | None
    by: By = "person"
    person: str = ""
    """The name by which the audit log knows who answered."""
    settlement: Settlement | None = None
    """What holds, if it is written down already."""


class Asker(Protocol):
    """Somebody who can be asked. Cancelling a question takes it back."""

    async def ask(self, act: PermissionPrompt) -> PermissionChoice | str | None:
        """The chosen option, or None if nothing was chosen."""
        ...
