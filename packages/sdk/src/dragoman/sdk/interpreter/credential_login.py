"""Credentials for an agent that accepts none in `authenticate`: passed in the agent's own way, if the user
has allowed it.

An agent of v1 that logs in by a variable has to be started with it, and one that logs in at a terminal has a
login command. So the agent's process is started again, with the variable set or after the command has read
the credentials, is introduced anew with the client's own `initialize`, and nobody inside notices. Until then
whatever the client says waits, and counts as pending.

Credentials are in the environment of the agent or on the standard input of its command, and nowhere else: no
log, no error and no answer holds them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import Raw

from dragoman.dialect.credentials import announce_credentials, take_credentials
from dragoman.dialect.message import (
    Json,
    Message,
    Object,
    answer,
    as_list,
    as_object,
    as_text,
    decode,
    encode,
    refusal,
    with_params,
)
from dragoman.dialect.translator import without_words_of_edges
from dragoman.errors import DragomanError
from dragoman.runtime.owner import TaskOwner
from dragoman.sdk.login import read_env_methods
from dragoman.transport.contract import Sink, TransportLimits
from dragoman.transport.process import ChildTransport
from dragoman.wire.codes import AUTH_REQUIRED

LOGIN_SECONDS = 300.0
"""The most seconds for a login command, which may wait for a server."""

START_SECONDS = 60.0
"""The most seconds for the `initialize` answer of a restarted agent."""

Start = Callable[[Mapping[str, str]], ChildTransport]
"""Starts the agent with these variables in addition to its own."""


class _RefusedLogin(Exception):
    """Why credentials could not be given to the agent; never what they are."""


class LoginTransport:
    """The transport to an agent's process, or to the process that replaced it after a login."""

    def __init__(self, command: Sequence[str], start: Start) -> None:
        self._command = command
        self._start_agent = start
        self.child = start({})
        self._former: ChildTransport | None = None  # being replaced, not yet gone
        self._is_paused = False
        self._sink: Sink | None = None
        self._owner = TaskOwner("login")
        self._greeting: Message | None = None
        self._methods: dict[str, Object | tuple[str, ...]] = {}  # a login command, or names of variables
        self._held_blocks: list[bytes] = []
        self._idle = asyncio.Event()
        self._idle.set()
        self._greeting_answer: asyncio.Future[Message] | None = None

    # The transport.

    def start(self, sink: Sink) -> None:
        self._sink = sink
        self.child.start(_ChildSink(self, self.child))

    @property
    def limits(self) -> TransportLimits:
        return self.child.limits

    @property
    def pending(self) -> int:
        return self.child.pending + sum(map(len, self._held_blocks))

    async def drain(self) -> None:
        await self._idle.wait()
        await self.child.drain()

    def pause(self) -> None:
        self._is_paused = True
        if self._greeting_answer is None:  # the answer to our own `initialize` is for nobody else
            self.child.pause()

    def resume(self) -> None:
        self._is_paused = False
        self.child.resume()

    async def aclose(self) -> None:
        await self._owner.aclose()
        if self._former is not None:  # we were cancelled while it ended
            await self._former.aclose()
        await self.child.aclose()

    def write(self, block: bytes | bytearray | memoryview) -> None:
        if not self._idle.is_set():
            self._held_blocks.append(bytes(block))
        elif b'"initialize"' in bytes(block) or b'"authenticate"' in bytes(block):
            for line in bytes(block).splitlines(keepends=True):
                self._write_line(line)
        else:
            self.child.write(block)

    def _write_line(self, line: bytes) -> None:
        if not self._idle.is_set():
            self._held_blocks.append(line)
            return
        message = decode(line)
        if message is not None and message.is_request and message.method == "initialize":
            self._greeting = message = _with_terminal_login(message)
            line = encode(message)
        if message is not None and message.is_request and message.method == "authenticate":
            params, credentials = take_credentials(as_object(message.params))
            if credentials is not None:
                self._idle.clear()
                self._owner.start(self._log_in(message, as_text(params.get("methodId")), credentials))
                return
        self.child.write(line)

    # What the agent says.

    def on_block(self, child: ChildTransport, block: bytes) -> None:
        if child is not self.child or self._sink is None:
            return  # it has been replaced
        block = without_words_of_edges(block)
        if self._greeting is None or b'"id"' not in block:
            self._sink.feed(block)
            return
        for line in block.splitlines(keepends=True):
            self._on_line(line)

    def _on_line(self, line: bytes) -> None:
        assert self._sink is not None
        message = decode(line)
        greeting = self._greeting
        if message is None or greeting is None or not message.is_answer or message.id != greeting.id:
            self._sink.feed(line)
        elif self._greeting_answer is not None:
            if not self._greeting_answer.done():
                self._greeting_answer.set_result(message)
        else:
            result = as_object(message.result)
            self._methods = _methods_in(result)
            reply = answer(message.id, announce_credentials(result)) if self._methods else message
            self._sink.feed(encode(reply))

    def on_oversized(self, child: ChildTransport, size: int) -> None:
        if child is self.child and self._sink is not None:
            self._sink.on_oversized(size)

    def on_end(self, child: ChildTransport, reason: BaseException | None) -> None:
        if child is self.child and self._sink is not None:
            if self._greeting_answer is not None and not self._greeting_answer.done():
                self._greeting_answer.set_exception(
                    _RefusedLogin("the agent ended when it was started again")
                )
            self._sink.on_end(reason)

    # The login.

    async def _log_in(self, request: Message, method_id: str, credentials: Json) -> None:
        try:
            await self._replace(await self._prepare(method_id, credentials))
            reply = answer(request.id, {})
        except _RefusedLogin as login_error:
            reply = refusal(request.id, AUTH_REQUIRED, f"Authentication failed: {login_error}")
        except (OSError, DragomanError) as error:
            # The text of a failed start may hold the environment.
            reply = refusal(request.id, AUTH_REQUIRED, f"Authentication failed: {type(error).__name__}")
        if self._sink is not None:
            self._sink.feed(encode(reply))
        blocks, self._held_blocks = self._held_blocks, []
        self._idle.set()
        for block in blocks:
            self.write(block)

    async def _prepare(self, method_id: str, credentials: Json) -> Mapping[str, str]:
        """The variables that the next process gets, after whatever has to be done before it starts."""
        method = self._methods.get(method_id)
        values = {name: value for name, value in as_object(credentials).items() if type(value) is str}
        if method is None or not values:
            raise _RefusedLogin("the agent takes no credentials by this method")
        if isinstance(method, tuple):
            return _variables(method, values)
        await self._run_login(method, list(values.values()))
        return {}

    async def _run_login(self, method: Object, values: Sequence[str]) -> None:
        """The agent's login command reads the credentials, a line each. What it prints may repeat them."""
        args = [as_text(arg) for arg in as_list(method.get("args"))]
        method_env = {name: as_text(value) for name, value in as_object(method.get("env")).items()}
        process = await asyncio.create_subprocess_exec(
            *self._command,
            *args,
            env={**os.environ, **method_env},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(LOGIN_SECONDS):
                await process.communicate("".join(f"{value}\n" for value in values).encode())
        except TimeoutError:
            raise _RefusedLogin(f"its login command did not end within {LOGIN_SECONDS:.0f} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            raise _RefusedLogin(f"its login command ended with exit status {process.returncode}")

    async def _replace(self, variables: Mapping[str, str]) -> None:
        """Another process in the place of this one, which has heard what this one had heard."""
        assert self._greeting is not None
        self._former, self.child = self.child, self._start_agent(variables)
        await self._former.aclose()
        self._former = None
        self._greeting_answer = asyncio.get_running_loop().create_future()
        self.child.start(_ChildSink(self, self.child))
        self.child.write(encode(self._greeting))
        try:
            async with asyncio.timeout(START_SECONDS):
                greeting_answer = await self._greeting_answer
        except TimeoutError:
            raise _RefusedLogin("the agent does not answer since it was started again") from None
        finally:
            self._greeting_answer = None
            if self._is_paused:
                self.child.pause()
        if type(greeting_answer.result) is not dict:
            raise _RefusedLogin("the agent refuses `initialize` since it was started again")


class _ChildSink:
    """Says which process has spoken: the former one may still end."""

    def __init__(self, owner: LoginTransport, child: ChildTransport) -> None:
        self._owner = owner
        self._child = child

    def feed(self, block: bytes) -> None:
        self._owner.on_block(self._child, block)

    def on_oversized(self, size: int) -> None:
        self._owner.on_oversized(self._child, size)

    def on_end(self, reason: BaseException | None) -> None:
        self._owner.on_end(self._child, reason)


def _with_terminal_login(greeting: Message) -> Message:
    """Agents name a login at a terminal only to a client that has one; here the interpreter runs the
    command.
    """
    params = as_object(greeting.params)
    capabilities = as_object(params.get("clientCapabilities"))
    auth = {**as_object(capabilities.get("auth")), "terminal": True}
    return with_params(greeting, {**params, "clientCapabilities": {**capabilities, "auth": auth}})


def _methods_in(result: Object) -> dict[str, Object | tuple[str, ...]]:
    methods = map(as_object, as_list(result.get("authMethods")))
    commands = [method for method in methods if method.get("type") == "terminal"]
    by_id: dict[str, Object | tuple[str, ...]] = {as_text(method.get("id")): method for method in commands}
    by_variable = read_env_methods(Raw(msgspec.json.encode(result)))
    return {**by_id, **{method.id: method.variables for method in by_variable if method.variables}}


def _variables(names: Sequence[str], values: Mapping[str, str]) -> Mapping[str, str]:
    """Each variable with its value: the only one, or that whose name says the same (`apiKey`,
    `OPENAI_API_KEY`).
    """
    if len(names) == len(values) == 1:
        return dict(zip(names, values.values(), strict=True))
    variables = {
        name: value
        for name in names
        for key, value in values.items()
        if _bare(name).endswith(_bare(key)) and _bare(key)
    }
    if len(variables) < len(names):
        missing = ", ".join(name for name in names if name not in variables)
        raise _RefusedLogin(f"the credentials hold nothing for the variables {missing}")
    return variables


def _bare(name: str) -> str:
    return "".join(filter(str.isalnum, name)).lower()
