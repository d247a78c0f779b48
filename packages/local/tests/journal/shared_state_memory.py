"""The register and the bus within one process: for tests, and for nodes in the same process.

Values are held by one `SharedMemory`; each node has its own `MemoryNode` of it, which can be cut off from the
others and slowed down, as a network would do it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from dragoman.errors import JournalError, KeyTaken, NobodyListens
from dragoman_local.journal.shared_state import OnBusMessage, OnValueChange, RegisterValue, Subscription


class SharedMemory:
    """The state that all nodes share."""

    def __init__(self) -> None:
        self.values: dict[str, RegisterValue] = {}
        self.nodes: list[MemoryNode] = []
        self._revision = 0
        self._inbox_count = 0

    def node(self) -> MemoryNode:
        node = MemoryNode(self)
        self.nodes.append(node)
        return node

    def put(self, key: str, value: bytes | None) -> int:
        self._revision += 1
        if value is None:
            self.values.pop(key, None)
        else:
            self.values[key] = RegisterValue(value, self._revision)
        for node in self.nodes:
            node.on_change(key, self.values.get(key))
        return self._revision

    def inbox(self) -> str:
        self._inbox_count += 1
        return f"inbox.{self._inbox_count}"

    def reach(self, subject: str, data: bytes, answer: str) -> int:
        """Deliver a message to all nodes; returns how many callbacks got it."""
        return sum(node.deliver(subject, data, answer) for node in self.nodes if not node.cut)


class MemoryNode:
    """One node's `Register` and `Bus`. While `cut` is set nothing comes in or goes out."""

    def __init__(self, memory: SharedMemory) -> None:
        self._memory = memory
        self._watching: list[tuple[str, OnValueChange]] = []
        self._listening: list[tuple[str, OnBusMessage]] = []
        self._missed_keys: dict[str, None] = {}  # in the order of their last change
        self._cut = False

    @property
    def cut(self) -> bool:
        return self._cut

    @cut.setter
    def cut(self, value: bool) -> None:
        self._cut = value
        if not value:
            keys, self._missed_keys = self._missed_keys, {}
            for key in keys:
                self.on_change(key, self._memory.values.get(key))

    # The register.

    async def create(self, key: str, value: bytes) -> int:
        await self._go_there()
        if key in self._memory.values:
            raise KeyTaken(key)
        return self._memory.put(key, value)

    async def update(self, key: str, value: bytes, revision: int) -> int:
        await self._go_there()
        self._check(key, revision)
        return self._memory.put(key, value)

    async def delete(self, key: str, revision: int) -> None:
        await self._go_there()
        self._check(key, revision)
        self._memory.put(key, None)

    async def get(self, key: str) -> RegisterValue | None:
        await self._go_there()
        return self._memory.values.get(key)

    async def watch(self, prefix: str, on_change: OnValueChange) -> Subscription:
        await self._go_there()
        for key in sorted(self._memory.values):
            if key.split(".")[0] == prefix:
                on_change(key, self._memory.values[key])
        self._watching.append((prefix, on_change))
        return _MemorySubscription(lambda: self._watching.remove((prefix, on_change)))

    def _check(self, key: str, revision: int) -> None:
        value = self._memory.values.get(key)
        if value is None or value.revision != revision:
            raise KeyTaken(key)

    def on_change(self, key: str, value: RegisterValue | None) -> None:
        if self._cut:
            self._missed_keys.pop(key, None)
            self._missed_keys[key] = None
            return
        for prefix, callback in list(self._watching):
            if key.split(".")[0] == prefix:
                callback(key, value)

    # The bus.

    def send(self, subject: str, data: bytes) -> None:
        if not self._cut:
            asyncio.get_running_loop().call_soon(self._memory.reach, subject, data, "")

    async def ask(self, subject: str, data: bytes, *, within: float) -> bytes:
        await self._go_there()
        inbox = self._memory.inbox()
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        def on_answer(_: str, reply: bytes, __: str) -> None:
            if not answer.done():
                answer.set_result(reply)

        ending = await self.listen(inbox, on_answer)
        try:
            if not self._memory.reach(subject, data, inbox):
                raise NobodyListens(subject)
            async with asyncio.timeout(within):
                return await answer
        finally:
            await ending.aclose()

    async def listen(self, subject: str, on_message: OnBusMessage) -> Subscription:
        self._listening.append((subject, on_message))
        return _MemorySubscription(lambda: self._listening.remove((subject, on_message)))

    def deliver(self, subject: str, data: bytes, answer: str) -> int:
        callbacks = list(self._callbacks(subject))
        for callback in callbacks:
            callback(subject, data, answer)
        return len(callbacks)

    def _callbacks(self, subject: str) -> Iterator[OnBusMessage]:
        words = subject.split(".")
        for pattern, callback in self._listening:
            pattern_words = pattern.split(".")
            if len(pattern_words) == len(words) and all(
                pattern_word in ("*", word) for pattern_word, word in zip(pattern_words, words, strict=True)
            ):
                yield callback

    async def _go_there(self) -> None:
        await asyncio.sleep(0)
        if self._cut:
            raise JournalError("the other nodes cannot be reached")


class _MemorySubscription:
    def __init__(self, end: Callable[[], None]) -> None:
        self._end: Callable[[], None] | None = end

    async def aclose(self) -> None:
        end, self._end = self._end, None
        if end is not None:
            end()
