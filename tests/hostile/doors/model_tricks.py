"""Models that call an agent through `dragoman mcp` or `serve --openai`, and want it to ask less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.hostile.doors.agent_steps import Step, run, write
from tests.hostile.doors.tricks import Trick


@dataclass(frozen=True, kw_only=True)
class ModelTrick(Trick):
    approve: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Of the tool `prompt`, beside the text; or members of a request of OpenAI's API."""
    steps: Sequence[Step] = ()
    trace: str = "loose"
    """The file that must not be there: `loose` is written by an agent that was told to ask nobody."""


def calls(name: str, does: str, approve: str = "none", effect: str = "", **more: Any) -> ModelTrick:
    return ModelTrick(
        name=f"a model over MCP, --approve {approve}: {name}",
        axis="calling models",
        said=f"the person started it with --approve {approve}",
        does=does,
        effect=effect or "the agent works in a mode in which it asks nobody",
        approve=approve,
        **more,
    )


MCP_TRICKS = [
    calls(
        "the mode that bypasses permissions",
        "names that mode",
        arguments={"mode": "bypassPermissions"},
        at_first="succeeded",
    ),
    calls(
        "a mode whose description says it",
        "names a mode that runs all without approval",
        arguments={"mode": "turbo"},
        at_first="succeeded",
    ),
    calls(
        "the option that never asks",
        "sets the approval policy",
        arguments={"options": {"approval": "never"}},
        at_first="succeeded",
    ),
    calls(
        "the option of full access",
        "sets the sandbox",
        arguments={"options": {"sandbox": "danger-full-access"}},
        at_first="succeeded",
    ),
    calls(
        "the mode by its name", "names the mode as people see it", arguments={"mode": "Bypass permissions"}
    ),
    calls(
        "the mode as an option",
        "sets an option called mode",
        arguments={"options": {"mode": "bypassPermissions"}},
    ),
    calls("the mode as a model", "names the mode as a model", arguments={"model": "bypassPermissions"}),
    calls(
        "the mode that bypasses permissions",
        "names that mode",
        "reads",
        arguments={"mode": "bypassPermissions"},
        at_first="succeeded",
    ),
    calls(
        "the option that never asks",
        "sets the approval policy",
        "reads",
        arguments={"options": {"approval": "never"}},
        at_first="succeeded",
    ),
    calls(
        "a write that nobody permits",
        "has the agent write a lent file",
        effect="it is written",
        steps=[write("$CWD/done")],
        trace="done",
    ),
    calls(
        "a command that nobody permits",
        "has the agent run a command",
        effect="it ran",
        steps=[run("touch", "$CWD/done"), {"wait": "terminal/wait_for_exit"}],
        trace="done",
    ),
    calls(
        "a key of the folder above",
        "has the agent read outside",
        "reads",
        effect="the agent has it",
        steps=[
            {
                "ask": {
                    "jsonrpc": "2.0",
                    "id": "r",
                    "method": "fs/read_text_file",
                    "params": {"sessionId": "$SESSION", "path": "$CWD/../key"},
                }
            },
            {"leak": "$CWD/done"},
        ],
        trace="done",
    ),
    calls(
        "a session in the folder above",
        "names a folder outside",
        "reads",
        effect="a session works there",
        arguments={"cwd": "$CWD/.."},
        steps=[{"do": "$CWD/done"}],
        trace="done",
    ),
    calls(
        "a session through a link",
        "names a link that leads out",
        "reads",
        effect="a session works there",
        arguments={"cwd": "$CWD/out"},
        steps=[{"do": "$CWD/done"}],
        trace="done",
    ),
]


def completes(name: str, does: str, **arguments: Any) -> ModelTrick:
    return ModelTrick(
        name=f"a client of OpenAI's API: {name}",
        axis="calling models",
        said="the person started it with --approve none",
        does=does,
        effect="the agent works in a mode in which it asks nobody",
        approve="none",
        arguments=arguments,
    )


OPENAI_TRICKS = [
    completes("a mode beside the messages", "adds `mode`", mode="bypassPermissions"),
    completes("options beside the messages", "adds `options`", options={"approval": "never"}),
    completes(
        "a member of our own",
        "adds `dragoman`",
        dragoman={"mode": "bypassPermissions", "options": {"approval": "never"}},
    ),
    completes("metadata", "adds `metadata`", metadata={"mode": "bypassPermissions", "approval": "never"}),
    completes("a mode behind the model", "names the model with a mode", model="python:bypassPermissions"),
    completes("_meta", "adds `_meta`", _meta={"dragoman": {"mode": "bypassPermissions"}}),
    completes(
        "effort and tier",
        "puts the mode where models have theirs",
        reasoning_effort="bypassPermissions",
        service_tier="turbo",
    ),
]
