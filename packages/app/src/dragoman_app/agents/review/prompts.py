"""Answers prompts: starts the action for the intent. Imported with the first prompt."""

from __future__ import annotations

import asyncio
import difflib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from dragoman import KitTurn
from dragoman.schema import v1
from dragoman_app.agents.review.coder_handover import run_handover
from dragoman_app.agents.review.conversation import LastReview, ReviewConversation
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
from dragoman_app.agents.review.markdown import about_rule, count_of, link
from dragoman_app.agents.review.mentions import Snippet, snippets, split_lines
from dragoman_app.agents.review.review_run import run_review
from dragoman_app.agents.review.targets import SessionFolders
from dragoman_review import BadRule, Finding, ReviewRule
from dragoman_review.catalogue import catalogue
from dragoman_review.finding import RuleText
from dragoman_review.places import RULES
from dragoman_review.rule_files import project_rules
from dragoman_review.rule_links import rule_link, rules_page

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
    """Answer a prompt in free text."""
    words, pieces = snippets(text)
    has_attachments = bool(pieces) or any(
        isinstance(block, v1.ResourceLink | v1.EmbeddedResource) for block in turn.prompt
    )
    return await carry_out(turn, understand(words, has_attachments=has_attachments), pieces)


async def carry_out(
    turn: KitTurn[ReviewConversation], intent: Intent, pieces: tuple[Snippet, ...] = ()
) -> v1.PromptResponse:
    """Run an intent. The answer reports the used tokens: none, if no model was asked."""
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


# Rules in words: all of them in short, one of them in full. Pure but for the project's own rules.

MOST = 200


def load_all_rules(root: str) -> tuple[tuple[RuleText, ...], str]:
    """Return all rules, and the errors of the project's own rules."""
    more: tuple[ReviewRule, ...] = ()
    complaint = ""
    try:
        more = project_rules(Path(root))
    except BadRule as error:
        complaint = f"The rules of this project are not used: {error}\n\n"
    return catalogue(more), complaint


def rules_summary(entries: Sequence[RuleText], query: str) -> str:
    """Return a list of rules; without a filter, their number for each kind."""
    if not query:
        kinds = Counter(entry.id.partition("/")[0] for entry in entries)
        rows = [f"- `{kind}`: {count_of(count, 'rule')}" for kind, count in sorted(kinds.items())]
        return "\n".join(
            [
                f"{len(entries)} rules are built in or come from this project:",
                "",
                *rows,
                "",
                "ruff adds its own for Python, oxlint for JavaScript and TypeScript, where installed; "
                f"a project adds rules in `{RULES.as_posix()}`. Say “rules python” for a list, "
                "“explain python/eval” for one.\n",
            ]
        )
    needle = query.lower()
    matches = [entry for entry in entries if _fits(entry, needle)]
    if not matches:
        return f"No rules for “{query}”. To list all rules, say “rules”.\n"
    rows = [f"- `{entry.id}` ({entry.severity.value}): {entry.title}" for entry in matches[:MOST]]
    more = [f"- and {len(matches) - MOST} more"] if len(matches) > MOST else []
    return "\n".join([*rows, *more]) + "\n"


def _fits(entry: RuleText, needle: str) -> bool:
    return needle in entry.id or needle in entry.languages or needle in entry.title.lower()


def rule_details(entries: Sequence[RuleText], last: LastReview | None, what: str) -> str:
    """Return a rule by its name, or a finding of the last review by its number."""
    if what.isdigit():
        return _finding_in_full(last, int(what))
    name = what.lower().replace(" ", "-")
    matches = [entry for entry in entries if name in (entry.id, entry.id.rpartition("/")[2])]
    if matches:
        return "\n".join(map(_in_full, matches))
    for finding in last.findings if last else ():
        # What ruff and oxlint know is in no list of ours, but we have just heard it.
        if name in (finding.rule, finding.rule.rpartition("/")[2]) or what.lower() in finding.title.lower():
            head = f"`{finding.rule}` ({finding.severity.value}, found by {finding.tool}): {finding.title}"
            return f"{head}\n\n{finding.why}\n"
    close = difflib.get_close_matches(name, [entry.id for entry in entries], n=3, cutoff=0.5)
    close += [entry.id for entry in entries if name in entry.id and entry.id not in close][:3]
    hint = f" Do you mean {' or '.join(f'`{rule}`' for rule in close)}?" if close else ""
    return f"Unknown rule “{what}”.{hint} Say “rules” for all of them.\n"


def _in_full(entry: RuleText) -> str:
    languages = ", ".join(entry.languages) or "every language"
    silence = f"Silence it on one line with the comment `dragoman: ignore[{entry.id}] the reason`."
    return f"`{entry.id}` ({entry.severity.value}; {languages}): {entry.title}\n\n{entry.why}\n\n{silence}\n"


def _finding_in_full(last: LastReview | None, number: int) -> str:
    if last is None or not 1 <= number <= len(last.findings):
        have = f"the last review has {len(last.findings)}" if last else "nothing was reviewed yet"
        return f"Unknown finding {number}: {have}.\n"
    finding: Finding = last.findings[number - 1]
    path = last.files[finding.path].path if finding.path in last.files else None
    mended_text = " It is already fixed." if number in last.applied else ""
    fix = (
        f"\n\nFix: {finding.fix.title}. Say “apply fix {number}”." if finding.fix and not mended_text else ""
    )
    address = rule_link(finding, rules_page())
    about = f"\n\n{about_rule(address)}" if address else ""
    return (
        f"**{number}. {finding.severity.value}: {finding.title}** ({link(finding, path)}, `{finding.rule}`, "
        f"found by {finding.tool})\n\n{finding.why}{mended_text}{fix}{about}\n"
    )
