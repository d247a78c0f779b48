"""The promises as a list: `python -m tests.seeds.page > tests/seeds/PROMISES.md`. A test compares both."""

from __future__ import annotations

import sys

from tests.seeds.catalogue import SeedDocument, SeedPromise, documents

HEAD = """# Promises of the seed documents

Each promise with its line in the document, the command that shows it and the test that proves it.

This list is made from `000.toml` to `004.toml`: `python -m tests.seeds.page > tests/seeds/PROMISES.md`.
"""


def page() -> str:
    """The text of `tests/seeds/PROMISES.md`."""
    return HEAD + "".join(map(_section, documents()))


def summary() -> str:
    """The table of `docs/seeds.md`."""
    total = sum(len(document.promises) for document in documents())
    head = (
        "| document | what it describes | promises | commands | coming from there |\n|---|---|---|---|---|\n"
    )
    return f"{head}{''.join(map(_summary_row, documents()))}| | together | {total} | | |\n"


def _summary_row(document: SeedDocument) -> str:
    commands = "<br>".join(f"`{command}`" for command in document.commands.values())
    link = f"[{document.title}]({document.page})"
    return f"| {document.number} | {document.about} | {len(document.promises)} | {commands} | {link} |\n"


def _section(document: SeedDocument) -> str:
    commands = "\n".join(f"| {name} | `{command}` |" for name, command in document.commands.items())
    rows = "\n".join(map(_row, document.promises))
    return f"""
## {document.number} {document.title}

If you come from there: [where to find each feature](../../docs/{document.page}).

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
    link = f"[`{name}`](../../{path})"
    return f"| {promise.id} | {promise.place} | {shown} | {promise.command} | {link} |"


if __name__ == "__main__":
    sys.stdout.write(page())
