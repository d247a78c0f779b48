"""What the reviewer's rules find in something that an agent asks permission for, beside the request.

A command, or a small text, is looked at before anybody is told of the request. A change is looked at while
people already see the request, and what was found is stored and told behind it. What cannot be judged is
said to be so. Whatever is found decides nothing: a policy does that (`hub_judge`), or a person.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import UNSET, Raw

from dragoman.schema import v1
from dragoman.schema.codec import read
from dragoman.schema.errors import SchemaError
from dragoman_hub.engine.live_session import EngineHub, LiveSession
from dragoman_hub.session import events as ev
from dragoman_hub.session.frames import encode_json
from dragoman_hub.session.state import OpenRequest
from dragoman_local.workspace.policy.act import Act, ActContext
from dragoman_local.workspace.policy.act_reader import act_of_call
from dragoman_local.workspace.policy.changes import remarks_in, texts_of
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


def proposal_of(act: Act, texts: Sequence[v1.Diff], *, most: int = LARGEST) -> Proposal:
    """What would be done, in the reviewer's words. Which lines are new is looked for in up to `most`
    characters: in a large change that takes too long for a loop.
    """
    return make_proposal(
        () if act.script is None else (act.script.text,),
        changes=texts,
        paths=act.written_paths,
        folders=act.roots,
        most=most,
    )


class RiskAssessor:
    """One for a hub, with one worker for what is large. `on_late` hears of what was found after the request
    was shown.
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
        """A client has come, so something will be asked: the rules are loaded beside the loop."""
        if not (self._is_warming or is_warm()):
            self._is_warming = True
            self._hub.owner.start(asyncio.to_thread(warm))

    def look(self, session: LiveSession, request: OpenRequest) -> dict[str, Raw] | None:
        """What can be said before anybody is told of a request; None if `look_longer` is to be called then.
        Called in a thread.
        """
        if request.assessment is not None or request.method != "session/request_permission":
            return None
        try:
            call = _call_in(request)
            proposal = _proposal(session, call, most=AT_ONCE)
            says_what = call.content or call.raw_input not in (UNSET, None)  # more than a title
            judgement = at_once(proposal) if says_what and proposal.names_deeds else None
            if judgement is None:
                return None
        except SchemaError:
            judgement = judgement_failed("the request cannot be read")
        except Exception:  # a mistake in a rule must not cost the request
            log.exception("the rules failed")
            judgement = judgement_failed("the rules failed")
        return {name: Raw(encode_json(value)) for name, value in _members(judgement).items()}

    async def look_longer(self, session: LiveSession, request: OpenRequest) -> None:
        """While people already see it."""
        try:
            judgement = await self._judge(session, await asyncio.to_thread(_call_in, request))
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

    async def _judge(self, session: LiveSession, call: v1.ToolCallUpdate) -> RiskJudgement | None:
        proposal = await asyncio.to_thread(_proposal, session, call, most=LARGEST)
        if proposal.is_empty:
            return None  # nothing was said of what would be done: to find nothing in that says nothing
        if self._assessor is None:
            self._assessor = Assessor()
        return await self._assessor.judge(proposal)


def _call_in(request: OpenRequest) -> v1.ToolCallUpdate:
    return read(request.shown, v1.RequestPermissionRequest).tool_call


def _members(judgement: RiskJudgement) -> dict[str, Any]:
    members: dict[str, Any] = {} if judgement.risks is None else {"risks": judgement.risks}
    return members | ({"risksNote": judgement.note} if judgement.note else {})


def _proposal(session: LiveSession, call: v1.ToolCallUpdate, *, most: int) -> Proposal:
    act = act_of_call(call, ActContext(roots=(session.state.cwd, *session.state.folders)))
    return proposal_of(act, texts_of(act.changes, remarks_in(call)), most=most)
