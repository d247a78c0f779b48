"""Runs git safely in a folder of unknown origin: programs that its git configuration names are never run.

A repository's configuration names programs: filters, diff drivers, a monitor of files, hooks, commands for
connections. Whoever may write into a folder may write it. So files and contents are looked at from a git
folder of our own, which holds none of it (`Isolation`); the repository's index and objects are read in place.
Only what says where things are, and which commit a name means, is asked of the repository itself
(`ask_repository`): all that such a command could run is a fetch of missing objects, and that is shut off.

Settings that say how files are stored, and run nothing, are carried over by name (`SETTINGS`).

This module builds command lines and environments; its callers start them.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

SETTINGS: Final = (
    *("core.autocrlf", "core.eol", "core.filemode", "core.symlinks", "core.ignorecase", "core.excludesfile"),
    *("core.precomposeunicode", "core.protecthfs", "core.protectntfs", "core.trustctime", "core.checkstat"),
)
"""Settings about how files are stored and which are ignored. None of these names a program."""

READ_SETTINGS: Final = ("config", "-z", "--get-regexp", "^(" + "|".join(SETTINGS).replace(".", "\\.") + ")$")
"""The arguments that read a repository's settings; `read_settings` parses the answer."""

LOCATE: Final = (
    *("rev-parse", "--show-object-format", "--show-toplevel"),
    *(word for name in ("index", "objects", "info/exclude", "shallow") for word in ("--git-path", name)),
)
"""The arguments that locate a repository; `read_places` parses the answer."""

# A hook is told this way where its repository is, and its index may be a temporary one.
_INHERITED: Final = frozenset(
    {
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_COMMON_DIR",
        "GIT_CEILING_DIRECTORIES",
        # Who writes a note.
        *(f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL", "DATE")),
    }
)

_QUIET: Final = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": ":",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    # No protocol may be used, not even that of files: a missing object is missing.
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ATTR_NOSYSTEM": "1",
}

_OVERRIDES: Final = (
    *(
        "core.fsmonitor=false",
        f"core.hooksPath={os.devnull}",
        "core.pager=cat",
        "core.editor=:",
        "core.sshCommand=false",
        "core.gitProxy=",
        "core.askPass=",
    ),
    *("core.alternateRefsCommand=true", "diff.external=", "credential.helper=", "protocol.allow=never"),
    *("submodule.recurse=false", "gc.auto=0", "maintenance.auto=false", "core.quotepath=true"),
)

_NO_ATTRIBUTES: Final = f"core.attributesFile={os.devnull}"

_CONFIG: Final = """[core]
    repositoryformatversion = {version}
    bare = false
    logAllRefUpdates = false
[extensions]
{extensions}
"""


class GitPlaces(NamedTuple):
    """The paths of a repository's files that we read."""

    top: str
    """The root folder of the repository's files."""
    index_file: Path
    objects: Path
    exclude: Path
    shallow: Path
    algorithm: str


class GitCommand(NamedTuple):
    """A git command to start."""

    words: list[str]
    env: dict[str, str]


def find_git(environ: Mapping[str, str] | None = None) -> str | None:
    """Return the path of git. Relative entries of PATH are skipped: they would point into the inspected
    folder.
    """
    entries = (os.environ if environ is None else environ).get("PATH", os.defpath).split(os.pathsep)
    return shutil.which("git", path=os.pathsep.join(entry for entry in entries if os.path.isabs(entry)))


def ask_repository(program: str, words: Sequence[str]) -> GitCommand:
    """Return a command that reads names and settings of the repository around its folder, and runs no other
    program.
    """
    overrides = (word for setting in _OVERRIDES for word in ("-c", setting))
    return GitCommand([program, *overrides, *words], {**_inherited_environment(_INHERITED), **_QUIET})


