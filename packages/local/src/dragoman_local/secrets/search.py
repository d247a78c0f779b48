"""Finds secrets in a text: by their shape, by the name before them, by their place.

`find` is the one search of the project: journal, audit log, recordings, the reviewer's mask and the hub's
views differ only in what they put in place of a span. It takes decoded text, with JSON in it or JSON in JSON.

`hint_places` says where a frame needs a closer look, before it is decoded. Without a hint `find` finds
nothing in it, so callers may stop there.
"""

from __future__ import annotations

import functools
import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from itertools import accumulate
from typing import NamedTuple

from dragoman_local.secrets.blocks import head_places, insert_spans, manifest_spans, table_spans
from dragoman_local.secrets.foreign import FOREIGN_PARTS, foreign_hints, foreign_spans, may_be_foreign
from dragoman_local.secrets.named import named_hints, named_spans, readings
from dragoman_local.secrets.names import REDACTED, has_name_words, is_gibberish, is_telling
from dragoman_local.secrets.places import (
    FLAG_NAME,
    PLACE_PARTS,
    command_spans,
    flag_spans,
    has_prose_place,
    login_spans,
    scheme_spans,
)
from dragoman_local.secrets.shapes import BEGIN, SHAPES, KnownShape
from dragoman_local.secrets.signs import SETTING_STEMS, STEMS, has_prose_stem, signs_of, stems_of
from dragoman_local.secrets.words import WordParts, places_of

ROUNDS = 8
"""The number of searches after a removal: the remaining text may form a new secret."""


PLACES = frozenset({"named", "option", "header", "login", "command", "table", "manifest", "random"})
"""Kinds of secrets that only their place reveals; the others are services and formats."""


class SecretSpan(NamedTuple):
    """The place and the kind of a secret."""

    start: int
    end: int
    kind: str


LEAST = 16
"""The least characters of a secret that is recognised by its form."""

_RUN = b"a" * LEAST
_RUN_TABLE, _WIDE_TABLE = (
    bytes(97 if code < 128 and (chr(code).isalnum() or chr(code) in signs) else 32 for code in range(256))
    for signs in ("_-+/", "_-+/.~:$=,@%")
)
_PLAIN_RUN = re.compile(
    r"(?:(?:[A-Za-z]{0,15}+[_+/-]++)*+[A-Za-z]{0,15}+|[a-z]{0,15}+(?:[A-Z]{1,5}[a-z]{1,14}+)*+[A-Z]{0,4}+"
    r"|[\d_+/-]*+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\Z"
)
"""Words that are joined, a date, a UUID: names and paths of code."""

_JOINTS = dict.fromkeys(map(ord, "_-+/"))

_CRYPT = re.compile(r"\$(?:2[aby]|[15689y]|apr1|argon2\w{1,2}|pbkdf2[\w-]{0,12}|scrypt)\$", re.ASCII)


@functools.cache
def _words() -> tuple[re.Pattern[str], dict[str, list[str]], re.Pattern[str], dict[str, list[KnownShape]]]:
    """The first letters of a word with which a secret begins, where one may begin; those words by their first
    letters; a word within a secret; and the shapes by their words.
    """
    shapes: dict[str, list[KnownShape]] = {}
    outer: dict[str, list[str]] = {}
    inner: set[str] = set()
    for shape in SHAPES:
        shapes.setdefault(shape.word, []).append(shape)
        if shape.pattern.startswith(BEGIN + re.escape(shape.word)):
            outer.setdefault(shape.word[:4], []).append(shape.word)
        else:
            inner.add(shape.word)
    for begin, words in outer.items():  # `sk-a` of `sk-ant-` is `sk-`, too
        words += [word for word in shapes if begin.startswith(word) and word not in words]
    # A pattern that begins with one class of characters is the quickest: most places need no closer look.
    firsts = "".join(sorted({re.escape(word[0]) for word in inner}))
    inner_words = "|".join(f"(?<={re.escape(word[0])}){re.escape(word[1:])}" for word in sorted(inner))
    begins = "|".join(map(re.escape, sorted(outer, reverse=True)))
    return re.compile(f"[^A-Za-z0-9]({begins})"), outer, re.compile(f"[{firsts}](?:{inner_words})"), shapes


