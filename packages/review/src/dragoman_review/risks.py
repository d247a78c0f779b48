"""Finds risks in an action that needs a user's permission, by the reviewer's rules. Pure.

A `Proposal` is what would be done: commands, texts that files would get, and paths. The rules look at the
commands as shell scripts, with the severities of commands that are about to be run, and at each text as at a
file, in the lines that are new. A comment that silences rules silences nothing here: it would be written by
the very program that asks. What was not found may still be dangerous; a `RiskJudgement` helps a reader and
protects from nothing.

What is small is judged at once; see `assessing` for what is not. Knows nothing of agents and of the protocol.
"""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec import Struct, UnsetType

from dragoman_review.finding import Finding, Severity
from dragoman_review.languages import language_of
from dragoman_review.source import ReviewSource

if TYPE_CHECKING:
    from dragoman_review.plain_rules import PlainRules

LONGEST_LINE = 2_000
"""The most characters of a line in a file, as in a review."""

AT_ONCE = 4096
"""The most characters to check without a worker: in milliseconds, or some tens of them for a hostile text."""

LARGEST = 1024 * 1024
"""The most characters of one proposal to check."""

MOST = 12
"""The most risks to report, the worst first; nobody reads more."""

_MILDEST = Severity.MEDIUM
"""Of findings in texts. A style that somebody may dislike is not a reason to refuse a change."""

_CONTINUED = re.compile(r"\\\r?\n")
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")
_OBEYED = re.compile(
    r"(?:^|/)(?:\.git/(?:hooks/|config$)|\.ssh/|\.github/workflows/|\.gitlab-ci\.yml$|\.vscode/(?:tasks|settings)\.json$"
    r"|\.(?:bashrc|bash_profile|zshrc|zshenv|zprofile|profile|netrc|gitconfig|npmrc|pypirc|envrc|pre-commit-config\.yaml)$)"
)


