"""One rule of a policy, and whether it matches an act.

Pure. A rule is a decision and conditions; all of its conditions must hold, and of the alternatives in one
condition any may. A rule that allows must be sure: every path and every kind is covered, and the command was
read without doubt. A rule that asks or denies needs no more than a suspicion: any path, any kind, a word of
the command that looks like a path. Where what a command does is only known when it runs, such a rule might
speak about it (`Certainty.PERHAPS`), and then the answer is never to allow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain, islice
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from dragoman_local.workspace.policy import commands, globs
from dragoman_local.workspace.policy.act import MOST_FOLDERS, TOO_LARGE, Act
from dragoman_local.workspace.policy.decision import Certainty, Outcome
from dragoman_local.workspace.policy.globs import ANY, RUN, has_unknown_part, is_known
from dragoman_local.workspace.policy.line_reader import Words
from dragoman_local.workspace.policy.program_calls import TREE_PROGRAMS, name_of, read_call
from dragoman_local.workspace.policy.shell import guess_words, possible_in_arguments
from dragoman_local.workspace.policy.tool_inputs import LONGEST_PATH, MOST_PLACES, canonical_paths


class PolicyRule(Struct, frozen=True, kw_only=True):
    """One rule. Empty conditions match everything."""

    decision: Outcome
    agent: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    tool: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    command: tuple[Words, ...] = ()
    method: tuple[str, ...] = ()
    project: tuple[str, ...] = ()
    """Folders of the session."""
    folder: tuple[str, ...] = ()
    """Start folders of a command."""
    command_line: tuple[str, ...] = ()
    """Whole command lines, to the letter: for lines with several commands."""
    unreadable: bool = False
    """Whether it also allows commands that are not understood; together with `command`, those with matching
    words.
    """
    name: str = ""
    source: str = ""
    line: int = 0

    @property
    def label(self) -> str:
        where = f"{self.source}:{self.line}" if self.line else self.source
        return f"{where} ({self.name})" if self.name else where


class ActPart(Struct, frozen=True, kw_only=True):
    """One of the commands of a question; the whole question, if no command could be read."""

    act: Act
    words: Words | None = None
    doubt: str | None = None
    """The reason why no rule may allow it, even if it looks harmless."""
    nested: str | None = None
    """The reason why only a rule that names its folder may allow it."""
    unknown: str | None = None
    """The reason why only a rule with the whole command may allow it."""
    only_reads: bool = False
    is_git: bool = False
    possible: Sequence[Words] = ()
    """The commands that it might run, with itself."""
    guesses: Sequence[Words] = ()
    """Words anywhere in it, quoted or not."""
    paths: Sequence[str] = ()
    """Its words as paths, from any folder that it may have entered before."""
    trees: Sequence[str] = ()
    """Folders that it changes or copies with all their contents."""

    @property
    def links(self) -> Sequence[str]:
        """The real targets of those paths that are links or lead through one."""
        named = set(self.paths)
        return [real for path, real in self.act.links if path in named]

    @property
    def reason(self) -> str | None:
        return self.doubt or self.nested or self.unknown


def parts_of(act: Act) -> Sequence[ActPart]:
    """Return every command of a question: each must be allowed."""
    script = act.script
    if script is None:
        return (ActPart(act=act, paths=act.paths),)
    folders, places = tuple(act.folders()), _Places(act.home)
    whole = ActPart(act=act, doubt=act.objection())
    if script.objection is None:
        return [_part(whole, words, folders, places) for words in script.commands]
    return (
        replace(
            whole,
            possible=script.possible,
            guesses=script.commands,
            paths=[*act.paths, *places.of((*script.commands, *script.possible), folders)],
            trees=places.trees(script.possible, folders),
        ),
    )


def _part(whole: ActPart, words: Words, folders: Sequence[str], places: _Places) -> ActPart:
    act, call = whole.act, read_call(words)
    possible = possible_in_arguments(words)
    named = [
        globs.absolute(path, folder, home=act.home)
        for folder in folders
        for path in canonical_paths(call.places(), folder, act.home)
    ]
    outside = act.roots and not all(map(act.is_in_roots, (*named, *ActPart(act=act, paths=named).links)))
    return replace(
        whole,
        words=words,
        nested=_NESTED if call.program == "git" and not set(folders) <= set(act.roots or folders) else None,
        unknown=call.doubt
        or (
            "the command runs code from, or changes, a place outside the session's folders"
            if outside
            else None
        ),
        only_reads=call.only_reads,
        is_git=call.program == "git" and call.subcommand != "mv",
        possible=possible,
        guesses=() if call.doubt is None else guess_words(" ".join(words)),
        paths=[*act.paths, *places.of(possible, folders)],
        trees=places.trees(possible, folders),
    )


def places_in(act: Act) -> Iterator[tuple[str, str]]:
    """Return every text in a command that may be a path, with each folder from which it may count."""
    commands, possible = ((), ()) if act.script is None else (act.script.commands, act.script.possible)
    for words in dict.fromkeys(chain(commands, possible or chain(*map(possible_in_arguments, commands)))):
        yield from _texts_in(words, _bases(words, act.folders(), act.home))


_NESTED: Final = "git would run below the session's folder, where another repository may say what it runs"


class Relevance(NamedTuple):
    """Whether a rule matches an act, and why not, or why that is uncertain."""

    certainty: Certainty
    why: str | None = None


def relevance(rule: PolicyRule, part: ActPart) -> Relevance:
    """Whether a rule matches this act: an allowing rule does or does not, an asking or denying rule may."""
    if rule.decision == "allow":
        why = next(_objections(rule, part), None)
        return Relevance(Certainty.YES if why is None else Certainty.NO, why)
    return _restricts(rule, part)


def _objections(rule: PolicyRule, part: ActPart) -> Iterator[str]:
    """The reasons why a rule does not allow this."""
    act, words = part.act, part.words
    if why := _elsewhere(rule, act, fold=False):
        yield why
    if rule.kind and not act.kinds <= set(rule.kind):
        yield "the rule is for other kinds of tools"
    if rule.kind and "other" not in rule.kind and act.script is None and not act.is_clear:
        yield "the agent's description does not show that it is of this kind"
    if rule.path:
        if act.script is None and (texts := (*act.unknown_texts, *act.doubts)):
            yield f"the rule is for paths, and the request may use another path: {texts[0]}"
        if not act.paths:
            yield "the rule is for paths, and the request names none"
        permits = partial(globs.permits, rule.path, roots=act.roots, home=act.home)
        yield from (f"the rule does not cover the path {path}" for path in act.paths if not permits(path))
    if rule.command and act.script is None:
        yield "the rule is for commands"
    if rule.command and act.writes:
        yield "the rule is for commands, but this request also changes files"
    if rule.command and words is not None and not any(commands.permits(each, words) for each in rule.command):
        yield "the rule is for other commands"
    if rule.unreadable and (words is not None or not rule.command):
        return
    is_spelled = words is not None and any(commands.spells(each, words) for each in rule.command)
    nested = None if rule.folder else part.nested
    unknown = None if is_spelled or rule.command_line else part.unknown
    if why := part.doubt or nested or unknown:
        yield f"the command cannot be allowed by a rule: {why}"


def _restricts(rule: PolicyRule, part: ActPart) -> Relevance:
    act = part.act
    if (why := _elsewhere(rule, act, fold=True)) is not None:
        return Relevance(Certainty.NO, why)
    if rule.kind and act.kinds.isdisjoint(rule.kind) and act.kind not in rule.kind:
        return Relevance(Certainty.NO, "the rule is for other kinds of tools")
    certainty = touches(rule.path, part) if rule.path else Certainty.YES
    if certainty is Certainty.NO:
        return Relevance(certainty, "the rule is for other paths")
    certainty = min(certainty, _runs(rule, part) if rule.command else Certainty.YES)
    if certainty is Certainty.NO:
        return Relevance(Certainty.NO, "the rule is for other commands")
    why = f"the rule might apply: {part.reason or 'Dragoman does not know every word of the command'}"
    return Relevance(certainty, why if certainty is Certainty.PERHAPS else None)


def _elsewhere(rule: PolicyRule, act: Act, *, fold: bool) -> str | None:
    """The reason why a rule for another agent or place does not apply here. Folders are compared as they are
    written, names whatever their case if `fold`.
    """
    if not (rule.agent or rule.method or rule.tool or rule.command_line or rule.project or rule.folder):
        return None
    is_place = partial(globs.permits, roots=(), home=act.home)
    project, names = act.roots[0] if act.roots else "", _agent_names(act.agent, fold=fold)
    conditions: tuple[tuple[str, Sequence[str], Callable[[], object]], ...] = (
        ("other agents", rule.agent, lambda: any(_any_glob(rule.agent, each, fold=fold) for each in names)),
        ("other methods", rule.method, lambda: act.method in rule.method),
        ("other tools", rule.tool, lambda: _any_glob(rule.tool, act.tool, fold=fold)),
        (
            "other command lines",
            rule.command_line,
            lambda: act.script and act.script.text in rule.command_line,
        ),
        ("other projects", rule.project, lambda: bool(project) and is_place(rule.project, project)),
        ("commands that start in other folders", rule.folder, lambda: is_place(rule.folder, act.start)),
    )
    found = (f"the rule is for {what}" for what, wanted, holds in conditions if wanted and not holds())
    return next(found, None)


def _agent_names(agent: str, *, fold: bool) -> Sequence[str]:
    """Names of an agent in a rule. To restrict a command line, each of its words and programs will do."""
    words = agent.replace("'", "").split() if fold else []
    return [agent, *words, *map(name_of, words)]


def _any_glob(patterns: Iterable[str], name: str, *, fold: bool) -> bool:
    spelled = str.casefold if fold else str
    return any(fnmatchcase(spelled(name), spelled(pattern)) for pattern in patterns)


def _runs(rule: PolicyRule, part: ActPart) -> Certainty:
    """Whether one of a rule's commands is, or might be, run."""
    if part.act.script is None:
        return _may_run(rule, part.act)
    # Whoever names an MCP server sets its variables in person; they hold keys more often than programs.
    is_changed = part.act.changing_variables and part.act.method != "mcp"
    certainty = Certainty.PERHAPS if is_changed else Certainty.NO
    for pattern in rule.command:
        if any(commands.restricts_roughly(pattern, words) for words in part.guesses):
            # In a line that cannot be read, its words are enough; what a program is given may be text.
            certainty = max(certainty, Certainty.YES if part.words is None else Certainty.PERHAPS)
        certainty = max(
            certainty, *(commands.restricts(pattern, words) for words in part.possible), Certainty.NO
        )
    return certainty


