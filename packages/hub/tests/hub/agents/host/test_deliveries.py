import asyncio

from dragoman.errors import LinkClosed
from dragoman.transport.contract import Sink, TransportLimits
from dragoman.transport.waiters import Waiters
from dragoman_hub.agents.host.deliveries import Deliveries


class SlowPipe:
    """A transport to an agent that reads as much as it is told to."""

    def __init__(self) -> None:
        self.limits = TransportLimits(low=0)
        self.given = b""
        self.pending = 0
        self.room = 0
        self.broken = False
        self._waiters = Waiters()

    def write(self, block: bytes | bytearray | memoryview) -> None:
        if self.broken:
            raise LinkClosed("gone")
        self.given += block
        self.pending += len(block)
        self.read(0)

    def read(self, size: int) -> None:
        self.room += size
        done = min(self.room, self.pending)
        self.pending -= done
        self.room -= done
        self._waiters.wake()

    def tear(self) -> None:
        self.broken = True
        self.pending = 0
        self._waiters.wake()

    async def drain(self) -> None:
        while self.pending:
            await self._waiters.wait()
        if self.broken:
            raise LinkClosed("gone")

    def start(self, sink: Sink) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    async def aclose(self) -> None: ...


class Scene:
    def __init__(self) -> None:
        self.pipe = SlowPipe()
        self.moves: list[tuple[str, int]] = []
        self.moved = asyncio.Event()
        self.allowed = True
        self.deliveries = Deliveries(self.pipe, on_delivery=self._moved, may=lambda: self.allowed)
        self._task = asyncio.get_running_loop().create_task(self.deliveries.run())

    def _moved(self, stream: str, last: int) -> None:
        self.moves.append((stream, last))
        self.moved.set()

    async def until_done(self, done: int) -> None:
        while self.deliveries.done_bytes < done:
            self.moved.clear()
            await self.moved.wait()

    async def __aenter__(self) -> "Scene":
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])


async def test_a_write_is_taken_when_the_pipe_has_its_last_byte() -> None:
    async with Scene() as scene:
        scene.pipe.read(3)
        scene.deliveries.accept("s", 1, b"one\n")
        assert (scene.deliveries.taken_numbers, scene.deliveries.done_bytes) == ({}, 0)
        scene.pipe.read(1)
        await scene.until_done(4)
        assert scene.deliveries.taken_numbers == {"s": 1}


async def test_writes_wait_for_those_before_them_and_go_one_by_one() -> None:
    async with Scene() as scene:
        for number in (1, 2, 3):
            scene.deliveries.accept("s", number, b"%d\n" % number)
        assert scene.pipe.given == b"1\n"
        scene.pipe.read(3)
        await scene.until_done(2)
        assert scene.pipe.given == b"1\n2\n"
        scene.pipe.read(3)
        await scene.until_done(6)
        assert scene.pipe.given == b"1\n2\n3\n"
        assert scene.moves == [("s", 1), ("s", 2), ("s", 3)]


async def test_what_was_said_already_is_ignored_even_while_it_still_waits() -> None:
    async with Scene() as scene:
        scene.deliveries.accept("s", 2, b"two\n")
        scene.deliveries.accept("s", 2, b"two\n")
        scene.deliveries.accept("s", 1, b"one\n")
        scene.deliveries.accept("t", 1, b"other\n")
        scene.deliveries.accept("", 0, b"no stream\n")
        scene.deliveries.accept("", 0, b"no stream\n")
        scene.pipe.read(1000)
        await scene.until_done(scene.deliveries.received_bytes)
        assert scene.pipe.given == b"two\nother\nno stream\nno stream\n"
        assert scene.deliveries.taken_numbers == {"s": 2, "t": 1}


async def test_an_ignored_write_is_done_in_its_turn() -> None:
    async with Scene() as scene:
        scene.deliveries.accept("s", 1, b"one\n")
        scene.deliveries.accept("s", 1, b"one\n")
        assert scene.deliveries.done_bytes == 0
        scene.pipe.read(4)
        await scene.until_done(8)


async def test_nothing_is_taken_by_an_agent_that_no_longer_reads() -> None:
    async with Scene() as scene:
        scene.deliveries.accept("s", 1, b"half\n")
        scene.deliveries.accept("s", 2, b"never\n")
        scene.pipe.tear()
        await scene.until_done(11)
        assert scene.deliveries.taken_numbers == {}


async def test_letting_go_gives_all_that_waits_to_the_transport_once() -> None:
    async with Scene() as scene:
        for number in (1, 2, 3):
            scene.deliveries.accept("s", number, b"%d\n" % number)
        scene.deliveries.let_go()
        assert scene.pipe.given == b"1\n2\n3\n"


async def test_what_the_agent_may_not_have_yet_waits_in_its_turn() -> None:
    async with Scene() as scene:
        scene.pipe.read(1000)
        scene.allowed = False
        scene.deliveries.accept("s", 1, b"one\n")
        scene.deliveries.accept("s", 2, b"two\n")
        scene.deliveries.accept("s", 2, b"two\n")
        assert (scene.pipe.given, scene.deliveries.taken_numbers, scene.deliveries.done_bytes) == (b"", {}, 0)
        scene.allowed = True
        scene.deliveries.go_on()
        assert (scene.pipe.given, scene.deliveries.taken_numbers, scene.deliveries.done_bytes) == (
            b"one\ntwo\n",
            {"s": 2},
            12,
        )


async def test_a_write_that_has_begun_is_finished_and_the_next_one_waits() -> None:
    async with Scene() as scene:
        scene.pipe.read(1)
        scene.deliveries.accept("s", 1, b"one\n")
        scene.deliveries.accept("s", 2, b"two\n")
        scene.allowed = False
        scene.pipe.read(1000)
        await scene.until_done(4)
        scene.deliveries.go_on()
        assert (scene.pipe.given, scene.deliveries.taken_numbers) == (b"one\n", {"s": 1})
        scene.allowed = True
        scene.deliveries.go_on()
        assert (scene.pipe.given, scene.deliveries.taken_numbers) == (b"one\ntwo\n", {"s": 2})


async def test_a_stream_is_forgotten_once_all_of_it_is_taken() -> None:
    async with Scene() as scene:
        scene.deliveries.accept("s", 2, b"two\n")
        scene.deliveries.forget("s", 2)
        assert scene.deliveries._accepted_numbers == {"s": 2}  # it waits, and must not be taken twice
        scene.pipe.read(1000)
        await scene.until_done(4)
        scene.deliveries.forget("s", 1)
        assert scene.deliveries.taken_numbers == {"s": 2}
        scene.deliveries.forget("s", 2)
        assert (scene.deliveries.taken_numbers, scene.deliveries._accepted_numbers) == ({}, {})
        scene.deliveries.accept("s", 1, b"one\n")
        assert scene.pipe.given == b"two\none\n"
