"""`dragoman hub pair`: gives a phone, or the page of another hub, access to a running hub by a code that
works once, for minutes.

The code stands behind the `#` of an address, which browsers send to nobody. The command waits until a device
came, and withdraws the code when it is interrupted.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import quote, urlsplit

from dragoman.errors import DragomanError, LocalMistake
from dragoman.text.sanitize import sanitize_line
from dragoman_app.apps.console import CommandFailed, say, say_json
from dragoman_app.cli.hub_client import (
    HubCaller,
    HubErrors,
    HubNotAnswered,
    JsonObject,
    hub_and_token,
    open_hub,
)
from dragoman_app.cli.hub_reach import is_loopback_host, is_safe

WHITE_ON_BLACK = "\x1b[97;40m"
"""White blocks on black: the code has its own colours on any terminal."""
RESET = "\x1b[0m"

QUIET = 2
"""The light modules around a code. The standard requires four; readers need only two."""

EVERY = 0.5
"""The seconds between two checks whether a device has come."""

ENDS = {
    "expired": "no device used the code in time. Create a new one: dragoman hub pair",
    "blocked": "the code was blocked after too many wrong tries. Create a new one: dragoman hub pair",
    "withdrawn": "the code was withdrawn, or its token was revoked",
    "unknown": "the hub no longer knows the code: it restarted, or made many newer codes",
}


def run(args: argparse.Namespace) -> int:
    try:
        with HubErrors():
            url, headers = hub_and_token(args.url, args.token_file)
            return asyncio.run(_pair(args, url, headers))
    except KeyboardInterrupt:
        raise CommandFailed("code withdrawn", status=130) from None


async def _pair(args: argparse.Namespace, url: str, headers: dict[str, str]) -> int:
    async with open_hub(url, headers) as hub:
        request = {"name": args.name, "seconds": args.lifetime, "tokenSeconds": args.expires}
        pairing = await hub.call(
            "_dragoman/hub/pair", {**request, **({"scopes": args.scope} if args.scope else {})}
        )
        pairing_id = {"id": pairing["id"]}
        try:
            page = page_address(url, args.address, pairing["hosts"], insecure=args.insecure)
            address = f"{page}#pair={pairing['code']}"
            _show(args, address, add_links(address, pairing.get("origins", [])), pairing["seconds"])
            return _tell(args, await _wait(hub, pairing_id))
        except BaseException:  # an interrupt, too: nobody waits for a device any more
            with suppress(HubNotAnswered, DragomanError):  # a hub that is gone does not hide the first error
                await hub.call("_dragoman/hub/pair/withdraw", pairing_id)
            raise


async def _wait(hub: HubCaller, pairing_id: JsonObject) -> JsonObject:
    """What became of the pairing; the hub's clock ends it."""
    while True:
        status = await hub.call("_dragoman/hub/pair/status", pairing_id)
        if status["state"] != "open":
            return status
        await asyncio.sleep(EVERY)


def page_address(url: str, address: str | None, hosts: list[str], *, insecure: bool) -> str:
    """Return the address of the page for a device. Raises `LocalMistake` for an address that the hub would
    refuse, and for one over which others could read the token.
    """
    page = address or _own_address(url, hosts)
    parts = urlsplit(page)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise LocalMistake(f"{page!r} is not the address of a page. Use https://NAME/")
    if parts.netloc.lower() not in hosts:
        raise LocalMistake(
            f"the hub does not know the name {parts.netloc}, and would refuse the device. Start the hub "
            f"with --host {parts.netloc}"
        )
    if not insecure and not is_safe(page):
        raise LocalMistake(
            f"{page} is not encrypted: anybody on the same network could read the token. `dragoman hub "
            f"reach` shows safe ways. If you trust the network, add --insecure"
        )
    return f"{parts.scheme}://{parts.netloc}/"


