"""Writes the table of invisible characters for the hub's page; with --check, says whether it is stale.

    python tools/generate_characters.py [--check]

`dragoman.text.characters` is the table. Its parts of regular expressions are written as JavaScript reads them
with the flag `u`, in ASCII. The output is committed and never edited.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

from dragoman.text import characters

TARGET = Path(__file__).parents[1] / "packages/hub/web/src/text" / "characters.json"
NAMES = ("INVISIBLE", "VISIBLE", "BLANKS", "NEEDED", "PLAIN", "HELD")


def generate() -> str:
    parts = {name.lower(): in_javascript(getattr(characters, name)) for name in NAMES}
    return json.dumps({"generated": "by tools/generate_characters.py", **parts}, indent=2) + "\n"


def in_javascript(expression: str) -> str:
    """The same expression: code points of eight digits and characters beyond ASCII have braces there."""
    escaped = re.sub(r"\\U([0-9a-fA-F]{8})", lambda found: f"\\u{{{int(found[1], 16):x}}}", expression)
    return "".join(
        character if character.isascii() else f"\\u{{{ord(character):x}}}" for character in escaped
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when the file is stale")
    table = generate()
    if not parser.parse_args().check:
        TARGET.write_text(table)
        return 0
    if TARGET.read_text() == table:
        return 0
    print(f"{TARGET} is stale: make web")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
