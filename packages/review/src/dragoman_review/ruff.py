"""Reviews Python with ruff: its options, and its output as findings.

The text goes in on standard input, so that nothing is read from the disk, and with a configuration of our
own (`data/asked-of-ruff.toml`), so that the answer does not depend on where the text comes from. `# noqa` in
it is obeyed.
"""

from __future__ import annotations

import functools
import re
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

import msgspec
from msgspec import Struct

from dragoman.decoders import convert, json_decoder
from dragoman_review.catalogue import BY_RUFF_CODE
from dragoman_review.finding import Edit, Finding, Fix, RuleText, Severity
from dragoman_review.programs import ProgramResult, no_answer, run_program
from dragoman_review.python_ast import SYNTAX
from dragoman_review.source import ReviewSource
from dragoman_review.text_edits import TextLines, apply_edits

_CONFIG = Path(__file__).parent / "data" / "asked-of-ruff.toml"

_TARGET = "py314"
"""The newest Python that every ruff of our range knows: of a text we do not know which one it is for, and
what an older one refuses is not wrong."""


_PACKAGES = ("--per-file-ignores", "__init__.py:F401,__init__.py:F403")
# Folders that ruff skips by itself cannot be met: the texts are written under numbers.


class _About(Struct, frozen=True, forbid_unknown_fields=True):
    code: str
    severity: Severity
    why: str


class _Config(Struct, frozen=True, forbid_unknown_fields=True):
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    about: tuple[_About, ...]


class _Location(Struct, frozen=True):
    row: int
    column: int


class _RuffEdit(Struct, frozen=True):
    content: str
    location: _Location
    end_location: _Location


class _RuffFix(Struct, frozen=True):
    edits: tuple[_RuffEdit, ...]
    applicability: str = "unsafe"
    message: str | None = None


class _RuffMessage(Struct, frozen=True):
    message: str
    location: _Location
    end_location: _Location
    filename: str = ""
    code: str | None = None
    name: str | None = None
    fix: _RuffFix | None = None


_decode = json_decoder(tuple[_RuffMessage, ...]).decode


@functools.cache
def config() -> _Config:
    return convert(tomllib.loads(_CONFIG.read_text("utf-8")), _Config)


def _options(ignore: Sequence[str]) -> list[str]:
    return [
        *("check", "--isolated", "--no-cache", "--no-fix", "--quiet", "--exit-zero", "--output-format=json"),
        *("--target-version", _TARGET),
        *("--select", ",".join(config().select), "--ignore", ",".join(ignore)),
    ]


def _read(result: ProgramResult) -> tuple[_RuffMessage, ...]:
    try:
        return _decode(result.out)
    except msgspec.DecodeError:
        raise no_answer("ruff", result) from None


async def ruff_findings_of_many(
    program: str, sources: Sequence[ReviewSource], *, deadline: float
) -> list[list[Finding]]:
    """Review some texts with one start of ruff; return findings in the order of the texts. Raises
    `ToolFailed`.
    """
    with tempfile.TemporaryDirectory(prefix="dragoman-review-") as folder:
        places = {}
        for number, source in enumerate(sources):
            place = Path(folder) / str(number) / _plain_name(source.path)
            place.parent.mkdir()
            place.write_bytes(source.text.encode())
            places[str(place)] = number
        result = await run_program(
            [program, *_options(config().ignore), *_PACKAGES, folder], cwd=folder, deadline=deadline
        )
        messages = _read(result)
    by_source: dict[int, list[_RuffMessage]] = {}
    for message in messages:
        if message.filename in places:
            by_source.setdefault(places[message.filename], []).append(message)
    return [
        read_messages(by_source[number], source.path, TextLines(source.text)) if number in by_source else []
        for number, source in enumerate(sources)
    ]


def _plain_name(path: str) -> str:
    """A name that any disk takes, and of which ruff thinks the same."""
    name = PurePosixPath(path.replace("\\", "/")).name
    return name if name == "__init__.py" else "text.pyi" if name.endswith(".pyi") else "text.py"


def read_messages(messages: Iterable[_RuffMessage], path: str, lines: TextLines) -> list[Finding]:
    return [_finding(message, path, lines) for message in messages if not _is_harmless(message, lines)]


# Calls that give something else each time.
_CLOCK = re.compile(
    r"`(?:\w+\.)*(?:datetime\.(?:now|utcnow|today)|date\.today|time\.(?:time|monotonic)|timezone\.now|uuid[14]"
    r"|(?:secrets|random)\.\w+|getcwd|cwd|urandom)`"
)
_UNSAFE_LOADER = re.compile(r"yaml\.C?(?:Full|Unsafe)?Loader")
_SHELL_CODES = ("S602", "S604", "S605")


def _is_harmless(message: _RuffMessage, lines: TextLines) -> bool:
    """Whether the command of a shell is a constant, a loader of YAML makes plain values, or the call that
    makes a default gives the same each time."""
    if message.code == "B008":
        return _CLOCK.search(message.message) is None
    if message.code == "S506" and "loader `" in message.message:
        # A loader of the project's own mostly makes plain values.
        start, end = _offset(message.location, lines), _offset(message.end_location, lines)
        return _UNSAFE_LOADER.fullmatch(lines.text, start, end) is None
    return message.code in _SHELL_CODES and "seems safe" in message.message


def _finding(message: _RuffMessage, path: str, lines: TextLines) -> Finding:
    start, end = _offset(message.location, lines), _offset(message.end_location, lines)
    code = message.code or ""
    place = lines.place(path, start, end)
    fix = _fix(message.fix, lines) if message.fix else None
    if not code or code == "invalid-syntax":
        return SYNTAX.finding(place, title=message.message, fix=fix, tool="ruff")
    rule = BY_RUFF_CODE.get(code) or _rule(code, message.name or code.lower())
    return rule.finding(place, title=f"{message.message} ({code})", fix=fix, tool="ruff")


def _rule(code: str, name: str) -> RuleText:
    """A rule that only ruff has; the longest code in our list that it begins with says how bad it is."""
    fitting = [about for about in config().about if code.startswith(about.code)]
    about = max(fitting, key=lambda about: len(about.code))
    return RuleText(id=f"python/{name}", severity=about.severity, title=name, why=about.why)


def _fix(fix: _RuffFix, lines: TextLines) -> Fix | None:
    edits = sorted(
        (
            Edit(_offset(edit.location, lines), _offset(edit.end_location, lines), edit.content)
            for edit in fix.edits
        ),
        key=lambda edit: (edit.start, edit.end),
    )
    try:
        apply_edits(lines.text, edits)
    except ValueError:  # not a fix that we understand; the finding stands without it
        return None
    return Fix(title=fix.message or "Fix", edits=tuple(edits), safe=fix.applicability == "safe")


def _offset(location: _Location, lines: TextLines) -> int:
    return lines.offset(location.row, location.column)
