"""The raw agent: the orders of the other peers, carried out with prepared bytes."""

from __future__ import annotations

import json
import os
import select
import time
from typing import Any

from peers.measure import Meter, load_mix, load_texts, percentiles
from peers.raw.frames import Lines, frame, update_frame, write_all

PATH = "/project/src/parser.py"
GATHERED = 400  # frames a write, so that a write fills a pipe


class RawAgent:
    def __init__(self) -> None:
        self.lines = Lines(0)
        self.meter = Meter()
        self.latencies: dict[str, float] = {}

    def serve(self) -> None:
        while block := self.lines.block():
            for line in block.splitlines():
                self.answer(json.loads(line))

    def answer(self, request: dict[str, Any]) -> None:
        method, params = request["method"], request["params"]
        result: dict[str, Any] = {"stopReason": "end_turn"}
        if method == "initialize":
            result = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
        elif method == "session/new":
            self.meter.baseline()
            result = {"sessionId": "bench"}
        elif method == "session/load":
            self.meter.start()
            self.replay(int(params["sessionId"].removeprefix("replay-")))
            result = {}
        else:
            self.prompt(params["prompt"][0]["text"])
        write_all(1, frame(id=request["id"], result=result))

    def prompt(self, text: str) -> None:
        order = json.loads(text)
        if order["do"] == "figures":
            write_all(1, update_frame(json.dumps({**self.meter.read(), **self.latencies})))
            return
        self.meter.start()
        getattr(self, order["do"])(order)

    def stream(self, order: dict[str, int]) -> None:
        frames = [update_frame(text) for text in load_texts(order["size"])]  # GATHERED is a multiple of them
        block = b"".join(frames[n % len(frames)] for n in range(GATHERED))
        for _ in range(order["count"] // GATHERED):
            write_all(1, block)
        for n in range(order["count"] % GATHERED):
            write_all(1, frames[n % len(frames)])

    def replay(self, count: int) -> None:
        mix = [
            frame(method="session/update", params={"sessionId": f"replay-{count}", "update": u})
            for u in load_mix()
        ]
        frames = [mix[n % len(mix)] for n in range(GATHERED)]
        for _ in range(count // GATHERED):
            write_all(1, b"".join(frames))
        write_all(1, b"".join(frames[: count % GATHERED]))

    def reads(self, order: dict[str, int]) -> None:
        taken = []
        for n in range(order["count"]):
            began = time.perf_counter()
            write_all(1, self.read_request(n))
            self.lines.block()
            taken.append(time.perf_counter() - began)
        self.latencies = percentiles(taken)

    def inflight(self, order: dict[str, int]) -> None:
        # Both pipes are smaller than the window: who only writes would wait for a client that waits in turn.
        os.set_blocking(1, False)
        sent, answered = order["window"], 0
        pending = b"".join(map(self.read_request, range(sent)))
        while answered < order["count"]:
            readable, writable, _ = select.select([0], [1] if pending else [], [])
            if writable:
                pending = pending[os.write(1, pending) :]
            if readable:
                fresh = self.lines.block().count(b"\n")
                answered += fresh
                more = min(fresh, order["count"] - sent)
                pending += b"".join(map(self.read_request, range(sent, sent + more)))
                sent += more
        os.set_blocking(1, True)

    @staticmethod
    def read_request(number: int) -> bytes:
        head = b'{"jsonrpc":"2.0","id":%d,"method":"fs/read_text_file",' % number
        return head + b'"params":{"sessionId":"bench","path":"%s"}}\n' % PATH.encode()


if __name__ == "__main__":
    RawAgent().serve()