def _may_run(rule: PolicyRule, act: Act) -> Certainty:
    """Whether a text in a tool's input, read as a command, is one of a rule's."""
    # A title may be the program, and a text of the input its arguments.
    lines = (*act.unknown_texts, act.title, *(f"{act.title} {text}" for text in act.unknown_texts))
    guesses = [words for line in lines for words in guess_words(line)]
    found = any(commands.restricts_roughly(pattern, words) for words in guesses for pattern in rule.command)
    return Certainty.PERHAPS if found or TOO_LARGE in act.doubts else Certainty.NO


def touches(wanted: Sequence[str], part: ActPart, *, is_sure: bool = False) -> Certainty:
    """Whether one of these paths is, or might be, named. With `is_sure`, words that may be anything are
    ignored.
    """
    act = part.act
    paths = [  # nothing has the name that takes the place of those that may be anything
        "/".join("\0" if is_sure and name and not name.strip(ANY + RUN) else name for name in path.split("/"))
        for path in part.paths
    ]
    certainty = globs.restricts(wanted, paths, roots=act.roots, home=act.home)
    if certainty is not Certainty.NO:
        return certainty
    further = (
        *act.possible_places,
        *part.links,
        # In a text for a program that nobody knows, any word may be a path.
        *(globs.absolute(word, act.start) for each in part.guesses if part.words for word in each),
    )
    is_possible = (
        (not is_sure and (TOO_LARGE in act.doubts or act.changing_variables))
        or globs.restricts(
            wanted,
            filter(is_known, further) if is_sure else further,
            roots=act.roots,
            home=act.home,
        )
        is not Certainty.NO
        or any(globs.is_above(wanted, path, roots=act.roots, home=act.home) for path in part.trees)
    )
    return Certainty.PERHAPS if is_possible else Certainty.NO


