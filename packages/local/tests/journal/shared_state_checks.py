"""Contract checks for registers and buses: whatever makes them.

Give `check_shared` a function that makes one node of what is shared, as an `async with`: all nodes that it
makes within one promise share what they hold. Every promise of `journal.shared_state` is tried, and
the first that is broken is named in an `AssertionError`. What happens when a network fails is each
implementation's own story.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Protocol

from dragoman.errors import KeyTaken, NobodyListens
from dragoman.testing.pace import deadline
from dragoman_local.journal.shared_state import Bus, Register, RegisterValue

BOUND = 20.0
"""Seconds that one promise may take to keep."""

MANY = 200
TRYING = b"?"


class SharedNode(Protocol):
    """One node's register and bus."""

    @property
    def register(self) -> Register: ...

    @property
    def bus(self) -> Bus: ...


MakeNode = Callable[[str], AbstractAsyncContextManager[SharedNode]]
"""Makes a node; those that are given the same word share everything, those with another nothing."""


async def check_shared(make: MakeNode) -> None:
    """Try every promise on nodes from `make`; raise `AssertionError` for the first broken one.

        await check_shared(lambda name: open_my_journal(servers, name))

    Each call of `make` opens another node on the same streams.
    """
    for number, promise in enumerate(PROMISES):
        name = (promise.__doc__ or promise.__name__).splitlines()[0]
        tasks = asyncio.all_tasks()
        try:
            async with deadline(BOUND), AsyncExitStack() as stack:
                first = await stack.enter_async_context(make(f"shared{number}"))
                second = await stack.enter_async_context(make(f"shared{number}"))
                await promise(first, second)
        except TimeoutError:
            raise AssertionError(f"{name}: not within {BOUND:g} seconds") from None
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error
        assert asyncio.all_tasks() <= tasks, f"{name}: a task was left behind"


class BusRecorder:
    """Records the calls of a watch or a listener, and waits for them."""

    def __init__(self) -> None:
        self.keys: dict[str, bytes | None] = {}
        self.words: list[tuple[str, bytes, str]] = []
        self._more = asyncio.Event()

    def on_change(self, key: str, value: RegisterValue | None) -> None:
        self.keys[key] = None if value is None else value.value
        self._more.set()

    def on_message(self, subject: str, data: bytes, answer: str) -> None:
        self.words.append((subject, data, answer))
        self._more.set()

    async def until(self, enough: Callable[[], bool]) -> None:
        while not enough():
            self._more.clear()
            await self._more.wait()

    async def until_keys(self, keys: dict[str, bytes | None]) -> None:
        await self.until(lambda: self.keys == keys)

    @property
    def messages(self) -> list[tuple[str, bytes, str]]:
        """The words without those that only tried whether anybody hears."""
        return [word for word in self.words if word[1] != TRYING]


async def _was_taken(attempt: Awaitable[object]) -> bool:
    try:
        await attempt
    except KeyTaken:
        return True
    return False


async def _one_creates(node: SharedNode, other_node: SharedNode) -> None:
    """Of many who create a key, one does; and it holds what that one gave."""
    nodes = (node, other_node)
    attempts = [nodes[n % 2].register.create("lease.a", b"%d" % n) for n in range(8)]
    results = await asyncio.gather(*attempts, return_exceptions=True)
    won = [n for n, result in enumerate(results) if isinstance(result, int)]
    assert len(won) == 1, f"{len(won)} have created one key"
    errors = [result for result in results if not isinstance(result, int)]
    assert all(isinstance(error, KeyTaken) for error in errors), f"refused with something else: {errors}"
    value = await other_node.register.get("lease.a")
    assert value is not None, "it holds nothing"
    assert [value.value, value.revision] == [b"%d" % won[0], results[won[0]]], "it holds another value"
    assert await other_node.register.get("lease.b") is None, "a key that nobody made holds something"


async def _fences(node: SharedNode, other_node: SharedNode) -> None:
    """Whoever holds an older revision is refused, and nothing is written."""
    first = await node.register.create("lease.a", b"1")
    second = await other_node.register.update("lease.a", b"2", first)
    assert second != first, "a revision was used twice"
    assert await _was_taken(node.register.update("lease.a", b"3", first)), "an old revision was taken"
    assert await _was_taken(node.register.delete("lease.a", first)), "an old revision could delete"
    assert await _was_taken(node.register.update("lease.b", b"x", second)), (
        "a key that is not there was updated"
    )
    assert await _was_taken(node.register.update("lease.b", b"x", 0)), "revision 0 made a key"
    assert await node.register.get("lease.a") == RegisterValue(b"2", second), "a refused write was written"


