"""Findings as others read them: people, programs, code scanners, and the log of a build."""

from __future__ import annotations

from dragoman.review.formats.github import as_github
from dragoman.review.formats.json import as_json
from dragoman.review.formats.sarif import as_sarif
from dragoman.review.formats.summary import summary
from dragoman.review.formats.text import as_text

__all__ = ["as_github", "as_json", "as_sarif", "as_text", "summary"]
