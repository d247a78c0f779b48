"""Which programs and options are understood: only with those does a rule with a `*` allow a command.

The entries are data, in `program_options`; here is how they are read. An entry is a program, or a program and
its subcommand, and its options:

    -x,--ex     two spellings of one option; no other spelling is the same option
    -x=         it takes a value, attached or as the next word; `-x=?` only an attached one
    -x>         what follows is a command
    (reads)     it changes no file
    (0), (1)    it takes no operand, or one
    (digits)    `-20` is an option
    (onedash)   long options have one dash, and letters are never bundled
    (any)       all its words are operands
    (script)    its one operand is a script; what stands behind that is the script's own
    (carries)   its operands are a command
    (project)   it runs the project's code: what it names must be inside, and `--` hands words on to that code
    (plain)     an operand with `=` in it is a setting
    (sed)       its first operand is a script of sed
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from dragoman.workspace.policy.program_options import PROGRAM_OPTIONS


class ProgramOption(NamedTuple):
    """One option in all its spellings."""

    names: tuple[str, ...]
    takes: str
    """What stands behind it in the table."""


class ProgramEntry(NamedTuple):
    """What is known of one program, or of one of its subcommands."""

    options: dict[str, ProgramOption]
    marks: frozenset[str]


ALIASES: Final = {
    **dict.fromkeys(("egrep", "fgrep"), "grep"),
    **dict.fromkeys(("sh", "dash", "zsh", "ksh"), "bash"),
    "py.test": "pytest",
    "nodejs": "node",
    "fdfind": "fd",
}
"""Names under which the same options are understood."""


def entry_for(program: str, subcommand: str = "") -> ProgramEntry | None:
    return _table().get((program, subcommand))


def has_subcommands(program: str) -> bool:
    return program in _programs_with_subcommands()


@cache
def _programs_with_subcommands() -> frozenset[str]:
    return frozenset(program for program, subcommand in _table() if subcommand)


@cache
def _table() -> dict[tuple[str, str], ProgramEntry]:
    table: dict[tuple[str, str], ProgramEntry] = {}
    for block in PROGRAM_OPTIONS.strip().replace("\n ", " ").splitlines():
        program, *fields = block.split()
        subcommand = fields.pop(0) if fields and fields[0][0] not in "-(" else ""
        options = [_option(field) for field in fields if field.startswith("-")]
        table[program, subcommand] = ProgramEntry(
            {name: option for option in options for name in option.names},
            frozenset(field.strip("()") for field in fields if field.startswith("(")),
        )
    return table


def _option(field: str) -> ProgramOption:
    spellings = field.split(",")
    names = tuple(spelling.rstrip("=?>") for spelling in spellings)
    endings = [spelling[len(name) :] for spelling, name in zip(spellings, names, strict=True)]
    return ProgramOption(names, max(endings, key=len))
