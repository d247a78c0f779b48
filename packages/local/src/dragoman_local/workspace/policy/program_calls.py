"""Reads a command's words as its program would, and tells whether all of them are understood.

Pure. `read_call` takes a command apart with the table of programs: bundled letters, values that are attached
or follow, and `--`. A program, a subcommand, an option or a spelling that the table does not hold is not
understood: `doubt` says so, and then no rule with a `*` in it allows the command.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from dragoman_local.workspace.policy.programs import (
    ALIASES,
    ProgramEntry,
    ProgramOption,
    entry_for,
    has_subcommands,
    name_of,
)

_FOLDERS: Final = frozenset(("", "/bin", "/usr/bin", "/usr/local/bin"))
"""Where a program is what its name says; elsewhere an agent may have written it."""

MOST_LETTERS: Final = 20
"""Options that are taken for letters of one word."""

_VERSIONED: Final = re.compile(r"(python|pip|node)[\d.]+")
_NUMBER: Final = re.compile(r"-\d+")
_ADDRESS: Final = r"(?:\d+|\$|/[^/\\\[\n]*/)"
_SED_SCRIPT: Final = re.compile(
    rf"(?:{_ADDRESS}(?:,{_ADDRESS})?)?(?:[pdq=]|s([/|#,:@])(?:(?!\1)[^\\\[\n])*\1(?:(?!\1)[^\\\n])*\1[gpI0-9]*)"
)
"""One command that prints, deletes or replaces, in words that every sed takes apart alike."""


class GivenFlag(NamedTuple):
    """One option of a command."""

    text: str
    option: ProgramOption | None
    """None if the table does not know it."""
    value: str | None = None


class ProgramCall(NamedTuple):
    """A command, taken apart."""

    program: str
    subcommand: str
    entry: ProgramEntry | None
    flags: tuple[GivenFlag, ...]
    operands: tuple[str, ...]
    """Without the subcommand."""
    doubt: str | None
    """Why it is not understood; None if it is."""
    carried: ProgramCall | None = None
    """The command that it runs, if that is one of its operands."""

    @property
    def is_known(self) -> bool:
        """Whether the table holds its program, if not these words."""
        return self.entry is not None or has_subcommands(self.program)

    @property
    def only_reads(self) -> bool:
        return self.doubt is None and self.entry is not None and "reads" in self.entry.marks

    def code_places(self) -> Iterator[str]:
        """What it may run code from, as far as its words name places."""
        if self.carried is not None:
            yield from self.carried.code_places()
        elif self.entry is not None and not self.entry.marks.isdisjoint(("project", "script")):
            yield from (*self.operands, *(flag.value for flag in self.flags if flag.value))


@lru_cache(maxsize=4096)
def program_name(word: str) -> str:
    """The name under which the table knows a program, whatever its folder, case or version."""
    name = name_of(word).casefold()
    if version := _VERSIONED.fullmatch(name):
        name = version[1]
    return ALIASES.get(name, name)


@lru_cache(maxsize=256)
def read_call(words: tuple[str, ...]) -> ProgramCall:
    """The meaning of a command's words for its program."""
    return _CallReader(words).read()


