"""One rule of a policy, and whether it speaks about a question.

Pure. A rule is a decision and conditions; all of its conditions must hold, and of the alternatives in one
condition any may. A rule that allows must be sure: every path and every kind is covered, and the command was
read without doubt. A rule that asks or denies needs no more than a suspicion: any path, any kind, a word of
the command that looks like a path. Where what a command does is only known when it runs, such a rule might
speak about it (`Certainty.PERHAPS`), and then the answer is never to allow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from msgspec import Struct

from dragoman.workspace.policy import commands, globs
from dragoman.workspace.policy.act import Act
from dragoman.workspace.policy.decision import Certainty, Outcome
from dragoman.workspace.policy.partial_words import ANY, RUN, has_unknown_part
from dragoman.workspace.policy.program_calls import goes_below, read_call
from dragoman.workspace.policy.shell import Words, unknown_command


class PolicyRule(Struct, frozen=True, kw_only=True):
    """Empty conditions hold for everything."""

    decision: Outcome
    agent: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    tool: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    command: tuple[Words, ...] = ()
    method: tuple[str, ...] = ()
    project: tuple[str, ...] = ()
    """Folders in which a session lives."""
    folder: tuple[str, ...] = ()
    """Folders in which a command starts."""
    command_line: tuple[str, ...] = ()
    """Whole command lines, to the letter: for commands that are made of several."""
    unreadable: bool = False
    """Whether it also allows commands that cannot be read."""
    name: str = ""
    source: str = ""
    line: int = 0

    @property
    def label(self) -> str:
        where = f"{self.source}:{self.line}" if self.line else self.source
        return f"{where} ({self.name})" if self.name else where


class ActPart(Struct, frozen=True, kw_only=True):
    """A question about one of the commands in it; about the whole, if it holds none that could be read."""

    act: Act
    words: Words | None = None
    folders: tuple[str, ...] = ()
    """Where its commands may run."""
    doubt: str | None = None
    """Why the command must not be allowed by a rule that names commands."""


def parts_of(act: Act) -> Sequence[ActPart]:
    """Every command of a question by itself: each must be allowed."""
    doubt = act.objection()
    folders = tuple(act.folders())
    if act.script is None or act.script.objection is not None:
        return (ActPart(act=act, doubt=doubt, folders=folders),)
    return [ActPart(act=act, words=words, doubt=doubt, folders=folders) for words in act.script.commands]


class Relevance(NamedTuple):
    """Whether a rule speaks about something, and why not, or why that is not certain."""

    certainty: Certainty
    why: str | None = None


def relevance(rule: PolicyRule, part: ActPart, *, is_sure: bool = False) -> Relevance:
    """Whether a rule speaks about this. A rule that allows does or does not; one that asks or denies might.

    With `is_sure`, what may be anything at all is left out of account.
    """
    if rule.decision == "allow":
        why = _allows(rule, part)
        return Relevance(Certainty.YES if why is None else Certainty.NO, why)
    return _restricts(rule, part, is_sure=is_sure)


def _allows(rule: PolicyRule, part: ActPart) -> str | None:
    act = part.act
    if rule.agent and not _any_glob(rule.agent, act.agent):
        return "it is for other agents"
    if rule.method and act.method not in rule.method:
        return "it is for other methods"
    if rule.kind and not act.kinds <= set(rule.kind):
        return "it is for other kinds of tools"
    if rule.tool and not _any_glob(rule.tool, act.tool):
        return "it is for other tools"
    if (why := _other_place(rule, act)) is not None:
        return why
    if rule.command_line and (act.script is None or act.script.text not in rule.command_line):
        return "it is for other command lines"
    if rule.path and (why := _paths_not_allowed(rule, act)):
        return why
    if rule.command and part.words is not None and not _any_permits(rule, part.words):
        return "it is for other commands"
    if rule.command and act.script is None:
        return "it is for commands"
    if part.doubt is not None and not rule.unreadable:
        return f"the command cannot be allowed by a rule: {part.doubt}"
    return None


def _any_permits(rule: PolicyRule, words: Words) -> bool:
    return any(commands.permits(pattern, words) for pattern in rule.command)


def _paths_not_allowed(rule: PolicyRule, act: Act) -> str | None:
    if act.unknown_texts and act.script is None:
        return f"it is for paths, and its input may name another: {act.unknown_texts[0]}"
    if not act.paths:
        return "it is for paths, and none is named"
    for path in act.paths:
        if not globs.permits(rule.path, path, roots=act.roots, home=act.home):
            return f"it is not for the path {path}"
    return None


def _restricts(rule: PolicyRule, part: ActPart, *, is_sure: bool) -> Relevance:
    act = part.act
    if rule.agent and not _any_glob(rule.agent, act.agent, fold=True):
        return Relevance(Certainty.NO, "it is for other agents")
    if rule.method and act.method not in rule.method:
        return Relevance(Certainty.NO, "it is for other methods")
    if rule.kind and act.kinds.isdisjoint(rule.kind) and act.kind not in rule.kind:
        return Relevance(Certainty.NO, "it is for other kinds of tools")
    if rule.tool and not _any_glob(rule.tool, act.tool, fold=True):
        return Relevance(Certainty.NO, "it is for other tools")
    if (why := _other_place(rule, act)) is not None:
        return Relevance(Certainty.NO, why)
    if rule.command_line and (act.script is None or act.script.text not in rule.command_line):
        return Relevance(Certainty.NO, "it is for other command lines")
    paths = _touches(rule, part, is_sure=is_sure) if rule.path else Certainty.YES
    if paths is Certainty.NO:
        return Relevance(Certainty.NO, "it is for other paths")
    certainty = min(paths, _runs(rule, part) if rule.command else Certainty.YES)
    if certainty is Certainty.NO:
        return Relevance(Certainty.NO, "it is for other commands")
    if certainty is Certainty.PERHAPS:
        return Relevance(certainty, f"it might mean this: {part.doubt or 'not every word of it is known'}")
    return Relevance(certainty)


def _other_place(rule: PolicyRule, act: Act) -> str | None:
    """Why a rule for some folders does not hold here; they are compared as they are written."""
    home = act.home
    project = act.roots[0] if act.roots else ""
    if rule.project and not (project and globs.permits(rule.project, project, roots=(), home=home)):
        return "it is for other projects"
    if rule.folder and not globs.permits(rule.folder, act.start, roots=(), home=home):
        return "it is for commands that start in other folders"
    return None


def _any_glob(patterns: Iterable[str], name: str, *, fold: bool = False) -> bool:
    if fold:
        return any(fnmatchcase(name.casefold(), pattern.casefold()) for pattern in patterns)
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _runs(rule: PolicyRule, part: ActPart) -> Certainty:
    """Whether one of a rule's commands is, or might be, run."""
    script = part.act.script
    if script is None:
        return _may_run(rule, part.act)
    possible = (part.words,) if part.words is not None else script.possible
    guesses = () if part.words is not None else script.commands
    certainty = Certainty.NO
    for pattern in rule.command:
        if any(commands.restricts_roughly(pattern, words) for words in guesses):
            return Certainty.YES
        certainty = max(certainty, *(commands.restricts(pattern, words) for words in possible), Certainty.NO)
    if certainty is Certainty.NO and part.act.runs_other_code:
        return Certainty.PERHAPS
    return certainty