_NEAR = {"cred", "key", "login", "pass", "secret", "token", "wallet"}
"""Parts of the words beside which random text is a secret."""
_word_parts = WordParts((*STEMS, *SETTING_STEMS, *FOREIGN_PARTS, *PLACE_PARTS, *_NEAR, "insert"))


def hint_places(text: str, octets: bytes) -> Iterator[int]:
    """Return the places that need a full search. Cheap signs are checked before expensive ones. The text is a
    frame read as Latin-1, of which the octets are the small letters.
    """
    low, signs = octets.decode("latin-1"), signs_of(text)
    if not signs and _is_prose_plain(low, octets):
        return
    parts = _word_parts.found(octets)
    stems = stems_of(low, signs, parts) if parts else []
    yield from foreign_hints(low, parts)
    pairs = ((reading, low if reading is text else lower(reading)) for reading in readings(text))
    yield from (hint.start for pair in (pairs if stems else ()) for hint in named_hints(*pair, stems))
    if stems and "-" in text:
        yield from (flag.start() for flag in FLAG_NAME.finditer(text) if is_telling(flag[1]))
    if stems or "insert" in parts:
        yield from (at for word in ("kind: secret", "chpasswd:", "insert ") for at in places_of(low, word))
    # Tables have lines, which JSON writes as escapes; in a frame each string begins with a new one.
    if "\n" in text or "\\n" in text:
        yield from (place.start() for stem in stems for place in head_places(stem)(low))
    yield from (start for start, _ in scheme_spans(text, low, parts))
    yield from (start for start, _ in (login_spans(text) if "@" in text else ()))
    yield from (start for start, _ in command_spans(text, low, parts, stems, signs))
    runs = suspect_runs(text, text.encode("latin-1", "replace")) if signs else []
    yield from (span.start for span in shape_spans(text, runs, stems))
    yield from (start for start, _ in _random_spans(text, low, parts, runs))


def _is_prose_plain(low: str, octets: bytes) -> bool:
    return not (has_prose_stem(low) or has_prose_place(low) or may_be_foreign(octets, low))


def lower(text: str) -> str:
    """Return a text in lower case, character for character: characters that would grow or become ASCII are
    left out.
    """
    return text.replace("\u0130", "?").replace("\u212a", "?").lower()


def find(text: str, *, in_settings: bool = False) -> list[SecretSpan]:
    """Return the secrets of a text in order, none inside another. In a settings file any value after a
    telling name counts; in other texts it must not look like code.
    """
    octets, low = text.encode("latin-1", "replace"), lower(text)
    signs = signs_of(text, octets)
    letters = octets if text.isascii() else text.encode(errors="replace")
    if not signs and _is_prose_plain(low, letters):
        return []
    parts = _word_parts.found(letters)
    stems = stems_of(low, signs, parts)
    runs = suspect_runs(text, octets) if signs else []
    spans = [
        *shape_spans(text, runs, stems),
        *(
            SecretSpan(*span, "named")
            for reading in (readings(text) if stems else ())
            for span in named_spans(
                reading, low if reading is text else lower(reading), stems, in_settings=in_settings
            )
        ),
        *(SecretSpan(*span, "option") for span in (flag_spans(text) if stems and "-" in text else ())),
        *(SecretSpan(*span, "header") for span in scheme_spans(text, low, parts)),
        *(SecretSpan(*span, "login") for span in (login_spans(text) if "@" in text else ())),
        *(SecretSpan(*span, "command") for span in command_spans(text, low, parts, stems, signs)),
        *(SecretSpan(*span, "named") for span in foreign_spans(low, parts)),
        *(SecretSpan(*span, "table") for span in (table_spans(text, low, stems) if stems else ())),
        *(SecretSpan(*span, "table") for span in (insert_spans(text) if "insert" in parts else ())),
        *(SecretSpan(*span, "manifest") for span in (manifest_spans(text, low) if stems else ())),
        *(SecretSpan(*span, "random") for span in (_random_spans(text, low, parts, runs) if runs else ())),
    ]
    found = merge(spans) if spans else []
    return merge([*found, *_again(text, found)]) if found else found


def _again(text: str, spans: Sequence[SecretSpan]) -> Iterator[SecretSpan]:
    """Where what a name or a place gave away stands once more, without a name."""
    values = {text[start:end]: kind for start, end, kind in spans if 8 <= end - start < 4 * LEAST}
    for value, kind in values.items():
        is_mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
        if is_mixed and text.count(value) > 1 and not has_name_words(value):
            yield from (SecretSpan(*again.span(), kind) for again in re.finditer(re.escape(value), text))


