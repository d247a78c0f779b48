"""Judges proposed changes of any size by the reviewer's rules: in a worker process, in order, with a time
limit.

Never raises for what a proposal holds, and never holds up the loop: a text that takes too long costs its own
judgement. The worker is started when it is needed, and ended when it was not for a while.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from dragoman_review.programs import ToolFailed
from dragoman_review.risks import (
    LARGEST,
    Proposal,
    RiskJudgement,
    at_once,
    join_risks,
    judgement_failed,
    looks_of,
    path_risks,
    risks_in,
)

if TYPE_CHECKING:
    from dragoman_review.inspectors import Inspector

DEADLINE = 30.0
"""The most seconds for one text. A megabyte of Python takes five and ordinary files a hundredth of one; a
busy machine takes longer, and nobody waits for it.
"""

WAITING = 32
"""The most proposals that wait for the worker; further ones are not checked."""

IDLE = 60.0
"""The seconds after which an idle worker is ended."""


class Assessor:
    """The worker of one event loop. Constructing starts nothing; `aclose` ends everything."""

    def __init__(self, *, deadline: float = DEADLINE) -> None:
        self._deadline = deadline
        self._inspector: Inspector | None = None
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._timer: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[None] | None = None

    async def judge(self, proposal: Proposal) -> RiskJudgement:
        if proposal.size > LARGEST:
            return judgement_failed("it is too large")
        judgement = at_once(proposal)
        if judgement is not None:
            return judgement
        if self._waiting >= WAITING:
            return judgement_failed("too much is waiting for the rules")
        self._waiting += 1
        try:
            async with self._turn:
                return await self._judge(proposal)
        finally:
            self._waiting -= 1

    async def _judge(self, proposal: Proposal) -> RiskJudgement:
        inspector = self._start_inspector()
        risks = [*path_risks(proposal)]
        failures: list[str] = []
        inspected_count, why = 0, ""
        for look in looks_of(proposal):
            path, text = look.source.path, look.source.text
            try:
                answer = await inspector.inspect(path, text, has_ruff=False, longest=look.longest)
            except ToolFailed as error:
                failures.append("a command" if look.is_command else path)
                why = error.why
                continue
            except asyncio.CancelledError:
                await inspector.aclose()  # it still works on our text, and the next answer would be ours
                raise
            inspected_count += 1
            risks += risks_in(look, answer.findings)
        self._rest()
        if failures and not inspected_count:
            return judgement_failed(f"the rules {why}")
        return join_risks(risks, [f"Not judged: {', '.join(failures)}."] if failures else [])

    def _start_inspector(self) -> Inspector:
        if self._timer is not None:
            self._timer.cancel()
        if self._inspector is None:
            from dragoman_review.inspectors import own_inspector

            self._inspector = own_inspector(deadline=self._deadline)
        return self._inspector

    def _rest(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(IDLE, self._end)

    def _end(self) -> None:
        self._ending = asyncio.get_running_loop().create_task(self._end_worker(), name="assessor")

    async def _end_worker(self) -> None:
        async with self._turn:  # whoever comes meanwhile waits, and starts a new one
            inspector, self._inspector = self._inspector, None
            if inspector is not None:
                await inspector.aclose()

    async def aclose(self) -> None:
        """End the worker, when no check is running."""
        if self._timer is not None:
            self._timer.cancel()
        if self._ending is not None:
            await asyncio.wait([self._ending])
        await self._end_worker()
