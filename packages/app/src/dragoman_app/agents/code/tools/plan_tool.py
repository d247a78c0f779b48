"""The tool for the plan, which the user sees as a list of steps."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from dragoman.schema import v1
from dragoman_app.agents.code.tools.tool import CoderTool, ToolContext, ToolOutcome


class PlanStep(Struct, forbid_unknown_fields=True):
    content: Annotated[str, Meta(description="What is to be done")]
    status: Literal["pending", "in_progress", "completed"] = "pending"
    priority: Literal["high", "medium", "low"] = "medium"


class PlanArguments(Struct, forbid_unknown_fields=True):
    steps: Annotated[list[PlanStep], Meta(description="All steps, in order; they replace the plan before")]


async def plan(work: ToolContext, arguments: PlanArguments) -> ToolOutcome:
    await work.turn.plan(
        v1.PlanEntry(content=step.content, status=step.status, priority=step.priority)
        for step in arguments.steps
    )
    remaining = sum(step.status != "completed" for step in arguments.steps)
    return ToolOutcome(f"The plan has {len(arguments.steps)} steps, {remaining} of them not done.")


PLANNING = (
    CoderTool(
        name="plan",
        description="Show the plan for work of several steps, and keep it up to date as steps are done.",
        arguments=PlanArguments,
        kind="think",
        title=lambda _: "Plan",
        run=plan,
        is_shown=False,
    ),
)
