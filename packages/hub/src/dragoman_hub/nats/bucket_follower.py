"""Follows a bucket: the current value of every key, and an event for every change.

There is no consumer that could fall behind or be lost with its server. What is said on the bucket's
subjects is a hint that something will have changed; what has changed is read from the stream, from where
the last reading ended. Without a hint it is read every now and then all the same. A change is told once and
in order; of several changes in a row of one key, perhaps only the last is told.
"""

from __future__ import annotations

import asyncio
import logging

from dragoman.errors import JournalError
from dragoman_hub.nats.bucket import Bucket, is_marker
from dragoman_hub.nats.connection import NatsConnection, NatsSubscription
from dragoman_hub.nats.jetstream import JetStream, StoredMessage
from dragoman_hub.nats.layout import MARKER_SECONDS
from dragoman_hub.nats.replies import end_tasks
from dragoman_local.journal.shared_state import OnValueChange, RegisterValue

log = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
"""The seconds between two reads without a hint."""

HINT_PAUSES = (0.004, 0.02, 0.1, 0.4)
"""The pauses after a hint, which comes at the write, before the value is stored everywhere: so it is read
again.
"""

BATCH, BATCH_BYTES = 1000, 2 * 1024 * 1024


class BucketFollower:
    """The contents of a bucket. `on_change` is called for each existing key, and then for every change."""

    def __init__(
        self, jetstream: JetStream, wire: NatsConnection, bucket: Bucket, on_change: OnValueChange
    ) -> None:
        self._jetstream = jetstream
        self._wire = wire
        self._bucket = bucket
        self._on_change = on_change
        self.revisions: dict[str, int] = {}
        """Of every key that holds something."""
        self.position = 0
        self._hint_event = asyncio.Event()
        self._hints: NatsSubscription | None = None
        self._task: asyncio.Task[None] | None = None
        self._reading = asyncio.Lock()
        self._read_at = 0.0

    async def start(self, *, within: float = 5.0) -> None:
        """Start; return when `on_change` was called for every key of the bucket."""
        self._hints = await self._wire.listen(f"{self._bucket.root}>", lambda *_: self._hint_event.set())
        try:
            await self.look(within=within)
        except BaseException:
            await self._hints.aclose()
            raise
        self._task = asyncio.get_running_loop().create_task(self._run(), name="nats follower")

    async def aclose(self) -> None:
        await end_tasks([self._task])
        if self._hints is not None:
            await self._hints.aclose()
            self._hints = None

    async def look(self, *, least: int = 0, within: float = 5.0) -> bool:
        """Read new values, at least up to revision `least`; return whether there were any."""
        before = self.position
        async with self._reading, asyncio.timeout(within):
            now = asyncio.get_running_loop().time()
            if self.position and now - self._read_at > MARKER_SECONDS / 2:
                await self._compare()  # marks of what was deleted may have gone meanwhile
            while True:
                if await self._step(patience=within):
                    continue
                if self.position >= least:
                    break
                await asyncio.sleep(HINT_PAUSES[0])
            self._read_at = now
        return self.position > before

    def note(self, key: str, value: RegisterValue) -> None:
        """Note a value that this hub wrote, before it is read back."""
        if value.revision > self.revisions.get(key, 0):
            self.revisions[key] = value.revision
            self._on_change(key, value)

    def note_removal(self, key: str) -> None:
        if self.revisions.pop(key, None) is not None:
            self._on_change(key, None)

    async def _run(self) -> None:
        while True:
            has_hint = True
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._hint_event.wait()
            except TimeoutError:
                has_hint = False
            self._hint_event.clear()
            try:
                await self._follow(has_hint=has_hint)
            except (JournalError, TimeoutError) as error:
                log.debug("a bucket cannot be read now: %s", error)

    async def _follow(self, *, has_hint: bool) -> None:
        """Read what is new. After a hint, try again a few times until there is something new."""
        has_news = await self.look()
        for pause in HINT_PAUSES if has_hint else ():
            if has_news or self._hint_event.is_set():
                return
            await asyncio.sleep(pause)
            has_news = await self.look()

    async def _step(self, *, patience: float = 5.0) -> set[str]:
        """Read one batch; returns the keys in it."""
        batch = await self._jetstream.batch(
            self._bucket.stream,
            f"{self._bucket.root}>",
            self.position + 1,
            most=BATCH,
            most_bytes=BATCH_BYTES,
            patience=patience,
        )
        for message in batch.messages:
            self.position = max(self.position, message.seq)
            self._take(message)
        return {self._key(message) for message in batch.messages}

    async def _compare(self) -> None:
        """Read the whole bucket again, and report the keys that are no longer there."""
        missing_keys, self.position = set(self.revisions), 0
        while keys := await self._step():
            missing_keys -= keys
        for key in missing_keys:
            self.note_removal(key)

    def _key(self, message: StoredMessage) -> str:
        return message.subject[len(self._bucket.root) :]

    def _take(self, message: StoredMessage) -> None:
        key = self._key(message)
        if is_marker(message.headers):
            if message.seq > self.revisions.get(key, 0):
                self.note_removal(key)
        else:
            self.note(key, RegisterValue(message.data, message.seq))
