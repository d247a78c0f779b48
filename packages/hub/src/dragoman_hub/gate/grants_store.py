"""The file of tokens beside the journal: their hashes and scopes, readable only by its owner.

Every change is made under a lock and replaces the file as a whole, so that a reader sees the old one or the
new one. A token itself is never in it: it is shown when it is made, and then nobody knows it but its holder.
"""

from __future__ import annotations

import datetime
import itertools
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dragoman.decoders import decode_json
from dragoman.errors import LocalMistake
from dragoman.system.files import lock
from dragoman.system.replacement import PRIVATE, replacement_of
from dragoman_hub.gate.admission import ALL, Grant, Scope, hash_token, new_token

OWNER = "owner"
"""The name of the token from the first start of a hub."""

LINK = "page"
"""The name of tokens for links to the page, with a number after it."""

LINKS = 16
"""The most valid links; a further one replaces the one that was unused for longest."""

LINK_UNUSED = 30 * 86_400.0
"""The seconds after which an unused link is removed when the next one is created."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

Stamp: TypeAlias = tuple[int, int, int]
"""Distinguishes states of the file without reading it."""

_CLOEXEC = getattr(os, "O_CLOEXEC", 0)


class Token(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The stored part of a token. Times are seconds since 1970."""

    name: str
    hash: str
    scopes: tuple[Scope, ...]
    agents: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    created: float
    expires: float | None = None
    last_used: str | None = None
    """The day of the last use, which is enough to find unused tokens."""
    former: str = ""
    """The hash of the token that this one replaced."""
    former_until: float = 0.0
    link: bool = False
    """Whether it was created for a link to the page."""
    device: str = ""
    """The name that the paired device gave itself."""

    @property
    def used(self) -> float:
        """The time of the last use, or of its creation."""
        if self.last_used is None:
            return self.created
        day = datetime.date.fromisoformat(self.last_used)
        return max(
            self.created, datetime.datetime(day.year, day.month, day.day, tzinfo=datetime.UTC).timestamp()
        )

    def grants(self, now: float) -> dict[str, Grant]:
        """Return all valid grants, by hash."""
        if self.expires is not None and self.expires <= now:
            return {}
        good = [self.hash, *([self.former] if self.former and self.former_until > now else [])]
        return {each: self._grant(each) for each in good}

    def _grant(self, digest: str) -> Grant:
        # The beginning of a hash of 256 random bits tells tokens apart and leads nowhere.
        return Grant(self.name, frozenset(self.scopes), self.agents, self.roots, digest[:12])

    def ends_of(self, token: str) -> Iterator[float]:
        """Return the end of the token that `Grant.token` names, if it is this one or the one that it
        replaced.
        """
        digests = (self.hash, self.former) if self.former else (self.hash,)
        if any(digest[:12] == token for digest in digests):
            yield from () if self.expires is None else (self.expires,)
            yield from (self.former_until,) if self.hash[:12] != token else ()


class _TokenFile(Struct, frozen=True):
    tokens: tuple[Token, ...] = ()
    version: int = 1


