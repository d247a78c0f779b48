"""`dragoman editors install` and `uninstall`: Dragoman's agents in the settings of an editor.

The difference is shown before anything is written, without the lines around it, which may hold keys. A person
at a terminal is asked; everybody else says `--yes`. What was there is kept as a backup, comments in settings
stay, and a second run changes nothing. Neovim and Emacs are configured by programs: they get a file of ours,
and the line that loads it is printed for the person to add.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.errors import LocalMistake
from dragoman.system.folders import home_folder, user_folder
from dragoman.system.replacement import replace_file
from dragoman_app.apps.console import ErrorStatus, say, say_json
from dragoman_app.cli.jsonc_edit import put_members, remove_members
from dragoman_local.known.config import read_text
from dragoman_local.known.jsonc import parse_jsonc
from dragoman_local.known.places import Machine, jetbrains_acp, zed_settings

TITLES = {"review": "Dragoman Review", "code": "Dragoman Code", "echo": "Dragoman Echo"}


class EditorFile(NamedTuple):
    """A file of an editor, and how to add agents to it."""

    path: Path
    add: Callable[[str, list[str]], str]
    """Returns its new text from its text and the names of agents."""
    remove: Callable[[str], str]
    hint: str = ""
    """The next step for the user."""


def run_install(args: argparse.Namespace) -> int:
    """Add agents to an editor's settings."""
    return _change(args, lambda file, text: file.add(text, args.agent or ["review", "code"]))


def run_uninstall(args: argparse.Namespace) -> int:
    """Remove Dragoman's agents from an editor's settings."""
    return _change(args, lambda file, text: file.remove(text))


def _change(args: argparse.Namespace, edit: Callable[[EditorFile, str], str]) -> int:
    file = EDITORS[args.editor]()
    if args.file:
        file = file._replace(path=Path(args.file).expanduser())
    with ErrorStatus(LocalMistake, OSError, status=1, act="write"):
        before = read_text(file.path)
        after = edit(file, before)
        is_changed = after != before
        if not args.json:
            _show(file.path, before, after)
        is_written = is_changed and not args.dry_run and _is_wanted(args)
        kept = _write(file.path, before, after) if is_written else ""
    _report(args, file, is_changed=is_changed, is_written=is_written, kept=kept)
    return 0 if is_written or not is_changed or args.dry_run else 2


def _show(path: Path, before: str, after: str) -> None:
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), str(path), f"{path} (new)", n=0, lineterm=""
    )
    for line in lines:
        say(line)


def _is_wanted(args: argparse.Namespace) -> bool:
    if args.yes:
        return True
    if args.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        say("Nothing was written. Add --yes, or run this in a terminal to be asked.", file=sys.stderr)
        return False
    return input("Write these changes? [y/N] ").strip().lower() in ("y", "yes")


def _write(path: Path, before: str, after: str) -> str:
    """Replace the file; returns where the old one is kept."""
    target = Path(os.path.realpath(path))  # a link stays a link
    target.parent.mkdir(parents=True, exist_ok=True)
    kept = ""
    if target.exists():
        kept = f"{target}.before-dragoman-{time.strftime('%Y%m%d-%H%M%S')}"
        shutil.copy2(target, kept)
        if read_text(target) != before:
            raise LocalMistake(f"{path} changed in the meantime. Try again")
    if not after:
        target.unlink(missing_ok=True)
        return kept
    replace_file(target, after.encode())
    return kept


def _report(
    args: argparse.Namespace, file: EditorFile, *, is_changed: bool, is_written: bool, kept: str
) -> None:
    hint = file.hint if args.action == "install" else ""
    if args.json:
        report: dict[str, Any] = {"file": str(file.path), "changed": is_changed, "written": is_written}
        say_json({**report, "backup": kept or None, "next": hint or None})
        return
    if not is_changed:
        say(f"{file.path}: nothing to change")
    if is_written:
        say(f"{file.path}: written" + (f"; the old file is kept as {kept}" if kept else ""))
    if hint and (is_written or not is_changed):
        say(hint)


def dragoman_command() -> str:
    """Return the whole path of our program: editors often do not have the shell's PATH."""
    beside = Path(sys.executable).with_name("dragoman")
    return str(beside) if beside.exists() else shutil.which("dragoman") or "dragoman"