def read_places(answer: bytes, folder: str | Path) -> GitPlaces | None:
    """Parse the answer to `LOCATE`; None if a path in it holds a line break."""
    lines = os.fsdecode(answer).split("\n")
    if len(lines) != 7:
        return None
    algorithm, top, *paths = lines[:6]
    index, objects, exclude, shallow = (Path(folder, path) for path in paths)
    return GitPlaces(top, index, objects, exclude, shallow, algorithm)


def read_settings(answer: bytes) -> tuple[str, ...]:
    """Parse the answer to `READ_SETTINGS` as `name=value`; a name without a value is true."""
    settings: dict[str, str] = {}
    for item in os.fsdecode(answer).split("\0"):
        name, line_end, value = item.partition("\n")
        if name.lower() in SETTINGS:
            settings[name.lower()] = value if line_end else "true"
    return tuple(f"{name}={value}" for name, value in settings.items())


def read_names(answer: bytes) -> list[str]:
    """Parse the answer to a command with `-z`: each item ends with a NUL."""
    return [os.fsdecode(name) for name in answer.split(b"\0")[:-1]]


class Isolation:
    """Our own git folder in front of a repository's files, index and objects. A context manager.

    With it git knows no refs: name commits by their ids. It writes nothing into the repository.
    """

    def __init__(
        self, program: str, places: GitPlaces, *, settings: Iterable[str] = (), attributes: str = ""
    ) -> None:
        """`attributes` are lines that take precedence over any `.gitattributes`."""
        self._program = program
        self._places = places
        self._settings = tuple(settings)
        self._attributes = attributes
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Isolation:
        self._folder = tempfile.TemporaryDirectory(prefix="dragoman-git-", ignore_cleanup_errors=True)
        self._fill(Path(self._folder.name))
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _fill(self, folder: Path) -> None:
        fill_own_folder(folder, self._places.algorithm)
        (folder / "info" / "attributes").write_text(self._attributes)
        for source, name in ((self._places.exclude, "info/exclude"), (self._places.shallow, "shallow")):
            if source.is_file():
                shutil.copyfile(source, folder / name)
        # A split index names a second file, which git looks for in its own folder.
        for index_part in self._places.index_file.parent.glob("sharedindex.*"):
            shutil.copyfile(index_part, folder / index_part.name)

    def command(self, *words: str) -> GitCommand:
        """Return a command that sees the repository's files, index and objects, but not its settings."""
        assert self._folder is not None, "an isolation is entered before it is used"
        where = {
            "GIT_INDEX_FILE": os.path.abspath(self._places.index_file),
            "GIT_OBJECT_DIRECTORY": os.path.abspath(self._places.objects),
        }
        return in_own_folder(
            self._program,
            words,
            folder=self._folder.name,
            top=self._places.top,
            where=where,
            settings=self._settings,
        )


def in_own_folder(
    program: str,
    words: Sequence[str],
    *,
    folder: str,
    top: str,
    where: Mapping[str, str],
    settings: Sequence[str] = (),
) -> GitCommand:
    """Return a command that uses our own git folder on other people's files, without any
    user's git settings.
    """
    options = (word for setting in (*_OVERRIDES, _NO_ATTRIBUTES, *settings) for word in ("-c", setting))
    env = {
        **_inherited_environment(frozenset()),
        **_QUIET,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_DIR": folder,
        "GIT_WORK_TREE": top,
        **where,
    }
    return GitCommand([program, *options, *words], env)


def fill_own_folder(folder: Path, algorithm: str) -> None:
    """Create our own git folder, which only names the hash in use."""
    for name in ("objects", "refs", "info"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/none\n")
    is_sha1 = algorithm == "sha1"
    extensions = "" if is_sha1 else f"    objectFormat = {algorithm}"
    (folder / "config").write_text(_CONFIG.format(version=0 if is_sha1 else 1, extensions=extensions))


def _inherited_environment(git_names: frozenset[str]) -> dict[str, str]:
    """Our environment without git's variables, but for some."""
    return {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in git_names
    }
