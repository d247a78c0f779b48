"""`dragoman hub reach`: how a phone or another machine reaches this hub safely, with the exact commands.

Nothing is started and nothing is opened: a tunnel is the owner's decision. What is shown keeps the hub on
loopback and lets something that encrypts stand in front of it.
"""

from __future__ import annotations

import argparse
import ipaddress
import shutil
import subprocess
import sys
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from dragoman.text.sanitize import sanitize_line
from dragoman_app.apps.console import say, say_json, tell_person
from dragoman_app.cli.hub_client import HubNotAnswered, address_file, find_hub, socket_address

TAILSCALE_SECONDS = 5.0

UNSAFE = (
    "{url} is not encrypted, and other machines can reach it: anybody on the network can read tokens and "
    "sessions. Let the hub listen at 127.0.0.1 and use one of the ways below, or start it with --tls-cert "
    "and --tls-key"
)


class ReachWay(Struct, frozen=True, kw_only=True):
    """One way to a hub."""

    name: str
    program: str
    installed: bool
    commands: tuple[str, ...]
    address: str
    """The address to open on the device."""
    https: bool
    """Whether a phone's browser counts the address as secure: notifications and installing need that."""
    note: str


def run(args: argparse.Namespace) -> int:
    try:
        url = socket_address(args.url) if args.url else find_hub(address_file())
    except HubNotAnswered as error:
        tell_person("hub reach", sanitize_line(str(error)))
        return error.status
    refusal = "" if is_safe(url) else UNSAFE.format(url=url)
    ways = reach_ways(urlsplit(url).port or 8765, tailscale_name=_tailscale_name())
    if args.json:
        ways_json = [msgspec.to_builtins(way) for way in ways]
        say_json({"url": url, "safe": not refusal, "reason": refusal, "ways": ways_json})
    else:
        _show(url, refusal, ways)
    return 1 if refusal else 0


def is_loopback_host(host: str) -> bool:
    """Whether a host name always means this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_safe(url: str) -> bool:
    """Whether nobody on the network can read the traffic to this address."""
    parts = urlsplit(url)
    return parts.scheme in ("https", "wss") or is_loopback_host(parts.hostname or "")


def reach_ways(port: int, *, tailscale_name: str = "") -> list[ReachWay]:
    """Return the ways to a hub on loopback, those with installed programs first."""
    name = tailscale_name or "MACHINE.TAILNET.ts.net"
    ways = [
        ReachWay(
            name="Tailscale",
            program="tailscale",
            installed=shutil.which("tailscale") is not None,
            commands=(
                f"dragoman hub --listen 127.0.0.1:{port} --host {name}",
                f"tailscale serve --bg {port}",
                f"dragoman hub pair --address https://{name}/",
            ),
            address=f"https://{name}/",
            https=True,
            note="for your own devices only, with a certificate",
        ),
        ReachWay(
            name="Cloudflare Tunnel",
            program="cloudflared",
            installed=shutil.which("cloudflared") is not None,
            commands=(
                f"dragoman hub --listen 127.0.0.1:{port} --host HUB.EXAMPLE.ORG",
                "cloudflared tunnel create dragoman",
                "cloudflared tunnel route dns dragoman HUB.EXAMPLE.ORG",
                f"cloudflared tunnel run --url http://127.0.0.1:{port} dragoman",
                "dragoman hub pair --address https://HUB.EXAMPLE.ORG/",
            ),
            address="https://HUB.EXAMPLE.ORG/",
            https=True,
            note="anybody on the internet can reach the login, and Cloudflare can read the traffic. "
            "Protect it with an Access policy",
        ),
        ReachWay(
            name="SSH",
            program="ssh",
            installed=shutil.which("ssh") is not None,
            # The same port at both ends: the hub looks at the port in the name that a browser asks for.
            commands=(f"ssh -N -L {port}:127.0.0.1:{port} USER@THIS-MACHINE", "dragoman hub pair"),
            address=f"http://127.0.0.1:{port}/",
            https=False,
            note="for another computer: run `ssh` there, the other command here. You can install the page",
        ),
    ]
    return sorted(ways, key=lambda way: not way.installed)


def _tailscale_name() -> str:
    """The name of this machine in its tailnet; empty if there is none."""
    program = shutil.which("tailscale")
    if program is None:
        return ""
    try:
        answer = subprocess.run(
            [program, "status", "--json"], capture_output=True, timeout=TAILSCALE_SECONDS, check=True
        )
        name = msgspec.json.decode(answer.stdout)["Self"]["DNSName"]
    except (OSError, subprocess.SubprocessError, msgspec.MsgspecError, KeyError, TypeError):
        return ""
    return name.rstrip(".") if isinstance(name, str) else ""


def _show(url: str, refusal: str, ways: list[ReachWay]) -> None:
    if refusal:
        say(f"dragoman hub reach: {refusal}.\n", file=sys.stderr)
    else:
        say(f"The hub is at {url}.\n")
    for way in ways:
        state = "installed" if way.installed else f"{way.program} not installed"
        say(f"{way.name} ({state}): {way.note}")
        for command in way.commands:
            say(f"  {command}")
        say(f"  Then open {way.address}\n")
    say("To install the page or get notifications, use HTTPS or 127.0.0.1.")
    say('If the hub runs as a service, write `hosts = ["NAME"]` into hub.toml instead of --host.')
