"""Verbs that change the agent's own disk without the client, as many agents do.

Whoever watches a folder, or wants to know whether a permission was obeyed, needs something that really
happened. A path that is not absolute is one in the folder of the session. A branch `failed` says what to do
when it cannot be done; without one, the turn fails.
"""

from __future__ import annotations

import os

from dragoman.errors import CallFailed
from dragoman.testing.script.scene import Action, ScriptScene, perform
from dragoman.testing.script.statements import Statement
from dragoman.testing.script.verbs import branches, verb, words


def _save_action(statement: Statement, mode: str) -> Action:
    path, text = words(statement, least=2, most=2)
    failure_actions = branches(statement, ("failed",)).get("failed")

    async def act(scene: ScriptScene) -> None:
        try:
            place = os.path.join(str(scene.names.get("cwd", "")), str(scene.fill(path)))
            _write(place, str(scene.fill(text)), mode=mode)
        except (OSError, ValueError) as error:
            if failure_actions is None:
                raise CallFailed(0, f"{statement.verb} did not work") from error
            scene.names.update(code=getattr(error, "errno", None) or 0, message=str(error))
            await perform(failure_actions, scene)

    return act


def _write(place: str, text: str, *, mode: str) -> None:
    with open(place, mode, encoding="utf-8", newline="") as file:
        file.write(text)


@verb("save")
def save(statement: Statement) -> Action:
    """Write a file, and replace its contents."""
    return _save_action(statement, "w")


@verb("append")
def append(statement: Statement) -> Action:
    """Write at the end of a file."""
    return _save_action(statement, "a")
