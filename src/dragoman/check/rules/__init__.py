"""All rules, a module for each area of the catalogue."""

from __future__ import annotations

from importlib import import_module

AREAS = (
    "envelope",
    "requests",
    "debts",
    "handshake",
    "capabilities",
    "login",
    "errors",
    "stdio",
    "places",
    "extensions",
    "leniency",
    "content",
    "turns",
    "sessions",
    "folders",
    "servers",
    "loading",
    "resuming",
    "closing",
    "lists",
    "roots",
    "messages",
    "cancelling",
    "withdrawals",
    "updates",
    "modes",
    "options",
    "settings",
    "commands",
    "tools",
    "shown",
    "permission",
    "refusals",
    "plans",
    "files",
    "terminals",
    "processes",
    "elicitation",
    "elicited",
    "version2",
    "version2_sessions",
    "version2_shapes",
    "endpoints",
)
"""The modules of this package that hold rules."""


def load_all() -> None:
    for area in AREAS:
        import_module(f"dragoman.check.rules.{area}")
