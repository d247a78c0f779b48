"""What is known of programs: the spellings of their options, which take values, name files or run things.

The entries are data, in `program_options` and `git_options`; here is how they are read. An entry is a
program, or a program and its subcommand, and its options:

    -x,--ex     two spellings of one option
    -x=         it takes a value; `-x=?` only one that is attached to it
    -x@         it takes a value that names a file
    -x!         it takes a value that is run, or that makes the program run or load something
    -x!?        the same, with a value only if it is attached; `-x!!` without any value
    (onedash)   long options have one dash, and letters are never bundled
    (runs)      the program, or this subcommand, runs what it is given
    (carries)   its operands are a command that it runs, in order, after its own
    (first)     its own options end at its first operand
    (below)     an operand that is a folder stands for everything below it; `(below-r)`: with `-r`

An option that makes a program run something is never allowed by a rule, so an entry makes commands harder to
allow and easier to deny. A program or an option that is missing here is judged by its words alone; where a
rule denies an option, one that is not known might be another spelling of it, and is asked about.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final, Literal, NamedTuple, TypeAlias

from dragoman.workspace.policy.git_options import GIT_OPTIONS
from dragoman.workspace.policy.program_options import PROGRAM_OPTIONS

Takes: TypeAlias = Literal["nothing", "value", "attached"]


class ProgramOption(NamedTuple):
    """One option in all its spellings."""

    names: tuple[str, ...]
    takes: Takes = "nothing"
    runs: bool = False
    is_file: bool = False


class ProgramEntry(NamedTuple):
    """What is known of one program, or of one of its subcommands."""

    options: dict[str, ProgramOption]
    marks: frozenset[str]


ALIASES: Final = {
    **dict.fromkeys(("egrep", "fgrep", "zgrep", "ggrep"), "grep"),
    **dict.fromkeys(("gawk", "mawk", "nawk", "busybox-awk"), "awk"),
    **dict.fromkeys(("gsed", "ssed"), "sed"),
    **dict.fromkeys(("gmake", "bmake", "mingw32-make"), "make"),
    **dict.fromkeys(("bsdtar", "gtar"), "tar"),
    **dict.fromkeys(("nodejs",), "node"),
    **dict.fromkeys(("fdfind",), "fd"),
    **dict.fromkeys(("g++", "cc", "c++", "gfortran"), "gcc"),
    **dict.fromkeys(("clang++",), "clang"),
    **dict.fromkeys(("luajit",), "lua"),
    **dict.fromkeys(("vimdiff", "gvim", "rvim", "vim.tiny", "vim.basic", "nvi", "gview", "rview"), "vim"),
    **dict.fromkeys(("pico", "rnano"), "nano"),
    **dict.fromkeys(("tofu",), "terraform"),
    **dict.fromkeys(("sqlite",), "sqlite3"),
    **dict.fromkeys(("py.test",), "pytest"),
    **dict.fromkeys(("mariadb",), "mysql"),
    **dict.fromkeys(("grm",), "rm"),
    **dict.fromkeys(("gzip", "gunzip"), "gzip"),
}
"""Names under which the same program is called."""


def entry_for(program: str, subcommand: str | None = None) -> ProgramEntry | None:
    """What is known of a program, with what is known of its subcommand if there is one."""
    own = _table().get((program, ""))
    below = _table().get((program, subcommand)) if subcommand is not None else None
    if own is None or below is None:
        return below or own
    return ProgramEntry({**own.options, **below.options}, below.marks)


def has_subcommands(program: str) -> bool:
    return program in _with_subcommands()


@cache
def _with_subcommands() -> frozenset[str]:
    return frozenset(program for program, subcommand in _table() if subcommand)


@cache
def _table() -> dict[tuple[str, str], ProgramEntry]:
    return {name: _entry(fields) for name, fields in _entries()}


def _entries() -> Iterator[tuple[tuple[str, str], list[str]]]:
    name: tuple[str, str] | None = None
    fields: list[str] = []
    for line in (PROGRAM_OPTIONS + GIT_OPTIONS).splitlines():
        words = line.split()
        if not words:
            continue
        if line[:1].isspace():
            fields += words
            continue
        if name is not None:
            yield name, fields
        has_sub = len(words) > 1 and words[1][0] not in "-("
        name = (words[0], words[1] if has_sub else "")
        fields = words[2:] if has_sub else words[1:]
    if name is not None:
        yield name, fields


def _entry(fields: list[str]) -> ProgramEntry:
    marks = frozenset(field.strip("()") for field in fields if field.startswith("("))
    options: dict[str, ProgramOption] = {}
    for field in fields:
        if field.startswith("("):
            continue
        option = _option(field)
        options.update(dict.fromkeys(option.names, option))
    return ProgramEntry(options, marks)


def _option(field: str) -> ProgramOption:
    spellings = field.split(",")
    bare = tuple(spelling.rstrip("=@!?") if len(spelling) > 2 else spelling for spelling in spellings)
    kinds = "".join(spelling[len(name) :] for spelling, name in zip(spellings, bare, strict=True))
    takes: Takes = "nothing"
    if "?" in kinds:
        takes = "attached"
    elif kinds and "!!" not in kinds:
        takes = "value"
    return ProgramOption(bare, takes, "!" in kinds, "@" in kinds)
