"""`dragoman run --continue-with`: another agent continues if the first can't, or continues a recorded
session.

What was said in a run is read as it passes, so that a brief of it is there without any history.
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman_app.apps.run import events
from dragoman_app.apps.run.narrate import now
from dragoman_app.apps.run.plan import RunPlan
from dragoman_app.apps.run.reporter import RunReporter
from dragoman_local.journal import Direction, StoredEntry
from dragoman_local.journal.brief import BriefFold, ConversationBrief

FAILURES = frozenset({"auth_needed", "agent_error", "agent_died", "not_started", "protocol_error", "timeout"})
"""Outcomes after which another agent continues: the agent is out of quota, logged out or dead."""


class RunRecord:
    """The messages of a run, for a brief; `tap` is for `connect`."""

    def __init__(self, agent: str) -> None:
        self._fold = BriefFold()
        self._fold.begin(agent)
        self._count = 0

    def tap(self, direction: Direction, block: bytes) -> None:
        for frame in filter(None, block.split(b"\n")):
            self._count += 1
            self._fold.add(StoredEntry(self._count, direction, frame, 0.0))

    def brief(self) -> ConversationBrief:
        return self._fold.finish()


def successor_plan(plan: RunPlan, brief: ConversationBrief, *, source: str) -> RunPlan:
    """Return the same task for the other agent, without modes and options, which have other names there."""
    assert plan.successor is not None
    request = replace(plan.session_request, session_id=None, mode=None, options=())
    return replace(
        plan,
        target=plan.successor,
        successor=None,
        continue_=False,
        session_request=request,
        brief=brief,
        source=source,
    )


def tell_handover(
    reporter: RunReporter, plan: RunPlan, *, agent: str, reason: str, brief: ConversationBrief
) -> None:
    """Report which agent continues, and what is lost. `agent` is the first one."""
    successor = plan.target.agent.name
    lost = list(brief.lost)
    reporter.emit(
        events.HandoverEvent(time=now(), from_agent=agent, agent=successor, reason=reason, lost=lost)
    )
    losses = f"; not handed over: {'; '.join(lost)}" if lost else ""
    reporter.tell(f"{successor} continues the work of {agent or 'another agent'}{losses}")
