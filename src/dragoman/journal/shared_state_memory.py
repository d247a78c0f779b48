"""The register and the bus within one process: for tests, and for nodes that live together.

Values are held by one `SharedMemory`; each node has its own `MemoryNode` of it, which can be cut off from the
others and slowed down, as a network would do it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from dragoman.errors import JournalError, KeyTaken, NobodyListens
from dragoman.journal.shared_state import OnBusMessage, OnValueChange, RegisterValue, Subscription


class SharedMemory:
    """What all nodes share."""

    def __init__(self) -> None:
        self.held: dict[str, RegisterValue] = {}
        self.nodes: list[MemoryNode] = []
        self._revision = 0
        self._asked = 0

    def node(self) -> MemoryNode:
        made = MemoryNode(self)
        self.nodes.append(made)
        return made

    def put(self, key: str, value: bytes | None) -> int:
        self._revision += 1
        if value is None:
            self.held.pop(key, None)
        else:
            self.held[key] = RegisterValue(value, self._revision)
        for node in self.nodes:
            node.changed(key, self.held.get(key))
        return self._revision

    def inbox(self) -> str:
        self._asked += 1
        return f"inbox.{self._asked}"

    def reach(self, subject: str, data: bytes, answer: str) -> int:
        """How many heard it."""
        return sum(node.hear(subject, data, answer) for node in self.nodes if not node.cut)


class MemoryNode:
    """One node's `Register` and `Bus`. While `cut` is set nothing comes in or goes out."""

    def __init__(self, shared: SharedMemory) -> None:
        self._shared = shared
        self._watching: list[tuple[str, OnValueChange]] = []
        self._listening: list[tuple[str, OnBusMessage]] = []
        self._missed: set[str] = set()
        self._cut = False

    @property
    def cut(self) -> bool:
        return self._cut

    @cut.setter
    def cut(self, value: bool) -> None:
        self._cut = value
        if not value:
            missed, self._missed = self._missed, set()
            for key in missed:
                self.changed(key, self._shared.held.get(key))

    # The register.

    async def create(self, key: str, value: bytes) -> int:
        await self._go_there()
        if key in self._shared.held:
            raise KeyTaken(key)
        return self._shared.put(key, value)

    async def update(self, key: str, value: bytes, revision: int) -> int:
        await self._go_there()
        self._check(key, revision)
        return self._shared.put(key, value)

    async def delete(self, key: str, revision: int) -> None:
        await self._go_there()
        self._check(key, revision)
        self._shared.put(key, None)

    async def get(self, key: str) -> RegisterValue | None:
        await self._go_there()
        return self._shared.held.get(key)

    async def watch(self, prefix: str, changed: OnValueChange) -> Subscription:
        await self._go_there()
        for key in sorted(self._shared.held):
            if key.split(".")[0] == prefix:
                changed(key, self._shared.held[key])
        self._watching.append((prefix, changed))
        return _Ending(lambda: self._watching.remove((prefix, changed)))

    def _check(self, key: str, revision: int) -> None:
        held = self._shared.held.get(key)
        if held is None or held.revision != revision:
            raise KeyTaken(key)

    def changed(self, key: str, value: RegisterValue | None) -> None:
        if self._cut:
            self._missed.add(key)
            return
        for prefix, changed in list(self._watching):
            if key.split(".")[0] == prefix:
                changed(key, value)

    # The bus.

    def send(self, subject: str, data: bytes) -> None:
        if not self._cut:
            asyncio.get_running_loop().call_soon(self._shared.reach, subject, data, "")

    async def ask(self, subject: str, data: bytes, *, within: float) -> bytes:
        await self._go_there()
        inbox = self._shared.inbox()
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        def answered(_: str, said: bytes, __: str) -> None:
            if not answer.done():
                answer.set_result(said)

        ending = await self.listen(inbox, answered)
        try:
            if not self._shared.reach(subject, data, inbox):
                raise NobodyListens(subject)
            async with asyncio.timeout(within):
                return await answer
        finally:
            await ending.aclose()

    async def listen(self, subject: str, on_message: OnBusMessage) -> Subscription:
        self._listening.append((subject, on_message))
        return _Ending(lambda: self._listening.remove((subject, on_message)))

    def hear(self, subject: str, data: bytes, answer: str) -> int:
        found = list(self._hearers(subject))
        for heard in found:
            heard(subject, data, answer)
        return len(found)

    def _hearers(self, subject: str) -> Iterator[OnBusMessage]:
        words = subject.split(".")
        for pattern, heard in self._listening:
            wanted = pattern.split(".")
            if len(wanted) == len(words) and all(
                one in ("*", word) for one, word in zip(wanted, words, strict=True)
            ):
                yield heard

    async def _go_there(self) -> None:
        await asyncio.sleep(0)
        if self._cut:
            raise JournalError("the other nodes cannot be reached")


class _Ending:
    def __init__(self, end: Callable[[], None]) -> None:
        self._end: Callable[[], None] | None = end

    async def aclose(self) -> None:
        end, self._end = self._end, None
        if end is not None:
            end()
