"""A finding as a command of GitHub Actions, which shows it beside the changed line. Pure."""

from __future__ import annotations

from dragoman.review.finding import Finding, Severity

_LEVELS = {
    Severity.CRITICAL: "error",
    Severity.HIGH: "error",
    Severity.MEDIUM: "warning",
    Severity.LOW: "notice",
    Severity.INFO: "notice",
}


def as_github(finding: Finding) -> str:
    place = finding.place
    fields = {
        "file": place.path,
        "line": str(place.line),
        "col": str(place.column),
        "endLine": str(max(place.line, place.end_line)),
        "title": f"{finding.rule} ({finding.severity.value})",
    }
    if place.end_line == place.line:  # columns mean something only within one line
        fields["endColumn"] = str(max(place.column, place.end_column))
    named = ",".join(f"{name}={_field(value)}" for name, value in fields.items())
    return f"::{_LEVELS[finding.severity]} {named}::{_message(f'{finding.title}. {finding.why}')}\n"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _field(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
