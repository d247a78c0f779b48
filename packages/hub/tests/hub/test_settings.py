"""What can be set, what a reload applies, and that the page about it says the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Struct
from msgspec.structs import replace

from dragoman.errors import LocalMistake
from dragoman_hub.gate.rates import Rate
from dragoman_hub.settings import (
    MIB,
    AgentSettings,
    HubSettings,
    Kind,
    LimitSettings,
    changed_settings,
    fields_of,
    kind_of,
    needs_restart,
    offered_agents,
    settings_path,
)
from dragoman_hub.settings_file import BUILT_IN, parse_settings
from dragoman_local.known import AgentSource, KnownAgent

PAGE = Path(__file__).parents[4] / "docs" / "hub-configuration.md"
ROW = re.compile(r"^\| `([\w.]+)` \| ([^|]+) \| `([^|]+)` \| (yes|restart) \| [^|]+ \|$", re.MULTILINE)


class Described(Struct, frozen=True, kw_only=True):
    """One key of the file."""

    name: str
    kind: str
    default: str
    """As one would write it in the file."""
    reload: bool


def describe_settings() -> list[Described]:
    """Every key of the file, in the order of the classes."""
    return list(_describe_table(HubSettings, ""))


def _describe_table(table: type[Struct], prefix: str) -> Iterator[Described]:
    for info in msgspec.structs.fields(table):
        hint = fields_of(table)[info.name]
        name = f"{prefix}{info.name}"
        if name == "agents":
            yield from _describe_table(AgentSettings, "agents.NAME.")
        elif isinstance(hint, type) and issubclass(hint, Struct):
            yield from _describe_table(hint, f"{name}.")
        else:
            default = {} if info.default is msgspec.NODEFAULT else info.default
            yield Described(
                name=name,
                kind=kind_of(hint).word,
                default=_as_written(default, kind_of(hint)),
                reload=not needs_restart(name),
            )


def _as_written(value: Any, kind: Kind) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if kind.word == "size":
        return f'"{value // MIB} MiB"'
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, tuple):
        return str(list(value))
    return str(value) if isinstance(value, dict) else f'"{value}"'


def test_the_page_lists_every_key_with_its_kind_default_and_reload() -> None:
    told = [tuple(row) for row in ROW.findall(PAGE.read_text("utf-8"))]
    real = [
        (one.name, one.kind, one.default, "yes" if one.reload else "restart") for one in describe_settings()
    ]
    assert told == real


def test_the_example_of_the_page_can_be_read() -> None:
    example = re.search(r"```toml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert example is not None
    read = parse_settings(example[1], path="/etc/dragoman/hub.toml")
    assert read.tls.certificate == "/etc/dragoman/hub.pem"
    assert read.agents["mine"].env == {"LOG_LEVEL": "debug"}
    assert read.limits.prompt_rate == Rate(20, 60.0)


def test_a_default_that_is_written_out_is_the_default() -> None:
    plain = [one for one in describe_settings() if not one.name.startswith("agents.NAME")]
    text = "\n".join(f"{one.name} = {one.default}" for one in plain)
    agent = [one for one in describe_settings() if one.name.startswith("agents.NAME")]
    text += "".join(f"\n{one.name.replace('NAME', 'echo')} = {one.default}" for one in agent)
    assert parse_settings(text) == HubSettings(agents={"echo": AgentSettings()})


def test_a_change_is_applied_or_waits_for_a_restart() -> None:
    old = HubSettings(agents={"a": AgentSettings(command=("a",)), "b": AgentSettings(command=("b",))})
    assert changed_settings(old, old) == ((), ())
    new = replace(
        old,
        listen="127.0.0.1:1",
        origins=("https://pages.example",),
        agents={"a": AgentSettings(command=("a",)), "c": AgentSettings(command=("c",))},
        limits=LimitSettings(message=1024, sessions=5),
    )
    assert changed_settings(old, new) == (
        ("origins", "agents.b", "agents.c", "limits.sessions"),
        ("listen", "limits.message"),
    )


def test_the_secrets_of_an_agent_are_not_shown() -> None:
    shown = repr(HubSettings(agents={"a": AgentSettings(command=("a",), env={"KEY": "hush"})}))
    assert "KEY" in shown
    assert "hush" not in shown


def test_the_file_and_the_data_are_where_xdg_says() -> None:
    assert settings_path({"XDG_CONFIG_HOME": "/c", "HOME": "/h"}) == Path("/c/dragoman/hub.toml")
    assert settings_path({"XDG_CONFIG_HOME": "c", "HOME": "/h"}) == Path("/h/.config/dragoman/hub.toml")
    assert HubSettings(journal="/data/j.db").tokens_path == Path("/data/tokens.json")
    assert HubSettings().journal_place.endswith("/dragoman/hub.db")
    remote = HubSettings(journal="nats://somewhere:4222")
    assert remote.tokens_path == HubSettings().tokens_path


def test_agents_come_from_the_file_from_dragoman_and_from_the_known_ones() -> None:
    known = [
        KnownAgent(name="claude", command=("claude-acp",), source=AgentSource.PATH, title="Claude"),
        KnownAgent(name="mine", command=("other",), source=AgentSource.CONFIG),
    ]
    read = parse_settings('[agents.mine]\ncommand = ["mine"]\n[agents.review]\nidle = 5\nenv.A = "b"')
    offered = offered_agents(read, agents=known)
    assert set(offered) == {*BUILT_IN, "claude", "mine"}
    assert offered["mine"].command == ("mine",)
    assert offered["review"].command[-3:] == ("dragoman", "agent", "review")
    assert (offered["review"].idle, offered["review"].env) == (5.0, {"A": "b"})
    assert "ANTHROPIC_API_KEY" in offered["review"].allow
    alone = offered_agents(parse_settings("known_agents = false"), agents=known)
    assert set(alone) == set(BUILT_IN)


def test_a_default_agent_that_nobody_offers_is_said() -> None:
    with pytest.raises(LocalMistake, match=r"unknown agent 'nobody'\. Choose from code, echo, review"):
        offered_agents(parse_settings('default_agent = "nobody"'), agents=[])
