"""A git repository whose configuration names a program wherever git takes one; each leaves a file behind."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

from dragoman.testing.pace import patience

KEYS: Final = """
core.fsmonitor core.pager core.editor core.sshCommand core.gitProxy core.askPass core.alternateRefsCommand
diff.external diff.evil.command diff.evil.textconv merge.evil.driver filter.evil.clean filter.evil.smudge
filter.evil.process credential.helper gpg.program gpg.ssh.program gpg.ssh.defaultKeyCommand sequence.editor
interactive.diffFilter pager.diff pager.log pager.ls-files pager.config alias.x alias.diff
uploadpack.packObjectsHook
remote.origin.uploadpack remote.origin.receivepack submodule.sub.update difftool.evil.cmd mergetool.evil.cmd
man.evil.cmd browser.evil.cmd tar.evil.command sendemail.smtpserver guitool.evil.cmd trailer.evil.command
trailer.evil.cmd instaweb.httpd web.browser receive.procReceiveRefs hook.evil.command
""".split()  # noqa: SIM905 - a list of names that reads better as words
"""Settings that name a program, as git's documentation has them."""

HOOKS: Final = """
applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg
post-commit pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive
post-update reference-transaction push-to-checkout pre-auto-gc post-rewrite fsmonitor-watchman
post-index-change
""".split()  # noqa: SIM905 - as above


class HostileRepository:
    """In `folder`; what its programs leave behind is in `canaries`."""

    def __init__(self, place: Path) -> None:
        self.folder = place / "project"
        self._traps = place / "traps"
        self._canaries = place / "canaries"
        for each in (self.folder, self._traps, self._canaries):
            each.mkdir()
        self._git("init", "-b", "main")
        (self.folder / "a.py").write_text("one\ntwo\n")
        (self.folder / "b.py").write_text("b\n")
        self._git("add", ".")
        self._git("commit", "-m", "first")
        self._set_traps()
        (self.folder / "a.py").write_text("one\nTWO\n")
        (self.folder / "new.py").write_text("new\n")

    def canaries(self) -> list[str]:
        return sorted(path.name for path in self._canaries.iterdir())

    def lose_object(self, revision: str) -> None:
        """Take an object away, so that a partial clone would fetch it."""
        name = self._git("rev-parse", revision).strip()
        (self.folder / ".git/objects" / name[:2] / name[2:]).unlink()

    def plain_git(self, *words: str) -> None:
        """Git as anybody would start it, to show that the traps work."""
        subprocess.run(
            ["git", *words], cwd=self.folder, check=False, capture_output=True, timeout=patience(20)
        )

    def _set_traps(self) -> None:
        git = self.folder / ".git"
        attributes = "* filter=evil diff=evil merge=evil\n"
        (self.folder / ".gitattributes").write_text(attributes)
        (git / "info").mkdir(exist_ok=True)
        (git / "info/attributes").write_text(attributes)
        hooks = self._traps / "hooks"
        hooks.mkdir()
        for folder in (hooks, git / "hooks"):
            for name in HOOKS:
                self._write_trap(folder / name, f"hook-{name}")
        half = len(KEYS) // 3
        included = self._traps / "included"
        included.write_text(self._config(KEYS[:half]))
        (git / "config.worktree").write_text(self._config(KEYS[half : 2 * half]))
        more = f"""
[core]
    repositoryformatversion = 1
    hooksPath = {hooks}
[extensions]
    worktreeConfig = true
    partialClone = origin
[include]
    path = {included}
[filter "evil"]
    required = true
[remote "origin"]
    url = ext::{self._trap("url")}
    promisor = true
    partialclonefilter = blob:none
[protocol]
    allow = always
[protocol "ext"]
    allow = always
[submodule]
    recurse = true
"""
        with (git / "config").open("a") as config:
            config.write(more + self._config(KEYS[2 * half :]))
        self._add_inner(attributes)

    def _add_inner(self, attributes: str) -> None:
        """A repository in the repository, with traps of its own."""
        inner = self.folder / "inner"
        inner.mkdir()
        self._git("init", "-b", "main", cwd=inner)
        (inner / "c.py").write_text("c\n")
        self._git("add", ".", cwd=inner)
        self._git("commit", "-m", "inner", cwd=inner)
        (inner / ".gitattributes").write_text(attributes)
        with (inner / ".git/config").open("a") as config:
            config.write(self._config(KEYS))
        (inner / "c.py").write_text("C\n")

    def _config(self, keys: list[str]) -> str:
        lines = []
        for key in keys:
            section, _, name = key.rpartition(".")
            head, _, below = section.partition(".")
            title = f'{head} "{below}"' if below else head
            lines.append(f"[{title}]\n    {name} = {self._trap(key)}\n")
        return "".join(lines)

    def _trap(self, name: str) -> str:
        path = self._traps / name
        if not path.exists():
            self._write_trap(path, name)
        return str(path)

    def _write_trap(self, path: Path, name: str) -> None:
        path.write_text(f'#!/bin/sh\n: > "{self._canaries}/{name}"\ncat\n')
        path.chmod(0o755)

    def _git(self, *words: str, cwd: Path | None = None) -> str:
        nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        env = {**{name: value for name, value in os.environ.items() if not name.startswith("GIT_")}, **nobody}
        done = subprocess.run(
            ["git", *who, *words],
            cwd=cwd or self.folder,
            env=env,
            check=True,
            capture_output=True,
            text=True,
            timeout=patience(20),
        )
        return done.stdout
