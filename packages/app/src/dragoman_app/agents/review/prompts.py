"""Answers prompts: starts the action that fits the intent. Imported with the first prompt, not before."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from dragoman import KitTurn
from dragoman.schema import v1
from dragoman_app.agents.review.coder_handover import run_handover
from dragoman_app.agents.review.conversation import ReviewConversation
from dragoman_app.agents.review.fixes import is_meant, run_fixes
from dragoman_app.agents.review.intent import (
    ExplainIntent,
    FixIntent,
    HandOverIntent,
    HelpIntent,
    Intent,
    ReviewIntent,
    RulesIntent,
    handed_over,
    named_revision,
    understand,
)
from dragoman_app.agents.review.mentions import Snippet, snippets, split_lines
from dragoman_app.agents.review.review_run import run_review
from dragoman_app.agents.review.rulebook import load_all_rules, rule_details, rules_summary
from dragoman_app.agents.review.targets import SessionFolders

HELP = """I review code on this machine, with the help of a model if you configured one. For example, say:

- “review src/app.py”, “review src and tests”, “review @app.py:10-40”, or attach files
- “review my changes”, “review staged”, “review the diff against main”, “review this branch”
- “apply the fixes”, “apply fix 3”: you see and confirm each file as a diff first
- “let the coder fix 3”: the coder fixes it, with the model that you configured
- “explain 3”, “explain rule python/eval”, “rules python”

/review, /diff, /fix, /code, /explain, /rules and /help do the same. With the options of the session you
choose the mildest finding to show, and whether a review of changes covers whole files. In the mode “Review
and fix” every review offers its fixes at once.
"""


async def reply(turn: KitTurn[ReviewConversation], command: str, argument: str) -> v1.PromptResponse:
    """Answer a slash command, or a prompt if `command` is empty."""
    match command:
        case "review":
            return await answer(turn, f"review {argument}")
        case "diff":
            return await carry_out(turn, named_revision(argument))
        case "fix":
            return await answer(turn, f"fix {argument or 'it'}")
        case "code":
            return await carry_out(turn, handed_over(argument))
        case "rules":
            return await carry_out(turn, RulesIntent(argument))
        case "explain" if argument:
            return await carry_out(turn, ExplainIntent(argument))
        case "explain" | "help":
            return await carry_out(turn, HelpIntent())
        case _:
            return await answer(turn, argument)


async def answer(turn: KitTurn[ReviewConversation], text: str) -> v1.PromptResponse:
    """A prompt in somebody's own words."""
    words, pieces = snippets(text)
    has_attachments = bool(pieces) or any(
        isinstance(block, v1.ResourceLink | v1.EmbeddedResource) for block in turn.prompt
    )
    return await carry_out(turn, understand(words, has_attachments=has_attachments), pieces)


async def carry_out(
    turn: KitTurn[ReviewConversation], intent: Intent, pieces: tuple[Snippet, ...] = ()
) -> v1.PromptResponse:
    """Do what is wanted. The answer tells the tokens that it took: none, if no model was asked."""
    stop_reason: v1.StopReason = "end_turn"
    match intent:
        case ReviewIntent():
            stop_reason = await run_review(turn, intent, pieces)
        case FixIntent():
            stop_reason = await _fix(turn, intent)
        case HandOverIntent():
            stop_reason = await run_handover(turn, intent)
        case ExplainIntent(what=what):
            entries, complaint = await asyncio.to_thread(load_all_rules, turn.session.cwd)
            await turn.say(complaint + rule_details(entries, turn.session.conversation.last, what))
        case RulesIntent(query=query):
            entries, complaint = await asyncio.to_thread(load_all_rules, turn.session.cwd)
            await turn.say(complaint + rules_summary(entries, query))
        case HelpIntent():
            await turn.say(HELP)
        case _:
            await turn.say(f"I did not understand that. {HELP}")
    return v1.PromptResponse(stop_reason=stop_reason, usage=turn.spent.to_wire())


async def _fix(turn: KitTurn[ReviewConversation], intent: FixIntent) -> v1.StopReason:
    ground = SessionFolders(turn.session)
    paths = tuple(ground.display(ground.absolute(split_lines(path).path)) for path in intent.paths)
    intent = replace(intent, paths=paths)
    last = turn.session.conversation.last
    was_reviewed = last is not None and (not intent.paths or _has_any(turn, intent))
    if was_reviewed:
        await run_fixes(turn, intent)
    elif intent.paths:
        return await run_review(turn, ReviewIntent(paths=intent.paths, fix=True))
    else:
        await turn.say("Nothing was reviewed in this session yet. Say “review my changes”, or name files.\n")
    return "end_turn"


def _has_any(turn: KitTurn[ReviewConversation], intent: FixIntent) -> bool:
    """Whether the last review was about one of these paths."""
    last = turn.session.conversation.last
    return last is not None and any(is_meant(display_path, intent.paths) for display_path in last.files)