class TokenStore:
    """The tokens of one file, which is created with the first token."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._clock = clock

    def read(self) -> tuple[Token, ...]:
        """Return all tokens, even expired ones. Raises `LocalMistake` for a file that can't be trusted."""
        try:
            with self.path.open("rb") as file:
                mode = os.fstat(file.fileno()).st_mode
                data = file.read()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise LocalMistake(f"{self.path}: cannot be read: {error.strerror}") from None
        if mode & 0o022 and sys.platform != "win32":
            raise LocalMistake(f"{self.path}: others may write it, so it is ignored: chmod 600 it")
        try:
            read = decode_json(data, _TokenFile)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise LocalMistake(f"{self.path}: not a token file") from None
        if read.version != 1:
            raise LocalMistake(f"{self.path}: has version {read.version}; this program knows 1")
        return read.tokens

    def stamp(self) -> Stamp | None:
        """Return a value that changes with the file; None if there is no file."""
        try:
            info = self.path.stat()
        except OSError:
            return None
        return info.st_mtime_ns, info.st_ino, info.st_size

    def add(
        self,
        name: str,
        *,
        scopes: Iterable[Scope] = ALL,
        agents: Iterable[str] = (),
        roots: Iterable[str] = (),
        expires: float | None = None,
    ) -> str:
        """Create a token and return it; it can't be shown again."""
        if not NAME.fullmatch(name):
            raise LocalMistake("a token's name is up to 64 letters, digits, '.', '_' and '-'")
        token = new_token()
        entry = Token(
            name=name,
            hash=hash_token(token),
            scopes=tuple(sorted(set(scopes))),
            agents=tuple(agents),
            roots=tuple(os.path.realpath(os.path.expanduser(root)) for root in roots),
            created=self._clock(),
            expires=expires,
        )
        with self._editing() as tokens:
            if any(token.name == name for token in tokens):
                raise LocalMistake(f"a token named {name!r} already exists: rotate or revoke it")
            tokens.append(entry)
        return token

    def add_link(self) -> str:
        """Create a token with all scopes, for a link to the page. Earlier links stay valid, except those
        unused for a month, and the one unused for longest if there are too many.
        """
        token, now = new_token(), self._clock()
        with self._editing() as tokens:
            links = sorted((token for token in tokens if token.link), key=lambda each: each.used)
            recent = [link for link in links if now - link.used < LINK_UNUSED][-(LINKS - 1) :]
            tokens[:] = [token for token in tokens if not token.link or token in recent]
            names = {token.name for token in tokens}
            name = next(name for number in itertools.count(1) if (name := f"{LINK}-{number}") not in names)
            scopes = tuple(sorted(ALL))
            tokens.append(Token(name=name, hash=hash_token(token), scopes=scopes, created=now, link=True))
        return token

    def add_device(
        self,
        name: str,
        *,
        device: str,
        scopes: Iterable[Scope],
        agents: Iterable[str] = (),
        roots: Iterable[str] = (),
        expires: float | None = None,
        giver: str = "",
    ) -> tuple[str, str]:
        """Create a token for a paired device; return it with its name, which gets a number if it is taken.
        Roots are resolved. It ends no later than `giver`, a token (see `Grant.token`).
        """
        token = new_token()
        with self._editing() as tokens:
            names = {token.name for token in tokens}
            numbered = (f"{name[:58]}-{number}" for number in itertools.count(2))
            free = next(each for each in itertools.chain([name], numbered) if each not in names)
            ends = [end for entry in tokens for end in entry.ends_of(giver)]
            entry = Token(
                name=free,
                hash=hash_token(token),
                scopes=tuple(sorted(set(scopes))),
                agents=tuple(agents),
                roots=tuple(roots),
                created=self._clock(),
                expires=min(ends if expires is None else (expires, *ends), default=None),
                device=device,
            )
            tokens.append(entry)
        return free, token

    def revoke(self, name: str) -> None:
        with self._editing() as tokens:
            tokens.remove(_find_token(tokens, name))

    def rotate(self, name: str, *, grace: float = 0.0) -> str:
        """Replace this token, which stays valid for another `grace` seconds."""
        token, now = new_token(), self._clock()
        with self._editing() as tokens:
            old = _find_token(tokens, name)
            tokens[tokens.index(old)] = replace(
                old,
                hash=hash_token(token),
                created=now,
                former=old.hash if grace > 0 else "",
                former_until=now + grace if grace > 0 else 0.0,
            )
        return token

    def note_used(self, days: dict[str, str]) -> None:
        """Store the days on which tokens were last used."""
        with self._editing() as tokens:
            tokens[:] = [
                replace(token, last_used=days[token.name]) if token.name in days else token
                for token in tokens
            ]

    def first_token(self) -> str | None:
        """Create a token with all scopes if there is none yet; otherwise return None."""
        return None if self.read() else self.add(OWNER)

    @contextmanager
    def _editing(self) -> Iterator[list[Token]]:
        """The tokens, to be changed in place; written back unless something was raised."""
        self.path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
        with _lock_file(self.path.with_name(f"{self.path.name}-lock")):
            before = self.read()
            tokens = list(before)
            yield tokens
            if tuple(tokens) != before:
                self._write(tokens)

    def _write(self, tokens: Sequence[Token]) -> None:
        data = msgspec.json.format(msgspec.json.encode(_TokenFile(tuple(tokens))), indent=1) + b"\n"
        with replacement_of(self.path, mode=PRIVATE) as copy:
            copy.write_bytes(data)


def _find_token(tokens: Sequence[Token], name: str) -> Token:
    for token in tokens:
        if token.name == name:
            return token
    names = ", ".join(sorted(token.name for token in tokens)) or "none"
    raise LocalMistake(f"unknown token {name!r}. Known tokens: {names}")


@contextmanager
def _lock_file(path: Path) -> Iterator[None]:
    """Alone among all processes that change the file."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _CLOEXEC, 0o600)
    try:
        lock(descriptor)  # held by others for the length of one small write
        yield
    finally:
        os.close(descriptor)
