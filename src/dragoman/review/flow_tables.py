"""The tables of what strangers send, what cleans it and where it does harm: `data/flows.toml`."""

from __future__ import annotations

import functools
import re
import tomllib
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from dragoman.decoders import convert
from dragoman.review.code_patterns import family
from dragoman.review.finding import Severity

_TABLES = Path(__file__).parent / "data" / "flows.toml"
NOTHING = r"(?!)"


class SinkRule(Struct, frozen=True, forbid_unknown_fields=True):
    """The rule for one kind of sink."""

    id: str
    severity: Severity
    title: str
    why: str
    cleaned_by: str = NOTHING
    """Calls after which a value does no harm here."""


class FlowLanguage(Struct, frozen=True, forbid_unknown_fields=True):
    """The sources and sinks of one language."""

    sources: tuple[str, ...]
    words: tuple[str, ...] = ()
    """A statement with none of these has no source; none for a language of which this cannot be said."""
    own: str | None = None
    """Sources that are the person who runs the program: they may name any file and any host."""
    parameters: tuple[str, ...] = ()
    """Patterns of parameters that strangers fill in; the group is the name."""
    routes: str | None = None
    """What stands above a function whose parameters, all of them, are filled in by strangers."""
    sinks: dict[str, tuple[str, ...]] = {}
    """The name of a sink rule, without its prefix → patterns that end where the value begins."""


class FlowTables(Struct, frozen=True, forbid_unknown_fields=True):
    """The tables of sources, cleaners and sinks."""

    cleaned_by: str
    checked_by: str
    sink: tuple[SinkRule, ...]
    language: dict[str, FlowLanguage]


class CompiledTable(NamedTuple):
    """The patterns of one language."""

    source: re.Pattern[str]
    own: re.Pattern[str] | None
    words: tuple[str, ...]
    parameters: re.Pattern[str] | None
    routes: re.Pattern[str] | None
    sinks: tuple[tuple[SinkRule, re.Pattern[str], re.Pattern[str]], ...]
    check_pattern: re.Pattern[str]
    cleaner: re.Pattern[str]


@functools.cache
def tables() -> FlowTables:
    return convert(tomllib.loads(_TABLES.read_text("utf-8")), FlowTables)


@functools.cache
def compile_table(language: str) -> CompiledTable | None:
    table = tables().language.get(family(language))
    if table is None:
        return None
    rules = {rule.id.partition("/")[2]: rule for rule in tables().sink}
    return CompiledTable(
        re.compile("|".join(table.sources)),
        re.compile(table.own) if table.own else None,
        table.words,
        re.compile("|".join(table.parameters)) if table.parameters else None,
        re.compile(table.routes) if table.routes else None,
        tuple(
            (
                rules[kind],
                re.compile("|".join(patterns)),
                re.compile(rf"[\w.:]*(?:{rules[kind].cleaned_by})\w*\s*\("),
            )
            for kind, patterns in table.sinks.items()
        ),
        re.compile(tables().checked_by),
        re.compile(tables().cleaned_by),
    )
