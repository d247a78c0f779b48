"""One rule of a policy, and whether it speaks about a question.

Pure. A rule is a decision and conditions; all of its conditions must hold, and of the alternatives in one
condition any may. A rule that allows must be sure: every path and every kind is covered, and the command was
read without doubt. A rule that asks or denies needs no more than a suspicion: any path, any kind, a word of
the command that looks like a path.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct

from dragoman.workspace.policy import commands, globs
from dragoman.workspace.policy.decision import Outcome
from dragoman.workspace.policy.question import Question
from dragoman.workspace.policy.shell import Words


class Rule(Struct, frozen=True, kw_only=True):
    """Empty conditions hold for everything."""

    decision: Outcome
    agent: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    tool: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    command: tuple[Words, ...] = ()
    method: tuple[str, ...] = ()
    unreadable: bool = False
    """Whether it also allows commands that cannot be read."""
    name: str = ""
    source: str = ""
    line: int = 0

    @property
    def label(self) -> str:
        where = f"{self.source}:{self.line}" if self.line else self.source
        return f"{where} ({self.name})" if self.name else where


class Part(Struct, frozen=True, kw_only=True):
    """A question about one of the commands in it; about the whole, if it holds none that could be read."""

    question: Question
    words: Words | None = None
    doubt: str | None = None
    """Why the command must not be allowed by a rule that names commands."""


def parts_of(question: Question) -> Sequence[Part]:
    """Every command of a question by itself: each must be allowed."""
    doubt = question.objection()
    if question.script is None or question.script.objection is not None:
        return (Part(question=question, doubt=doubt),)
    return [Part(question=question, words=words, doubt=doubt) for words in question.script.commands]


def objection(rule: Rule, part: Part) -> str | None:
    """Why a rule does not speak about this, or None if it does."""
    check = _allows if rule.decision == "allow" else _restricts
    return check(rule, part)


def _allows(rule: Rule, part: Part) -> str | None:
    question = part.question
    if rule.agent and not _any_glob(rule.agent, question.agent):
        return "it is for other agents"
    if rule.method and question.method not in rule.method:
        return "it is for other methods"
    if rule.kind and not question.kinds <= set(rule.kind):
        return "it is for other kinds of tools"
    if rule.tool and not _any_glob(rule.tool, question.tool):
        return "it is for other tools"
    if rule.path and (why := _paths_not_allowed(rule, question)):
        return why
    if rule.command and part.words is not None and not _any_permits(rule, part.words):
        return "it is for other commands"
    if rule.command and question.script is None:
        return "it is for commands"
    if part.doubt is not None and not rule.unreadable:
        return f"the command cannot be allowed by a rule: {part.doubt}"
    return None


def _any_permits(rule: Rule, words: Words) -> bool:
    return any(commands.permits(pattern, words) for pattern in rule.command)


def _paths_not_allowed(rule: Rule, question: Question) -> str | None:
    if not question.paths:
        return "it is for paths, and none is named"
    for path in question.paths:
        if not globs.permits(rule.path, path, roots=question.roots, home=question.home):
            return f"it is not for the path {path}"
    return None


def _restricts(rule: Rule, part: Part) -> str | None:
    question = part.question
    if rule.agent and not _any_glob(rule.agent, question.agent, fold=True):
        return "it is for other agents"
    if rule.method and question.method not in rule.method:
        return "it is for other methods"
    if rule.kind and question.kinds.isdisjoint(rule.kind) and question.kind not in rule.kind:
        return "it is for other kinds of tools"
    if rule.tool and not _any_glob(rule.tool, question.tool, fold=True):
        return "it is for other tools"
    if rule.path and not _touches(rule, part):
        return "it is for other paths"
    if rule.command and not any(
        commands.restricts(pattern, words, rough=part.words is None)
        for pattern in rule.command
        for words in _guesses(part)
    ):
        return "it is for other commands"
    return None


def _any_glob(patterns: Iterable[str], name: str, *, fold: bool = False) -> bool:
    if fold:
        return any(fnmatchcase(name.casefold(), pattern.casefold()) for pattern in patterns)
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _guesses(part: Part) -> Sequence[Words]:
    if part.words is not None:
        return (part.words,)
    return part.question.script.commands if part.question.script is not None else ()


def _touches(rule: Rule, part: Part) -> bool:
    question = part.question
    paths = (*question.paths, *_words_as_paths(part))
    return any(globs.restricts(rule.path, path, roots=question.roots, home=question.home) for path in paths)


def _words_as_paths(part: Part) -> Iterable[str]:
    """What a command's words would be if they were paths, wherever the command may have gone before."""
    question = part.question
    if question.script is None:
        return
    bases = question.folders()
    for words in _guesses(part):
        for word in words[1:]:
            values = (word, word.partition("=")[2]) if "=" in word else (word,)
            yield from (globs.absolute(each, base, home=question.home) for each in values for base in bases)
