"""What is stored, sealed: nobody reads or forges it without the key.

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
import os
import struct
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from dragoman.decoders import msgpack_decoder
from dragoman.errors import JournalError, LocalMistake
from dragoman.journal.contract import StreamInfo

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
"""What a key has at least; fewer could be guessed."""

NONCE = 12
CIPHERS = 1024
"""Streams whose cipher is kept at hand."""

SALT = b"dragoman journal 1"
TITLE = "sealed:"

_PLACE = struct.Struct(">qqd").pack
_INFO = msgpack_decoder(tuple[str, str, str, str, str, float, float, int])


class WrongKey(JournalError):
    """The journal is sealed with another key, or it is not sealed and a key was given, or the reverse."""


class OpenedStream(NamedTuple):
    """What is known about a stream, and how many entries are missing at its end."""

    info: StreamInfo
    lost_entries: int


class Seal:
    """Seals and opens under one key. May be used from several threads."""

    def __init__(self, key: bytes) -> None:
        if len(key) < KEY_BYTES:
            raise LocalMistake(f"a key for a journal has at least {KEY_BYTES} bytes")
        self.id = _derive_key(key, b"id", 8).hex()
        """Tells keys apart and says nothing about them."""
        from cryptography.exceptions import InvalidTag

        self._streams = _derive_key(key, b"streams", 32)
        self._folders = _derive_key(key, b"folders", 32)
        self.key_secret = _derive_key(key, b"idempotency keys", 32)
        """With which idempotency keys are hashed: neither read nor guessed from their index."""
        self._cipher = lru_cache(CIPHERS)(self._make_cipher)
        self.folder = lru_cache(CIPHERS)(self._folder)
        """What stands for a folder: always the same for the same one, so that it can be searched for."""
        # The second is for what is too short to be anything.
        self._open_errors: tuple[type[Exception], ...] = (InvalidTag, ValueError)

    def __repr__(self) -> str:
        return f"Seal(id={self.id!r})"

    def seal(self, info: StreamInfo, sequence: int, direction: int, time: float, frame: bytes) -> bytes:
        """A frame as it is stored at this place of this stream."""
        nonce = os.urandom(NONCE)
        cipher = self._cipher(info.stream, info.created)
        return nonce + cipher.encrypt(nonce, frame, _PLACE(sequence, direction, time))

    def open(
        self, info: StreamInfo, sequence: int, direction: int, time: float, sealed_frame: bytes
    ) -> bytes | None:
        """The frame that was sealed for this place; None if these bytes were not."""
        cipher = self._cipher(info.stream, info.created)
        try:
            return cipher.decrypt(
                sealed_frame[:NONCE], sealed_frame[NONCE:], _PLACE(sequence, direction, time)
            )
        except self._open_errors:
            return None

    def seal_info(self, info: StreamInfo) -> StreamInfo:
        """The description of a stream as it is stored."""
        nonce = os.urandom(NONCE)
        texts = (info.agent, info.cwd, info.title, info.state, info.session)
        plaintext = msgspec.msgpack.encode((*texts, info.created, info.updated, info.last))
        ciphertext = nonce + self._cipher(info.stream, info.created).encrypt(nonce, plaintext, b"info")
        text = TITLE + base64.b64encode(ciphertext).decode()
        return replace(info, cwd=self.folder(info.cwd), title=text)

    def open_info(self, info: StreamInfo) -> OpenedStream | None:
        """What was sealed about this stream; None if that is not what is stored beside it."""
        cipher = self._cipher(info.stream, info.created)
        try:
            ciphertext = base64.b64decode(info.title.removeprefix(TITLE))
            plaintext = cipher.decrypt(ciphertext[:NONCE], ciphertext[NONCE:], b"info")
        except self._open_errors:
            return None
        agent, cwd, title, state, session, created_at, updated_at, last = _INFO.decode(plaintext)
        stored_fields = (info.agent, info.cwd, info.state, info.session, info.created, info.updated)
        if (
            stored_fields != (agent, self.folder(cwd), state, session, created_at, updated_at)
            or last < info.last
        ):
            return None
        return OpenedStream(replace(info, cwd=cwd, title=title), last - info.last)

    def _folder(self, cwd: str) -> str:
        return hmac.digest(self._folders, cwd.encode(errors="replace"), "sha256").hex()

    def _make_cipher(self, stream: str, created_at: float) -> AESGCM:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        # With the time of its making: another stream of the same name later is another stream.
        return AESGCM(
            _derive_key(self._streams, b"stream" + msgspec.msgpack.encode([stream, created_at]), 32)
        )


def _derive_key(key: bytes, purpose: bytes, size: int) -> bytes:
    try:
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF
    except ImportError as error:
        raise LocalMistake(
            f"a sealed journal needs the extra 'sealed': pip install 'dragoman[sealed]' ({error})"
        ) from None
    return HKDF(algorithm=SHA256(), length=size, salt=SALT, info=purpose).derive(key)