def merge(spans: list[SecretSpan]) -> list[SecretSpan]:
    """Return the spans in order, with overlapping ones joined under the more exact kind."""
    merged: list[SecretSpan] = []
    for span in sorted(span for span in spans if span.end > span.start):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            kind = last.kind if span.kind in PLACES else span.kind
            merged[-1] = SecretSpan(last.start, max(span.end, last.end), kind)
        else:
            merged.append(span)
    return merged


def redact(text: str, *, in_settings: bool = False, keep_lines: bool = False) -> str:
    """Return the text with `[redacted]` in place of each secret; the same object if there is none."""
    # No secret is of one letter, however long.
    is_plain = (len(text) < LEAST and text.isascii() and text.isalnum()) or not text.strip(text[:1])
    for _ in range(0 if is_plain else ROUNDS):
        spans = find(text, in_settings=in_settings)
        if not spans:
            break
        parts: list[str] = []
        at = 0
        for start, end, _kind in spans:
            parts += (text[at:start], REDACTED, "\n" * text.count("\n", start, end) if keep_lines else "")
            at = end
        text = "".join((*parts, text[at:]))
    return text


_SETTINGS_FILE = re.compile(
    r"\.env.*|.*\.(?:env|ini|cfg|conf|toml|ya?ml|json|properties|tfvars)|\.(?:npmrc|netrc|pypirc|pgpass)|credentials",
    re.IGNORECASE,
)


def is_settings_file(name: str) -> bool:
    """Whether a file of this name contains settings, in which no value is code."""
    return _SETTINGS_FILE.fullmatch(name) is not None


def redact_file(text: str, *, name: str) -> str:
    """Return the text of a file with its secrets hidden; every line keeps its number."""
    return redact(text, in_settings=is_settings_file(name), keep_lines=True)


_KEY_KIND = r"(?:(?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1) ?-{4,5}"
_KEY_BLOCK = re.compile(
    rf"(?P<secret>-{{4,5}} ?BEGIN {_KEY_KIND}(?:(?:[^-]|-(?!---)){{0,40000}}-{{4,5}} ?END {_KEY_KIND}"
    r"|(?:[ \t\r\n]|\\+[rn])++[A-Za-z0-9+/=]+"
    r"(?:(?:[ \t\r\n]|\\+[rn])++[A-Za-z0-9+/=]+(?=[ \t]*(?:[\r\n\"'`\\]|\Z)))*))",
    re.ASCII,
)
"""A private key from its first line to its last; without an end, all lines that can be part of a key."""


_PUTTY_KEY = re.compile(
    r"Private-Lines: \d+(?:[\r\n]|\\+[rn])+(?P<secret>(?:[A-Za-z0-9+/=]+(?:[\r\n]|\\+[rn])*)+)"
)


def shape_spans(text: str, runs: list[tuple[int, int]], stems: Sequence[str]) -> Iterator[SecretSpan]:
    """Return secrets that are recognised by their shape alone."""
    if "key" in stems and ("BEGIN " in text or "Private-Lines" in text):
        for pattern in (_KEY_BLOCK, _PUTTY_KEY):
            yield from (SecretSpan(*match.span("secret"), "private-key") for match in pattern.finditer(text))
    if runs:
        begin, outer, inner, shapes = _words()
        joined = "\n".join(("", *(text[start:end] for start, end in runs)))
        found = {(match.start(1), word) for match in begin.finditer(joined) for word in outer[match[1]]}
        found |= {(match.start(), match[0]) for match in inner.finditer(joined)}
        ends = list(accumulate(end - start + 1 for start, end in runs)) if found else []
        for number, word in sorted(
            {(bisect_right(ends, at), word) for at, word in found if joined.startswith(word, at)}
        ):
            for shape in shapes[word]:
                yield from (SecretSpan(*span, shape.kind) for span in shape.spans(text, *runs[number]))


