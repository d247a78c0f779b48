"""Rules in words: all of them in short, one of them in full. Pure but for the project's own rules."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from dragoman_app.agents.review.conversation import LastReview
from dragoman_app.agents.review.markdown import about_rule, count_of, link
from dragoman_review import BadRule, Finding, ReviewRule
from dragoman_review.catalogue import catalogue
from dragoman_review.finding import RuleText
from dragoman_review.places import RULES
from dragoman_review.rule_files import project_rules
from dragoman_review.rule_links import rule_link, rules_page

MOST = 200


def load_all_rules(root: str) -> tuple[tuple[RuleText, ...], str]:
    """All rules, and what is wrong with those that the project brings."""
    more: tuple[ReviewRule, ...] = ()
    complaint = ""
    try:
        more = project_rules(Path(root))
    except BadRule as error:
        complaint = f"The rules of this project are not used: {error}\n\n"
    return catalogue(more), complaint


def rules_summary(entries: Sequence[RuleText], query: str) -> str:
    """A list of rules; without a wish, how many there are of each kind."""
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
    """A rule by its name, or a finding of the last review by its number."""
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
