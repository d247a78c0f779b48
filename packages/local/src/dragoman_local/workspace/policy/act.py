"""An act: one action of an agent that the policy decides on.

Pure. What an agent calls a tool is a claim: a call that holds a command counts as `execute`, one that shows a
change as `edit` and one that names an address as `fetch`, whatever kind it says it is. `act_reader` makes
acts. `_meta` is never looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from dragoman_local.workspace.policy.globs import ANY, absolute, is_beneath, is_plain
from dragoman_local.workspace.policy.program_calls import is_harmless, name_of, read_call
from dragoman_local.workspace.policy.shell import CommandScript
from dragoman_local.workspace.policy.tool_inputs import FileChange

Method: TypeAlias = Literal["permission", "fs/read", "fs/write", "terminal", "mcp"]

METHODS: Final[tuple[Method, ...]] = ("permission", "fs/read", "fs/write", "terminal", "mcp")
READS: Final = frozenset({"read", "search", "think"})
WRITES: Final = frozenset({"edit", "delete", "move"})

MOST_FOLDERS: Final = 32
"""A command that goes to more folders may be anywhere."""

TOO_LARGE: Final = "its input is too large to be read"
"""The doubt about an act whose unknown texts are not all here."""

_GOES: Final = frozenset({"cd", "pushd", "popd", "chdir"})


class Act(Struct, frozen=True, kw_only=True):
    """One action that an agent wants to take."""

    method: Method
    agent: str = ""
    """The name by which its user calls it; what an agent calls itself proves nothing."""
    session_id: str = ""
    requester: str = ""
    """Which subagent asks, and for whom; nothing if it is the agent of the session itself."""
    kind: str = "other"
    """The kind that the agent says."""
    tool: str = ""
    title: str = ""
    paths: tuple[str, ...] = ()
    """Absolute; where text could not tell, `..` stays in."""
    script: CommandScript | None = None
    """The command, if there is one."""
    writes: bool = False
    """Whether it shows a change of files."""
    fetches: bool = False
    """Whether its input names an address of the network."""
    changes: tuple[FileChange, ...] = ()
    """What it shows of that; of a lent write, what it does."""
    unknown_texts: tuple[str, ...] = ()
    """Texts of its input that may be places or commands."""
    possible_places: tuple[str, ...] = ()
    """Paths that could be read in its texts, or to which links in its command lead."""
    doubts: tuple[str, ...] = ()
    """What leaves open what it would do: two things that do not agree, or more than can be read."""
    roots: tuple[str, ...] = ()
    cwd: str = ""
    """Where a command would start; nothing if nobody says."""
    variables: tuple[str, ...] = ()
    """What the agent sets in a command's environment: `NAME=value`, or `NAME` if that is all we know."""
    home: str = ""
    real_paths: tuple[str, ...] = ()
    """Where the paths really lead; empty until the act is resolved."""
    real_start: str = ""

    @property
    def kinds(self) -> frozenset[str]:
        """Its real kinds, with the kind that the agent claims if that is no milder."""
        deeds = (("execute", self.script is not None), ("edit", self.writes), ("fetch", self.fetches))
        real = {kind for kind, is_so in deeds if is_so}
        return frozenset(real if real and self.kind in (*READS, "other") else {*real, self.kind})

    @property
    def written_paths(self) -> tuple[str, ...]:
        """The files that it changes, if it changes any."""
        return self.paths if self.kinds & WRITES or self.method == "fs/write" else ()

    @property
    def is_read(self) -> bool:
        """Whether it changes nothing, and stays where the session lives. A read that names no place, or has
        an input that we do not understand, may be anything.
        """
        return self.kinds <= READS and self.is_clear and self.is_inside

    @property
    def is_clear(self) -> bool:
        """Whether we understand all of its input, and a read says what it reads."""
        return not self.unknown_texts and not self.doubts and (bool(self.paths) or self.kind != "read")

    @property
    def is_inside(self) -> bool:
        return all(is_plain(path) and self.is_in_roots(path) for path in self.paths)

    def objection(self) -> str | None:
        """Why its command must not be permitted by a rule, however well it reads."""
        return next(self.objections(), None)

    def objections(self) -> Iterator[str]:
        """All that a person should know before they permit its command."""
        if self.script is None:
            return
        yield from self.doubts
        if self.script.objection is not None:
            yield self.script.objection
        if self.cwd and self.roots and not (is_plain(self.cwd) and self.is_in_roots(self.cwd)):
            yield "the command would start outside the session's folders"
        if self.roots and any(not self.is_in_roots(folder) for folder in self.folders()[1:]):
            yield "the command goes to a folder outside the session"
        for name in (variable.partition("=")[0] for variable in self.changing_variables):
            yield f"the agent sets the variable {name} for it, with which programs may run or load other code"

    @property
    def start(self) -> str:
        """The folder where its command starts: by default the session's first folder."""
        return self.cwd or (self.roots[0] if self.roots else "/")

    @property
    def changing_variables(self) -> Sequence[str]:
        """The variables with which even a harmless command may do anything."""
        return [each for each in self.variables if not is_harmless(each.partition("=")[0])]

    def folders(self) -> Sequence[str]:
        """Where its commands may run: where they start, and wherever they go."""
        folders = [self.start]
        for target in self._targets():
            if len(folders) > MOST_FOLDERS:
                return [*folders, f"/{ANY}"]
            folders.append(absolute(target, folders[-1], home=self.home or "/"))
        return list(dict.fromkeys(folders))

    def _targets(self) -> Iterable[str]:
        for words in (*self.script.commands, *self.script.possible) if self.script is not None else ():
            if words[:1] and words[0] in _GOES:
                # Without an argument it goes home, with a dash to a place that text cannot tell.
                yield from [word for word in words[1:] if not word.startswith("-")] or ["~"]
            elif words[:1] and name_of(words[0]) == "git":
                # Each `-C` counts from the one before.
                yield from (flag.value for flag in read_call(words).flags if flag.text == "-C" and flag.value)

    def is_in_roots(self, path: str) -> bool:
        return any(is_beneath(path, root) for root in self.roots)


class ActContext(Struct, frozen=True, kw_only=True):
    """The circumstances of an act: its agent, the session's folders, the home folder."""

    agent: str = ""
    roots: tuple[str, ...] = ()
    """The session's folders; the first is the one that relative paths count from."""
    home: str = ""
