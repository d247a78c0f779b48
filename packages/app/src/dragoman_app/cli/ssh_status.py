"""`dragoman ssh HOST` without an agent: shows Dragoman's files there, and removes them."""

from __future__ import annotations

import argparse
import asyncio
import json
from functools import partial
from typing import Any

from dragoman_app.apps.console import say, tell_person
from dragoman_hub.remote.bundle import make_bundle
from dragoman_hub.remote.client_process import ClientProcess
from dragoman_hub.remote.connection import open_connection


def show_status(client: ClientProcess, args: argparse.Namespace) -> int:
    """Run the actions without an agent: `--remove`, otherwise show the state."""
    act = "remove" if args.remove else "status"
    answer = asyncio.run(_ask(client, act, args))
    if args.remove:
        client.access.hang_up()
    report = {"place": str(client.access.place), **answer}
    if args.json:
        say(json.dumps(report, indent=2))
    else:
        say(_text(report, is_removal=args.remove))
    return 0


async def _ask(client: ClientProcess, act: str, args: argparse.Namespace) -> dict[str, Any]:
    bundle = make_bundle(args.pyz)
    connection, answer = await open_connection(
        client, {"act": act}, bundle, on_progress=partial(tell_person, "ssh")
    )
    await connection.aclose()
    return answer


def _text(report: dict[str, Any], *, is_removal: bool) -> str:
    if is_removal:
        return f"{report['place']}: removed {report['removed']}"
    lines = [f"{report['place']}: Python {report['python']} on {report['platform']}"]
    lines += [f"  {folder['name']}  {folder['bytes'] / 1e6:.1f} MB" for folder in report["folders"]]
    lines += [f"  agent {name} is stored there" for name in report["agents"]]
    if not report["folders"]:
        lines.append("  Dragoman has nothing there")
    return "\n".join(lines)
