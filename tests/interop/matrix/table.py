"""The matrix as people read it: a page of Markdown and a badge for each program. Pure: the same rows give
the same bytes.

Evidence is text of other people's programs: it is escaped, and never markup.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape

from tests.interop.matrix.effects import AGENT_EFFECTS, CLIENT_EFFECTS, Finding, Matrix, MatrixRow

FRAME = re.compile(r"(?:; last frame|; frame|: \{| npm error Failed).*", re.DOTALL)
"""Where evidence begins to quote frames: those are in the file of results."""

SIGNS = {"yes": "yes", "no": "**no**", "not offered": "not offered", "not tried": "not tried"}

HEAD = """\
# Compatibility

`make interop` installs agents and clients of other makers from npm and PyPI and drives them with a scripted
model, without account, key or network. Each answer is an effect seen from outside: a file, a process, a text.
This page is made from [compatibility.json](compatibility.json), which has all frames.

"""

LISTED = """\
`dragoman agents install` offers the versions of the agents that started and answered."""

TAIL = """\
## Running it

```
make interop                                 # installs and tries everything in the catalogue: an hour
make interop ARGS="--only claude --only qwen"
make interop ARGS="--only codex --keep"      # leaves homes, work folders and frames behind, and says where
make interop ARGS="--timeout 120 --json"     # seconds for each step; the results as JSON on standard output
make interop ARGS="--resume"                 # goes on with a run that was stopped, or that had no time left
```

`tests/interop/matrix/catalogue.toml` names the programs. `not offered`: the program does not claim it.
`not tried`: an earlier step failed.
"""


def render_page(matrix: Matrix) -> str:
    """The page for these rows."""
    parts = [HEAD, f"Dragoman {matrix.dragoman}. {LISTED}\n\n", *_untried(matrix), *_changed(matrix)]
    parts += _section("Agents", matrix.agents, AGENT_EFFECTS)
    if matrix.clients:
        parts += _section("Clients", matrix.clients, CLIENT_EFFECTS)
    return "".join([*parts, TAIL])


def _untried(matrix: Matrix) -> list[str]:
    """What could not be tried comes first: a table of successes says less without it."""
    rows = [row for row in (*matrix.agents, *matrix.clients) if row.install.verdict != "yes"]
    lines = [f"| {row.title} | `{row.package}` | it cannot be installed; see below |\n" for row in rows]
    lines += [f"| {row.title} | `{row.package}` | {row.reason} |\n" for row in matrix.untried]
    head = ["## Looked at, and not tried\n\n", "| program | package | why |\n|---|---|---|\n"]
    return [*head, *lines, "\n"] if lines else []


def _changed(matrix: Matrix) -> list[str]:
    titles = {row.name: row.title for row in (*matrix.agents, *matrix.clients)}
    lines = [
        f"- {titles[name]}: {'; '.join(changes)}\n"
        for name, changes in matrix.changes.items()
        if name in titles
    ]
    return ["## Since the run before\n\n", *lines, "\n"] if lines else []


def render_badge(row: MatrixRow) -> str:
    """A badge of a fixed shape: the program's name, and how many effects are there."""
    right, colour = _standing(row)
    left = f"{row.name} {row.version}"
    widths = [7 * len(text) + 12 for text in (left, right)]
    total = sum(widths)
    cells = [
        f'<rect width="{widths[0]}" height="20" fill="#444"/>',
        f'<rect x="{widths[0]}" width="{widths[1]}" height="20" fill="{colour}"/>',
        f'<text x="6" y="14">{escape(left)}</text>',
        f'<text x="{widths[0] + 6}" y="14">{escape(right)}</text>',
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="20" role="img" '
        f'aria-label="{escape(left)}: {escape(right)}">'
        f'<g fill="#fff" font-family="monospace" font-size="11">{"".join(cells)}</g></svg>\n'
    )


def _standing(row: MatrixRow) -> tuple[str, str]:
    if row.install.verdict != "yes":
        return "not installed", "#777"
    have, offered = row.count
    colour = "#2a7d2a" if have == offered else "#a60" if have * 2 > offered else "#b22"
    return f"{have} of {offered}", colour


def _section(title: str, rows: Sequence[MatrixRow], effects: Mapping[str, str]) -> list[str]:
    lines = [f"## {title}\n\n", *(f"- `{name}`: {what}\n" for name, what in effects.items()), "\n"]
    trials = {f"{row.date}, {row.system}" for row in rows}
    if len(trials) == 1:
        lines.append(f"All tried on {trials.pop()}.\n\n")
    lines.append(
        f"| {title.lower()[:-1]} | version |{' tried |' if trials else ''} {' | '.join(effects)} |\n"
    )
    lines.append(f"|---|---|{'---|' if trials else ''}{'---|' * len(effects)}\n")
    for row in rows:
        cells = [SIGNS[row.effects[name].verdict] if name in row.effects else "" for name in effects]
        if row.install.verdict != "yes":
            cells = ["not installed", *[""] * (len(effects) - 1)]
        name = f"[{row.title}](compatibility/{row.name}.svg)"
        trial = f" {row.date}, {row.system} |" if trials else ""
        lines.append(f"| {name} | {row.version} |{trial} {' | '.join(cells)} |\n")
    lines.append("\n")
    details = [line for row in rows for line in _details(row)]
    return [*lines, *(["Notes, and what a `no` rests on:\n\n", *details, "\n"] if details else [])]


def _details(row: MatrixRow) -> list[str]:
    findings: dict[str, Finding] = {"installation": row.install, **row.effects}
    named: dict[str, list[str]] = {}
    for name, finding in findings.items():
        if finding.verdict == "no":
            named.setdefault(_code(FRAME.sub("", finding.evidence)), []).append(name)
    lines = [f"- {row.title}, {', '.join(names)}: {evidence}\n" for evidence, names in named.items()]
    return [*([f"- {row.title}: {row.note}\n"] if row.note else []), *lines]


def _code(text: str) -> str:
    """As code in Markdown: longer fences than any in the text, and no line breaks."""
    runs = [len(run) for run in re.findall(r"`+", text)]
    fence = "`" * (max(runs, default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text or 'no evidence'}{pad}{fence}"
