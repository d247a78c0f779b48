"""What is written without a wait keeps its place among what waits."""

from __future__ import annotations

import asyncio
import ssl

from dragoman.transport.messages import MessageTransport, unreachable


class Stream:
    """Takes messages at once while it has room; one that is sent the usual way is held until it is let go."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, bytes]] = []
        self.has_room = True
        self.sending = asyncio.Event()
        self.let_go = asyncio.Event()

    def send_now(self, messages: list[bytes]) -> bool:
        if self.has_room:
            self.taken += [("now", message) for message in messages]
        return self.has_room

    async def send(self, messages: list[bytes]) -> None:
        self.sending.set()
        await self.let_go.wait()
        self.taken += [("later", message) for message in messages]

    async def receive(self) -> bytes | None:
        await asyncio.Event().wait()
        return None

    async def close(self) -> None:
        pass


async def test_a_message_that_finds_room_does_not_wait() -> None:
    stream = Stream()
    transport = MessageTransport(stream)
    transport.write(b"one\ntwo\n")
    assert stream.taken == [("now", b"one"), ("now", b"two")]
    assert transport.pending == 0
    await transport.aclose()


async def test_nothing_overtakes_what_waits() -> None:
    stream = Stream()
    transport = MessageTransport(stream)
    stream.has_room = False
    transport.write(b"one\n")
    stream.has_room = True
    transport.write(b"two\n")  # one is queued
    await stream.sending.wait()
    transport.write(b"three\n")  # both are being sent
    assert (stream.taken, transport.pending) == ([], len(b"onetwothree"))
    stream.let_go.set()
    await transport.finish_writing()
    transport.write(b"four\n")
    assert stream.taken == [("later", b"one"), ("later", b"two"), ("later", b"three"), ("now", b"four")]
    await transport.aclose()


def test_who_cannot_be_reached_is_named_with_the_cause_below_all_others() -> None:
    untrusted = ssl.SSLCertVerificationError(1, "certificate verify failed")
    untrusted.verify_message = "self-signed certificate"
    wrapped = OSError("All connection attempts failed")
    wrapped.__cause__ = untrusted
    text = str(unreachable("https://one/acp", wrapped))
    assert text.startswith("https://one/acp cannot be reached: its certificate is not trusted: self-signed")
    assert text.endswith("in SSL_CERT_FILE")
    wrapped.__cause__ = ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 1)")
    assert str(unreachable("ws://one", wrapped)) == "ws://one cannot be reached: nothing listens there"
    assert str(unreachable("ws://one", TimeoutError())) == "ws://one cannot be reached: TimeoutError"
