"""What was found in a text, kept for the next time: by its content, its name and everything that judges
it.

Another text, another rule, another version of a tool is another key, so that nothing kept is ever
wrong. Findings are kept as the tools made them, before settings choose among them, and hold no secret's
text. A folder that cannot be read or written is a cache that is empty. Bounded: a shard that is full
loses the older half of its entries.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from dragoman.decoders import msgpack_decoder
from dragoman.review.finding import Finding
from dragoman.review.places import judge_digest
from dragoman.review.rules import ReviewRule
from dragoman.system.cache_files import write_cache_file

LARGEST_SHARD = 128
"""Entries of one of the 256 shards: 32768 texts in all, mostly of a kilobyte."""

LARGEST_ENTRY = 256 * 1024
"""Bytes of one entry; a text with more findings is reviewed anew each time."""

_decode = msgpack_decoder(list[Finding]).decode


class FindingCache:
    """One folder, for one set of rules and tools. `rules` are those beside ours, which count as files do."""

    def __init__(self, folder: Path, rules: Iterable[ReviewRule], programs: Sequence[str | None]) -> None:
        judge = hashlib.sha256(b"findings 1")
        judge.update(msgspec.json.encode(list(rules)))
        judge.update(judge_digest(programs))
        self._judge = judge.digest()
        self._folder = folder

    def key(self, path: str, text: str) -> str:
        return hashlib.sha256(
            b"\0".join((self._judge, path.encode("utf-8", "replace"), text.encode("utf-8", "replace")))
        ).hexdigest()

    def read(self, key: str) -> list[Finding] | None:
        """The findings of a text, or None if they are not known."""
        try:
            return _decode(self._place(key).read_bytes())
        except (OSError, msgspec.MsgspecError):
            return None

    def write(self, key: str, findings: Sequence[Finding]) -> None:
        try:
            data = msgspec.msgpack.encode(findings)
        except UnicodeEncodeError:  # the name of the file is no text
            return
        if len(data) <= LARGEST_ENTRY:
            write_cache_file(self._place(key), data, most=LARGEST_SHARD)

    def _place(self, key: str) -> Path:
        return self._folder / key[:2] / key[2:]
