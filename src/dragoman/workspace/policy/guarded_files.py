"""Files that make allowed commands run something: whoever may write them may run anything.

Pure. `git status` runs what `.git/config` says, a shell what `.bashrc` says, an agent or an editor what its
settings say. A write to such a file is asked about, whatever a rule allows. Files that a project runs by
itself (`Makefile`, `package.json`, tests) are its own code and not guarded: who allows `make` allows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from dragoman.workspace.policy.globs import names_below
from dragoman.workspace.policy.partial_words import ANY, RUN, is_known, may_be

_GUARDED: Final = """
    .dragoman .git .gitmodules .gitconfig .husky .githooks .pre-commit-config.yaml lefthook.yml .envrc .ssh
    .claude .codex .gemini .qwen .opencode .cursor .vscode .zed .mcp.json
    .bashrc .bash_profile .bash_login .bash_logout .profile .kshrc
    .zshrc .zshenv .zprofile .zlogin .zlogout
"""
_NAMES: Final = frozenset(_GUARDED.split())
"""Names of files, and of folders with all that is in them, wherever they are."""

_PAIRS: Final = frozenset({(".config", "git"), (".config", "fish")})
"""Folders of settings whose own names say too little:
each says what a program runs when it starts."""


def is_guarded(path: str, *, roots: Sequence[str], knows_head: bool = True) -> bool:
    """Whether a path leads to such a file. A `HEAD` makes any folder a repository; to git it is a commit."""
    names = [name.casefold() for name in names_below(path, roots)]
    if not _NAMES.isdisjoint(names) or not _PAIRS.isdisjoint(pairwise(names)):
        return True
    if any(name.endswith(".git") for name in names) or (knows_head and names[-1:] == ["head"]):
        return True
    # A name that may be anything is no reason: else nothing with a variable in it could be approved.
    vague_names = [name for name in names if not is_known(name) and name.strip(ANY + RUN)]
    return any(may_be(name, guarded) for name in vague_names for guarded in _NAMES)
