"""A report as one HTML file, without scripts, network access or other files.

Everything that a peer said is text, escaped; a policy in the page forbids it to become anything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from dragoman.text.sanitize import sanitize_line
from dragoman_check.manifest import areas, requirements
from dragoman_check.report.json import outcome
from dragoman_check.report.model import STATUSES, CheckReport, PackResult, ReportPart
from dragoman_check.report.text import distinct
from dragoman_check.verdict import Status, Verdict, Violation

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --failed: #c0392b; --warned: #b7791f; --recorded: #5b6abf;
  --waived: #7f8c8d; --blocked: #7f8c8d; --passed: #2e8b57; --quiet: #7f8c8d; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; } h3 { font-size: 1rem; }
.counts { display: flex; flex-wrap: wrap; gap: .5rem; padding: 0; list-style: none; }
.counts li { border: 1px solid var(--line); border-radius: .4rem; padding: .3rem .7rem; }
.counts b { font-size: 1.2rem; display: block; }
.badge { color: #fff; background: var(--quiet); border-radius: .3rem; padding: 0 .45rem; font-size: .85rem;
  white-space: nowrap; }
.failed { background: var(--failed); } .warned { background: var(--warned); }
.recorded { background: var(--recorded); } .passed { background: var(--passed); }
article { border: 1px solid var(--line); border-radius: .5rem; padding: .7rem 1rem; margin: .8rem 0; }
article h3 { margin: 0 0 .4rem; } article p { margin: .3rem 0; }
.frame { font: 12.5px/1.45 ui-monospace, monospace; border-left: 3px solid var(--line); padding: .15rem .6rem;
  margin: .25rem 0; overflow-wrap: anywhere; }
.where { color: var(--quiet); }
code { font: .92em ui-monospace, monospace; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
td, th { text-align: left; vertical-align: top; border-top: 1px solid var(--line); padding: .25rem .5rem; }
"""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_DETAILED: tuple[Status, ...] = ("failed", "warned", "recorded", "waived")


def as_html(report: CheckReport) -> str:
    return "\n".join(_page(report)) + "\n"


def _page(report: CheckReport) -> Iterator[str]:
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>ACP: {_text(report.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>"
    yield f"<h1>{_text(report.title)}: {outcome(report)}</h1>"
    yield f'<p class="where">{_text(report.tool)}, {_many(len(report.recordings), "connection")}, '
    yield f"{_many(sum(len(recording.frames) for recording in report.recordings), 'frame')}. "
    yield "Requirements that are &quot;not exercised&quot; are untested and may still be broken.</p>"
    if report.blocked_by:
        yield f'<p><span class="badge">blocked</span> {_text(report.blocked_by)}</p>'
    for complaint in report.complaints:
        yield f"<p>{_text(complaint)}</p>"
    for part in report.parts:
        yield from _part(report, part)
    for pack in report.packs:
        if pack.items:
            yield from _pack(pack)
    yield "</body>\n</html>"


def _part(report: CheckReport, part: ReportPart) -> Iterator[str]:
    yield f"<h2>{_text(f'{part.side} {part.peer}')}</h2>"
    cells = (f"<li><b>{part.counts[status]}</b>{status}</li>" for status in STATUSES if part.counts[status])
    yield f'<ul class="counts">{"".join(cells)}</ul>'
    for verdict in sorted(part.of(*_DETAILED), key=lambda verdict: STATUSES.index(verdict.status)):
        yield from _verdict(report, part, verdict)
    yield "<details><summary>All requirements</summary><table>"
    yield "<tr><th>Requirement<th>Level<th>Status<th>Seen<th>Area</tr>"
    yield from (_row(verdict) for verdict in part.verdicts)
    yield "</table></details>"


def _verdict(report: CheckReport, part: ReportPart, verdict: Verdict) -> Iterator[str]:
    yield f'<article id="{part.side}-{escape(verdict.requirement)}"><h3>{_badge(verdict.status)} '
    yield f"{escape(verdict.requirement)} {escape(verdict.level)}</h3><p>{_code(verdict.text)}</p>"
    if verdict.reason:
        yield f"<p>{'waived: ' if verdict.status == 'waived' else ''}{_text(verdict.reason)}</p>"
    findings = distinct(verdict)[:5]
    for finding in findings:
        yield from _finding(report, finding)
    if verdict.broken > len(findings):
        yield f"<p>… broken in {verdict.broken} of {verdict.places} places.</p>"
    for fix in dict.fromkeys(finding.fix for finding in verdict.findings):
        yield f"<p><b>Change:</b> {_code(fix)}</p>"
    yield "</article>"


def _finding(report: CheckReport, finding: Violation) -> Iterator[str]:
    yield f"<p>{_text(finding.why)}</p>"
    for excerpt in report.evidence(finding, length=800):
        line = report.line_of(finding.connection, excerpt.number)
        where = f"{report.name_of(finding.connection)}{f':{line}' if line else ''}"
        yield f'<div class="frame"><span class="where">{_text(where)} frame {excerpt.number} '
        yield f"{excerpt.direction} {excerpt.at:.3f} s</span> {_text(excerpt.text)}</div>"


def _row(verdict: Verdict) -> str:
    requirement = requirements().get(verdict.requirement)
    area = areas().get(requirement.area, requirement.area) if requirement else ""
    why = f": {_text(verdict.reason)}" if verdict.reason else ""
    return (
        f"<tr><td>{escape(verdict.requirement)} {_code(verdict.text)}<td>{escape(verdict.level)}"
        f"<td>{_badge(verdict.status)}{why}<td>{verdict.places}<td>{_text(area)}</tr>"
    )


def _pack(pack: PackResult) -> Iterator[str]:
    yield f"<h2>{_text(pack.name)} ({pack.side})</h2><p>{_text(pack.about)}</p><table>"
    for item in pack.items:
        yield f"<tr><td>{_badge(item.status)}<td>{_text(item.says)}<td>{_text(item.reason)}"
        yield f"<td>{escape(' '.join(item.requirements))}</tr>"
    yield "</table>"


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _code(text: str) -> str:
    """Text of Dragoman, in which backticks mean code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", _text(text))


def _badge(status: Status) -> str:
    return f'<span class="badge {status.replace(" ", "-")}">{status}</span>'


def _text(text: str) -> str:
    return escape(sanitize_line(text))
