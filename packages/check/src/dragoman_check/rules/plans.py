"""PLAN: every plan update contains the whole plan."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from dragoman.wire.envelope import Json
from dragoman_check.conversation import Conversation, update_of
from dragoman_check.recording import Frame
from dragoman_check.rule import Observation, kept, observe, rule
from dragoman_check.timeline import observe_survival, session_of
from dragoman_check.values import items, text

PRIORITIES = ("high", "medium", "low")
STATUSES = ("pending", "in_progress", "completed")

_PLANS = re.compile(r"(update_?plan|todo_?write|write_?todos?|set_?plan)", re.IGNORECASE)
"""Names of tools by which models make plans."""

UNOBSERVED: dict[str, str] = {
    "PLAN-04": "what a client makes of a plan is seen on its screen only",
}


def plan_of(frame: Frame) -> Json:
    """Return the entries of a plan update; None for another kind."""
    update = update_of(frame)
    if update.get("sessionUpdate") == "plan":
        return update.get("entries")
    plan = update.get("plan")
    return plan.get("entries") if type(plan) is dict and plan.get("type") == "items" else None


def _plans(conversation: Conversation) -> list[Frame]:
    updates = conversation.updates("plan", "plan_update")
    return [frame for frame in updates if update_of(frame).get("sessionUpdate") == "plan" or plan_of(frame)]


def _key(frame: Frame) -> tuple[str, str]:
    plan = update_of(frame).get("plan")
    return session_of(frame), text(plan.get("planId")) if type(plan) is dict else ""


@rule("PLAN-01", side="agent", fix="Send the client the plan that the model makes.")
def a_plan_is_told(conversation: Conversation) -> Iterator[Observation]:
    for turn in conversation.turns:
        plans = turn.updates("plan", "plan_update")
        plan_calls = [
            frame for frame in turn.updates("tool_call", "tool_call_update") if _makes_a_plan(frame)
        ]
        if plans:
            yield kept(plans[0])
        elif plan_calls and turn.end is not None:
            yield observe(False, plan_calls[0], "a tool made a plan, but the turn sent none")


def _makes_a_plan(frame: Frame) -> bool:
    update = update_of(frame)
    names = (text(update.get("name")), text(update.get("title")))
    return update.get("status") == "completed" and any(_PLANS.fullmatch(name) for name in names)


@rule("PLAN-02", side="agent", fix="Give every entry content, a priority and a status that the schema knows.")
def entries_are_whole(conversation: Conversation) -> Iterator[Observation]:
    for frame in _plans(conversation):
        entries = plan_of(frame)
        wrong = type(entries) is not list or any(
            not _is_entry(entry, conversation.version) for entry in entries
        )
        yield observe(not wrong, frame, "content, priority or status of an entry is missing or wrong")


def _is_entry(entry: object, version: int) -> bool:
    if type(entry) is not dict or type(entry.get("content")) is not str:
        return False
    priority, status = entry.get("priority"), entry.get("status")
    if version >= 2:
        return type(priority) is str and type(status) is str
    return priority in PRIORITIES and status in STATUSES


@rule(
    "PLAN-03",
    side="agent",
    fix="Send all entries of the plan with every update, not only those that changed.",
)
def every_update_is_the_whole_plan(conversation: Conversation) -> Iterator[Observation]:
    for plans in _series(conversation):
        for at, (before, after) in enumerate(pairwise(plans)):
            missing = _open_texts(before) - _texts(after)
            later: set[str] = set().union(*(_texts(frame) for frame in plans[at + 2 :]))
            # Entries may be dropped. One that was unfinished and comes back was only left out.
            yield observe(
                not missing & later, after, "an unfinished entry is left out, and comes back later", before
            )


def _series(conversation: Conversation) -> list[list[Frame]]:
    """Plans that follow each other in one turn."""
    result = []
    for turn in conversation.turns:
        series: dict[tuple[str, str], list[Frame]] = {}
        for frame in turn.updates("plan", "plan_update"):
            if plan_of(frame):
                series.setdefault(_key(frame), []).append(frame)
        result += list(series.values())
    return result


def _texts(frame: Frame) -> set[str]:
    return {text(entry.get("content")) for entry in items(plan_of(frame))}


def _open_texts(frame: Frame) -> set[str]:
    entries = items(plan_of(frame))
    return {
        text(entry.get("content")) for entry in entries if entry.get("status") in ("pending", "in_progress")
    }


@rule("PLAN-05", side="agent", fix="Send the plan again whenever the status of an entry changes.")
def progress_of_a_plan_is_told(conversation: Conversation) -> Iterator[Observation]:
    for turn in conversation.turns:
        plans = [frame for frame in turn.updates("plan", "plan_update") if plan_of(frame)]
        plan_calls = [
            frame for frame in turn.updates("tool_call", "tool_call_update") if _makes_a_plan(frame)
        ]
        if len({repr(_statuses(frame)) for frame in plans}) > 1:
            yield kept(plans[-1])
        elif len(plans) == 1 and len(plan_calls) > 1 and turn.end is not None:
            yield observe(
                False, plan_calls[-1], "a tool changed the plan, but the plan was not sent again", plans[0]
            )


def _statuses(frame: Frame) -> list[Json]:
    return [entry.get("status") for entry in items(plan_of(frame))]


@rule("PLAN-06", side="agent", fix="Nothing: entries may come, go and change.")
def entries_may_change(conversation: Conversation) -> Iterator[Observation]:
    for plans in _series(conversation):
        for before, after in pairwise(plans):
            if _texts(before) != _texts(after):
                yield kept(after, before)


@rule("PLAN-07", side="client", fix="Leave out a bad entry of a plan and keep the rest.")
def a_client_survives_a_bad_entry(conversation: Conversation) -> Iterator[Observation]:
    bad = [
        frame
        for frame in _plans(conversation)
        if any(not _is_entry(entry, conversation.version) for entry in _as_list(plan_of(frame)))
    ]
    yield from observe_survival(conversation, bad, "a plan with a bad entry")


def _as_list(value: object) -> list[Json]:
    return value if type(value) is list else []