class Risk(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One risk that a rule found. It describes the risk, and never quotes the text."""

    rule: str
    severity: Severity
    text: str
    path: str = ""
    line: int = 0
    """0 if there is no line."""


class Proposal(Struct, frozen=True, kw_only=True):
    """The action to check."""

    commands: tuple[str, ...] = ()
    texts: tuple[ReviewSource, ...] = ()
    """The new texts of files; `changed_lines` are their new lines."""
    paths: tuple[str, ...] = ()
    """Files to write or remove."""
    folders: tuple[str, ...] = ()
    """The working folders; a path elsewhere is a risk. None if unknown."""

    @property
    def is_empty(self) -> bool:
        return not (self.commands or self.texts or self.paths)

    @property
    def names_deeds(self) -> bool:
        """Whether the proposal runs a command or touches a file."""
        return bool(self.commands or self.paths or any(text.path for text in self.texts))

    @property
    def size(self) -> int:
        return sum(map(len, self.commands)) + sum(len(text.text) for text in self.texts)


class TextChange(Protocol):
    """A change of a file's text, such as a diff of the protocol."""

    @property
    def path(self) -> str: ...
    @property
    def old_text(self) -> str | UnsetType | None: ...
    @property
    def new_text(self) -> str: ...


def make_proposal(
    commands: Sequence[str],
    *,
    changes: Sequence[TextChange],
    paths: Sequence[str],
    folders: Sequence[str],
    most: int = LARGEST,
) -> Proposal:
    """Create a proposal. New lines are searched in up to `most` characters: in a large change that takes too
    long for an event loop. Without `paths`, the files of the changes are those to write.
    """
    is_small = sum(len(change.new_text) for change in changes) <= most
    texts = [
        ReviewSource(
            change.path,
            change.new_text,
            new_lines(change.old_text or None, change.new_text) if is_small else None,
        )
        for change in changes
    ]
    change_paths = [change.path for change in changes if change.path]
    return Proposal(
        commands=tuple(commands),
        texts=tuple(texts),
        paths=tuple(dict.fromkeys(paths or change_paths)),
        folders=tuple(folders),
    )


class RiskJudgement(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The risks, the worst first."""

    risks: tuple[Risk, ...] | None = ()
    """None if nothing could be checked; empty if everything was checked without a risk."""
    note: str = ""
    """Further information for the reader, such as unchecked parts."""


def at_once(proposal: Proposal) -> RiskJudgement | None:
    """Return the risks of a small proposal; None if a worker must check it.

    Nothing is parsed here, so texts in a language with a grammar are for a worker as well.
    """
    if proposal.size > AT_ONCE or any(language_of(text.path, text.text) for text in proposal.texts):
        return None
    risks = [*path_risks(proposal)]
    for look in looks_of(proposal):
        risks += risks_in(look, _plain_rules().findings(look.source, longest=look.longest))
    return join_risks(risks)


class RiskLook(NamedTuple):
    """One text to be checked by the rules."""

    source: ReviewSource
    is_command: bool = False

    @property
    def longest(self) -> int:
        """The most characters of a line. A command counts at any length, because its reader sees all of it;
        otherwise a long line could hide a risk.
        """
        return len(self.source.text) if self.is_command else LONGEST_LINE


def looks_of(proposal: Proposal) -> Iterator[RiskLook]:
    for command in proposal.commands:
        yield RiskLook(ReviewSource("command.sh", command), is_command=True)
        # A shell joins lines that end so, but for comments: both readings count.
        if "\\\n" in command or "\\\r\n" in command:
            yield RiskLook(ReviewSource("command.sh", _CONTINUED.sub(" ", command)), is_command=True)
    for source in proposal.texts:
        yield RiskLook(source)


def risks_in(look: RiskLook, findings: Iterable[Finding]) -> Iterator[Risk]:
    """Return the findings of one text that are risks."""
    path, changed_lines = look.source.path, look.source.changed_lines
    for finding in findings:
        rule, severity, title = finding.rule, finding.severity, finding.title
        if look.is_command:
            severity = _plain_rules().severity_when_run(rule, severity)
            yield Risk(rule=rule, severity=severity, text=title)
        elif severity.is_at_least(_MILDEST) and (
            changed_lines is None or finding.place.touches(changed_lines)
        ):
            yield Risk(rule=rule, severity=severity, text=title, path=path, line=finding.line)


def path_risks(proposal: Proposal) -> Iterator[Risk]:
    """Return the risks of paths, without reading the disk."""
    for path in proposal.paths:
        if proposal.folders and not any(_is_inside(path, folder) for folder in proposal.folders):
            text = "The file is outside of the session's folders"
            yield Risk(rule="path/outside", severity=Severity.MEDIUM, text=text, path=path)
        if _OBEYED.search(path.replace("\\", "/")):
            text = "Programs read this file later, and obey it without asking"
            yield Risk(rule="path/obeyed", severity=Severity.HIGH, text=text, path=path)
        if _HIDDEN.search(path):
            text = "The file's name has invisible characters"
            yield Risk(rule="path/hidden-character", severity=Severity.HIGH, text=text, path=path)


def join_risks(risks: Iterable[Risk], notes: Iterable[str] = ()) -> RiskJudgement:
    """Join risks, the worst first, each rule once for each file, up to the limit."""
    first: dict[tuple[str, str], Risk] = {}
    for risk in risks:
        first.setdefault((risk.rule, risk.path), risk)
    worst_first = sorted(first.values(), key=lambda risk: risk.severity.rank)
    words = list(notes)
    if len(worst_first) > MOST:
        words.append(f"{len(worst_first) - MOST} more risks were found.")
    return RiskJudgement(risks=tuple(worst_first[:MOST]), note=" ".join(words))


def judgement_failed(why: str) -> RiskJudgement:
    """Return the result when nothing could be checked, which a reader must see."""
    return RiskJudgement(risks=None, note=f"Not checked for risks: {why}.")


def new_lines(before: str | None, after: str) -> frozenset[int] | None:
    """Return the new lines of a text; None for all. Linear, unlike a diff: a moved line is not new."""
    if not before:
        return None
    old_lines = frozenset(before.split("\n"))
    return frozenset(number for number, line in enumerate(after.split("\n"), 1) if line not in old_lines)


def warm() -> None:
    """Load everything that `at_once` needs, which takes a tenth of a second the first time."""
    at_once(Proposal(commands=("true",)))


def is_warm() -> bool:
    return _plain_rules.cache_info().currsize > 0


@functools.cache
def _plain_rules() -> PlainRules:
    from dragoman_review.plain_rules import PlainRules  # whoever only names risks needs no rules

    return PlainRules()


def _is_inside(path: str, folder: str) -> bool:
    whole = posixpath.normpath(path if path.startswith("/") else f"{folder}/{path}")
    return whole == folder or whole.startswith(f"{folder.rstrip('/')}/")
