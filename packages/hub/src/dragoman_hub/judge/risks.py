"""Adds to a permission request the risks that the reviewer's rules find in it.

A command, or a small text, is looked at before anybody is told of the request. A change is looked at while
people already see the request, and what was found is stored and told behind it. What cannot be judged is
said to be so. Whatever is found decides nothing: a policy does that (`hub_judge`), or a person.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from msgspec import Raw

from dragoman_hub.engine.live_session import EngineHub, LiveSession
from dragoman_hub.session import events as ev
from dragoman_hub.session.frames import encode_json
from dragoman_hub.session.state import OpenRequest
from dragoman_local.workspace.policy.judge import PermissionPrompt
from dragoman_local.workspace.policy.shell import UNTOLD
from dragoman_review.assessor import Assessor
from dragoman_review.risks import (
    AT_ONCE,
    LARGEST,
    Proposal,
    RiskJudgement,
    at_once,
    is_warm,
    judgement_failed,
    make_proposal,
    warm,
)

log = logging.getLogger(__name__)


def proposal_of(prompt: PermissionPrompt, *, most: int = LARGEST) -> Proposal:
    """Return the requested action as the reviewer describes it. New lines are searched in up to `most`
    characters: in a large change that would block the loop too long.
    """
    script = prompt.act.script
    return make_proposal(
        () if script is None or script.objection == UNTOLD else (script.text,),
        changes=prompt.texts,
        paths=prompt.act.written_paths,
        folders=prompt.act.roots,
        most=most,
    )


class RiskAssessor:
    """The assessor of a hub, with one worker for large requests. `on_late` gets risks that were found after
    the request was shown.
    """

    def __init__(self, hub: EngineHub, *, on_late: Callable[[LiveSession, OpenRequest], None]) -> None:
        self._hub = hub
        self._on_late = on_late
        self._assessor: Assessor | None = None
        self._is_warming = False

    async def aclose(self) -> None:
        if self._assessor is not None:
            await self._assessor.aclose()

    def warm_up(self) -> None:
        """Load the rules in the background when a client has come: a question will follow."""
        if not (self._is_warming or is_warm()):
            self._is_warming = True
            self._hub.owner.start(asyncio.to_thread(warm))

    def look(self, prompt: PermissionPrompt) -> dict[str, Raw] | None:
        """Return the risks before clients get a request; None if `look_longer` must be called then. Called in
        a thread.
        """
        try:
            proposal = proposal_of(prompt, most=AT_ONCE)
            judgement = at_once(proposal) if proposal.names_deeds else None
        except Exception:  # a mistake in a rule must not cost the request
            log.exception("the rules failed")
            judgement = judgement_failed("the rules failed")
        return {name: Raw(encode_json(value)) for name, value in _members(judgement).items()} or None

    async def look_longer(self, session: LiveSession, request: OpenRequest, prompt: PermissionPrompt) -> None:
        """Search for risks while people already see the request."""
        try:
            judgement = await self._judge(prompt)
        except Exception:  # as above; people see that nothing was judged
            log.exception("the rules failed")
            judgement = judgement_failed("the rules failed")
        if (
            judgement is not None and request.sequence in session.state.requests
        ):  # else nobody looks at it any more
            event = ev.RequestAssessed(sequence=request.sequence, members=_members(judgement))
            session.dispatch(event, lambda: self._announce(session, request.sequence))

    def _announce(self, session: LiveSession, sequence: int) -> None:
        request = session.state.requests.get(sequence)
        if request is not None:  # else it was settled meanwhile
            self._on_late(session, request)

    async def _judge(self, prompt: PermissionPrompt) -> RiskJudgement | None:
        proposal = await asyncio.to_thread(proposal_of, prompt)
        if proposal.is_empty:
            return None  # nothing was said of what would be done: to find nothing in that says nothing
        if self._assessor is None:
            self._assessor = Assessor()
        return await self._assessor.judge(proposal)


def _members(judgement: RiskJudgement | None) -> dict[str, Any]:
    members = {} if judgement is None else {"risks": judgement.risks, "risksNote": judgement.note or None}
    return {name: value for name, value in members.items() if value is not None}
