"""Encrypts notifications for one browser, and signs them as the hub's.

A message is encrypted for the key pair of a browser's subscription (RFC 8291, content coding `aes128gcm` of
RFC 8188), so that the push service which carries it sees its size alone; all messages are padded to one size.
Each request is signed with the hub's own key (VAPID, RFC 8292). Does no IO but for the file of that key.
Needs cryptography: `setup` imports it where that is installed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from dragoman.errors import LocalMistake
from dragoman.system.replacement import replace_file

CURVE = ec.SECP256R1()
AUTH_BYTES = 16
RECORD = 4096
PADDED = 512
"""The bytes of every message before encryption, so that its size reveals nothing."""

TOKEN_SECONDS = 12 * 3600
"""The seconds for which a signature is valid; services accept a day at most."""


def encode_base64(data: bytes) -> str:
    """Encode base64 for addresses, without padding, as everywhere in Web Push."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode_base64(text: str) -> bytes:
    """Decode base64; raises `ValueError` for invalid text."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None


def _public_point(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
    )


def _derive(key: bytes, data: bytes) -> bytes:
    return hmac.new(key, data, hashlib.sha256).digest()


class VapidKey:
    """The key that identifies this hub to push services, and what else needs cryptography."""

    def __init__(
        self, key: ec.EllipticCurvePrivateKey, *, contact: str = "", clock: Callable[[], float] = time.time
    ) -> None:
        self._key = key
        self._contact = contact
        self._clock = clock
        self.public = encode_base64(_public_point(key))
        """What a page subscribes with."""

    @classmethod
    def open(cls, path: Path, *, contact: str = "") -> VapidKey:
        """Return the key of a file, which is created for its owner only if it is missing. Raises
        `LocalMistake`. `contact` is an address for operators of push services.
        """
        try:
            data = _read_private(path)
        except FileNotFoundError:
            data = _write_new_key(path)
        except OSError as error:
            raise LocalMistake(f"{path}: cannot be read: {error.strerror}") from None
        try:
            key = serialization.load_pem_private_key(data, None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise LocalMistake(
                f"{path}: the file has no key. Delete the file, and the hub creates a new key"
            ) from None
        if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
            raise LocalMistake(f"{path}: the key is not of the kind P-256")
        return cls(key, contact=contact)

    def authorization(self, endpoint: str) -> str:
        """Return the header of a request to an endpoint: valid for its host alone, and for half a day."""
        address = urlsplit(endpoint)
        claims = {
            "aud": f"{address.scheme}://{address.netloc}",
            "exp": int(self._clock()) + TOKEN_SECONDS,
            **({"sub": self._contact} if self._contact else {}),
        }
        head = encode_base64(msgspec.json.encode({"typ": "JWT", "alg": "ES256"}))
        claim_text = f"{head}.{encode_base64(msgspec.json.encode(claims))}"
        r, s = decode_dss_signature(self._key.sign(claim_text.encode(), ec.ECDSA(hashes.SHA256())))
        signature = encode_base64(r.to_bytes(32, "big") + s.to_bytes(32, "big"))
        return f"vapid t={claim_text}.{signature}, k={self.public}"

    @staticmethod
    def check_keys(p256dh: str, auth: str) -> None:
        """Raise `ValueError` unless these are the keys of a subscription."""
        ec.EllipticCurvePublicKey.from_encoded_point(CURVE, decode_base64(p256dh))
        if len(decode_base64(auth)) != AUTH_BYTES:
            raise ValueError(f"auth has not {AUTH_BYTES} bytes")

    @staticmethod
    def encrypt(
        message: bytes,
        *,
        p256dh: str,
        auth: str,
        salt: bytes | None = None,
        sender: ec.EllipticCurvePrivateKey | None = None,
        padded: int = PADDED,
    ) -> bytes:
        """Return the body of a request, for the holder of the keys. `salt` and `sender` are new for each
        message.
        """
        salt = salt or os.urandom(16)
        sender = sender or ec.generate_private_key(CURVE)
        receiver_point, sender_point = decode_base64(p256dh), _public_point(sender)
        receiver = ec.EllipticCurvePublicKey.from_encoded_point(CURVE, receiver_point)
        key_material = _derive(decode_base64(auth), sender.exchange(ec.ECDH(), receiver))
        secret = _derive(key_material, b"WebPush: info\0" + receiver_point + sender_point + b"\1")
        seed = _derive(salt, secret)
        key = _derive(seed, b"Content-Encoding: aes128gcm\0\1")[:16]
        nonce = _derive(seed, b"Content-Encoding: nonce\0\1")[:12]
        record = message + b"\2" + bytes(max(0, padded - len(message) - 1))  # 2: it is the last record
        head = salt + struct.pack(">IB", RECORD, len(sender_point)) + sender_point
        return head + AESGCM(key).encrypt(nonce, record, None)


def _read_private(path: Path) -> bytes:
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_mode & 0o077 and sys.platform != "win32":
            raise LocalMistake(f"{path}: others may read it: chmod 600 it")
        return file.read(8192)


def _write_new_key(path: Path) -> bytes:
    data = ec.generate_private_key(CURVE).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    replace_file(path, data)
    return data
