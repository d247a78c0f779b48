"""The process that runs an agent on a remote machine, with that machine's files and terminals:

    python -m dragoman_hub.remote.lending_host SOCKET [--NAME VALUE]… -- COMMAND…

It is the agent host of the hub, whose options it takes (see `dragoman_hub.agents.host.host_process`), with a
lender between host and agent. Started by `attach`, and by nobody else.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from dragoman.errors import LinkClosed
from dragoman.transport.contract import Sink
from dragoman.transport.owned_tree import OwnedTree
from dragoman.transport.passing_transport import PassingTransport
from dragoman.transport.process import ChildTransport
from dragoman_hub.agents.host import place
from dragoman_hub.agents.host.agent_host import HostOrder
from dragoman_hub.agents.host.host_process import main, run_host

if TYPE_CHECKING:
    from dragoman_hub.remote.lender import RemoteLender
    from dragoman_local.sandbox.boundary import SandboxChoice

OWN_VARIABLES = ("PYTHONPATH", "DRAGOMAN_AGENT_PYTHONPATH")
"""Variables for our own processes only."""


async def run_lending_host(order: HostOrder) -> None:
    """Keep the agent of an order until it ends."""
    words, env = await plan(order.command, os.environ if order.env is None else order.env)
    socket = place.of(order.socket)
    if order.sandbox not in ("auto", "off"):
        from dragoman_hub.remote.lender import launcher_for  # most agents have no sandbox of their own

        words = [*launcher_for(words, order.sandbox, order.cwd or ".", env), *words]
    await run_host(
        msgspec.structs.replace(order, command=words, env=env, socket=socket),
        wrap=partial(LentAgent, sandbox=order.sandbox),
    )


async def plan(command: Sequence[str], environ: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """Return the words and the environment of the agent. `dragoman` is the bundled one, unless there is
    another; a program outside the PATH is searched on the login shell's.
    """
    env = {name: value for name, value in environ.items() if name not in OWN_VARIABLES}
    if "DRAGOMAN_AGENT_PYTHONPATH" in environ:
        env["PYTHONPATH"] = environ["DRAGOMAN_AGENT_PYTHONPATH"]
    words = [_at_home(command[0]), *command[1:]]
    if os.path.dirname(words[0]) or shutil.which(words[0], path=env.get("PATH")):
        return words, env
    if words[0] == "dragoman":
        return [sys.executable, "-P", "-m", "dragoman", *words[1:]], {
            **env,
            "PYTHONPATH": environ.get("PYTHONPATH", ""),
        }
    from dragoman.sdk.login_path import login_path  # most agents are on the PATH

    env["PATH"] = (await login_path()).path
    return words, env


def _at_home(word: str) -> str:
    return os.path.expanduser(word)


# A remote agent as its host sees it: a transport that includes the lender of files and terminals.
#
# What the host writes goes through the lender to the agent, and what the agent says goes through it to the
# host. Pauses and pending bytes are those of the agent's own pipes. The lender is imported when the agent
# runs already, so that the two start at the same time.


class LentAgent(PassingTransport):
    """The transport to a remote agent, and the sink of the agent's frames. Call `start` before the first
    write.
    """

    def __init__(self, child: ChildTransport, *, sandbox: SandboxChoice = "auto") -> None:
        """`sandbox` is for commands that run for the agent."""
        super().__init__(child)
        self._child = child
        self._sandbox = sandbox
        self._lender: RemoteLender
        self._sink: Sink | None = None
        self._has_ended = False

    @property
    def tree(self) -> OwnedTree:
        """The processes of the agent."""
        return self._child.tree

    def start(self, sink: Sink) -> None:
        from dragoman_hub.remote.lender import RemoteLender

        self._sink = sink
        self._lender = RemoteLender(
            to_agent=self._tell_agent,
            drain=self._drain,
            to_client=self._tell_client,
            sandbox=self._sandbox,
        )
        self._child.start(self)

    def write(self, block: bytes | bytearray | memoryview) -> None:
        if lines := self._lender.from_client(bytes(block)):
            self._child.write(lines)

    async def aclose(self) -> None:
        """End the agent, and then every command that ran for it."""
        try:
            await self._child.aclose()
        finally:
            await self._lender.aclose()

    # The agent speaks.

    def feed(self, block: bytes) -> None:
        assert self._sink is not None
        # The last frame of a stream may lack its newline; behind it may come one of ours.
        if lines := self._lender.from_agent(block if block[-1:] == b"\n" else block + b"\n"):
            self._sink.feed(lines)

    def on_oversized(self, size: int) -> None:
        assert self._sink is not None
        self._sink.on_oversized(size)

    def on_end(self, reason: BaseException | None) -> None:
        assert self._sink is not None
        self._has_ended = True
        self._lender.give_up()
        self._sink.on_end(reason)

    # The lender speaks.

    def _tell_agent(self, line: bytes) -> None:
        with suppress(LinkClosed):  # nobody is there to read it
            self._child.write(line)

    async def _drain(self) -> None:
        with suppress(LinkClosed):
            await self._child.drain()

    def _tell_client(self, line: bytes) -> None:
        if self._sink is not None and not self._has_ended:
            self._sink.feed(line)


if __name__ == "__main__":
    # Everything is closed and removed by now; taking the interpreter apart would only take time.
    os._exit(main(sys.argv[1:], run_lending_host))
