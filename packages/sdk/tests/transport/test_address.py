from __future__ import annotations

import pytest

from dragoman.errors import LocalMistake
from dragoman.transport import address
from dragoman.transport.address import (
    Address,
    CommandAddress,
    RemoteAddress,
    StdioAddress,
    UnixAddress,
    parse_address,
)
from tests.every import every


@every(
    ("text", "expected"),
    [
        ("python3 agent.py", CommandAddress(("python3", "agent.py"))),
        ("  agent 'two words'  ", CommandAddress(("agent", "two words"))),
        ("agent --url=http://x", CommandAddress(("agent", "--url=http://x"))),
        ("npx -y @scope/agent@latest", CommandAddress(("npx", "-y", "@scope/agent@latest"))),
        ("/opt/my:agent", CommandAddress(("/opt/my:agent",))),
        ("run:task", CommandAddress(("run:task",))),
        ("C:/agents/agent.exe", CommandAddress(("C:/agents/agent.exe",))),
        ("stdio:", StdioAddress()),
        ("unix:/run/agent.sock", UnixAddress("/run/agent.sock")),
        ("unix:///run/agent.sock", UnixAddress("/run/agent.sock")),
        ("unix:agent.sock", UnixAddress("agent.sock")),
        ("ws://host/acp", RemoteAddress("ws://host/acp")),
        ("https://host/acp", RemoteAddress("https://host/acp")),
    ],
)
def test_an_address_is_read_as_what_it_is(text: str, expected: Address) -> None:
    assert parse_address(text) == expected


@pytest.mark.parametrize("text", ["agent 'two words' x", "stdio:", "unix:/run/agent.sock"])
def test_a_printed_address_reads_as_the_same(text: str) -> None:
    assert str(parse_address(text)) == text


@every(
    ("text", "complaint"),
    [
        ("", "empty address"),
        ("   ", "empty address"),
        ("agent 'unfinished", "no closing quotation"),
        ("stdio:1", "nothing follows"),
        ("unix:", "names no socket"),
        ("unix://", "names no socket"),
        ("ftp://host/acp", "unknown scheme"),
    ],
)
def test_what_is_no_address_is_refused_with_a_reason(text: str, complaint: str) -> None:
    with pytest.raises(LocalMistake, match=complaint):
        parse_address(text)


@pytest.mark.parametrize(
    ("scheme", "extra"), [("ws", "ws"), ("wss", "ws"), ("http", "http"), ("https", "http")]
)
def test_what_the_sdk_alone_does_not_speak_names_its_extra(
    scheme: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(address, "find_spec", lambda name: None)
    with pytest.raises(LocalMistake, match=rf"pip install 'dragoman-sdk\[{extra}\]'"):
        parse_address(f"{scheme}://host/acp")
