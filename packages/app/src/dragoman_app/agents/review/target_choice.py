"""The first step of a review: find the texts. The answers of git and the disk are shown as a tool call."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from dragoman import KitTurn
from dragoman.schema import v1
from dragoman.text.json_values import as_text
from dragoman_app.agents.review.conversation import ReviewConversation
from dragoman_app.agents.review.git_targets import find_changes
from dragoman_app.agents.review.intent import ReviewIntent
from dragoman_app.agents.review.markdown import count_of
from dragoman_app.agents.review.mentions import Snippet
from dragoman_app.agents.review.targets import ReviewTarget, ReviewTargets, SessionFolders, TargetCollector
from dragoman_review.git import GitRefused
from dragoman_review.programs import ToolFailed

LOCATIONS = 100
"""The most places in a tool call; editors show no more."""


async def choose(
    turn: KitTurn[ReviewConversation], intent: ReviewIntent, pieces: Sequence[Snippet]
) -> ReviewTargets:
    """Return the targets of a prompt: its paths, its attachments and its code."""
    ground = SessionFolders(turn.session)
    async with turn.tool(_title(intent), name="find_files", kind="search", raw_input=_input(intent)) as call:
        targets = _with_names(await _find_targets(turn, ground, intent, pieces))
        places = [v1.ToolCallLocation(path=target.path) for target in targets.targets if target.path]
        await call.progress(
            status="completed" if targets.targets else "failed",
            content=[_listing(targets)],
            locations=places[:LOCATIONS],
        )
    return targets


def _with_names(targets: ReviewTargets) -> ReviewTargets:
    """Without files whose names are not text: no message to the client can hold them."""
    strangers = [target for target in targets.targets if as_text(target.path or "") != (target.path or "")]
    if not strangers:
        return targets
    notes = [
        f"{as_text(target.display_path)}: not reviewed: its name is not UTF-8 text" for target in strangers
    ]
    rest = tuple(target for target in targets.targets if target not in strangers)
    return targets._replace(targets=rest, notes=(*targets.notes, *notes))


async def _find_targets(
    turn: KitTurn[ReviewConversation], ground: SessionFolders, intent: ReviewIntent, pieces: Sequence[Snippet]
) -> ReviewTargets:
    if intent.changes is not None:
        try:
            return await find_changes(ground, intent)
        except (GitRefused, ToolFailed) as error:
            return ReviewTargets("changes", notes=(str(error),))
    naming = TargetCollector(ground)
    naming.add_snippets(pieces)
    naming.add_attached(turn.prompt)
    await naming.add_links(turn.prompt)
    await naming.add_paths(intent.paths, is_sure=True)
    await naming.add_paths(intent.guesses, is_sure=False)
    if intent.everything and not naming:
        await naming.add_folder(ground.cwd, "the whole folder")
    return naming.result() if naming else await _usual(ground, intent, naming)


async def _usual(ground: SessionFolders, intent: ReviewIntent, naming: TargetCollector) -> ReviewTargets:
    """Nothing was named: what has changed, or everything if that is nothing."""
    try:
        changed_targets = await find_changes(ground, replace(intent, changes="working"))
    except (GitRefused, ToolFailed):
        changed_targets = ReviewTargets("")
    if changed_targets.targets:
        return changed_targets._replace(
            words="No file was named, so this is about what changed since the last commit."
        )
    await naming.add_folder(ground.cwd, "the whole folder")
    return naming.result()._replace(
        words="No file was named and nothing has changed: this is the whole folder."
    )


def _title(intent: ReviewIntent) -> str:
    if intent.changes == "staged":
        return "Ask git what is staged"
    if intent.changes is not None:
        return f"Ask git what changed since {intent.against}" if intent.against else "Ask git what changed"
    return "Find what to review"


def _input(intent: ReviewIntent) -> dict[str, object]:
    fields = {
        "paths": list(intent.paths),
        "changes": intent.changes,
        "against": intent.against,
    }
    return {name: value for name, value in fields.items() if value}


def _listing(targets: ReviewTargets) -> str:
    names = [_line(target) for target in targets.targets[:LOCATIONS]]
    more = len(targets.targets) - len(names)
    rest = [f"and {more} more"] if more > 0 else []
    return "\n".join([count_of(len(targets.targets), "file"), *names, *rest, *targets.notes])


def _line(target: ReviewTarget) -> str:
    return (
        target.display_path
        if target.lines is None
        else f"{target.display_path} ({count_of(len(target.lines), 'line')})"
    )
