"""Encrypts stored data, so that it can't be read or forged without the key.

A frame is sealed with AES-256-GCM under a random nonce; its stream, place, direction and time are bound to
it, so that an entry which was changed, moved or put into another stream does not open. What is known about a
stream is sealed as a whole, and with it how long the stream is, so that a tail that was cut off is missed.
Each stream has a key of its own, derived from the one that was given (HKDF): no nonce can meet its like
elsewhere. Folders can still be searched for: a keyed hash stands in their place.

In clear stay: names of streams, agents, states and sessions, times, directions, sizes and numbers. Whoever
can write the file can put an older copy of it back; that cannot be seen from inside. It knows no file:
`sealed_file` marks one.
"""

from __future__ import annotations

import base64
import hmac
import struct
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from dragoman.decoders import msgpack_decoder
from dragoman.errors import JournalError, LocalMistake
from dragoman_local.journal.contract import StreamInfo

if TYPE_CHECKING:
    from dragoman_local.journal.sealed_cipher import StreamCipher

KEY_BYTES = 32
"""The least bytes of a key; a shorter one could be guessed."""

NONCE_BYTES = 12

CIPHERS = 1024
"""The most streams whose cipher is cached."""

TITLE = "sealed:"

_PLACE = struct.Struct(">qqd").pack
_INFO = msgpack_decoder(tuple[str, str, str, str, str, float, float, int])


class WrongKey(JournalError):
    """The journal is encrypted with another key, or is not encrypted although a key was given, or the
    reverse.
    """


class OpenedStream(NamedTuple):
    """The description of a stream, and how many entries are missing at its end."""

    info: StreamInfo
    lost_entries: int


class TreeSeal:
    """Encrypts the store of trees beside a sealed journal, with keys of its own. A name (a path, a digest, a
    prompt) is always the same when it is hidden, so that the store can search for it; its nonce is a keyed
    hash of it.
    """

    def __init__(self, ident: str, contents: StreamCipher, names: StreamCipher, secret: bytes) -> None:
        self.id = ident
        self._contents, self._names, self._secret = contents, names, secret

    def __repr__(self) -> str:
        return f"TreeSeal(id={self.id!r})"

    def hide(self, name: bytes) -> bytes:
        return self._names.seal(name, b"name", nonce=hmac.digest(self._secret, name, "sha256")[:NONCE_BYTES])

    def show(self, hidden: bytes) -> bytes | None:
        """The name that was hidden; None if these bytes are none."""
        return self._names.open(hidden, b"name")

    def seal(self, data: bytes, place: bytes) -> bytes:
        return self._contents.seal(data, place)

    def open(self, sealed: bytes, place: bytes) -> bytes | None:
        """The data that was sealed for this place; None if these bytes were not."""
        return self._contents.open(sealed, place)


class Seal:
    """Encrypts and decrypts with one key. May be used from several threads."""

    def __init__(self, key: bytes) -> None:
        if len(key) < KEY_BYTES:
            raise LocalMistake(f"a key for a journal has at least {KEY_BYTES} bytes")
        try:
            from dragoman_local.journal.sealed_cipher import StreamCipher, derive_key
        except ImportError as error:
            raise LocalMistake(
                f"a sealed journal needs cryptography: pip install 'dragoman-sdk[sealed]' ({error})"
            ) from None
        self.id = derive_key(key, b"id", 8).hex()
        """Tells keys apart and says nothing about them."""
        streams, self._folders = derive_key(key, b"streams"), derive_key(key, b"folders")
        self.key_secret = derive_key(key, b"idempotency keys")
        """With which idempotency keys are hashed: neither read nor guessed from their index."""
        contents, names = (StreamCipher(derive_key(key, b"tree " + part)) for part in (b"contents", b"names"))
        self.trees = TreeSeal(self.id, contents, names, derive_key(key, b"tree nonces"))

        def make_cipher(stream: str, created_at: float) -> StreamCipher:
            # With the time of its making: another stream of the same name later is another stream.
            purpose = b"stream" + msgspec.msgpack.encode([stream, created_at])
            return StreamCipher(derive_key(streams, purpose))

        self._cipher = lru_cache(CIPHERS)(make_cipher)
        self.folder = lru_cache(CIPHERS)(
            lambda cwd: hmac.digest(self._folders, cwd.encode(errors="replace"), "sha256").hex()
        )
        """What stands for a folder: always the same for the same one, so that it can be searched for."""

    def __repr__(self) -> str:
        return f"Seal(id={self.id!r})"

    def seal(self, info: StreamInfo, sequence: int, direction: int, time: float, frame: bytes) -> bytes:
        """Return a frame in its stored form for this position of this stream."""
        cipher = self._cipher(info.stream, info.created)
        return cipher.seal(frame, _PLACE(sequence, direction, time))

    def open(
        self, info: StreamInfo, sequence: int, direction: int, time: float, sealed_frame: bytes
    ) -> bytes | None:
        """Return the frame that was sealed for this position; None if these bytes were not."""
        cipher = self._cipher(info.stream, info.created)
        return cipher.open(sealed_frame, _PLACE(sequence, direction, time))

    def seal_info(self, info: StreamInfo) -> StreamInfo:
        """Return the description of a stream in its stored form."""
        texts = (info.agent, info.cwd, info.title, info.state, info.session)
        plaintext = msgspec.msgpack.encode((*texts, info.created, info.updated, info.last))
        ciphertext = self._cipher(info.stream, info.created).seal(plaintext, b"info")
        text = TITLE + base64.b64encode(ciphertext).decode()
        return replace(info, cwd=self.folder(info.cwd), title=text)

    def open_info(self, info: StreamInfo) -> OpenedStream | None:
        """Decrypt the description of a stream; None if it does not match its row."""
        cipher = self._cipher(info.stream, info.created)
        try:
            ciphertext = base64.b64decode(info.title.removeprefix(TITLE))
        except ValueError:
            return None
        plaintext = cipher.open(ciphertext, b"info")
        if plaintext is None:
            return None
        agent, cwd, title, state, session, created_at, updated_at, last = _INFO.decode(plaintext)
        stored_fields = (info.agent, info.cwd, info.state, info.session, info.created, info.updated)
        if (
            stored_fields != (agent, self.folder(cwd), state, session, created_at, updated_at)
            or last < info.last
        ):
            return None
        return OpenedStream(replace(info, cwd=cwd, title=title), last - info.last)
