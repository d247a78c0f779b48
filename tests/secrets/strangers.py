"""Makes `corpus/strangers.jsonl`, texts that hold secrets, from the templates in `strangers.txt`.

Run `python -m tests.secrets.strangers` after a change of the templates or of `kinds.py`. The same templates
give the same corpus on every machine, and a new one leaves the others as they were: each is seeded by its
text. It knows nothing of the program that hides secrets: the corpus holds what people write, not what we
find.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.secrets.kinds import BODIES, NAMINGS, TOKENS, body, draw, named, value

HERE = Path(__file__).parent
TEMPLATES = HERE / "strangers.txt"
CORPUS = HERE / "corpus" / "strangers.jsonl"

HEADER = re.compile(r"^@@ ([a-z0-9_]+)( lines)?$", re.MULTILINE)
FILLER = re.compile(r"‹([^›]+)›")
MARK = re.compile(r"«(\??)([a-z0-9_]+|\*)(?:=([^»]*)|\|([^»]*))?»")
BODY = re.compile(rf"^(.*)«({'|'.join(BODIES)})»(.*)$", re.MULTILINE)
GENERIC = "generic_"
GENERIC_TEXTS = 2
"""In how many generic notations each kind with a name of its own is written."""


class Stranger(NamedTuple):
    """A text, and the part of it that must not stay in clear."""

    text: str
    secret: str
    kind: str
    notation: str
    by_looks: bool


def templates() -> Iterator[tuple[str, str]]:
    """Each notation with each of its templates."""
    _, *parts = HEADER.split(TEMPLATES.read_text(encoding="utf-8"))
    for notation, by_line, block in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        texts = block.strip("\n").split("\n" if by_line else "\n--\n")
        yield from ((notation, text) for text in texts)


def strangers() -> Iterator[Stranger]:
    """The corpus. A text with several secrets comes once for each of them."""
    everything = list(templates())
    generic = [row for row in everything if row[0].startswith(GENERIC)]
    for notation, template in everything:
        if not notation.startswith(GENERIC):
            yield from expand(template, notation=notation)
    for index, kind in enumerate(TOKENS):
        for nth in range(GENERIC_TEXTS):
            notation, template = generic[(GENERIC_TEXTS * index + nth) % len(generic)]
            yield from expand(name_it(template, kind), notation=notation)


def expand(template: str, *, notation: str) -> Iterator[Stranger]:
    """The text of a template, once for each of its secrets."""
    rng = random.Random(f"{notation}\n{template}")
    template = FILLER.sub(lambda found: draw(found[1], rng), template)
    template = BODY.sub(lambda found: whole_lines(found, rng), template)
    text, found_secrets, end = "", [], 0
    for found in MARK.finditer(template):
        text += template[end : found.start()]
        hidden, kind, literal, joint = found.groups()
        if joint is not None:
            lines = body(kind, rng)
            found_secrets += [(kind, line, hidden) for line in ends_and_middle(lines)]
            text += joint.join(lines)
        else:
            secret = value(kind, rng) if literal is None else literal
            text += secret
            if kind not in BODIES or literal in ends_and_middle(body_lines(template, kind)):
                found_secrets.append((kind, secret, hidden))
        end = found.end()
    text += template[end:]
    for kind, secret, hidden in found_secrets:
        yield Stranger(text, secret, kind, notation, not hidden)


def whole_lines(found: re.Match[str], rng: random.Random) -> str:
    """The lines of a key, each between what stands around the mark."""
    before, kind, after = found.groups()
    return "\n".join(f"{before}«{kind}={line}»{after}" for line in body(kind, rng))


def body_lines(template: str, kind: str) -> list[str]:
    """The lines of the key of this kind that a template holds by now."""
    return [found[3] for found in MARK.finditer(template) if found[2] == kind]


def ends_and_middle(lines: list[str]) -> list[str]:
    """The lines of a key that are asked about: who hides these hides the others."""
    return [lines[0], lines[len(lines) // 2], lines[-1]]


def name_it(template: str, kind: str) -> str:
    """A generic template with this kind and its usual name, spelled as the template wants it."""
    for naming in NAMINGS:
        template = template.replace(f"‹{naming}›", named(kind, naming))
    return template.replace("«*»", f"«{kind}»")


def main() -> None:
    """Writes the corpus, and says what is in it."""
    corpus = list(strangers())
    lines = (json.dumps(stranger._asdict(), ensure_ascii=False) for stranger in corpus)
    CORPUS.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    kinds, notations = Counter(s.kind for s in corpus), Counter(s.notation for s in corpus)
    seen = sum(s.by_looks for s in corpus)
    print(f"{len(corpus)} texts, {len(kinds)} kinds, {len(notations)} notations, {seen} by their looks")


if __name__ == "__main__":
    main()