async def _forgets(node: SharedNode, other_node: SharedNode) -> None:
    """A deleted key holds nothing, can be made again, and an old revision stays old."""
    first = await node.register.create("lease.a", b"1")
    await node.register.delete("lease.a", first)
    assert await other_node.register.get("lease.a") is None, "it still holds something"
    assert await _was_taken(node.register.update("lease.a", b"2", first)), "what is gone was updated"
    again = await other_node.register.create("lease.a", b"3")
    assert await _was_taken(node.register.update("lease.a", b"4", first)), (
        "a revision of a former life was taken"
    )
    assert await node.register.get("lease.a") == RegisterValue(b"3", again), "not what was made again"


async def _watches(node: SharedNode, other_node: SharedNode) -> None:
    """A watch tells what there is before it returns, then every change, of its word alone, until it ends."""
    revision = await node.register.create("node.a", b"1")
    await node.register.create("nodes.b", b"2")
    mine, theirs = BusRecorder(), BusRecorder()
    ending = await node.register.watch("node", mine.on_change)
    going_on = await other_node.register.watch("node", theirs.on_change)
    assert mine.keys == {"node.a": b"1"}, f"was told {mine.keys}"
    await theirs.until_keys({"node.a": b"1"})
    new_revision = await other_node.register.create("node.c", b"3")
    await node.register.update("node.a", b"4", revision)
    for recorder in (mine, theirs):
        await recorder.until_keys({"node.a": b"4", "node.c": b"3"})
    await node.register.delete("node.c", new_revision)
    for recorder in (mine, theirs):
        await recorder.until_keys({"node.a": b"4", "node.c": None})
    await ending.aclose()
    await ending.aclose()
    await node.register.create("node.d", b"5")
    await theirs.until(lambda: theirs.keys.get("node.d") == b"5")
    assert "node.d" not in mine.keys, "a watch that was ended was told"
    await going_on.aclose()


async def _carries(node: SharedNode, other_node: SharedNode) -> None:
    """What is sent arrives in order at all who listen, and at nobody else."""
    recorder, own, apart = BusRecorder(), BusRecorder(), BusRecorder()
    listening = [
        await other_node.bus.listen("s.1.in", recorder.on_message),
        await node.bus.listen("s.*.in", own.on_message),
        await other_node.bus.listen("s.1", apart.on_message),
    ]
    while not (recorder.words and own.words):  # that somebody listens has to get around among servers
        node.bus.send("s.1.in", TRYING)
        await asyncio.sleep(0.01)
    for n in range(MANY):
        node.bus.send("s.1.in", b"%d" % n)
    for who in (recorder, own):
        await _all_in_order(who)
    assert apart.words == [], "another subject was heard"
    for each in listening:
        await each.aclose()
        await each.aclose()


async def _all_in_order(who: BusRecorder) -> None:
    await who.until(lambda: len(who.messages) >= MANY)
    assert who.messages == [("s.1.in", b"%d" % n, "") for n in range(MANY)], (
        "not as it was sent, or not in order"
    )


async def _asks(node: SharedNode, other_node: SharedNode) -> None:
    """A question is answered by whoever listens; nobody there is said at once, silence at the deadline."""
    try:
        await node.bus.ask("nobody.here", b"?", within=10)
    except NobodyListens:
        pass
    else:
        raise AssertionError("nobody was heard to answer")

    def answer(subject: str, data: bytes, where: str) -> None:
        if data != b"silence":
            other_node.bus.send(where, subject.encode() + b" " + data)

    listening = await other_node.bus.listen("ask.*", answer)
    assert await _ask_until_heard(node, "ask.a", b"1") == b"ask.a 1", "not the answer"
    answers = await asyncio.gather(*(node.bus.ask("ask.b", b"%d" % n, within=10) for n in range(20)))
    assert answers == [b"ask.b %d" % n for n in range(20)], "answers were mixed up"
    try:
        await node.bus.ask("ask.a", b"silence", within=0.05)
    except TimeoutError:
        pass
    else:
        raise AssertionError("silence was an answer")
    await listening.aclose()


async def _ask_until_heard(node: SharedNode, subject: str, data: bytes) -> bytes:
    while True:
        try:
            return await node.bus.ask(subject, data, within=10)
        except NobodyListens:
            await asyncio.sleep(0.01)


PROMISES: tuple[Callable[[SharedNode, SharedNode], Awaitable[None]], ...] = (
    _one_creates,
    _fences,
    _forgets,
    _watches,
    _carries,
    _asks,
)
