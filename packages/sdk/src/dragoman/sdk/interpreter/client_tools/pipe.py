"""The program that an agent starts: it copies bytes between its standard streams and our socket.

It knows neither MCP nor ACP. It ends when either side does.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping

SOCKET = "DRAGOMAN_CLIENT_TOOLS_SOCKET"
TOKEN = "DRAGOMAN_CLIENT_TOOLS_TOKEN"  # noqa: S105 -- the name of a variable

BLOCK = 64 * 1024


def run(environment: Mapping[str, str] = os.environ) -> int:
    """Copy bytes until one side ends; blocks. The exit status is 1 if nothing listens, 2 if the socket's
    address is missing.
    """
    path, token = environment.get(SOCKET), environment.get(TOKEN)
    if not path or not token:
        sys.stderr.write("dragoman client-tools: only an interpreter starts this\n")
        return 2
    try:
        asyncio.run(_carry(path, token))
    except (OSError, ValueError) as error:  # nobody listens; our input is not a pipe
        sys.stderr.write(f"dragoman client-tools: {error}\n")
        return 1
    return 0


async def _carry(path: str, token: str) -> None:
    loop = asyncio.get_running_loop()
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(token.encode() + b"\n")
    stdin = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stdin), sys.stdin.buffer)
    inward = loop.create_task(_inward(stdin, writer))
    outward = loop.create_task(_outward(reader))
    try:
        await asyncio.wait((inward, outward), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (inward, outward):
            task.cancel()
        writer.close()


async def _inward(stdin: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while block := await stdin.read(BLOCK):
        writer.write(block)
        await writer.drain()


async def _outward(reader: asyncio.StreamReader) -> None:
    out = sys.stdout.buffer
    while block := await reader.read(BLOCK):
        # Blocks while the agent does not read. Then there is nothing else to do either: what comes in
        # waits in the pipe.
        out.write(block)
        out.flush()