def _own_address(url: str, hosts: list[str]) -> str:
    """The hub's address as we know it; for a hub on loopback, a name that it was given for others."""
    parts = urlsplit(url)
    own = f"{'https' if parts.scheme == 'wss' else 'http'}://{parts.netloc}/"
    public_hosts = [host for host in hosts if not is_loopback_host(urlsplit(f"//{host}").hostname or "")]
    return f"https://{public_hosts[0]}/" if public_hosts and is_loopback_host(parts.hostname or "") else own


def add_links(address: str, origins: list[str]) -> list[str]:
    """Return links that add the hub to pages of other hubs, which it allows in its `origins`. A browser does
    not let a page over HTTPS use a hub without HTTPS, unless that is on the same machine.
    """
    can_be_reached = is_safe(address)
    return [
        f"{origin}/#hub={quote(address, safe='')}"
        for origin in origins
        if can_be_reached or not origin.startswith("https:")
    ]


def _show(args: argparse.Namespace, address: str, links: list[str], seconds: float) -> None:
    if args.json:
        said = {"address": address, "add": links, "seconds": seconds, "name": args.name}
        say_json(said, flush=True)
        return
    if not args.no_qr:
        _draw(address)
    say(f"On the device, scan this code or open this address. It works once, in the next {_span(seconds)}:")
    say(f"\n  {address}\n")
    if links:
        say("To add this hub to another hub's page instead, open this address there:\n")
        say("".join(f"  {sanitize_line(link)}\n" for link in links))
    parts = urlsplit(address)
    if is_loopback_host(parts.hostname or ""):
        say(
            "This address works only on this machine. To reach the hub from another device: dragoman hub "
            "reach"
        )
    elif parts.scheme != "https":
        say(
            "Without HTTPS you can't install the page, read it offline or get notifications. To set up "
            "HTTPS: dragoman hub reach"
        )
    else:
        say(
            "For notifications on the device, open Settings there, then Notifications when this page is "
            "closed."
        )
    say("Waiting for the device. Press Ctrl-C to stop; then the code no longer works.", flush=True)


def _draw(address: str) -> None:
    encoding = sys.stdout.encoding or "ascii"
    try:
        "▀▄█".encode(encoding)
        lines = list(qr_lines(address))
    except (ImportError, UnicodeEncodeError, LookupError):
        return  # the address alone has to do
    is_terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    begin, end = (WHITE_ON_BLACK, RESET) if is_terminal else ("", "")
    sys.stdout.write("".join(f"{begin}{line}{end}\n" for line in lines) + "\n")


def qr_lines(text: str) -> Iterator[str]:
    """Return the QR code of a text, two rows per line, with dark modules as spaces: for light characters on a
    dark background. Raises `ImportError` without the package segno.
    """
    import segno

    code = segno.make(text, error="l", boost_error=False, micro=False)
    rows = [list(row) for row in code.matrix_iter(border=QUIET)]
    if len(rows) % 2:
        rows.append([1] * len(rows[0]))  # no module of the code: nothing is drawn there
    for upper, lower in zip(rows[::2], rows[1::2], strict=True):
        yield "".join(" ▀▄█"[(not top) + 2 * (not bottom)] for top, bottom in zip(upper, lower, strict=True))


def _tell(args: argparse.Namespace, status: JsonObject) -> int:
    is_paired = status["state"] == "used"
    if args.json:
        say_json({key: value for key, value in status.items() if key != "id"}, flush=True)
    elif is_paired:
        name, device = sanitize_line(status["name"]), sanitize_line(status["device"] or "a device")
        say(f"Paired {device} as {name}. It may: {', '.join(status['scopes'])}.")
        say(
            f"To end its access: dragoman hub token revoke {name}. To see all devices: dragoman hub token "
            f"list"
        )
    else:
        say(f"dragoman hub pair: {ENDS.get(status['state'], status['state'])}", file=sys.stderr)
    return 0 if is_paired else 1


def _span(seconds: float) -> str:
    return f"{seconds / 60:g} minutes" if seconds >= 120 else f"{seconds:g} seconds"
