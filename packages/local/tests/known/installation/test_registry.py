"""Lists of agents: the shipped one is whole and dated, others are read with care."""

import json
from datetime import date
from typing import Any

import pytest

from dragoman.errors import LocalMistake
from dragoman_local.known.installation import registry
from dragoman_local.known.installation.registry import (
    SHIPPED,
    check_entry,
    is_newer,
    parse_registry,
    read_registry,
    read_registry_file,
    split_version,
)
from dragoman_local.known.wellknown import WELL_KNOWN
from tests.every import every

TODAY = date(2026, 1, 2)


def entry(**members: Any) -> dict[str, Any]:
    return {
        "id": "tiny",
        "name": "Tiny",
        "version": "1.0.0",
        "description": "small",
        "distribution": {"npx": {"package": "tiny@1.0.0"}},
        **members,
    }


def parse(*entries: Any) -> Any:
    return parse_registry(json.dumps({"agents": entries}).encode(), origin="x.json", today=TODAY)


def test_the_shipped_list_has_a_date_and_makes_sense(capsys: pytest.CaptureFixture[str]) -> None:
    shipped = read_registry_file(SHIPPED)
    for item in shipped.agents:
        check_entry(item)
        assert item.license
        archives = (item.distribution.binary or {}).values()
        assert all(archive.sha256 and archive.archive.startswith("https://") for archive in archives)
    with capsys.disabled():
        print(f"\nThe shipped list of agents is {(date.today() - shipped.made).days} days old.")


def test_every_well_known_agent_that_names_an_entry_has_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    known = read_registry()
    for agent in WELL_KNOWN:
        if agent.registry:
            assert known.entries[agent.registry].agent_name == agent.name
            assert known.find(agent.name).id == agent.registry


def test_a_list_is_read_with_members_that_nobody_knows() -> None:
    file, notes = parse(entry(preview={"version": "2"}, icon="x.svg"))
    assert [item.id for item in file.agents] == ["tiny"]
    assert (file.made, notes) == (TODAY, [])


def test_one_agent_alone_is_a_list_too() -> None:
    file, _ = parse_registry(json.dumps(entry()).encode(), origin="agent.json", today=TODAY)
    assert file.agents[0].version == "1.0.0"


@every(
    "members",
    [
        {"id": "../up"},
        {"id": "Upper"},
        {"version": "1/../.."},
        {"version": "--global"},
        {"distribution": {}},
        {"distribution": {"npx": {"package": "--global"}}},
        {"distribution": {"npx": {"package": "x", "cmd": "../../sh"}}},
        {"distribution": {"binary": {"linux-x86_64": {"archive": "https://x", "cmd": "/bin/sh"}}}},
        {"distribution": {"binary": {"linux-x86_64": {"archive": "https://x", "cmd": "a", "sha256": "1"}}}},
        {"name": 7},
    ],
    ids=str,
)
def test_an_entry_that_makes_no_sense_is_left_out_with_a_note(members: dict[str, Any]) -> None:
    file, notes = parse(entry(**members), entry(id="other"))
    assert [item.id for item in file.agents] == ["other"]
    assert "was left out" in notes[0]


@every("data", [b"", b"[]", b"{}", b'{"agents": 1}', b'{"agents": []}', b"<html>", b"[" * 9999])
def test_what_is_no_list_is_refused(data: bytes) -> None:
    with pytest.raises(LocalMistake):
        parse_registry(data, origin="x.json", today=TODAY)


def test_entries_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "MOST_ENTRIES", 1)
    with pytest.raises(LocalMistake, match="2 agents; 1 are the most"):
        parse(entry(), entry(id="other"))


@every(
    ("package", "kind", "parts"),
    [
        ("@scope/name@1.2.3", "npx", ("@scope/name", "1.2.3")),
        ("@scope/name", "npx", ("@scope/name", None)),
        ("name@1", "npx", ("name", "1")),
        ("name==1.2", "uvx", ("name", "1.2")),
        ("name@1.2", "uvx", ("name", "1.2")),
        ("name", "uvx", ("name", None)),
    ],
)
def test_a_package_is_a_name_and_a_version(package: str, kind: Any, parts: tuple[str, str | None]) -> None:
    assert split_version(package, kind) == parts


@every(
    "versions",
    [
        ("1.6.0", "2.5.0"),
        ("0.9.9", "0.10"),
        ("1.2.0-rc.9", "1.2.0-rc.10"),
        ("1.2.0-beta.1", "1.2.0-rc.1"),
        ("1.2.0-rc.1", "1.2.0"),
        ("3.0b2", "3.0"),
        ("3.0", "3.0.post1"),
        ("3.0", "3.0.1"),
    ],
    ids=str,
)
def test_versions_have_an_order(versions: tuple[str, str]) -> None:
    older, newer = versions
    assert is_newer(newer, than=older)
    assert not is_newer(older, than=newer)


@every("versions", [("1.0", "1.0.0"), ("1.0+a", "1.0+b"), ("latest", "1.0"), ("1.0", "stable")], ids=str)
def test_a_version_that_nobody_can_order_is_not_newer(versions: tuple[str, str]) -> None:
    assert not is_newer(versions[0], than=versions[1])
    assert not is_newer(versions[1], than=versions[0])


def test_a_list_of_others_knows_no_trials_of_ours() -> None:
    file, notes = parse(entry(tested="2026-01-01"), entry(id="other", tested=True))
    assert [item.tested for item in file.agents] == [None, None]
    assert notes == []
