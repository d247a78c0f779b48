"""Reviews JavaScript and TypeScript with oxlint, if it is installed.

It reads files only, so the texts are written to a folder of our own that is gone afterwards, under numbers
for names, with a configuration of our own beside them. It tells places but no edits: what it would mend is
seen by letting it mend the copies, and comparing.
"""

from __future__ import annotations

import difflib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dragoman.decoders import json_decoder
from dragoman_review.finding import Edit, Finding, Fix, Severity
from dragoman_review.programs import ProgramResult, no_answer, run_program
from dragoman_review.source import ReviewSource
from dragoman_review.structure import is_available
from dragoman_review.text_edits import TextLines
from dragoman_review.worker_messages import LONGEST_LINE

SUFFIXES = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts")

# What is outright wrong, by its own judgement. Its other categories are taste, or wrong too often.
_CATEGORIES = {"correctness": "error"}
_UNWANTED = ("no-unused-vars", "no-debugger")
# Ours by shape, with the same names; without ast-grep they are asked for here.
_TWINS = ("no-eval", "use-isnan")

_WHY = "Code like this is rarely what you meant."
_MILD = frozenset(
    {
        *("no-useless-escape", "require-module-specifiers", "no-useless-catch", "no-empty-file"),
        *("prefer-string-starts-ends-with", "no-new-array", "no-useless-spread", "no-useless-rename"),
        "no-useless-fallback-in-spread",
    }
)


class _Span(Struct, frozen=True):
    offset: int
    length: int


class _Label(Struct, frozen=True):
    span: _Span


class _Diagnostic(Struct, frozen=True):
    message: str
    filename: str
    labels: tuple[_Label, ...] = ()
    code: str = ""
    help: str = ""


class _Report(Struct, frozen=True):
    diagnostics: tuple[_Diagnostic, ...]


_decode = json_decoder(_Report).decode


async def oxlint_findings(program: str, sources: Sequence[ReviewSource], *, deadline: float) -> list[Finding]:
    """Review some texts with oxlint. Raises `ToolFailed`."""
    with tempfile.TemporaryDirectory(prefix="dragoman-review-") as folder:
        names = _write(Path(folder), sources)
        command = [program, "--format=json", "--no-ignore", "--config=oxlintrc.json"]
        result = await run_program([*command, "."], cwd=folder, deadline=deadline)
        findings = _read(result, names)
        if findings:
            await run_program([*command, "--fix", "."], cwd=folder, deadline=deadline)
            findings = list(_with_fixes(findings, Path(folder), names))
    return findings


def _read(result: ProgramResult, names: dict[str, ReviewSource]) -> list[Finding]:
    try:
        report = _decode(result.out)
    except msgspec.DecodeError:
        raise no_answer("oxlint", result) from None
    findings = (
        _finding(diagnostic, names[name])
        for diagnostic in report.diagnostics
        if (name := Path(diagnostic.filename).name) in names
    )
    texts = {source.path: TextLines(source.text) for source in names.values()}
    return [finding for finding in findings if not _is_meant(finding, texts[finding.path].line(finding.line))]


_ASSIGNING_LOOP = re.compile(r"\bwhile\s*\(")
# A call that is made only if something holds: shorter than an if, and meant.
_CALL_ON_CONDITION = re.compile(r"(?:&&|\|\||\?\?).*\w\(|(?:&&|\|\|)\s*$|\?.*\w\(.*:.*\w\(")


def _is_meant(finding: Finding, line: str) -> bool:
    """Whether a line was written by a machine, or is a usual way to write something short."""
    if len(line) > LONGEST_LINE:
        return True
    if finding.rule == "javascript/no-unused-expressions":
        return _CALL_ON_CONDITION.search(line) is not None
    return finding.rule == "javascript/no-cond-assign" and _ASSIGNING_LOOP.search(line) is not None


def _with_fixes(
    findings: Iterable[Finding], folder: Path, names: dict[str, ReviewSource]
) -> Iterator[Finding]:
    """Each finding with the change that the tool made to its lines, if it made one."""
    edits = {
        source.path: list(_edits(source.text, (folder / name).read_bytes().decode("utf-8", "replace")))
        for name, source in names.items()
    }
    texts = {source.path: TextLines(source.text) for source in names.values()}
    for finding in findings:
        place, lines = finding.place, texts[finding.path]
        begin, end = lines.offset(place.line, 1), lines.offset(place.end_line + 1, 1)
        edit = next((edit for edit in edits[finding.path] if edit.start < end and begin < edit.end), None)
        # Not safe by our measure: the tool mends a condition that was never true, and the program changes.
        fix = Fix(title="Apply the fix of oxlint", edits=(edit,), safe=False) if edit else None
        yield replace(finding, fix=fix)


def _edits(before: str, after: str) -> Iterator[Edit]:
    """The lines that differ, as edits of the old text."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    matcher = difflib.SequenceMatcher(None, old, new) if old != new else None
    for kind, start, stop, begin, end in matcher.get_opcodes() if matcher else ():
        if kind != "equal":
            yield Edit(starts[start], starts[stop], "".join(new[begin:end]))


def _write(folder: Path, sources: Sequence[ReviewSource]) -> dict[str, ReviewSource]:
    off = dict.fromkeys((*_UNWANTED, *(_TWINS if is_available() else ())), "off")
    (folder / "oxlintrc.json").write_bytes(msgspec.json.encode({"categories": _CATEGORIES, "rules": off}))
    names: dict[str, ReviewSource] = {}
    for number, source in enumerate(sources):
        stem, suffix = os.path.splitext(source.path.lower())
        # A `.d.ts` holds declarations, which are mistakes in other files.
        name = f"{number}{'.d' if stem.endswith('.d') else ''}{suffix if suffix in SUFFIXES else '.js'}"
        (folder / name).write_bytes(source.text.encode())
        names[name] = source
    return names


def _finding(diagnostic: _Diagnostic, source: ReviewSource) -> Finding:
    lines = TextLines(source.text)
    start, end = _offsets(diagnostic, source.text)
    name = _rule_name(diagnostic.code)
    return Finding(
        rule=f"javascript/{name}",
        severity=_severity(diagnostic, name),
        place=lines.place(source.path, start, end),
        title=diagnostic.message,
        why=diagnostic.help or _WHY,
        tool="oxlint",
    )


def _severity(diagnostic: _Diagnostic, name: str) -> Severity:
    if not diagnostic.code:  # it could not parse the text
        return Severity.HIGH
    return Severity.INFO if name in _MILD else Severity.MEDIUM


def _rule_name(code: str) -> str:
    """`eslint(no-debugger)` → `no-debugger`."""
    inner = code.partition("(")[2].rstrip(")")
    return (inner or code or "invalid-syntax").lower()


def _offsets(diagnostic: _Diagnostic, text: str) -> tuple[int, int]:
    """Where, in characters; the tool counts bytes of UTF-8."""
    if not diagnostic.labels:
        return 0, 0
    span = diagnostic.labels[0].span
    if text.isascii():
        return min(span.offset, len(text)), min(span.offset + span.length, len(text))
    data = text.encode()
    start = len(data[: span.offset].decode("utf-8", "ignore"))
    return start, start + len(data[span.offset : span.offset + span.length].decode("utf-8", "ignore"))
