"""The hub as a service and in a container: what is written is right, shown first, and can be taken back."""

from __future__ import annotations

import json
import plistlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from dragoman.testing.pace import patience
from dragoman_app.cli import main
from dragoman_app.cli.hub_service import launchd_plist, systemd_unit, systemd_word
from dragoman_app.cli.parser import make_parser

ROOT = Path(__file__).parents[4]


@pytest.fixture
def unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the unit goes; a service manager that writes down what it is told."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(sys, "platform", "linux")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/systemctl").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/told\n')
    (tmp_path / "bin/systemctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return tmp_path / "config/systemd/user/dragoman-hub.service"


def test_a_dry_run_shows_the_unit_and_writes_nothing(unit: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hub", "install", "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "KillMode=process" in shown
    assert "then: systemctl --user enable --now dragoman-hub.service" in shown
    assert not unit.exists()


def test_a_service_is_installed_twice_changed_and_removed(
    unit: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [main(["hub", "install"]) for _ in "12"] == [0, 0]
    assert sys.executable in unit.read_text()
    assert not Path(f"{unit}.before").exists()
    unit.write_text("changed by hand")
    assert main(["hub", "install", "--no-start"]) == 0
    assert Path(f"{unit}.before").read_text() == "changed by hand"
    assert main(["hub", "uninstall"]) == 0
    assert not unit.exists()
    assert (tmp_path / "told").read_text().splitlines() == [
        *["--user daemon-reload", "--user enable --now dragoman-hub.service"] * 2,
        "--user disable --now dragoman-hub.service",
    ]
    assert main(["hub", "uninstall"]) == 1
    assert "there is no" in capsys.readouterr().err


def test_a_configuration_that_cannot_be_used_is_not_installed(
    unit: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "hub.toml").write_text("listen = 1\n")
    assert main(["hub", "install", "--config", str(tmp_path / "hub.toml")]) == 2
    assert "hub.toml:1" in capsys.readouterr().err
    assert not unit.exists()


def test_words_are_quoted_for_systemd() -> None:
    assert systemd_word("/plain/path") == "/plain/path"
    assert systemd_word('/a b/50%/$x"') == '"/a b/50%%/$$x\\""'


def test_systemd_finds_no_fault_in_the_unit(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("there is no systemd-analyze here")
    file = tmp_path / "dragoman-hub.service"
    file.write_text(systemd_unit([sys.executable, "-m", "dragoman", "hub"]))
    command = [program, "verify", "--user", "--man=no", str(file)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False, timeout=patience(30))
    assert [line for line in outcome.stderr.splitlines() if "dragoman-hub" in line] == []


def test_the_launch_agent_starts_the_hub_and_leaves_agents_alone() -> None:
    plist = plistlib.loads(launchd_plist(["/x/python", "-m", "dragoman", "hub"], Path("/log")).encode())
    assert plist["ProgramArguments"] == ["/x/python", "-m", "dragoman", "hub"]
    assert plist["AbandonProcessGroup"] is True
    assert plist["KeepAlive"] == {"SuccessfulExit": False}


def test_the_container_runs_a_hub_without_root_and_looks_after_its_health() -> None:
    text = re.sub(r"\\\n\s*", "", (ROOT / "Containerfile").read_text("utf-8"))
    lines = [line.split(" ", 1) for line in text.splitlines() if line and not line.startswith("#")]
    words = {line[0]: line[1] for line in lines}
    assert words["USER"] == "10001"
    assert words["VOLUME"] == "/data"
    assert "/healthz" in words["HEALTHCHECK"]
    make_parser().parse_args(json.loads(words["CMD"]))
    copied = [
        word
        for name, value in lines
        if name == "COPY" and "--from" not in value
        for word in value.split()[:-1]
    ]
    assert [word for word in copied if not list(ROOT.glob(word))] == []
    ignored = (ROOT / ".containerignore").read_text("utf-8")
    assert [word for word in copied if f"!{word}\n" not in ignored] == []
    assert ignored == (ROOT / ".dockerignore").read_text("utf-8")
    (extras,) = re.findall(r"'\.\[(.+?)\]'", text)
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert all(f"\n{extra} = [" in project for extra in extras.split(","))


def test_the_compose_file_has_three_hubs_that_share_three_servers() -> None:
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
    services = compose["services"]
    hubs = {name: service for name, service in services.items() if service["image"] == "dragoman"}
    assert len(hubs) == len(services) - len(hubs) == 3
    for name, hub in hubs.items():
        options = make_parser().parse_args(hub["command"])
        assert options.node == name
        assert re.findall(r"nats\d", options.journal) == ["nats1", "nats2", "nats3"]
        assert hub["read_only"] is True
        assert hub["ports"][0].startswith("127.0.0.1:")
    mounted = {volume.split(":")[0] for service in services.values() for volume in service["volumes"]}
    files = {name for name in mounted if name.startswith("./")}
    assert mounted - files == set(compose["volumes"])
    # Not every compose knows `configs`: the servers' configuration is a file beside it.
    (configuration,) = files
    assert "sync_interval: always" in (ROOT / configuration).read_text("utf-8")