def suspect_runs(text: str, octets: bytes) -> list[tuple[int, int]]:
    """Return runs of characters that keys are made of, except names of several words. The octets are the
    text in Latin-1.
    """
    mask = octets.translate(_RUN_TABLE)
    places = [match.start() for match in _CRYPT.finditer(text)] if "$" in text else []
    end = 0
    while (start := mask.find(_RUN, end)) >= 0:
        end = mask.find(b" ", start) % (len(mask) + 1)
        run = text[start:end]
        if not _PLAIN_RUN.match(text, start, end) or (
            not run.islower() and is_gibberish(run.translate(_JOINTS), is_quoted=False)
        ):
            places.append(start)
    wide = octets.translate(_WIDE_TABLE) if places else b""
    runs: list[tuple[int, int]] = []
    for place in sorted(places):
        if runs and place < runs[-1][1]:
            continue
        start, end = wide.rfind(b" ", 0, place) + 1, wide.find(b" ", place) % (len(mask) + 1)
        if start and text[start - 1] == "\\":  # the letter of an escape is none of the run
            start += 5 if text[start] == "u" else text[start] in "bfnrt"
        if text.startswith("}", start - 1, start):  # the name of a hash
            start = max(text.rfind("{", max(0, start - 8), start), 0) or start
        runs.append((start, end))
    return runs


_RANDOM = re.compile(r"(?:[\w.-]+=)?(?:0x)?(?P<value>[A-Za-z0-9+/_-]{20,200}={0,2})", re.ASCII)
_BESIDE = re.compile(
    r"(?:secret|token|password|passwd|credential|login|wallet|(?:(?<![a-z])|(?<=\\[nrt]))(?<!public )key)"
    r"s?\b",
    re.ASCII,
)
_ONLY_ARGUMENT = re.compile(
    r"(?:\bnew [a-z][\w.]*|client|api|sdk|bot|telegraf|service|\b(?:init|configure|initialize|connect)"
    r"|\brequire\([^()\n]{1,60}\))\(\\*[\"'`]\Z"
)
_ARGUMENT_END = re.compile(r"\\*[\"'`]\s*\)")
"""`new Client("…")`: what is called says that its only argument is a key."""
_OWN_NAME = re.compile(r"""(?<![\w.-])(?<![a-z] )([a-z_][\w.-]*)\\*["'`]?\s*[:=]\s*\\*["'`]?\Z""", re.ASCII)


def _random_spans(
    text: str, low: str, parts: Set[str], runs: list[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Random text after a telling word in the same line. A name of its own decides alone."""
    for start, end in runs:
        end = start + len(text[start:end].rstrip(",.:"))
        start = 1 + max(start - 1, *(text.rfind(sign, start, end) for sign in ":,@"))
        match = _RANDOM.fullmatch(text, start, end)
        if match is None or not _is_random(value := match["value"]):
            continue
        place = match.start("value")
        first = max(text.rfind("\n", 0, place) + 1, place - 60)
        if not text[first:place].strip("\"'` \t\r\n"):  # alone in its line: what it is stands above
            first = max(text.rfind("\n", 0, max(0, first - 2)) + 1, place - 56)
        if _ONLY_ARGUMENT.search(low, max(0, place - 60), place) and _ARGUMENT_END.match(text, match.end()):
            yield match.span("value")
            continue
        own_name = _OWN_NAME.search(low, max(first, place - 40), place)
        is_key = not _NEAR.isdisjoint(parts) and (
            own_name[1].endswith(("key", "login")) and "pub" not in own_name[1] and len(value) >= 28
            if own_name is not None
            else _BESIDE.search(low, first, place) is not None
        )
        is_hash = low.startswith("commit", place - 7) or text[place - 1 : place] == "#"
        if is_key and not is_hash:
            yield match.span("value")


_HEX = re.compile(r"[0-9a-f]{32,}|[0-9A-F]{32,}|[A-Z2-7]{24,}")
_MIXED = re.compile(r"(?=(?:\D*\d){2})(?=(?:\d*\D){4})", re.ASCII)


def _is_random(value: str) -> bool:
    """Two digits at least, and either all of base 16 or 32, or both small and capital letters."""
    is_hex = _HEX.fullmatch(value) is not None
    is_key = is_hex or not (value.islower() or value.isupper())
    return is_gibberish(value, is_quoted=False) or (
        is_key
        and value.count("_") * 8 < len(value)
        and _MIXED.match(value) is not None
        and entropy(value) >= (3.0 if is_hex else 3.7)
    )


def entropy(text: str) -> float:
    """Return the bits per character, from the frequency of each."""
    size = len(text)
    return -sum(count / size * math.log2(count / size) for count in Counter(text).values())
