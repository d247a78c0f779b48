"""Runs one prompt: finds the model, collects its input, and starts the loop. Imports the model layer.

The client of a model lasts as long as the session. The system prompt and the project's notes are read anew
each time, so that a change counts at once.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.errors import ErrorAnswer, LocalMistake
from dragoman_app.agents.code.compaction import Compaction
from dragoman_app.agents.code.config import CoderConfig
from dragoman_app.agents.code.login import reach
from dragoman_app.agents.code.loop import TurnLoop
from dragoman_app.agents.code.models import offer_models
from dragoman_app.agents.code.tools import OWN_TOOLS
from dragoman_app.agents.code.tools.mcp_tools import mounted_tools

if TYPE_CHECKING:
    from dragoman import KitSession, KitTurn
    from dragoman_app.agents.code.conversation import CoderConversation

__all__ = ["offer_models", "run_compaction", "run_prompt", "system_prompt"]

INTERNAL_ERROR = -32603


async def run_prompt(turn: KitTurn[CoderConversation], config: CoderConfig, model: str | None) -> None:
    """Answer a prompt."""
    endpoint = reach(config, model)
    turn.session.conversation.attach(turn.prompt)
    system = await system_prompt(turn, config)
    tools = [*OWN_TOOLS, *await mounted_tools(turn.session)]
    answering = await turn.session.conversation.model.open(endpoint, config)
    await TurnLoop(turn, answering, system=system, tools=tools).run()


async def run_compaction(turn: KitTurn[CoderConversation], config: CoderConfig, model: str | None) -> None:
    """`/compact`."""
    if not turn.session.conversation.history.messages:
        await turn.say("There is nothing to compact.")
        return
    answering = await turn.session.conversation.model.open(reach(config, model), config)
    await Compaction(turn, answering).run(None)


async def system_prompt(turn: KitTurn[Any], config: CoderConfig) -> str:
    """Return the system prompt."""
    notes = await project_notes(turn.session)
    folders = "\n".join(f"- {root}" for root in turn.session.roots)
    surroundings = (
        f"# Where you are\n\nSystem: {platform.system()}. Working folder: {turn.session.cwd}\n"
        f"Folders of the project:\n{folders}"
    )
    return "\n\n".join(part for part in (_system_file(config), surroundings, notes) if part)


def _system_file(config: CoderConfig) -> str:
    own = Path(__file__).with_name("system.md")
    path = own if config.system is None else config.path(config.system)
    try:
        return path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "it is not UTF-8"
        raise ErrorAnswer(INTERNAL_ERROR, f"The system prompt {path} cannot be read: {why}") from None


# Reads a project's notes for agents, such as AGENTS.md, from the folders of a session.
#
# They are read at the beginning of each turn, so that a change counts at once. They are words of whoever
# wrote the project: they guide the model and permit nothing.

NAMES = (
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".rules",
    os.path.join(".github", "copilot-instructions.md"),
)

MOST = 32_000
"""The most characters of one note: it is sent with every request."""


async def project_notes(session: KitSession[Any]) -> str:
    """Return all notes, each under its path; a note with the same text as an earlier one is left out."""
    notes: dict[str, str] = {}
    for root in session.roots:
        for name in NAMES:
            path = os.path.join(root, name)
            text = await _read(session, path)
            if text and text not in notes.values():
                notes[path] = text
    return "\n\n".join(f"# Notes of the project, from {path}\n\n{text}" for path, text in notes.items())


async def _read(session: KitSession[Any], path: str) -> str:
    try:
        text = (await session.local.files.read(path)).text.strip()
    except (ErrorAnswer, LocalMistake):  # none, not a text, outside the folders, or these are elsewhere
        return ""
    return text if len(text) <= MOST else f"{text[:MOST]}\n[…]"
