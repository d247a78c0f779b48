"""Translates v2 plans into v1, which has one plan without a name. Clients that announce v2's kinds of plans
get them unchanged.
"""

from __future__ import annotations

from dragoman.dialect.message import Json, Object, as_list, as_object, as_text
from dragoman.dialect.v2.to_v1.fields import LossReporter, fits, fitting
from dragoman.schema.v1.plan import PLAN_ENTRY_PRIORITIES, PLAN_ENTRY_STATUSES


def entries(value: Json, report: LossReporter) -> list[Object]:
    """Translate the steps of a plan."""
    steps = [_entry(as_object(item), report) for item in as_list(value)]
    return [item for item in steps if item is not None]


def named_plan(plan: Object, report: LossReporter) -> Object | None:
    """Translate a plan for a client that supports named plans; None if the value is not a plan."""
    members = {"items": ("entries", list), "file": ("uri", str), "markdown": ("content", str)}
    kind = as_text(plan.get("type"))
    if (
        kind not in members
        or not fits(plan.get("planId"), str)
        or not fits(plan.get(members[kind][0]), members[kind][1])
    ):
        return None
    return {**plan, "entries": entries(plan["entries"], report)} if kind == "items" else plan


def plan_text(plan: Object) -> str:
    """Return the text of a plan without steps, for a client that supports only steps."""
    if plan.get("type") == "markdown":
        return as_text(plan.get("content"))
    return f"Plan: {as_text(plan.get('uri'))}" if plan.get("type") == "file" else ""


def _entry(item: Object, report: LossReporter) -> Object | None:
    if not fits(item.get("content"), str):
        report.note_loss("a malformed plan entry", "left out")
        return None
    item = fitting(item, {"_meta": dict}, report)
    status, priority = item.get("status"), item.get("priority")
    if status == "cancelled":
        report.note_loss("a plan entry that was cancelled", "left out of the plan")
        return None
    if not _is_known(status, PLAN_ENTRY_STATUSES):
        report.note_loss("a plan entry in a state that v1 does not know", "said as pending")
        item = {**item, "status": "pending"}
    if not _is_known(priority, PLAN_ENTRY_PRIORITIES):
        report.note_loss("a plan entry of a priority that v1 does not know", "said as medium")
        item = {**item, "priority": "medium"}
    return item


def _is_known(value: Json, words: frozenset[str]) -> bool:
    return type(value) is str and value in words
