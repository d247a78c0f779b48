"""The cipher of an encrypted journal: AES-256-GCM with random nonces and derived keys (HKDF).

Over the package `cryptography` (`dragoman-sdk[sealed]`), which takes a while to import: `Seal` loads this
module when it has a key.
"""

from __future__ import annotations

import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

NONCE = 12
SALT = b"dragoman journal 1"


def derive_key(key: bytes, purpose: bytes, size: int = 32) -> bytes:
    """Return a separate key for each purpose, which does not reveal the given key."""
    return HKDF(algorithm=SHA256(), length=size, salt=SALT, info=purpose).derive(key)


class StreamCipher:
    """Encrypts and decrypts with the key of one stream."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)

    def seal(self, plaintext: bytes, place: bytes, *, nonce: bytes = b"") -> bytes:
        """Return a text bound to its position, after its nonce: a random one, or one of this text alone."""
        nonce = nonce or os.urandom(NONCE)
        return nonce + self._cipher.encrypt(nonce, plaintext, place)

    def open(self, sealed: bytes, place: bytes) -> bytes | None:
        """Return the text that was sealed for this position; None if these bytes were not."""
        try:
            return self._cipher.decrypt(sealed[:NONCE], sealed[NONCE:], place)
        except (InvalidTag, ValueError):  # the second is for what is too short to be anything
            return None
