"""Cuts the connection to an agent behind sshd at random bytes, and sees that nothing is lost or doubled.

    python -m tests.remote.run_cuts --cuts 1000

Numbered notifications go to an agent on the other side, which answers each with three of its own, while a
proxy cuts the connection again and again, also in the middle of a handshake. At the end every number was
heard once and in order, on both sides.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from msgspec import Struct

from dragoman_hub.remote.bundle import make_bundle
from dragoman_hub.remote.client_process import start_client
from dragoman_hub.remote.connection import RemoteConnection, open_connection
from dragoman_hub.remote.line import LineTransport, OpeningStep
from tests.remote.cutting_proxy import HANDSHAKE, CuttingProxy
from tests.remote.other_side import SshServer, why_no_sshd

AGENT = Path(__file__).with_name("counting_agent.py")
PARTS = 3


class CutsReport(Struct, frozen=True, kw_only=True):
    """What was seen."""

    cuts: int
    attached: int
    """Cuts after which the line came back; the others hit an attempt to come back."""
    written: int
    heard: int
    mistakes: list[str]
    seconds: float


class NumberSink:
    """Takes what the agent says, and notes what is out of order."""

    def __init__(self) -> None:
        self.heard = 0
        self.mistakes: list[str] = []
        self.end_reason: object = "not ended"
        self.news = asyncio.Event()

    def feed(self, block: bytes) -> None:
        for line in block.splitlines():
            params = json.loads(line)["params"]
            self.heard += 1
            expected = (self.heard, (self.heard - 1) // PARTS + 1, (self.heard - 1) % PARTS)
            seen = (params["number"], params["heard"], params["part"])
            if seen != expected:
                self.mistakes.append(f"expected {expected}, heard {seen}")
        self.news.set()

    def on_oversized(self, size: int) -> None:
        self.mistakes.append(f"a frame of {size} bytes was skipped")

    def on_end(self, reason: BaseException | None) -> None:
        self.end_reason = reason
        self.news.set()


async def run_cuts(server: SshServer, *, cuts: int, seed: int = 0) -> CutsReport:
    """Write and hear until the connection was cut so often, then to the end."""
    chance = random.Random(seed)
    began = time.monotonic()
    bundle = make_bundle()
    proxy: CuttingProxy

    def limit() -> int | None:
        if proxy.cuts >= cuts or not is_open:  # the first start has to bring everything along
            return None
        early = chance.random() < 0.15
        return chance.randrange(1, HANDSHAKE) if early else HANDSHAKE + chance.randrange(200_000)

    is_open = False
    async with CuttingProxy(server.port, limits=limit) as proxy:
        access = server.access(port=proxy.port)
        order: dict[str, Any] = {
            "name": f"cuts-{seed}",
            "command": [sys.executable, str(AGENT)],
            "cwd": "/",
            "env": {},
        }
        order |= {"linger": 60.0, "buffer": 1 << 24}

        async def opener(act: OpeningStep) -> RemoteConnection:
            client = start_client(access, shares=False)
            connection, _ = await open_connection(client, {**order, "act": act}, bundle)
            return connection

        line = LineTransport(opener, give_up=60.0, on_notice=lambda _: None, on_stderr=lambda _: None)
        sink = NumberSink()
        await line.open("start")
        is_open = True
        proxy.cut_all()
        line.start(sink)
        written = await _talk(line, sink, proxy, cuts)
        await line.aclose()
    return CutsReport(
        cuts=proxy.cuts,
        attached=line.cuts,
        written=written,
        heard=sink.heard,
        mistakes=sink.mistakes + ([] if sink.end_reason is None else [f"it ended: {sink.end_reason}"]),
        seconds=time.monotonic() - began,
    )


async def _talk(line: LineTransport, sink: NumberSink, proxy: CuttingProxy, cuts: int) -> int:
    written = 0
    while proxy.cuts < cuts and not sink.mistakes and sink.end_reason == "not ended":
        for _ in range(5):
            written += 1
            params = {"number": written, "padding": "y" * (written * 91 % 500)}
            line.write(json.dumps({"jsonrpc": "2.0", "method": "count", "params": params}).encode() + b"\n")
        await line.drain()
        sink.news.clear()
        if sink.heard < PARTS * (written - 50):  # no further ahead than that
            await sink.news.wait()
        await asyncio.sleep(0)
    while sink.heard < PARTS * written and not sink.mistakes and sink.end_reason == "not ended":
        sink.news.clear()
        await sink.news.wait()
    return written


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cuts", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if reason := why_no_sshd():
        print(reason)
        return 1
    with tempfile.TemporaryDirectory(prefix="cuts-") as folder:
        server = SshServer(Path(folder))
        server.start()
        try:
            report = asyncio.run(run_cuts(server, cuts=arguments.cuts, seed=arguments.seed))
        finally:
            server.stop()
    print(report)
    return 1 if report.mistakes or report.heard != PARTS * report.written else 0


if __name__ == "__main__":
    sys.exit(main())
