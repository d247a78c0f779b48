"""The promises as a page: `python -m tests.seeds.page > docs/seeds.md`. A test holds the two equal."""

from __future__ import annotations

import re
import sys

from tests.seeds.catalogue import SeedDocument, SeedPromise, documents

HEAD = """# The seed documents

Five documents describe systems that people built around the protocol, each in its own way. Dragoman keeps
what they promise, in the documents' own words on the wire. Every promise is listed here with the command that
shows it and the test that proves it; `make test` runs them all. The numbers of lines are those of the
documents.

This page is made from `tests/seeds/000.toml` to `004.toml`: `python -m tests.seeds.page > docs/seeds.md`.
"""


def page() -> str:
    """The text of `docs/seeds.md`."""
    total = sum(len(document.promises) for document in documents())
    counts = "\n".join(
        f"| [{d.number} {d.title}](#{_anchor(d)}) | {d.about} | {len(d.promises)} |" for d in documents()
    )
    table = (
        f"\n| document | what it describes | promises |\n|---|---|---|\n{counts}\n| | together | {total} |\n"
    )
    return HEAD + table + "".join(map(_section, documents()))


def _section(document: SeedDocument) -> str:
    commands = "\n".join(f"| {name} | `{command}` |" for name, command in document.commands.items())
    rows = "\n".join(map(_row, document.promises))
    return f"""
## {document.number} {document.title}

If you come from there: [what is found where]({document.page}).

| command | |
|---|---|
{commands}

| id | line | promise | command | proof |
|---|---|---|---|---|
{rows}
"""


def _row(promise: SeedPromise) -> str:
    path, _, name = promise.proof.partition("::")
    shown = promise.promise.replace("|", "\\|")
    link = f"[`{name}`](../{path})"
    return f"| {promise.id} | {promise.place} | {shown} | {promise.command} | {link} |"


def _anchor(document: SeedDocument) -> str:
    words = f"{document.number} {document.title}".lower()
    return re.sub(r"[^\w -]", "", words).replace(" ", "-")


if __name__ == "__main__":
    sys.stdout.write(page())
