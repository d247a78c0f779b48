"""The scenes that the stand-in agent plays, in groups that profiles name.

A scene acts and marks stretches. It asks only for what the client has said that it can do. Marks of the same
name as those of an agent's examination are about the same thing.
"""

from __future__ import annotations

from dragoman_check.client.scenes.files import files
from dragoman_check.client.scenes.frames import bad_frames, streams
from dragoman_check.client.scenes.odd import ids, lenient_updates, methods, silent_frames, stderr
from dragoman_check.client.scenes.permissions import hold_permissions, permissions, withdrawn
from dragoman_check.client.scenes.questions import forms, odd_questions, urls
from dragoman_check.client.scenes.terminals import (
    terminal_faults,
    terminal_limits,
    terminals,
    terminals_that_run,
)
from dragoman_check.client.scenes.tools import tool_calls
from dragoman_check.client.scenes.updates import content_blocks, greeting, messages, plans, states
from dragoman_check.client.turn import ClientScene

__all__ = ["GROUPS", "ClientScene", "hold_permissions", "scenes_of"]

GROUPS: dict[str, tuple[ClientScene, ...]] = {
    "greeting": (greeting,),
    "polite": (
        messages,
        content_blocks,
        plans,
        states,
        tool_calls,
        permissions,
        files,
        terminals,
        terminal_limits,
        terminals_that_run,
    ),
    "questions": (forms, urls),
    "odd": (lenient_updates, methods, silent_frames, ids, withdrawn, terminal_faults, stderr, streams),
    "frames": (bad_frames,),
    "odd questions": (odd_questions,),
}
"""The groups. Those that harm a weak client most come last, after everything else was tested."""


def scenes_of(*groups: str) -> list[ClientScene]:
    return [scene for group in groups for scene in GROUPS[group]]
