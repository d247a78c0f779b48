"""What one agent's greed costs others: prompts of an agent alone, and beside one that asks for many files.

Arguments: how many prompts to measure each time, and which of `leaving`, `taking` and `writing`, or nothing
for all. The greedy agent asks for 600 reads of a file of 2 MB: without ever taking an answer, or taking them;
or it writes the file as often. Printed as JSON: for each the median and the slowest tenth of the prompts in
milliseconds, and the highest resident sets so far, in megabytes, of the hub and of whoever keeps its agents.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from hub.bare import BareClient
from hub.place import BENCH, HubProcess

COUNT = 600
SIZE = 2_000_000
WARM = 10
GREEDY = """
[agents.greedy]
command = {command}
dialect = "v1"
linger = 1
[approvals]
policy = {policy}
"""
ORDERS: dict[str, dict[str, Any]] = {
    "leaving": {"do": "reads", "take": False},
    "taking": {"do": "reads", "take": True},
    "writing": {"do": "writes", "take": True},
}
LINE = "def value(self, key: str) -> str:  # of what is known\n"


class HubWithTwoAgents(HubProcess):
    def _configuration(self) -> Path:
        path = super()._configuration()
        policy = self._folder / "policy.toml"
        policy.write_text('default = "allow"\n')  # else people are asked before a file is written
        command = json.dumps([sys.executable, str(BENCH / "hub" / "greedy.py")])
        path.write_text(path.read_text() + GREEDY.format(command=command, policy=json.dumps(str(policy))))
        return path

    def peak_mb(self) -> dict[str, float]:
        """The highest resident sets: the hub's, and of those who keep its agents the largest."""
        own = f"XDG_DATA_HOME={self._folder}".encode()
        kept = [0.0]
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                is_keeper = b"dragoman_hub.agents.host" in (process / "cmdline").read_bytes()
                if is_keeper and own in (process / "environ").read_bytes():
                    kept.append(_peak_mb(process))
        return {"hub_mb": _peak_mb(Path(f"/proc/{self._pid}")), "keeper_mb": max(kept)}


def _peak_mb(process: Path) -> float:
    for line in (process / "status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return round(int(line.split()[1]) * 1024 / 1e6, 1)
    raise LookupError("VmHWM")


async def prompts(client: BareClient, session: str, count: int) -> dict[str, float]:
    found: list[float] = []
    for _ in range(count):
        begun = time.perf_counter()
        await client.prompt(session, "hello")
        found.append((time.perf_counter() - begun) * 1000)
    found.sort()
    return {"p50_ms": round(found[len(found) // 2], 2), "p90_ms": round(found[len(found) * 9 // 10], 2)}


async def beside(hub: HubWithTwoAgents, client: BareClient, session: str, order: dict[str, Any]) -> Any:
    """Prompts while the greedy agent obeys, and the seconds that it took, if it takes its answers."""
    begun = time.perf_counter()
    async with BareClient(f"{hub.url}?agent=greedy", hub.headers, cwd=str(hub.journal.parent)) as other:
        greedy = asyncio.create_task(other.prompt(await other.new_session(), json.dumps(order)))
        try:
            found: dict[str, Any] = await prompts(client, session, order["prompts"])
            if order["take"]:
                await greedy
                found["greedy_s"] = round(time.perf_counter() - begun, 1)
        finally:
            greedy.cancel()
            await asyncio.wait([greedy])
    return {**found, **hub.peak_mb()}


async def compared(place: Path, count: int, order: dict[str, Any]) -> dict[str, Any]:
    """In a hub of its own, so that each peak is its own."""
    place.mkdir()
    (place / "large").write_text((LINE * (SIZE // len(LINE) + 1))[:SIZE])
    hub = HubWithTwoAgents(place)
    try:
        await hub.start()
        async with BareClient(hub.url, hub.headers, cwd=str(place)) as client:
            session = await client.new_session()
            await prompts(client, session, WARM)
            alone = {**await prompts(client, session, count), **hub.peak_mb()}
            order = {**order, "path": str(place / "large"), "count": COUNT, "size": SIZE, "prompts": count}
            return {"alone": alone, "beside": await beside(hub, client, session, order)}
    finally:
        hub.end()


async def main(count: int, names: list[str]) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for name in names or ORDERS:
            print(json.dumps({name: await compared(Path(folder, name), count, ORDERS[name])}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2:]))
