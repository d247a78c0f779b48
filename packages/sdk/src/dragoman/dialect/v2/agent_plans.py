"""Translates plans: v2 has any number of named plans in a session, v1 has one.

A client that says so knows v2's plans. For others all lists of steps become one list, and what is not a list
of steps is said as a message.
"""

from __future__ import annotations

from dragoman.dialect.message import Object, as_object, as_text
from dragoman.dialect.v2.to_v1.fields import LossReporter
from dragoman.dialect.v2.to_v1.plans import named_plan, plan_text


class Plans:
    """The plans of a session. `knows_names`: whether the client tells plans apart by their ids."""

    def __init__(self, report: LossReporter, *, knows_names: bool) -> None:
        self._tell = report
        self._knows_names = knows_names
        self._steps: dict[str, list[Object]] = {}

    def update(self, update: Object) -> list[Object]:
        """A `plan_update` or a `plan_removed`."""
        if update["sessionUpdate"] == "plan_removed":
            return self._remove(update)
        plan = as_object(update.get("plan"))
        v1_plan = named_plan(plan, self._tell)
        if v1_plan is None:
            self._tell.note_loss("a plan of a type that v1 does not know", "left out")
            return []
        if self._knows_names:
            return [{**update, "plan": v1_plan}]
        if v1_plan["type"] == "items":
            self._steps[v1_plan["planId"]] = v1_plan["entries"]
            return [self._whole()]
        self._tell.note_repair("a plan that is not a list of steps", "said as a message of the agent")
        text = {"type": "text", "text": plan_text(v1_plan)}
        return [{"sessionUpdate": "agent_message_chunk", "content": text}]

    def _remove(self, update: Object) -> list[Object]:
        if self._knows_names and as_text(update.get("planId")):
            return [update]
        if self._steps.pop(as_text(update.get("planId")), None) is None:
            return []
        return [self._whole()]

    def _whole(self) -> Object:
        if len(self._steps) > 1:
            self._tell.note_repair("several plans", "sent as one list")
        steps = [entry for entries_ in self._steps.values() for entry in entries_]
        return {"sessionUpdate": "plan", "entries": steps}