def _servers(path: Path, table: str, *, with_type: bool = False) -> EditorFile:
    """An editor whose settings are JSON with an object of agents by their titles."""

    def add(text: str, agents: list[str]) -> str:
        kind = {"type": "custom"} if with_type else {}
        members = {
            TITLES[name]: {**kind, "command": dragoman_command(), "args": ["agent", name]} for name in agents
        }
        own = _known_members(text, table, str(path))
        # What a person added, such as variables, stays.
        merged = {title: {**own.get(title, {}), **entry} for title, entry in members.items()}
        return put_members(text, table, merged, path=str(path))

    def remove(text: str) -> str:
        return remove_members(text, table, tuple(TITLES.values()), path=str(path))

    return EditorFile(path, add, remove)


def _known_members(text: str, table: str, path: str) -> dict[str, Any]:
    document = parse_jsonc(text.encode(), path=path)
    members = document.get(table, {}) if isinstance(document, dict) else {}
    if not isinstance(members, dict):
        return {}
    return {title: entry for title, entry in members.items() if isinstance(entry, dict)}


def _vscode_settings() -> Path:
    if sys.platform == "darwin":
        return home_folder(os.environ) / "Library/Application Support/Code/User/settings.json"
    return user_folder("config").parent / "Code/User/settings.json"


def _neovim() -> EditorFile:
    path = user_folder("config").parent / "nvim/lua/dragoman_agents.lua"
    hint = (
        "Add to your configuration of CodeCompanion:\n"
        '  require("codecompanion").setup({ adapters = { acp = require("dragoman_agents") } })'
    )
    return EditorFile(path, lambda text, agents: lua_module(agents), lambda text: "", hint)


def lua_module(agents: list[str]) -> str:
    """Return adapters for CodeCompanion, by name."""
    entries = "".join(
        f'  dragoman_{name} = adapter("{name}", {json.dumps(TITLES[name])}),\n' for name in agents
    )
    return f"""\
-- Written by `dragoman editors install neovim`; `dragoman editors uninstall neovim` removes it.
local function adapter(name, title)
  return function()
    return require("codecompanion.adapters").extend("opencode", {{
      name = "dragoman_" .. name,
      formatted_name = title,
      commands = {{ default = {{ {json.dumps(dragoman_command())}, "agent", name }} }},
    }})
  end
end

return {{
{entries}}}
"""


def _emacs() -> EditorFile:
    home = home_folder(os.environ)
    folder = home / ".emacs.d" if (home / ".emacs.d").is_dir() else user_folder("config").parent / "emacs"
    path = folder / "dragoman-agents.el"
    hint = f"Add to your init.el, after agent-shell:\n  (load {json.dumps(str(path.with_suffix('')))})"
    return EditorFile(path, lambda text, agents: elisp_file(agents), lambda text: "", hint)


def elisp_file(agents: list[str]) -> str:
    """Return agents for agent-shell."""
    entries = " ".join(f"({json.dumps(name)} {json.dumps(TITLES[name])})" for name in agents)
    return f""";;; dragoman-agents.el --- agents of Dragoman for agent-shell  -*- lexical-binding: t -*-
;; Written by `dragoman editors install emacs'; `dragoman editors uninstall emacs' removes it.

(require 'agent-shell)

(defun dragoman-agent-config (name title)
  "The agent NAME of Dragoman, shown as TITLE."
  (agent-shell-make-agent-config
   :identifier (intern (concat "dragoman-" name))
   :mode-line-name title
   :buffer-name title
   :shell-prompt (concat title "> ")
   :shell-prompt-regexp (concat (regexp-quote title) "> ")
   :client-maker (lambda (buffer)
                   (agent-shell--make-acp-client
                    :command {json.dumps(dragoman_command())}
                    :command-params (list "agent" name)
                    :context-buffer buffer))))

(dolist (agent '({entries}))
  (add-to-list 'agent-shell-agent-configs (apply #'dragoman-agent-config agent)))
"""


EDITORS: dict[str, Callable[[], EditorFile]] = {
    "zed": lambda: _servers(Path(zed_settings(Machine())[0]), "agent_servers", with_type=True),
    "jetbrains": lambda: _servers(Path(jetbrains_acp(Machine())[0]), "agent_servers"),
    "vscode": lambda: _servers(_vscode_settings(), "acp.agents")._replace(
        hint="The extension ACP Client reads it: code --install-extension formulahendry.acp-client"
    ),
    "neovim": _neovim,
    "emacs": _emacs,
}