def _may_run(rule: PolicyRule, act: Act) -> Certainty:
    """Whether a text in a tool's input, read as a command, is one of a rule's."""
    guesses = [words for text in act.unknown_texts for words in unknown_command(text).commands]
    found = any(
        commands.restricts_roughly(pattern, words) for words in guesses if words for pattern in rule.command
    )
    return Certainty.PERHAPS if found else Certainty.NO


def _touches(rule: PolicyRule, part: ActPart, *, is_sure: bool) -> Certainty:
    """Whether one of a rule's paths is, or might be, named."""
    act = part.act
    certainty = Certainty.NO
    for path in (*act.paths, *_words_as_paths(part)):
        if is_sure:
            path = "/".join(
                "\0" if name.strip(ANY + RUN) == "" and name else name for name in path.split("/")
            )
        certainty = max(certainty, globs.restricts(rule.path, path, roots=act.roots, home=act.home))
        if certainty is Certainty.YES:
            return certainty
    if certainty is Certainty.NO and any(
        globs.restricts(rule.path, globs.absolute(text, base), roots=act.roots, home=act.home)
        is not Certainty.NO
        for text in act.unknown_texts
        if len(text) <= _MOST_PATH
        for base in act.roots or ("/",)
    ):
        return Certainty.PERHAPS
    if certainty is Certainty.NO and any(
        globs.is_above(rule.path, path, roots=act.roots, home=act.home) for path in _trees(part)
    ):
        return Certainty.PERHAPS
    return (
        Certainty.PERHAPS if certainty is Certainty.NO and not is_sure and act.runs_other_code else certainty
    )


def _commands_of(part: ActPart) -> Sequence[Words]:
    if part.words is not None:
        return (part.words,)
    script = part.act.script
    return tuple(filter(None, (*script.commands, *script.possible))) if script is not None else ()


def _words_as_paths(part: ActPart) -> Iterable[str]:
    """What a command's words would be if they were paths, wherever the command may have gone before."""
    act = part.act
    for words in _commands_of(part):
        words = tuple(dict.fromkeys(words))
        if len(words) > _MANY:
            yield f"/{ANY}"  # nobody should wait until each of them is compared
            continue
        bases = part.folders
        if has_unknown_part(words[0]):
            yield f"/{words[0]}"
        folder_values = [
            flag.value for flag in read_call(words).flags if flag.text in _FOLDER_FLAGS and flag.value
        ]
        here = [
            *bases,
            *(globs.absolute(value, base, home=act.home) for value in folder_values for base in bases),
        ]
        for word in words if words[0].startswith(".") or "/" in words[0] else words[1:]:
            for value in _values_in(word):
                yield from (globs.absolute(value, base, home=act.home) for base in here)


_FOLDER_FLAGS = frozenset(("-C", "--directory", "--chdir", "--cwd", "--dir", "--prefix"))
"""Options after whose value relative paths count from there."""

_MAGIC_PATH = re.compile(r":\([^)]*\)")
"""How git lets a path say more than where it is."""

_JOINTS = re.compile(r"[=@:,]+")


def _values_in(word: str) -> Iterable[str]:
    """A word, and every end of it that a program may take for a path: `--file=x`, `-d@x`, `HEAD:x`, `-ox`."""
    yield word
    for joint in _JOINTS.finditer(word):
        yield word[joint.end() :]
    if word.startswith("-") and not word.startswith("--"):
        yield from (word[at:] for at in range(2, min(len(word), _MOST_LETTERS)))
    if word.startswith("file://"):
        yield word.removeprefix("file://")
    if match := _MAGIC_PATH.match(word):
        yield word[match.end() :]


_MOST_PATH = 4096

_MANY = 2000
"""Different words of a guess that are compared with paths; of more than that, any might be one."""

_MOST_LETTERS = 8
"""How many letters may be bundled before a value that is attached to the last."""


def _trees(part: ActPart) -> Iterable[str]:
    """Folders that a command changes or copies with all that is in them."""
    act = part.act
    for words in _commands_of(part):
        if goes_below(words):
            for operand in read_call(words).operands:
                yield from (globs.absolute(operand, base, home=act.home) for base in part.folders)
