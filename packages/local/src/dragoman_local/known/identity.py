"""The identity of an agent for rules and remembered answers: its configured name, otherwise its command.

A program of PATH that is called alone is its name. Of a longer command every word counts, its program and its
files by their places: what a word means to a program nobody knows, so two scripts of one interpreter, two
packages of one runner or two images of one container are two agents. Looks at the disk; starts nothing.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
from collections.abc import Sequence

from dragoman_local.known.agent import AgentSource, KnownAgent
from dragoman_local.known.redactor import redact_shapes


def identity_of(agent: KnownAgent, cwd: str) -> str:
    """Return the identity of an agent that is started in `cwd`."""
    return identity_of_command(agent.command, cwd) if agent.source is AgentSource.COMMAND else agent.name


def identity_of_command(words: Sequence[str], cwd: str) -> str:
    """Return the command with its places resolved; without a `cwd` it runs on another machine, and its words
    stay.
    """
    if len(words) == 1 and "/" not in words[0]:
        return words[0]
    if cwd:
        words = [_program(words[0], cwd), *(_file(word, cwd) for word in words[1:])]
    text = words[0] if len(words) == 1 else shlex.join(words)
    shown = redact_shapes(text)
    # Two commands that differ in a key alone are two agents, and the key stands in no file of ours.
    return text if shown == text else f"{shown} #{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _program(word: str, cwd: str) -> str:
    """Its file, whatever links lead to its folder. Its own name stays: the Python of an environment is a link
    to one that knows nothing of it, and some programs do what they are called.
    """
    folder, name = os.path.split(os.path.join(cwd, word) if "/" in word else shutil.which(word) or word)
    return os.path.join(os.path.realpath(folder), name) if folder else name


def _file(word: str, cwd: str) -> str:
    path = os.path.join(cwd, word)
    return os.path.realpath(path) if word and "\0" not in word and os.path.exists(path) else word
