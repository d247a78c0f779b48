"""A child process as its owner sees it who reads and writes its pipes by himself.

Its standard error is drained, its exit noticed and its tree ended by a thread of its own, which runs the same
code as every other child process of ours in a private event loop: ownership is not on the way of a message,
so it need not be fast.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TypeVar

from dragoman.errors import PeerDied, SpawnFailed
from dragoman.transport.child_pipes import close_all, open_pipes
from dragoman.transport.contract import Grace
from dragoman.transport.launch import start_tree, why_not
from dragoman.transport.owned_tree import OwnedTree, Program
from dragoman.transport.process import HANG_UP, obituary, words_of
from dragoman.transport.program_output import StderrTail
from dragoman.transport.reader import open_reader

T = TypeVar("T")


class Child:
    """One program, started when this is made. `read_fd` and `write_fd` are the caller's from then on."""

    def __init__(
        self,
        command: Sequence[str] | str,
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        end_seconds: float,
        on_stderr: Callable[[bytes], None] | None = None,
    ) -> None:
        """`end_seconds` is what it gets at each step of being ended. `on_stderr` is called from the keeper's
        thread.
        """
        words = words_of(command)
        self._name = os.path.basename(words[0])
        self._grace = Grace.steps(end_seconds)
        self._on_stderr = on_stderr
        self._wake: Callable[[], None] = _no_watcher
        self._tree: OwnedTree
        self._stderr: StderrTail
        self._exit_event = asyncio.Event()
        self._stderr_end_event = asyncio.Event()  # its standard error has ended
        self._ending: asyncio.Task[None] | None = None
        self.silent = False
        """The program has exited, and said nothing for a while; somebody else may still hold its output."""
        self._loop = asyncio.new_event_loop()
        self._keeper = threading.Thread(target=self._keep, name=f"keeper of {self._name}", daemon=True)
        ours, theirs = open_pipes()
        self.write_fd, self.read_fd, self._stderr_fd = ours
        self._keeper.start()
        program = Program(command=words, cwd=cwd, env=env, files=theirs)
        try:
            self._do(self._start(program))
        except (OSError, ValueError) as error:
            close_all(ours)
            self._dismiss()
            raise SpawnFailed(why_not(program, error)) from error
        finally:
            close_all(theirs)

    def watch(self, wake: Callable[[], None]) -> None:
        """`wake` is called when `silent` has become true."""
        self._wake = wake

    def obituary(self) -> PeerDied:
        """How it went, once its output has ended. One that lives on without an output is of no use, and is
        asked to end.
        """
        return self._do(self._explain())

    def close(self, read_fd: int) -> None:
        """Wait for the end of the program, whose input has been closed, and then of its whole tree. What it
        still says is read, for nobody. Interrupted, it kills at once.
        """
        try:
            self._do(self._end(read_fd))
        except BaseException:
            self._do(self._kill())
            raise
        finally:
            self._dismiss()

    # In the keeper's thread.

    def _keep(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def _do(self, work: Coroutine[object, None, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _dismiss(self) -> None:
        if self._keeper.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._keeper.join()
            self._loop.close()

    async def _start(self, program: Program) -> None:
        self._tree = start_tree(program, grace=self._grace, on_exit=self._note_exit)
        self._stderr = StderrTail(self._stderr_fd, show=self._on_stderr, on_end=self._stderr_end_event.set)

    def _note_exit(self) -> None:
        self._exit_event.set()
        self._loop.call_later(HANG_UP, self._note_silence)

    def _note_silence(self) -> None:
        self.silent = True
        self._wake()

    async def _explain(self) -> PeerDied:
        try:
            async with asyncio.timeout(HANG_UP):
                await self._exit_event.wait()
                await self._stderr_end_event.wait()
        except TimeoutError:
            pass
        hung_up = not self._tree.has_exited
        if hung_up:
            self._tree.terminate()
        circumstance = ", which had hung up," if hung_up else ""
        return obituary(self._name + circumstance, self._tree.returncode, self._stderr.text)

    async def _end(self, read_fd: int) -> None:
        self._ending = asyncio.current_task()
        output = open_reader(read_fd, intake=_DiscardingSink(), on_end=lambda _: None)
        try:
            await self._tree.aclose()
        finally:
            output.close()
            self._stderr.close()

    async def _kill(self) -> None:
        if self._ending is not None:
            self._ending.cancel()  # which kills, too
            await asyncio.wait([self._ending])


class _DiscardingSink:
    """Takes what nobody wants to read any more."""

    def feed(self, chunk: bytes) -> None:
        pass

    def finish(self) -> None:
        pass


def _no_watcher() -> None:
    """Does nothing: no watcher is set yet."""
