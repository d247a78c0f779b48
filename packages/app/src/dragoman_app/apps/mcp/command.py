"""`dragoman mcp` on standard streams: an ACP agent as an MCP server for the client that started us."""

from __future__ import annotations

import argparse
import asyncio
import contextlib

from dragoman.errors import LinkClosed
from dragoman.sdk.shutdown import ShutdownSignals, first_of
from dragoman.text.sanitize import sanitize_line
from dragoman.transport.contract import Transport
from dragoman.transport.stdio import claim_stdio
from dragoman.wire import Id, decode_block, error_object, failure
from dragoman.wire.codes import INVALID_REQUEST
from dragoman_app.apps.console import tell_person
from dragoman_app.apps.gateway.folders import FolderRules
from dragoman_app.apps.gateway.gateway import Gateway
from dragoman_app.apps.gateway.plan import GatewayPlan, make_gateway_plan
from dragoman_app.apps.mcp.server import McpServer

GRACE = 2.0
"""The seconds for running calls after the end of the input: `dragoman mcp < requests > answers` needs the
answers.
"""

END_WITHIN = 8.0
"""The seconds from the end of the input to the end of the process: first the calls, then the agent."""


def serve_stdio(args: argparse.Namespace) -> int:
    """Serve until the client closes the connection; return the exit status."""
    plan = make_gateway_plan(args, roots=args.root)
    if plan.target.note is not None:
        tell_person("mcp", sanitize_line(plan.target.note))
    with ShutdownSignals(within=END_WITHIN) as leaving, contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(plan, claim_stdio().open(), leaving))
    return 0


async def _serve(plan: GatewayPlan, transport: Transport, leaving: ShutdownSignals) -> None:
    leaving.listen()
    async with Gateway(plan.target, plan.rules, cwd=plan.folders.cwd) as gateway:
        client = StdioClient(gateway, plan.folders, transport)
        transport.start(client)
        await first_of(client.ended.wait(), leaving.end_event.wait())
        leaving.begin()
        await client.server.aclose(grace=0 if leaving.end_event.is_set() else GRACE)
        await transport.aclose()


class StdioClient:
    """The client at the other end of a transport; implements `Sink`."""

    def __init__(self, gateway: Gateway, folders: FolderRules, transport: Transport) -> None:
        self.server = McpServer(gateway, folders, self._write)
        self.ended = asyncio.Event()
        self._transport = transport

    def feed(self, block: bytes) -> None:
        for envelope in decode_block(block):
            self.server.connection.receive(envelope)

    def on_oversized(self, size: int) -> None:
        why = f"Invalid request: a message of {size} bytes is too large"
        with contextlib.suppress(LinkClosed):
            self._transport.write(failure(None, error_object(INVALID_REQUEST, why)))

    def on_end(self, reason: BaseException | None) -> None:
        self.ended.set()

    async def _write(self, frame: bytes, related_to: Id) -> None:
        self._transport.write(frame)
        if self._transport.pending > self._transport.limits.high:
            await self._transport.drain()
