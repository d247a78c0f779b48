"""Declares the review agent: modes, options, commands. Their code is imported when it is first needed, so
that an editor gets its first answer at once.

`intent` understands what people write; `targets` and `files` find and read what they mean; `review_run`
reviews and `fixes` applies; `markdown` words it. Texts are judged by the room `dragoman_review`, and
by a model in `model_review`.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from dragoman import Agent, AgentTool, Choice, Kit, Modes, Option
from dragoman.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from dragoman import KitSession, KitTurn
    from dragoman.schema import v1
    from dragoman_app.agents.code.config import CoderConfig
    from dragoman_app.agents.review.budget import ReviewBudget
    from dragoman_app.agents.review.conversation import ReviewConversation

MODES = Modes(
    Choice("review", "Review", "Reviews; fixes are applied when you ask for them"),
    Choice("fix", "Review and fix", "Reviews, then offers the fixes; you confirm each file"),
)
SEVERITY = Option(
    "severity",
    [
        Choice("info", "Everything"),
        Choice("low", "Low and above"),
        Choice("medium", "Medium and above"),
        Choice("high", "High and above"),
        Choice("critical", "Critical only"),
    ],
    name="Severity",
    description="The mildest findings to show",
)
SCOPE = Option(
    "scope",
    [Choice("changed", "Changed lines"), Choice("whole", "Whole files")],
    name="Reviews of changes",
    description="Whether a review of changes covers only new lines",
)
MODEL_USE = Option(
    "model_use",
    [
        Choice("review", "Reviews", "Reads files, looks for bugs, and checks each one a second time"),
        Choice("explain", "Explains", "It gets each finding with a few lines around it, and explains them"),
        Choice("none", "Nothing"),
    ],
    name="The model",
    description="What the model does in a review",
)

RUN_TESTS = Option(
    "run_tests",
    [
        Choice("ask", "If allowed", "Asks before it runs the project's tests in a copy of the project"),
        Choice("never", "Never"),
    ],
    name="Tests of the project",
    description="Whether fixes of the model are checked by the tests of the project",
)


COMMANDS = (
    ("review", "Review files, folders or changes", "PATHS, or nothing for your changes"),
    ("diff", "Review what has changed", "a branch or commit, staged, or nothing"),
    ("fix", "Apply fixes of the last review", "numbers, paths, or nothing for all safe ones"),
    ("rules", "List the rules", "a language or a part of a name"),
    ("explain", "Explain a rule or a finding", "a rule, or the number of a finding"),
    ("help", "Say what can be done", None),
)
TOOLS = (
    ("find_files", "Finds the files, folders or changes that you mean"),
    ("read_files", "Reads the files that will be reviewed"),
    ("dragoman", "Reviews files by the built-in rules"),
    ("apply_fix", "Applies a fix to a file, after you allow it"),
)
"""The names of its tool calls. Installed linters appear as calls with their own names."""

HAND_OVER = ("code", "Let the coder fix findings of the last review", "numbers")
"""The command for the coder, offered if a model is configured: the coder needs one."""


def review_agent(
    *, sessions: Any = None, model: CoderConfig | None = None, budget: ReviewBudget | None = None
) -> Agent:
    """Return a new review agent. `sessions` is the journal of its sessions, or its path, if it is not the
    usual one; `model` is how to reach the model that reviews and explains, if there is one, and `budget` its
    limits for one review.
    """
    agent = Agent(
        "dragoman-review",
        version=VERSION,
        title="Dragoman Review",
        embedded_context=True,
        additional_directories=True,
        tools=[AgentTool(name=name, description=description) for name, description in TOOLS],
    )
    has_model = can_ask(model)
    kit: Kit[ReviewConversation] = Kit(
        agent,
        conversation=lambda session: _conversation(session, model if has_model else None, budget),
        journal=sessions,
        modes=MODES,
        options=(SEVERITY, SCOPE, MODEL_USE, RUN_TESTS) if has_model else (SEVERITY, SCOPE),
        titles="none",
    )

    @kit.prompt
    async def answer(turn: KitTurn[ReviewConversation]) -> v1.PromptResponse:
        return await _reply(turn, "", turn.text)

    for name, description, hint in (*COMMANDS, HAND_OVER) if has_model else COMMANDS:
        kit.command(name, description, hint=hint)(_command(name))
    return agent


async def _reply(turn: KitTurn[ReviewConversation], command: str, argument: str) -> v1.PromptResponse:
    from dragoman_app.agents.review.prompts import (
        reply,  # with the first prompt: it loads the reviewer's rules
    )

    return await reply(turn, command, argument)


def _conversation(
    session: KitSession[ReviewConversation], model: CoderConfig | None, budget: ReviewBudget | None
) -> ReviewConversation:
    from dragoman_app.agents.review.conversation import ReviewConversation

    return ReviewConversation(session, model, budget)


def can_ask(config: CoderConfig | None) -> bool:
    """Whether a model is configured, and its package is installed."""
    return config is not None and bool(config.model) and importlib.util.find_spec("pydantic_ai") is not None


def _command(name: str) -> Callable[[KitTurn[ReviewConversation], str], Awaitable[v1.PromptResponse]]:
    async def run(turn: KitTurn[ReviewConversation], argument: str) -> v1.PromptResponse:
        return await _reply(turn, name, argument)

    return run
