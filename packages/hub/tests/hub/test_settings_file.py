"""From text to settings: all mistakes at once, each in its line, none with the value that was given."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman_hub.gate.rates import Rate
from dragoman_hub.settings import HubSettings
from dragoman_hub.settings_file import SettingsError, load_settings, parse_settings


def mistakes(text: str, **overrides: object) -> list[str]:
    with pytest.raises(SettingsError) as raised:
        parse_settings(text, path="hub.toml", overrides=overrides)
    assert str(raised.value).splitlines() == [str(one) for one in raised.value.findings]
    return [str(one) for one in raised.value.findings]


def test_nothing_is_all_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert load_settings() == HubSettings()
    (tmp_path / "dragoman").mkdir()
    (tmp_path / "dragoman" / "hub.toml").write_text('durability = "off"')
    assert load_settings().durability == "off"


def test_a_file_that_was_named_must_be_there_and_be_text(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no such file"):
        load_settings(tmp_path / "none.toml")
    (tmp_path / "odd.toml").write_bytes(b"# fine\nlisten = '\xff'")
    with pytest.raises(SettingsError, match=r"odd.toml:2: is not UTF-8"):
        load_settings(tmp_path / "odd.toml")
    with pytest.raises(SettingsError, match="cannot be read"):
        load_settings(tmp_path)


def test_values_are_read_once_into_what_the_hub_uses() -> None:
    text = """
    journal = "data/../hub.db"
    hosts = ["hub.example", "[::1]:8765"]
    [limits]
    message = "1.5 MiB"
    unread = 2048
    connect_rate = "5 / s"
    [approvals]
    expire = 90
    [encryption]
    key = "file:key"
    """
    read = parse_settings(text, path="/etc/hub.toml")
    assert read.journal == "/etc/hub.db"
    assert (read.limits.message, read.limits.unread) == (1_572_864, 2048)
    assert read.limits.connect_rate == Rate(5, 1.0)
    assert read.approvals.expire == 90.0
    assert read.encryption.key == "file:/etc/key"
    assert parse_settings('journal = "nats://host:4222"').journal == "nats://host:4222"
    assert parse_settings('journal = "~/j.db"').journal == str(Path.home() / "j.db")


def test_all_mistakes_are_told_at_once_with_their_lines() -> None:
    text = """listen = 8765
insecur = true

[limits]
message = "lots"
"connections" = 0

[agents.mine]
command = ["mine"]
dialect = "klingon"
"""
    found = mistakes(text)
    assert [one.partition(": must")[0].partition(": unknown")[0] for one in found] == [
        "hub.toml:1: listen",
        "hub.toml:2: insecur",
        "hub.toml:5: limits.message",
        "hub.toml:6: limits.connections",
        "hub.toml:10: agents.mine.dialect",
    ]
    assert found[1].endswith("did you mean insecure?")
    assert "must be one of auto, v1, " in found[4]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("\nlimits.sessions = -1", "hub.toml:2: limits.sessions: must be a whole number"),
        ("[limits]\n\n[limits.x]\ny = 1", "hub.toml:3: limits.x: unknown key"),
        ("[tls]\ncertificate = 'a'", "hub.toml:2: tls.certificate: set both the certificate and the key"),
        ("\n[[limits]]\nsessions = 1", "hub.toml:2: limits: must be a table: [limits]"),
        ("\n[[agents]]\ncommand = ['x']", "hub.toml:2: agents: must be tables"),
        ("[agents.'a b']\nurl = 'ws://x'", 'hub.toml:1: agents."a b": a name is'),
        ('agents."a\\u0007b".url = "ws://x"', 'hub.toml:1: agents."a\\u0007b": a name is'),
        ("[agents.a]\n[agents.b]\nurl='ws://b'", "hub.toml:1: agents.a: needs either command or url"),
        (
            "[agents.a]\nurl='ws://b'\nsandbox='workspace'",
            "hub.toml:3: agents.a.sandbox: an agent that is already running can't get a sandbox",
        ),
        (
            "[agents.a]\ncommand=['b']\nplace='ssh:b'\nmap=['/a=/b']\nsandbox='read-only'",
            "hub.toml:5: agents.a.sandbox: an agent on another machine can't have both a sandbox and a map",
        ),
        (
            "[agents.a]\ncommand=['b']\nsandbox='workspace'",
            "hub.toml:3: agents.a.sandbox: workspace needs cwd",
        ),
        ("[agents.a]\ncommand=['x']\nurl='ws://b'", "hub.toml:1: agents.a: needs either"),
        ("[agents.a]\ncommand = [\n  'x',\n  3,\n]", "hub.toml:4: agents.a.command: must be a list of words"),
        ("[agents.a]\nurl='ws://b'\nenv = {\"A B\" = 'c'}", "hub.toml:3: agents.a.env: must be a table"),
        ("hosts = [\n  'a', # 'b',\n  'c', 'http://d'\n]", "hub.toml:3: hosts: must be a list of hosts"),
        ("origins = ['https://a/path']", "hub.toml:1: origins: must be a list of origins"),
        ("known_agents = false\ndefault_agent = 'x'", "hub.toml:2: default_agent: unknown agent"),
        ("listen = '''a\nb'''", "hub.toml:1: listen: must be text without control"),
        ("durability = ['full']", "hub.toml:1: durability: must be one of full, normal, off"),
        ("journal = 'redis://x'", "hub.toml:1: journal: must be the path of a file"),
        ("approvals.expire = nan", "hub.toml:1: approvals.expire: must be a number of seconds"),
        ("approvals.expire = true", "hub.toml:1: approvals.expire: must be a number of seconds"),
        ("limits.prompt_rate = '0/min'", "hub.toml:1: limits.prompt_rate: must be a rate"),
        ("limits.message = '12 parsecs'", "hub.toml:1: limits.message: must be a size"),
        ("x = 1\nx = 2", "hub.toml:2: not valid TOML"),
        ("\nlisten = ", "hub.toml:2: not valid TOML"),
    ],
)
def test_a_mistake_is_told_in_its_line(text: str, told: str) -> None:
    found = mistakes(text)
    assert len(found) == 1
    assert found[0].startswith(told)


@pytest.mark.parametrize(
    "listen", ["8765", "host:", "host:x", "host:70000", "::1:80", "http://a:80", "host:²", "a b:80"]
)
def test_a_place_to_listen_at_is_a_host_and_a_port(listen: str) -> None:
    assert "must be HOST:PORT" in mistakes(f"listen = {listen!r}")[0]


def test_the_command_line_wins_and_is_read_by_the_same_rules() -> None:
    read = parse_settings(
        'listen = "127.0.0.1:1"\n[limits]\nsessions = 3',
        overrides={"listen": "127.0.0.1:2", "limits.connections": 9, "insecure": None},
    )
    assert (read.listen, read.limits.sessions, read.limits.connections) == ("127.0.0.1:2", 3, 9)
    assert mistakes("", listen="nowhere", nonsense=1) == [
        'command line: listen: must be HOST:PORT, such as "127.0.0.1:8765" or "[::1]:8765"',
        f"command line: nonsense: unknown key. Choose from {', '.join(HubSettings.__struct_fields__)}",
    ]


@pytest.mark.parametrize("key", ["encryption.key", "agents.a.env", "listen", "limits.message", "hosts"])
def test_a_secret_in_the_wrong_place_is_not_repeated(key: str) -> None:
    assert "hush-hush" not in "".join(mistakes(f'{key} = "hush-hush and more"'))
