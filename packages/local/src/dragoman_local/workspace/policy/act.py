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
"""The most folders of a command; one with more may be anywhere."""

TOO_LARGE: Final = "its input is too large to be read"
"""The doubt about an action with too many unknown texts."""

_GOES: Final = frozenset({"cd", "pushd", "popd", "chdir"})


class Act(Struct, frozen=True, kw_only=True):
    """One action of an agent."""

    method: Method
    agent: str = ""
    """The user's name for it; an agent's own name proves nothing."""
    session_id: str = ""
    requester: str = ""
    """The subagent that asks, with its parents; empty for the agent of the session itself."""
    kind: str = "other"
    """The kind that the agent claims."""
    tool: str = ""
    title: str = ""
    paths: tuple[str, ...] = ()
    """Absolute paths; `..` stays where text alone can't resolve it."""
    script: CommandScript | None = None
    """The command, if there is one."""
    writes: bool = False
    """Whether it contains a change of files."""
    fetches: bool = False
    """Whether its input contains a network address."""
    changes: tuple[FileChange, ...] = ()
    """The changes that it shows; for a write through the client, its effect."""
    unknown_texts: tuple[str, ...] = ()
    """Texts of its input that may be paths or commands."""
    possible_places: tuple[str, ...] = ()
    """Paths that its texts may mean."""
    links: tuple[tuple[str, str], ...] = ()
    """Paths in its command that are links or lead through one, with their real targets."""
    doubts: tuple[str, ...] = ()
    """The reasons why its effect is uncertain: a contradiction, or too much to read."""
    roots: tuple[str, ...] = ()
    cwd: str = ""
    """The start folder of a command; empty if unknown."""
    variables: tuple[str, ...] = ()
    """Variables that the agent sets for a command: `NAME=value`, or `NAME` if the value is unknown."""
    home: str = ""
    real_paths: tuple[str, ...] = ()
    """The real paths; empty until the act is resolved."""
    real_start: str = ""

    @property
    def kinds(self) -> frozenset[str]:
        """Its real kinds, and the claimed kind if that is not milder."""
        deeds = (("execute", self.script is not None), ("edit", self.writes), ("fetch", self.fetches))
        real = {kind for kind, is_so in deeds if is_so}
        return frozenset(real if real and self.kind in (*READS, "other") else {*real, self.kind})

    @property
    def written_paths(self) -> tuple[str, ...]:
        """The files that it changes, if any."""
        return self.paths if self.kinds & WRITES or self.method == "fs/write" else ()

    @property
    def is_read(self) -> bool:
        """Whether it changes nothing, and stays in the session's folders. A read without a path, or with an
        unknown input, may be anything.
        """
        return self.kinds <= READS and self.is_clear and self.is_inside

    @property
    def is_clear(self) -> bool:
        """Whether all of its input is understood, and a read names its path."""
        return not self.unknown_texts and not self.doubts and (bool(self.paths) or self.kind != "read")

    @property
    def is_inside(self) -> bool:
        return all(is_plain(path) and self.is_in_roots(path) for path in self.paths)

    def objection(self) -> str | None:
        """The reason why no rule may permit its command, even if it looks harmless."""
        return next(self.objections(), None)

    def objections(self) -> Iterator[str]:
        """Everything that a person should know before permitting its command."""
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
        return [each for each in self.variables if not is_harmless(each)]

    def folders(self) -> Sequence[str]:
        """The folders in which its commands may run: their start, and wherever they go."""
        folders = [self.start]
        for target in self._targets():
            if len(folders) > MOST_FOLDERS:
                return [*folders, f"/{ANY}"]
            folders.append(absolute(target, folders[-1], home=self.home or "/"))
        return list(dict.fromkeys(folders))

    def _targets(self) -> Iterable[str]:
        for words in (*self.script.commands, *self.script.possible) if self.script is not None else ():
            if words[0] in _GOES:
                # Without an argument it goes home, with a dash to a place that text cannot tell.
                yield from [word for word in words[1:] if not word.startswith("-")] or ["~"]
            elif name_of(words[0]) == "git":
                # Each `-C` counts from the one before.
                yield from (flag.value for flag in read_call(words).flags if flag.text == "-C" and flag.value)

    def is_in_roots(self, path: str) -> bool:
        return any(is_beneath(path, root) for root in self.roots)


class ActContext(Struct, frozen=True, kw_only=True):
    """The circumstances of an act: its agent, the session's folders, the home folder."""

    agent: str = ""
    roots: tuple[str, ...] = ()
    """The session's folders; relative paths start at the first."""
    home: str = ""
