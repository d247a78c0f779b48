"""A push service on this machine, and a browser's key pair: what a message looks like at the other end."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from dragoman_hub.push.encryption import decode_base64, encode_base64


def _derive(key: bytes, data: bytes) -> bytes:
    return hmac.new(key, data, hashlib.sha256).digest()


class BrowserKeys:
    """The key pair of one subscription. Written from RFC 8291, apart from the code that encrypts."""

    def __init__(self, key: ec.EllipticCurvePrivateKey | None = None, auth: bytes | None = None) -> None:
        self._key = key or ec.generate_private_key(ec.SECP256R1())
        self._auth = auth or os.urandom(16)
        self._point = self._key.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
        )

    @property
    def public(self) -> dict[str, str]:
        """As `PushSubscription.toJSON` has them."""
        return {"p256dh": encode_base64(self._point), "auth": encode_base64(self._auth)}

    def decrypt(self, body: bytes) -> bytes:
        salt, (size, length) = body[:16], struct.unpack(">IB", body[16:21])
        sender_point, record = body[21 : 21 + length], body[21 + length :]
        assert len(record) <= size
        sender = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender_point)
        mixed = _derive(self._auth, self._key.exchange(ec.ECDH(), sender))
        secret = _derive(mixed, b"WebPush: info\x00" + self._point + sender_point + b"\x01")
        pseudorandom = _derive(salt, secret)
        key = _derive(pseudorandom, b"Content-Encoding: aes128gcm\x00\x01")[:16]
        nonce = _derive(pseudorandom, b"Content-Encoding: nonce\x00\x01")[:12]
        text, end, padding = AESGCM(key).decrypt(nonce, record, None).rpartition(b"\x02")
        assert end == b"\x02"
        assert not padding.strip(b"\x00")
        return text


class PushService:
    """Takes requests at any path, and answers as it is told: the statuses of `answers`, then 201."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/push/"
        self.answers: list[tuple[int, str]] = []
        self.requests: asyncio.Queue[tuple[str, dict[str, str], bytes]] = asyncio.Queue()

    async def next(self, keys: BrowserKeys) -> tuple[dict[str, Any], dict[str, str]]:
        """The next message, decrypted, and the headers that it came with."""
        _, headers, body = await self.requests.get()
        return json.loads(keys.decrypt(body)), headers

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.strip().split("\r\n")
            headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
            body = await reader.readexactly(int(headers["content-length"]))
            status, extra = self.answers.pop(0) if self.answers else (201, "")
            writer.write(f"HTTP/1.1 {status} X\r\n{extra}Content-Length: 0\r\n\r\n".encode())
            await writer.drain()
            self.requests.put_nowait((first, headers, body))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # somebody left
        finally:
            writer.close()


@asynccontextmanager
async def push_service() -> AsyncIterator[PushService]:
    service = PushService(0)
    server = await asyncio.start_server(service.serve, "127.0.0.1", 0)
    service.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/push/"
    async with server:
        yield service


def private_key(scalar: str) -> ec.EllipticCurvePrivateKey:
    """Of a number, as the RFC writes it."""
    return ec.derive_private_key(int.from_bytes(decode_base64(scalar), "big"), ec.SECP256R1())