TOO_MANY: Final = f"/{ANY}/{ANY}"
"""In the place of the paths that are not checked, because there are too many."""


class _Places:
    """The words of an act's commands as paths: a limited number, so that the check is fast."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._left = MOST_PLACES

    def of(self, possible: Iterable[Words], folders: Sequence[str]) -> Sequence[str]:
        found: dict[str, None] = {}
        for words in possible:
            if has_unknown_part(words[0]):
                found[f"/{words[0]}"] = None
            bases = _bases(words, folders, self._home)
            if len(bases) > MOST_FOLDERS:
                return [*found, TOO_MANY]
            places = (globs.absolute(text, base, home=self._home) for base, text in _texts_in(words, bases))
            taken = list(islice(places, self._left + 1))
            found |= dict.fromkeys(taken[: self._left])
            if len(taken) > self._left:
                return [*found, TOO_MANY]
            self._left -= len(taken)
        return list(found)

    def trees(self, possible: Iterable[Words], folders: Sequence[str]) -> Sequence[str]:
        return [
            globs.absolute(word, base, home=self._home)
            for words in possible
            if name_of(words[0]) in TREE_PROGRAMS
            for word in words[1:MOST_FOLDERS]
            for base in folders
        ]


def _bases(words: Words, folders: Sequence[str], home: str) -> Sequence[str]:
    """The folders from which the paths in a command may count."""
    return [
        *folders,
        *(
            globs.absolute(value, base, home=home)
            for value in islice(_goes_to(words), MOST_FOLDERS)
            for base in folders
        ),
    ]


def _texts_in(words: Words, bases: Sequence[str]) -> Iterator[tuple[str, str]]:
    return (
        (base, text)
        for word in (words if words[0].startswith(".") or "/" in words[0] else words[1:])
        for text in _values_in(word)
        if len(text) <= LONGEST_PATH
        for base in bases
    )


def _goes_to(words: Words) -> Iterable[str]:
    """Folders after whose mention relative paths count from there."""
    for word, after in zip(words, (*words[1:], ""), strict=True):
        name, _, value = word.partition("=")
        if name in _FOLDER_FLAGS:
            yield value or after
        elif word.startswith("-C"):
            yield word[2:]


_FOLDER_FLAGS = frozenset(("-C", "--directory", "--chdir", "--cwd", "--dir", "--prefix"))

_MAGIC_PATH = re.compile(r":\([^)]*\)")
"""How git lets a path say more than where it is."""

_JOINTS = re.compile(r"[=@:,;]+")


def _values_in(word: str) -> Iterable[str]:
    """A word, and what may be a path in it: `--file=x`, `-d@x`, `HEAD:x`, `-F f=@x;y`, `-ox`."""
    yield word
    if word.isalnum():
        return
    pieces = _JOINTS.split(word, MOST_PIECES)
    if len(pieces) > MOST_PIECES:
        yield f"/{ANY}"
        return
    for piece, joint in zip(pieces, _JOINTS.finditer(word), strict=False):
        yield from (piece, word[joint.end() :])
    if word.startswith("-") and not word.startswith("--"):
        yield from (word[at:] for at in range(2, min(len(word), _MOST_LETTERS)))
    if (at := word.lower().find("file://")) >= 0:
        yield from canonical_paths((word[at:],), "/", "")
    if match := _MAGIC_PATH.match(word):
        yield word[match.end() :]


MOST_PIECES: Final = 40
"""The most pieces of a word that may be paths; a word with more might be any."""

_MOST_LETTERS = 8
"""How many letters may be bundled before a value that is attached to the last."""
