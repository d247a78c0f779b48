"""What tests of the review share: one text reviewed as the engine does it, and files of every language."""

from __future__ import annotations

from dragoman_review import Finding, ReviewNote, ReviewSettings, ReviewSource, review

# A name for a file in each language that our rules are about.
NAMES = {
    "bash": "x.sh",
    "c": "x.c",
    "cpp": "x.cpp",
    "csharp": "x.cs",
    "dart": "x.dart",
    "dockerfile": "Dockerfile",
    "elixir": "x.ex",
    "go": "x.go",
    "groovy": "Jenkinsfile",
    "hcl": "x.tf",
    "html": "x.html",
    "ini": "x.ini",
    "java": "x.java",
    "javascript": "x.js",
    "kotlin": "x.kt",
    "lua": "x.lua",
    "make": "Makefile",
    "perl": "x.pl",
    "php": "x.php",
    "python": "x.py",
    "ruby": "x.rb",
    "rust": "x.rs",
    "scala": "x.scala",
    "sql": "x.sql",
    "swift": "x.swift",
    "toml": "x.toml",
    "tsx": "x.tsx",
    "typescript": "x.ts",
    "yaml": "x.yaml",
}


async def reviewed(
    *sources: ReviewSource, settings: ReviewSettings | None = None, notes: list[ReviewNote] | None = None
) -> list[Finding]:
    """All findings, in no order."""
    told = notes if notes is not None else []
    return [finding async for finding in review(sources, settings, note=told.append)]


def rules_of(findings: list[Finding]) -> set[str]:
    return {finding.rule for finding in findings}
