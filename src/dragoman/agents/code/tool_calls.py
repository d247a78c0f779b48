"""Runs the calls that a model made at once: reported to the client, asked about, each with a result.

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

from dragoman.agents.code.tools.places import Places
from dragoman.agents.code.tools.tool import Denied, Done, Picture, Problem, Tool
from dragoman.agents.code.tools.work import Work
from dragoman.errors import LinkClosed, TurnOver
from dragoman.schema import v1

if TYPE_CHECKING:
    from dragoman import KitTurn
    from dragoman.agents.code.conversation import Conversation

log = logging.getLogger(__name__)

TITLE = 120


@dataclass(frozen=True, kw_only=True)
class Call:
    """What the model wants."""

    id: str
    name: str
    arguments: dict[str, Any] | None
    """None if they are no JSON object."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """What the model is told."""

    text: str
    outcome: Literal["success", "failed", "denied"] = "success"
    pictures: Sequence[Picture] = field(default_factory=tuple)
    shown: Sequence[v1.ToolCallContent | str] = ()
    """What the user sees instead of the text."""


class Calling:
    """Runs the calls of one turn."""

    def __init__(self, turn: KitTurn[Conversation], tools: Sequence[Tool[Any]]) -> None:
        self._turn = turn
        self._places = Places(turn)
        self.tools: Mapping[str, Tool[Any]] = {tool.name: tool for tool in tools}
        self.results: dict[str, Result] = {}
        """What has come of the calls that were made last, also if they were broken off."""

    async def __call__(self, calls: Sequence[Call]) -> dict[str, Result]:
        """All results, by the ids of the calls."""
        self.results = {}
        async with asyncio.TaskGroup() as running:
            for call in calls:
                running.create_task(self._run(call))
        return self.results

    async def _run(self, call: Call) -> None:
        self.results[call.id] = await self._called(call)

    async def _called(self, call: Call) -> Result:
        tool = self.tools.get(call.name)
        try:
            if tool is None:
                raise Problem(f"There is no tool {call.name}. There are: {', '.join(self.tools)}.")
            if call.arguments is None:
                raise Problem("The arguments are no JSON object.")
            arguments = tool.read(call.arguments)
        except Problem as problem:
            return await self._misused(call, str(problem))
        if tool.changes:
            # The tasks begin in the order of the calls, and a lock is given in the order it was asked for.
            async with self._turn.session.conversation.changing:
                return await self._reported(tool, call, arguments)
        return await self._reported(tool, call, arguments)

    async def _misused(self, call: Call, why: str) -> Result:
        async with self._turn.tool(call.name, name=call.name, raw_input=call.arguments) as report:
            await report.fail(why)
        return Result(text=why, outcome="failed")

    async def _reported(self, tool: Tool[Any], call: Call, arguments: Any) -> Result:
        title = " ".join(tool.title(arguments).split())
        reported = self._turn.tool(
            title if len(title) <= TITLE else f"{title[:TITLE]}…",
            kind=tool.kind,
            name=tool.name,
            raw_input=call.arguments,
            locations=self._locations(tool, arguments),
            # What may need somebody's permission begins when it has it.
            status="pending" if tool.changes or tool.may_ask else "in_progress",
        )
        work = Work(turn=self._turn, report=reported, places=self._places)
        if not tool.is_shown:
            return await self._judged(tool, work, arguments)
        async with reported as report:
            result = await self._judged(tool, work, arguments)
            if result.outcome != "success":
                await report.fail(result.text)
                return result
            await report.complete(*(result.shown or [result.text]))
            return result

    async def _judged(self, tool: Tool[Any], work: Work, arguments: Any) -> Result:
        try:
            done: Done = await tool.run(work, arguments)
        except Denied as denied:
            return Result(text=str(denied), outcome="denied")
        except Problem as problem:
            return Result(text=str(problem), outcome="failed")
        except (LinkClosed, TurnOver):
            raise  # there is nobody left to work for
        except Exception:  # a mistake in a tool must not cost the user the turn
            log.exception("the tool %s failed", tool.name)
            return Result(text="The tool failed for a reason of its own.", outcome="failed")
        return Result(text=done.text, pictures=done.pictures, shown=done.content)

    def _locations(self, tool: Tool[Any], arguments: Any) -> list[v1.ToolCallLocation]:
        path = tool.path(arguments)
        try:
            return [] if path is None else [v1.ToolCallLocation(path=self._places.resolve(path))]
        except Problem:
            return []
