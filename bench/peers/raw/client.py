"""The raw client: starts an agent, gives it one order, looks at no more bytes than it must.

Arguments: the plan (JSON: ``warm`` and ``order``), then the agent's command.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from typing import Any

from peers.measure import Meter, load_mix
from peers.raw.frames import Lines, frame, write_all

REQUEST = b'{"jsonrpc":"2.0","id":'
READ = b',"method":"fs/read_text_file"'
ANSWER = b'{"jsonrpc":"2.0","id":%s,"result":{"content":"' + b"y" * 100 + b'"}}\n'


class RawClient:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.to_agent = process.stdin.fileno()
        self.lines = Lines(process.stdout.fileno())
        self.updates = self.reads = 0
        self.tail = b""

    def call(self, method: str, **params: Any) -> None:
        """Send, count and answer until the agent's answer is the last line of a block."""
        self.updates = self.reads = 0
        write_all(self.to_agent, frame(id="call", method=method, params=params))
        while True:
            block = self.lines.block()
            if not block:
                raise EOFError(f"the agent left during {method}")
            before, _, last = block[:-1].rpartition(b"\n")
            self.tail = before.rpartition(b"\n")[2] or self.tail
            if last.startswith(b'{"jsonrpc":"2.0","id":"call"'):
                self.updates += before.count(b"\n") + bool(before)
                return
            if block.startswith(REQUEST):
                self.answer_reads(block)
            else:
                self.updates += block.count(b"\n")
                self.tail = last

    def answer_reads(self, block: bytes) -> None:
        numbers = [line[len(REQUEST) : line.index(READ)] for line in block.splitlines()]
        self.reads += len(numbers)
        write_all(self.to_agent, b"".join([ANSWER % number for number in numbers]))

    def carry_out(self, order: dict[str, Any]) -> None:
        if order["do"] == "replay":
            self.call("session/load", sessionId=f"replay-{order['count']}", cwd="/", mcpServers=[])
            return
        self.call("session/prompt", sessionId="bench", prompt=[{"type": "text", "text": json.dumps(order)}])

    def last_text(self) -> str:
        text: str = json.loads(self.tail)["params"]["update"]["content"]["text"]
        return text


def seen(client: RawClient, order: dict[str, Any]) -> dict[str, Any]:
    """What the typed clients count one by one follows here from the number of frames."""
    mix = load_mix() if order["do"] == "replay" else []
    sent = [mix[n % len(mix)] for n in range(client.updates)] if mix else []
    kinds = Counter(u["sessionUpdate"] for u in sent) if mix else Counter(agent_message_chunk=client.updates)
    texts = [u["content"]["text"] for u in sent if isinstance(u.get("content"), dict)]
    chars = sum(map(len, texts)) if mix else client.updates * order.get("size", 0)
    return {"kinds": {kind: n for kind, n in kinds.items() if n}, "chars": chars, "reads": client.reads}


def main(plan: dict[str, Any], command: list[str]) -> None:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        client = RawClient(process)
        client.call("initialize", protocolVersion=1)
        client.call("session/new", cwd="/", mcpServers=[])
        if plan["warm"]:
            client.carry_out(plan["warm"])
        meter = Meter()
        client.carry_out(plan["order"])
        result = {**meter.read(), **seen(client, plan["order"])}
        result["last"] = client.last_text() if client.updates else ""
        client.carry_out({"do": "figures"})
        result["agent"] = json.loads(client.last_text())
    print(json.dumps(result))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2:])
