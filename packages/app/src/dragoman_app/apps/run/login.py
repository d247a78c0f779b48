"""Logs in when the agent of a run needs it: which methods to try, once, and for how long.

A method that the agent handles by itself is asked for; one that needs a terminal gets ours, if there is one.
After a login in a terminal the agent is started again: it looks for what was stored when it starts. What is
missing otherwise is told by name (see `dragoman.sdk.login`).
"""

from __future__ import annotations

import asyncio
import os
import sys

from dragoman.schema import v1
from dragoman.sdk.client.agent_handle import AgentHandle
from dragoman.sdk.environment import withheld_names
from dragoman.sdk.login import Login
from dragoman_app.apps.run.reporter import RunReporter
from dragoman_app.apps.target import ChosenAgent
from dragoman_local.workspace.policy.login import plan_login

ALONE = 60.0
"""The most seconds for a login without a user: with a key it is quick, otherwise it never ends."""


LOGIN = "waiting for you to log in (Ctrl-C cancels)"


class StartAgain(Exception):
    """The user has logged in outside the running agent, which must start again."""


def make_login(agent: AgentHandle, target: ChosenAgent, reporter: RunReporter, *, is_attended: bool) -> Login:
    """Return the login settings. `is_attended`: there is a user, who has not tried in vain before."""

    async def in_terminal(method: v1.AuthMethodTerminal) -> bool:
        reporter.note(f"{LOGIN}: {method.name}")
        async with reporter.question_lock:
            return await _log_in(method)

    async def _log_in(method: v1.AuthMethodTerminal) -> bool:
        # Standard output is the run's: what the login says goes to the person, beside it.
        process = await asyncio.create_subprocess_exec(
            *target.agent.command,
            *(method.args or ()),
            env={**target.env, **(method.env or {})},
            stdout=sys.stderr.fileno(),
        )
        try:
            if await process.wait() != 0:
                return False
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        raise StartAgain

    can_start = is_attended and bool(target.agent.command)
    plan = plan_login(agent.auth_methods, os.environ, can_start, agent_variables=target.env.keys())
    return Login(
        method=None if plan.step is None else plan.step.method_id,
        terminal=in_terminal if can_start else None,
        seconds=None if is_attended else ALONE,
        on_start=(lambda method: reporter.note(f"{LOGIN}: {method.name}")) if is_attended else None,
        withheld_names=withheld_names(allow=tuple(target.env)),
    )
