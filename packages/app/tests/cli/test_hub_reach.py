"""Where a device may find a hub, and which ways to it are shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.errors import LocalMistake
from dragoman_app.cli import main
from dragoman_app.cli.hub_pair import add_links, page_address
from dragoman_app.cli.hub_reach import is_safe, reach_ways

LOCAL = ["127.0.0.1:8765", "[::1]:8765", "localhost:8765"]


@pytest.mark.parametrize(
    ("url", "address", "hosts", "page"),
    [
        ("ws://127.0.0.1:8765/acp", None, LOCAL, "http://127.0.0.1:8765/"),
        ("ws://127.0.0.1:8765/acp", None, [*LOCAL, "box.ts.net"], "https://box.ts.net/"),
        ("wss://hub.example:8765/acp", None, [*LOCAL, "hub.example:8765"], "https://hub.example:8765/"),
        ("ws://127.0.0.1:8765/acp", "https://Box.ts.net", [*LOCAL, "box.ts.net"], "https://Box.ts.net/"),
    ],
)
def test_a_device_is_led_to_an_address_that_the_hub_goes_by(
    url: str, address: str | None, hosts: list[str], page: str
) -> None:
    assert page_address(url, address, hosts, insecure=False) == page


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("https://other.example/", "Start the hub with --host other.example"),
        ("http://10.0.0.5:8765/", "not encrypted"),
        ("box", "not the address of a page"),
    ],
)
def test_an_address_that_is_refused_or_unsafe_is_not_shown(address: str, why: str) -> None:
    hosts = [*LOCAL, "10.0.0.5:8765"]
    with pytest.raises(LocalMistake, match=why):
        page_address("ws://127.0.0.1:8765/acp", address, hosts, insecure=False)


def test_pages_of_other_hubs_get_links_that_add_this_one_unless_a_browser_would_refuse() -> None:
    pages = ["https://desk.example", "http://localhost:8765"]
    assert add_links("https://hub.example/#pair=a.b", pages) == [
        "https://desk.example/#hub=https%3A%2F%2Fhub.example%2F%23pair%3Da.b",
        "http://localhost:8765/#hub=https%3A%2F%2Fhub.example%2F%23pair%3Da.b",
    ]
    (link,) = add_links("http://10.0.0.5:8765/#pair=a.b", pages)
    assert link.startswith("http://localhost:8765/#hub=")
    assert len(add_links("http://127.0.0.1:9123/#pair=a.b", pages)) == 2


def test_plain_http_is_taken_when_it_is_asked_for_in_so_many_words() -> None:
    page = page_address("ws://10.0.0.5:8765/acp", None, ["10.0.0.5:8765"], insecure=True)
    assert page == "http://10.0.0.5:8765/"


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("ws://127.0.0.1:1/acp", True),
        ("ws://[::1]:1/acp", True),
        ("ws://localhost:1/acp", True),
        ("wss://hub.example/acp", True),
        ("ws://0.0.0.0:1/acp", False),
        ("ws://localhost.example:1/acp", False),
    ],
)
def test_an_address_is_safe_on_loopback_and_with_tls(url: str, safe: bool) -> None:
    assert is_safe(url) is safe


def test_ways_name_the_port_of_the_hub_and_installed_ones_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "cloudflared"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    ways = reach_ways(9123, tailscale_name="box.tail.ts.net")
    assert [(way.program, way.installed) for way in ways] == [
        ("cloudflared", True),
        ("tailscale", False),
        ("ssh", False),
    ]
    assert all("9123" in " ".join(way.commands) for way in ways)
    assert "dragoman hub pair --address https://box.tail.ts.net/" in ways[1].commands


def test_the_name_in_the_tailnet_is_taken_from_tailscale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "tailscale"
    program.write_text('#!/bin/sh\necho \'{"Self": {"DNSName": "box.tail.ts.net."}}\'\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["hub", "reach", "ws://127.0.0.1:9123/acp", "--json"]) == 0
    ways = json.loads(capsys.readouterr().out)["ways"]
    assert (ways[0]["name"], ways[0]["address"]) == ("Tailscale", "https://box.tail.ts.net/")


def test_a_hub_that_others_can_listen_to_is_told_to_be_unsafe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["hub", "reach", "ws://0.0.0.0:9123/acp"]) == 1
    out, err = capsys.readouterr()
    assert "not encrypted" in err
    assert "--listen 127.0.0.1:9123" in out
