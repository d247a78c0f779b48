"""`dragoman hub install` and `uninstall`: the hub as a service of this user, by systemd or launchd.

What would be written is shown first; `--dry-run` ends there. A file that somebody changed by hand is kept as
a backup. The service manager is told about the change, and what it answers is passed on.
"""

from __future__ import annotations

import argparse
import os
import plistlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from dragoman.errors import LocalMistake
from dragoman.system.folders import home_folder, user_folder
from dragoman.system.replacement import replace_file
from dragoman_app.apps.console import CommandFailed, ErrorStatus, say, say_json
from dragoman_hub.settings_file import load_settings

UNIT = "dragoman-hub.service"
LABEL = "dragoman_hub"
STOP_SECONDS = 45
"""The seconds for stopping: more than a drain, which waits 30 seconds for running turns."""

COMMAND_SECONDS = 60.0


def run_install(args: argparse.Namespace) -> int:
    """Write the service's file and start it."""
    path, text = service_file(hub_command(args.config))
    _show(args, path, text)
    if args.dry_run:
        return 0
    with ErrorStatus(OSError, status=1, act="write"):
        kept = _write(path, text)
    if kept and not args.json:
        say(f"The file that was there is kept as {kept}", file=sys.stderr)
    return 0 if args.no_start else _tell_manager(start_commands(path))


def run_uninstall(args: argparse.Namespace) -> int:
    """Stop the service and remove its file; journal, tokens and configuration stay."""
    path = service_path()
    if not path.exists():
        raise CommandFailed(f"there is no {path}")
    if args.dry_run:
        say(f"Would stop the service and remove {path}")
        return 0
    status = _tell_manager(stop_commands(path))
    path.unlink()
    say(f"Removed {path}. `dragoman where` names what stays.")
    return status


def hub_command(config: str | None) -> list[str]:
    """Return the command that starts the hub as a service. An invalid configuration is refused at once."""
    load_settings(Path(config) if config else None)
    options = ["--config", os.path.abspath(config)] if config else []
    return [sys.executable, "-P", "-m", "dragoman", "hub", *options]


def service_path() -> Path:
    """Return the path of the service file for this system."""
    if sys.platform == "darwin":
        return home_folder(os.environ) / f"Library/LaunchAgents/{LABEL}.plist"
    return user_folder("config").parent / "systemd/user" / UNIT


def service_file(command: Sequence[str]) -> tuple[Path, str]:
    """Return the service file and its text."""
    if sys.platform == "darwin":
        log = home_folder(os.environ) / "Library/Logs/dragoman-hub.log"
        return service_path(), launchd_plist(command, log)
    if sys.platform == "win32":
        raise LocalMistake("there are services for systemd and launchd only: start `dragoman hub` by a task")
    return service_path(), systemd_unit(command)


def systemd_unit(command: Sequence[str]) -> str:
    """Return a unit for `systemctl --user`."""
    return f"""\
[Unit]
Description=Dragoman hub
After=network.target

[Service]
ExecStart={" ".join(map(systemd_word, command))}
ExecReload=kill -HUP $MAINPID
# Agents have agent hosts of their own, which outlive the hub: a restart must not take them along.
KillMode=process
# Longer than a drain, which waits 30 seconds for turns that run.
TimeoutStopSec={STOP_SECONDS}
Restart=on-failure
RestartSec=1
# An agent that eats all memory is ended alone.
OOMPolicy=continue
NoNewPrivileges=true
LimitNOFILE=65536
UMask=0077

[Install]
WantedBy=default.target
"""


def systemd_word(word: str) -> str:
    """Quote a word for units, where `%` and `$` have a meaning."""
    if any(ord(character) < 32 for character in word):
        raise LocalMistake("a unit can't name a path with control characters")
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if escaped != word or " " in word or "'" in word else word


def launchd_plist(command: Sequence[str], log: Path) -> str:
    """Return a launch agent, which starts at login, and again after a failure."""
    return plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": list(command),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "AbandonProcessGroup": True,  # agent hosts outlive the hub
            "ExitTimeOut": STOP_SECONDS,
            "Umask": 0o077,
            "StandardErrorPath": str(log),
            "StandardOutPath": str(log),
        }
    ).decode()


def start_commands(path: Path) -> list[list[str]]:
    """Return the commands that start the service."""
    if sys.platform == "darwin":
        return [["launchctl", "bootstrap", f"gui/{os.getuid()}", str(path)]]
    return [["systemctl", "--user", "daemon-reload"], ["systemctl", "--user", "enable", "--now", UNIT]]


def stop_commands(path: Path) -> list[list[str]]:
    """Return the commands that stop the service."""
    if sys.platform == "darwin":
        return [["launchctl", "bootout", f"gui/{os.getuid()}", str(path)]]
    return [["systemctl", "--user", "disable", "--now", UNIT]]


def _show(args: argparse.Namespace, path: Path, text: str) -> None:
    commands = [] if args.no_start else start_commands(path)
    if args.json:
        report = {"path": str(path), "text": text, "commands": commands, "dry_run": args.dry_run}
        say_json(report)
        return
    say(f"{'Would write' if args.dry_run else 'Writing'} {path}:\n")
    say(text)
    for command in commands:
        say(f"then: {' '.join(command)}")


def _write(path: Path, text: str) -> str:
    """Write the file; returns where another one that was there is kept."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = ""
    if path.exists():
        if path.read_text("utf-8") == text:
            return ""
        kept = f"{path}.before"
        shutil.copy2(path, kept)
    replace_file(path, text.encode(), mode=0o644)
    return kept


def _tell_manager(commands: Sequence[Sequence[str]]) -> int:
    for command in commands:
        try:
            status = subprocess.run(command, check=False, timeout=COMMAND_SECONDS).returncode
        except FileNotFoundError:
            say(f"{command[0]} is not there: start `dragoman hub` by other means", file=sys.stderr)
            return 1
        except subprocess.TimeoutExpired:
            say(f"{' '.join(command)} did not end within {COMMAND_SECONDS:g} seconds", file=sys.stderr)
            return 1
        if status != 0:
            say(f"{' '.join(command)} ended with status {status}", file=sys.stderr)
            return 1
    return 0
