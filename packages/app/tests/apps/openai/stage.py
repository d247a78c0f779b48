"""Servers of OpenAI's API in a thread of their own, for official clients over a socket."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import openai

from dragoman import Agent, Turn
from dragoman.testing.pace import patience
from dragoman_app.apps.gateway.gateway import Gateway
from dragoman_app.apps.openai.failures import refusal_body
from dragoman_app.apps.openai.server import OpenaiServer
from dragoman_hub.api.listener import open_listener, open_socket
from dragoman_hub.api.request_admission import AdmittedRequests
from dragoman_hub.gate.admission import Admission, Grant, hash_token, local_hosts

TOKEN, OTHER_TOKEN = "t" * 40, "o" * 40

EVIL = "\x1b]0;owned\x07\x9b2J\u202eevil\r\ndata: [DONE]\n\n"


def official_client(url: str, token: str = TOKEN) -> openai.OpenAI:
    """The client that asks a server once more."""
    return openai.OpenAI(base_url=url, api_key=token, max_retries=1)


class BenchAgent:
    """Waits until it is cancelled, waits for a second turn, or says hostile words. It takes no images."""

    def __init__(self) -> None:
        self.agent = Agent("bench")
        self.is_cancelled = threading.Event()
        self.turns = 0
        self._both: asyncio.Barrier | None = None

        @self.agent.prompt
        async def reply(turn: Turn) -> None:
            self.turns += 1
            text = turn.text.rpartition("\n")[2]
            if text == "wait":
                await self._wait(turn)
            elif text.startswith("meet"):
                self._both = self._both or asyncio.Barrier(2)
                await self._both.wait()
            elif text == "be evil":
                async with turn.tool(f"tool {EVIL}", kind="execute") as call:
                    await call.ask()
                await turn.say(EVIL)
            elif text == "fail":
                raise RuntimeError("not for clients")
            await turn.say(f"{text} in {turn.session.id}")

    async def _wait(self, turn: Turn) -> None:
        await turn.say("I wait")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.is_cancelled.set()
            raise


class OpenaiStage:
    """A thread with an event loop, in which servers listen."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._stack = AsyncExitStack()
        self._servers: dict[str, OpenaiServer] = {}

    def serve(self, make_gateway: Callable[[], Gateway], folder: Path, *, show_tools: bool = False) -> str:
        """The address of a new server, as clients are given it."""
        work = self._serve(make_gateway, folder, show_tools)
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(patience(10))

    async def _serve(self, make_gateway: Callable[[], Gateway], folder: Path, show_tools: bool) -> str:
        gateway = await self._stack.enter_async_context(make_gateway())
        listening_socket = open_socket("127.0.0.1", 0, tls=None, insecure=False)
        port = listening_socket.getsockname()[1]
        grants = {hash_token(TOKEN): Grant("token"), hash_token(OTHER_TOKEN): Grant("other")}
        admission = Admission(grants, hosts=local_hosts(port), origins=["https://page.example"])
        server = OpenaiServer(gateway, cwd=str(folder), show_tools=show_tools)
        app = AdmittedRequests(admission, server.handle, refusal_body=refusal_body)
        await self._stack.enter_async_context(open_listener(app, listening_socket))
        url = f"http://127.0.0.1:{port}/v1"
        self._servers[url] = server
        return url

    def close_server(self, url: str) -> None:
        """Let a server end its turns; it listens on."""
        asyncio.run_coroutine_threadsafe(self._servers[url].aclose(), self._loop).result(patience(10))

    @contextmanager
    def running(self) -> Iterator[OpenaiStage]:
        self._thread.start()
        try:
            yield self
        finally:
            ending = asyncio.run_coroutine_threadsafe(self._stack.aclose(), self._loop)
            ending.result(patience(20))
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
