from typing import Any

import pytest

from dragoman.schema import v1
from dragoman_app.apps.chat.risk_notes import RiskNotes, cautions_in
from dragoman_local.workspace.policy.act import ActContext
from dragoman_local.workspace.policy.act_reader import act_of_call
from dragoman_local.workspace.policy.act_view import view_of
from dragoman_local.workspace.policy.decision import PolicyDecision
from dragoman_local.workspace.policy.judge import PermissionPrompt

SEVERE = {"rule": "hub/own", "severity": "high", "text": "The hub knows", "path": "/a", "line": 2}


def asked(command: str, meta: object) -> PermissionPrompt:
    call = v1.ToolCallUpdate(tool_call_id="c", kind="execute", raw_input={"command": command})
    act = act_of_call(call, ActContext(roots=("/work",)))
    return PermissionPrompt(
        act=act,
        decision=PolicyDecision(outcome="ask", rule="", why=""),
        view=view_of(act),
        options=(),
        meta=meta,
    )


async def found(command: str, **ours: Any) -> list[tuple[str, str]]:
    risk_notes = RiskNotes()
    question = asked(command, {"dragoman": ours} if ours else None)
    cautions = await risk_notes.about(question)()
    await risk_notes.aclose()
    return [(caution.severity, caution.text) for caution in cautions]


async def test_a_command_is_judged_here() -> None:
    assert await found("sudo ls") == [("medium", "Runs as root (sudo) (shell/privilege)")]
    assert await found("ls") == []


async def test_what_a_hub_found_is_added_and_takes_nothing_away() -> None:
    told = ("high", "The hub knows in /a:2 (hub/own)")
    assert await found("ls", risks=[SEVERE]) == [told]
    assert len(await found("sudo ls", risks=[SEVERE])) == 2
    assert len(await found("sudo ls", risks=[])) == 1


@pytest.mark.parametrize(
    "meta", [None, 3, {}, {"dragoman": 3}, {"dragoman": {"risks": {}}}, {"dragoman": {"risks": [3, {}]}}]
)
def test_what_makes_no_sense_says_nothing(meta: Any) -> None:
    assert list(cautions_in(meta)) == []
