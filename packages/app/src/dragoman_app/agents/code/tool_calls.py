"""Runs the calls of one model response: reports them to the client, asks for permission, and returns a result
for each.

Calls that only look run at the same time; calls that change something run one after another, in the order in
which the model made them. Whatever goes wrong in a call is told to the model, and the turn goes on; only the
end of the turn itself, or of the connection, ends them all.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from dragoman.errors import LinkClosed, TurnOver
from dragoman.schema import v1
from dragoman_app.agents.code.permission import ToolDenied, ToolProblem
from dragoman_app.agents.code.tools.places import TurnPlaces
from dragoman_app.agents.code.tools.tool import CoderTool, ToolContext, ToolOutcome, ToolPicture

if TYPE_CHECKING:
    from dragoman import KitTurn

log = logging.getLogger(__name__)

TITLE = 120


@dataclass(frozen=True, kw_only=True)
class ModelCall:
    """A tool call of the model."""

    id: str
    name: str
    arguments: dict[str, Any] | None
    """None if the arguments are not a JSON object."""


@dataclass(frozen=True, kw_only=True)
class CallResult:
    """The result of a call for the model."""

    text: str
    outcome: Literal["success", "failed", "denied"] = "success"
    pictures: Sequence[ToolPicture] = field(default_factory=tuple)
    display: Sequence[v1.ToolCallContent | str] = ()
    """The result for the user, in place of the text."""


class ToolCallRunner:
    """Runs the calls of one turn. Other agents use it too, with tools that change nothing."""

    def __init__(self, turn: KitTurn[Any], tools: Sequence[CoderTool[Any]]) -> None:
        self._turn = turn
        self._places = TurnPlaces(turn)
        self.tools: Mapping[str, CoderTool[Any]] = {tool.name: tool for tool in tools}
        self.results: dict[str, CallResult] = {}
        """What has come of the calls that were made last, also if they were broken off."""

    async def __call__(self, calls: Sequence[ModelCall]) -> dict[str, CallResult]:
        """Return all results by the ids of the calls."""
        self.results = {}
        async with asyncio.TaskGroup() as running:
            for call in calls:
                running.create_task(self._run(call))
        return self.results

    async def _run(self, call: ModelCall) -> None:
        self.results[call.id] = await self._run_call(call)

    async def _run_call(self, call: ModelCall) -> CallResult:
        tool = self.tools.get(call.name)
        try:
            if tool is None:
                raise ToolProblem(f"There is no tool {call.name}. There are: {', '.join(self.tools)}.")
            if call.arguments is None:
                raise ToolProblem("The arguments are no JSON object.")
            arguments = tool.read(call.arguments)
        except ToolProblem as problem:
            return await self._report_misuse(call, str(problem))
        if tool.changes:
            # The tasks begin in the order of the calls, and a lock is given in the order it was asked for.
            async with self._turn.session.conversation.changing:
                return await self._run_reported(tool, call, arguments)
        return await self._run_reported(tool, call, arguments)

    async def _report_misuse(self, call: ModelCall, why: str) -> CallResult:
        async with self._turn.tool(call.name, name=call.name, raw_input=call.arguments) as report:
            await report.fail(why)
        return CallResult(text=why, outcome="failed")

    async def _run_reported(self, tool: CoderTool[Any], call: ModelCall, arguments: Any) -> CallResult:
        title = " ".join(tool.title(arguments).split())
        tool_report = self._turn.tool(
            title if len(title) <= TITLE else f"{title[:TITLE]}…",
            kind=tool.kind,
            name=tool.name,
            raw_input=call.arguments,
            locations=self._locations(tool, arguments),
            # What may need somebody's permission begins when it has it.
            status="pending" if tool.changes or tool.may_ask else "in_progress",
        )
        work = ToolContext(turn=self._turn, report=tool_report, places=self._places)
        if not tool.is_shown:
            return await self._run_tool(tool, work, arguments)
        async with tool_report as report:
            result = await self._run_tool(tool, work, arguments)
            if result.outcome != "success":
                await report.fail(result.text)
                return result
            await report.complete(*(result.display or [result.text]))
            return result

    async def _run_tool(self, tool: CoderTool[Any], work: ToolContext, arguments: Any) -> CallResult:
        try:
            outcome: ToolOutcome = await tool.run(work, arguments)
        except ToolDenied as denial:
            return CallResult(text=str(denial), outcome="denied")
        except ToolProblem as problem:
            return CallResult(text=str(problem), outcome="failed")
        except (LinkClosed, TurnOver):
            raise  # there is nobody left to work for
        except Exception:  # a mistake in a tool must not cost the user the turn
            log.exception("the tool %s failed", tool.name)
            return CallResult(text="The tool failed for a reason of its own.", outcome="failed")
        return CallResult(text=outcome.text, pictures=outcome.pictures, display=outcome.content)

    def _locations(self, tool: CoderTool[Any], arguments: Any) -> list[v1.ToolCallLocation]:
        path = tool.path(arguments)
        try:
            return [] if path is None else [v1.ToolCallLocation(path=self._places.resolve(path))]
        except ToolProblem:
            return []
