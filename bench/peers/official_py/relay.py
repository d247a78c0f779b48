"""A relay of the official Python SDK: its own transport on both sides, each message read and written on."""

from __future__ import annotations

import asyncio
import sys

from acp import spawn_stdio_transport, stdio_streams
from acp._transport import NdjsonTransport
from acp.task import MessageSender, TaskSupervisor


async def pump(source: NdjsonTransport, target: NdjsonTransport) -> None:
    while (message := await source.receive()) is not None:
        await target.send(message)


async def main(command: list[str]) -> None:
    tasks = TaskSupervisor(source="relay")
    own_reader, own_writer = await stdio_streams()
    to_client = NdjsonTransport(own_reader, MessageSender(own_writer, tasks))
    async with spawn_stdio_transport(*command, stderr=None) as (reader, writer, _process):
        to_agent = NdjsonTransport(reader, MessageSender(writer, tasks))
        upward = asyncio.ensure_future(pump(to_client, to_agent))
        await pump(to_agent, to_client)
        upward.cancel()
    await tasks.shutdown()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