class _CallReader:
    def __init__(self, words: tuple[str, ...]) -> None:
        self._name = program_name(words[0])
        self._words = deque(words[1:])
        self._entry = entry_for(self._name)
        self._wants_subcommand = has_subcommands(self._name)
        self._subcommand = ""
        self._flags: list[GivenFlag] = []
        self._operands: list[str] = []
        self._carried: ProgramCall | None = None
        self._doubt: str | None = None
        folder, _, name = words[0].rpartition("/")
        if folder not in _FOLDERS or name != name.casefold():
            self._object(f"{words[0]} is not a program of the system")

    def read(self) -> ProgramCall:
        while self._words:
            word = self._words.popleft()
            if word.startswith("-") and len(word) > 1 and not self._has("any"):
                self._read_flag(word)
            elif self._wants_subcommand:
                self._wants_subcommand, self._subcommand = False, word
                self._entry = entry_for(self._name, word)
            else:
                self._operands.append(word)
                if self._has("script") or self._has("carries"):
                    self._take_rest()
        carries = any(flag.option and flag.option.takes == ">" for flag in self._flags)
        if self._operands and (carries or self._has("carries")):
            self._carried = read_call(tuple(self._operands))
        self._doubt = self._doubt or self._check()
        return ProgramCall(
            self._name,
            self._subcommand,
            self._entry,
            tuple(self._flags),
            tuple(self._operands),
            self._doubt,
            self._carried,
        )

    def _has(self, mark: str) -> bool:
        return self._entry is not None and mark in self._entry.marks

    def _object(self, doubt: str) -> None:
        self._doubt = self._doubt or doubt

    def _take_rest(self) -> None:
        self._operands += self._words
        self._words.clear()

    def _read_flag(self, word: str) -> None:
        options = self._entry.options if self._entry is not None else {}
        name, equals, value = word.partition("=")
        if word == "--":
            self._take_rest()
            if self._has("project"):
                self._object(f"{self._name} hands on what stands behind --")
        elif word in options:
            self._take(word, options[word], None)
        elif word.startswith("--") or self._has("onedash"):
            self._take(name, options.get(name), value if equals else None)
        elif self._has("digits") and _NUMBER.fullmatch(word):
            self._flags.append(GivenFlag(word, ProgramOption((word,), "")))
        else:
            self._take_letters(word, options)

    def _take_letters(self, word: str, options: dict[str, ProgramOption]) -> None:
        for at in range(1, min(len(word), MOST_LETTERS)):
            name, rest = f"-{word[at]}", word[at + 1 :] or None
            option = options.get(name)
            if option is not None and option.takes:
                self._take(name, option, rest)
                return
            # What follows a letter that nobody knows may be its value, and may be more letters.
            self._take(name, option, rest if option is None else None)
        if len(word) > MOST_LETTERS:
            self._object(f"{self._title} is given more than {MOST_LETTERS} letters at once")

    def _take(self, name: str, option: ProgramOption | None, value: str | None) -> None:
        if option is None:
            self._object(f"the option {name} of {self._title} is not in the table of harmless options")
        elif option.takes == ">":
            self._operands += [value] if value is not None else []
            self._take_rest()
        elif option.takes == "=" and value is None:
            follows = self._words[0] if self._words else None
            if follows is None or (follows.startswith("-") and not _NUMBER.fullmatch(follows)):
                self._object(f"the option {name} of {self._title} has no value")
            else:
                value = self._words.popleft()
        elif not option.takes and value is not None:
            self._object(f"the option {name} of {self._title} takes no value")
        self._flags.append(GivenFlag(name, option, value))

    @property
    def _title(self) -> str:
        return f"{self._name} {self._subcommand}".rstrip()

    def _check(self) -> str | None:
        """What the operands leave open, when all options are known."""
        if self._entry is None:
            return f"{self._title} is not in the table of programs"
        if self._carried is not None:
            return self._carried.doubt
        operands, flags = self._operands, self._flags
        starts = self._has("script") or self._has("carries")
        tells_version = bool(flags) and flags[-1].text in ("-V", "-v", "--version")
        scripts = [flag.value or "" for flag in flags if flag.text in ("-e", "--expression")] or operands[:1]
        most = 0 if self._has("0") else 1 if self._has("1") else len(operands)
        doubts = (
            (
                starts and len(operands) != 1 and not tells_version,
                f"nobody knows what {self._title} would run, or with which options",
            ),
            (starts and operands[:1] == ["-"], f"{self._title} would run what it is fed"),
            (
                self._has("project") and any(each.startswith("@") for each in operands),
                f"{self._title} takes words from a file",
            ),
            (len(operands) > most, f"{self._title} is given {''.join(operands[-1:])}"),
            (
                self._has("plain") and any("=" in each for each in operands),
                f"{self._title} is given a setting",
            ),
            (
                self._name == "git" and any("::" in each for each in operands),
                "git is given an address that it may run",
            ),
            (
                self._has("sed") and not all(map(_SED_SCRIPT.fullmatch, scripts)),
                "sed's script may do more than print, delete and replace",
            ),
        )
        return next((doubt for is_open, doubt in doubts if is_open), None)
