"""Texts as agents say them: words, quotes, marks and letters outside ASCII, never the same letter n times.

The same number of the same size is always the same texts. `python texts.py` writes data/texts.json,
which the peers read. Standard library only.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

_TEXT = (
    "the function returns a token for each key of the session and checks whether its value is still valid "
    'before it writes the file "config.toml" to the folder; otherwise it raises an error, e.g. ValueError. '
    "Größe, naïve, façade, 文件, данные, → – “quoted” … `code` (line 42) https://example.org/path?x=1&y=2 "
    'if name == "main": print(f"{value!r}") # done\n- first\n- second\n\tindented, 50% of all, cost: 3 €'
)
WORDS = _TEXT.split(" ")


def prose(count: int, size: int, *, different: int = 50) -> list[str]:
    """So many texts of exactly `size` characters; after `different` of them they repeat."""
    chosen = random.Random(size)
    texts = []
    for _ in range(min(count, different)):
        words: list[str] = []
        while sum(map(len, words)) + len(words) < size + 1:
            words.append(chosen.choice(WORDS))
        texts.append(" ".join(words)[:size])
    return [texts[n % len(texts)] for n in range(count)]


def main() -> None:
    texts = {str(size): prose(50, size) for size in (20, 1024)}
    path = Path(__file__).parent / "data" / "texts.json"
    path.write_text(json.dumps(texts, ensure_ascii=False, indent=0) + "\n")


if __name__ == "__main__":
    main()
