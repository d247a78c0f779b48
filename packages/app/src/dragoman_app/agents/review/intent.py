"""Finds the intent of a prompt with rules over words, without a model. Pure.

Whatever is said, the answer is an intent; what cannot be understood is `UnclearIntent`, and never an error.
Which of the named things exist is not known here: words that may be paths are handed on as such.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from dragoman_app.agents.review.mentions import drop_unprintable, find_mentions, guesses, is_path

OWN_BRANCH = "the default branch"
"""The branch that this one will be merged into, whatever its name."""


class ReviewIntent(Struct, frozen=True, kw_only=True):
    """Review targets, and perhaps fix findings at once."""

    paths: tuple[str, ...] = ()
    """The paths that were surely named."""
    guesses: tuple[str, ...] = ()
    """Words that may be names of files or folders; only existing ones count."""
    changes: Literal["working", "staged"] | None = None
    against: str | None = None
    everything: bool = False
    fix: bool = False


class FixIntent(Struct, frozen=True, kw_only=True):
    """Apply fixes of the last review."""

    numbers: tuple[int, ...] = ()
    """Numbers of findings; empty means all."""
    paths: tuple[str, ...] = ()
    unsafe: bool = False
    """Include fixes that may change the behaviour of the program."""


class HandOverIntent(Struct, frozen=True):
    """Let the coder fix findings of the last review."""

    numbers: tuple[int, ...]


class ExplainIntent(Struct, frozen=True):
    """Explain a rule, or a finding by its number."""

    what: str


class RulesIntent(Struct, frozen=True):
    """List the rules, or only those whose names contain this text."""

    query: str = ""


class HelpIntent(Struct, frozen=True):
    """Explain the commands."""


class UnclearIntent(Struct, frozen=True):
    """The prompt was not understood."""


Intent: TypeAlias = (
    ReviewIntent | FixIntent | HandOverIntent | ExplainIntent | RulesIntent | HelpIntent | UnclearIntent
)


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_POLITE = _words(
    r"^(?:(?:hi|hello|hey|ok|okay|yes|please|now|then|and|so|well|great|thanks|thank you|just|let us|let's"
    r"|(?:can|could|would|will) you|i (?:want|would like) you to|i'd like you to|go ahead and)\b[\s,.!:]*)+"
)
_HELP = _words(
    r"(?:\?|help(?: me)?|usage|commands|what (?:can|do) you do|how do(?:es)? (?:this|you) work)\W*"
)
_COMMAND = re.compile(r"/[\w-]*(?:\s|$)")
"""A slash command that there is not: those that there are do not come here."""
_EXPLAIN = _words(
    r"(?:explain|describe|what(?: is|'s| does|s)|tell me (?:more )?about|why(?: is)?|more (?:on|about))\b"
    r"\s*(.*)"
)
_RULES = _words(
    r"(?:(?:list|show|print|what are|which(?: are)?)\b[^.]*?\brules\b|rules\b)"
    r"(?: (?:are there|do you (?:have|know|use)|exist))?(?: (?:for|about|of|on|named))?\s*(.*)"
)
_FIX = _words(r"(?:apply|fix|mend|repair|correct|auto-?fix|resolve|patch)\b\s*(.*)")
_HAND_OVER = _words(
    r"(?:let|have|ask|tell|get) the coder\b(.*)|(?:hand|give|pass|send)\b(.*)\bto the coder\b.*"
    r"|(?:fix|mend|repair|correct|resolve)\b(.*)\b(?:with|by|using) the coder\b.*"
)
_AND_FIX = _words(r"(?:\band\b|\bthen\b|,)\s*(?:then )?(?:apply|fix|mend|repair|correct)\b")
_REVIEW = _words(
    r"\b(?:re-?review|review|check|lint|inspect|analy[sz]e|audit|scan|examine|look (?:at|over|through|into)"
    r"|go over|critique|proof-?read|any (?:bugs?|problems?|issues?)|what(?:'s| is) wrong|feedback on"
    r"|(?:find|spot|see) (?:the |any |some )?(?:bugs?|problems?|issues?|mistakes?|errors?|secrets?))\b"
)
_STAGED = _words(r"\b(?:staged|cached|the index|(?:about|going) to commit)\b")
_CHANGES = _words(
    r"\b(?:changes?|changed|diffs?|uncommitted|unstaged|working (?:tree|copy)|modified|modifications|my edits"
    r"|work in progress|wip|what i (?:did|have done|wrote|changed))\b"
)
_AGAINST = _words(
    r"\b(?:against|compared? (?:to|with)|versus|vs\.?|since|relative to|from) (?:the )?"
    r"(?:branch |commit |tag |revision |ref )?[`'\"]?(?P<ref>\w[\w./~^@{}-]*)"
)
_COMMITS = _words(r"\b(?:last|latest|previous|most recent) (?:(?P<count>\d{1,3}) )?commits?\b")
_BRANCH = _words(
    r"\b(?:this|my|the(?: whole| entire)?(?: current)?) (?:feature )?(?:branch|pull request|pr|mr)\b"
)
_EVERYTHING = _words(
    r"\b(?:everything|all (?:the |my )?files|(?:the|this|my|our) (?:whole |entire )?"
    r"(?:project|repo(?:sitory)?|code ?base|workspace|folder|directory|package))\b|(?:^|\s)\./?(?:\s|$)"
)
_NUMBER = re.compile(r"#?(\d{1,4})(?:\s*(?:-|to|through|–)\s*#?(\d{1,4}))?")
_UNSAFE = _words(r"\b(?:unsafe|risky|really all|all of them|every(?: single)? one)\b")
_PLEASED = _words(
    r"(?:all|it|them|that|this|these|those|everything|fix(?:es)?|the|your|suggest\w*|propos\w*|findings?|number|no"
    r"|issues?|problems?|bugs?|errors?|safe|unsafe|risky|ones?|of|and|also|including|please|now|in|for|only|single"
    r"|every|really|to|automatically|[#\d\s.,!&–-])*"
)
"""What may follow "fix" when the findings of the last review are meant, and nothing else."""


def understand(text: str, *, has_attachments: bool = False) -> Intent:
    """Return the intent. `has_attachments` says whether the prompt has texts or links to texts."""
    request = _POLITE.sub("", " ".join(drop_unprintable(text).split()))
    if not request:
        return ReviewIntent() if has_attachments else HelpIntent()
    if _HELP.fullmatch(request):
        return HelpIntent()
    if _COMMAND.match(request):
        return UnclearIntent()
    if (match := _RULES.match(request)) is not None:
        return RulesIntent(match[1].strip(" ?.!`"))
    if (match := _HAND_OVER.match(request)) is not None:
        return HandOverIntent(_numbers(match[1] or match[2] or match[3] or ""))
    if (fixing := _fix_intent(request, has_attachments=has_attachments)) is not None:
        return fixing
    if _REVIEW.search(request) is None and (match := _EXPLAIN.match(request)) is not None:
        return _explain_intent(match[1])
    return _review_intent(request, has_attachments=has_attachments)


def named_revision(text: str) -> ReviewIntent:
    """Parse the argument of `/diff`: nothing, `staged`, or a revision."""
    text = drop_unprintable(text)
    word = text.strip().strip("`'\"")
    if not word:
        return ReviewIntent(changes="working")
    if word.lower() in ("staged", "--staged", "--cached", "index"):
        return ReviewIntent(changes="staged")
    return _changes(text) or ReviewIntent(changes="working", against=word.split()[-1])


def handed_over(text: str) -> HandOverIntent:
    """Parse the argument of `/code`: numbers of findings."""
    return HandOverIntent(_numbers(text))


def _explain_intent(what: str) -> Intent:
    what = re.sub(r"^(?:the |a )?(?:rules?|findings?|number|issue|no\.)?\s*", "", what.strip(" ?.!`'\""))
    what = re.sub(r"\s+(?:means?|bad|wrong|a problem)$", "", what).strip("`'\"# ")
    return ExplainIntent(what) if what and len(what.split()) <= 6 else UnclearIntent()


def _fix_intent(request: str, *, has_attachments: bool) -> Intent | None:
    match = _FIX.match(request)
    if match is None:
        return None
    paths = find_mentions(request)
    rest = " ".join(word for word in match[1].split() if not is_path(word))
    if _PLEASED.fullmatch(rest):
        if has_attachments:
            return ReviewIntent(paths=paths, fix=True)
        return FixIntent(numbers=_numbers(rest), paths=paths, unsafe=_UNSAFE.search(request) is not None)
    # More than "fix it": it has to be found first.
    review = _review_intent(request, has_attachments=has_attachments)
    return replace(review, fix=True) if isinstance(review, ReviewIntent) else review


def _numbers(text: str) -> tuple[int, ...]:
    numbers: list[int] = []
    for match in _NUMBER.finditer(text):
        first, last = int(match[1]), int(match[2] or match[1])
        numbers += range(first, min(last, first + 999) + 1)
    return tuple(dict.fromkeys(numbers))


def _review_intent(request: str, *, has_attachments: bool) -> Intent:
    fix = _AND_FIX.search(request) is not None
    paths = find_mentions(request)
    is_asked = _REVIEW.search(request) is not None
    changes = _changes(request)
    if changes is not None and (is_asked or len(request.split()) <= 5):
        other_paths = tuple(path for path in paths if path != changes.against)
        # "check app.py against the style guide" is not a question about the history.
        if changes.against is None or not other_paths or _CHANGES.search(request):
            return replace(changes, paths=other_paths, fix=fix)
    if not (is_asked or paths or has_attachments):
        return UnclearIntent()
    everything = not paths and not has_attachments and _EVERYTHING.search(request) is not None
    return ReviewIntent(
        paths=paths, guesses=guesses(request) if is_asked else (), everything=everything, fix=fix
    )


def _changes(request: str) -> ReviewIntent | None:
    """The part of the history that is meant, if one is."""
    if _STAGED.search(request):
        return ReviewIntent(changes="staged")
    if (commits := _COMMITS.search(request)) is not None:
        return ReviewIntent(changes="working", against=f"HEAD~{commits['count'] or 1}")
    against = _AGAINST.search(request)
    if against is not None and (_CHANGES.search(request) or not against[0].lower().startswith("from")):
        return ReviewIntent(changes="working", against=against["ref"].rstrip(".,"))
    if _BRANCH.search(request):
        return ReviewIntent(changes="working", against=OWN_BRANCH)
    return ReviewIntent(changes="working") if _CHANGES.search(request) else None
