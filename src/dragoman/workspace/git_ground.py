"""A folder in a git work tree: git says what is ignored and what has changed, and keeps the contents.

It works in a git folder of its own. The user's repository is read (its index, as a cache, and its objects)
and never written; nor are its configuration, hooks, filters and attributes used, since an agent that may
write files there could have them run something. So contents are taken as they are on disk.

The user's index is trusted only if nothing says that files on disk differ from their blobs and no entry is
marked as not to be looked at; otherwise every file is read once.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from dragoman.workspace.entries import (
    Capture,
    Deadline,
    Entry,
    Kind,
    OutOfTime,
    SnapshotSettings,
    kind_of,
    recorded,
)
from dragoman.workspace.plain_ground import noted

_KINDS: dict[str, Kind] = {"100644": "file", "100755": "program", "120000": "link"}
_SUBMODULE = "160000"

_CONVERTING = re.compile(rb"\b(filter|text|eol|crlf|ident|working-tree-encoding)\b")

_CONFIG = """[core]
    repositoryformatversion = {version}
    bare = false
    filemode = true
    symlinks = true
    autocrlf = false
    safecrlf = false
    fsmonitor = false
    untrackedCache = false
    compression = 0
    hooksPath = /dev/null
    attributesFile = /dev/null
    excludesFile = /dev/null
[gc]
    auto = 0
[extensions]
{extensions}
"""

_ATTRIBUTES = "* -text -eol -ident -filter -working-tree-encoding\n"


class GitFailed(Exception):
    """Git is not there, does not know this folder, or could not do what we asked."""


class Repository(NamedTuple):
    """The user's, as far as we read it."""

    top: str
    index_file: Path
    objects: Path
    exclude: Path
    algorithm: str


def find_repository(root: str, seconds: float) -> Repository:
    """The work tree that a folder is in; `GitFailed` if there is none."""
    asked = ("--show-object-format", "--show-toplevel")
    paths = [word for name in ("index", "objects", "info/exclude") for word in ("--git-path", name)]
    told = _git(["rev-parse", *asked, *paths], cwd=root, env=_environment(), seconds=seconds)
    lines = os.fsdecode(told).split("\n")
    if len(lines) != 6:
        raise GitFailed("a path with a line break")
    algorithm, top, *places = lines[:5]
    if os.path.commonpath((top, root)) != top:
        raise GitFailed("its work tree is elsewhere")
    index, objects, exclude = (Path(root, place) for place in places)
    return Repository(top, index, objects, exclude, algorithm)


class GitGround:
    """One root in a work tree."""

    def __init__(
        self,
        root: str,
        repository: Repository,
        store: Path,
        settings: SnapshotSettings,
        stop: threading.Event,
    ) -> None:
        self.root = root
        self._stop = stop
        self.algorithm = repository.algorithm
        self._repository = repository
        self._settings = settings
        self._folder = store / "git"
        self._env = {
            **_environment(),
            "GIT_DIR": str(self._folder),
            "GIT_WORK_TREE": repository.top,
            "GIT_INDEX_FILE": str(self._folder / "index"),
        }
        # The user's objects are for reading alone: git would freshen the date of one that it meets again.
        objects = os.path.realpath(repository.objects).replace("\\", "\\\\").replace('"', '\\"')
        self._env_with_objects = {**self._env, "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{objects}"'}
        self._deadline = Deadline(settings.seconds, stop)
        self.kept_bytes = 0
        self._prepare()

    def _prepare(self) -> None:
        """A git folder of our own."""
        (self._folder / "objects").mkdir(parents=True)
        (self._folder / "refs").mkdir()
        (self._folder / "info").mkdir()
        is_sha1 = self.algorithm == "sha1"
        extensions = "" if is_sha1 else f"    objectFormat = {self.algorithm}"
        config = _CONFIG.format(version=0 if is_sha1 else 1, extensions=extensions)
        (self._folder / "config").write_text(config)
        (self._folder / "HEAD").write_text("ref: refs/heads/none\n")
        (self._folder / "info/attributes").write_text(_ATTRIBUTES)
        if self._repository.exclude.is_file():
            shutil.copyfile(self._repository.exclude, self._folder / "info/exclude")
        if self._repository.index_file.is_file():
            # With its date: git goes by it where the clock was too slow to tell two changes apart.
            shutil.copy2(self._repository.index_file, self._folder / "index")
            if not self._is_index_raw():
                (self._folder / "index").unlink()

    def _is_index_raw(self) -> bool:
        """Whether the blobs that the index names are what the files hold, byte for byte."""
        try:
            listed = self._run("ls-files", "-v", "-z").split(b"\0")
            if any(entry[:1].islower() or entry[:1] == b"S" for entry in listed):
                return False
            settings = _git(
                ["config", "--get-regexp", r"^core\.(autocrlf|eol|attributesfile)$"],
                cwd=self.root,
                env=_environment(users=True),
                seconds=self._deadline.left,
                may_be=(0, 1),
            )
        except GitFailed:
            return False
        if any(line.split()[-1:] not in ([b"false"], [b"lf"], [b"native"]) for line in settings.splitlines()):
            return False
        attributes = [entry[2:] for entry in listed if entry.endswith(b".gitattributes")]
        files = [Path(self._repository.top, os.fsdecode(name)) for name in attributes]
        files.append(Path(self._repository.top, ".gitattributes"))
        files.append(self._repository.exclude.parent / "attributes")
        return not any(file.is_file() and _CONVERTING.search(file.read_bytes()) for file in files)

    def capture(self, *, keep: bool) -> Capture:
        """What is there now; git keeps new contents in any case."""
        self._deadline = Deadline(self._settings.seconds, self._stop)
        capture = Capture()
        try:
            by_date = self._update(capture)
            self._list(capture)
        except (GitFailed, OutOfTime) as error:
            why = "too much to look at" if isinstance(error, OutOfTime) else str(error)
            capture.is_complete = False
            capture.notes.append(f"{self.root}: {why}; changes here are not known")
            return capture
        capture.entries.update(by_date)
        capture.notes += noted(self.root, "too large to be kept, compared by date", sorted(by_date))
        return capture

    def content(self, entry: Entry) -> bytes:
        """What a blob holds; FileNotFoundError if it is gone."""
        try:
            self._deadline = Deadline(self._settings.seconds, self._stop)
            return self._run("cat-file", "blob", entry.digest, env=self._env_with_objects)
        except (GitFailed, OutOfTime) as error:
            raise FileNotFoundError(f"what it held is not at hand ({error})") from error

    def _update(self, capture: Capture) -> dict[str, Entry]:
        """Bring our index up to date. What is too large is given back, by date."""
        touched = self._names("ls-files", "-z", "-m", "-d", "-o", "--exclude-standard", "--", ".")
        ignored = self._names("ls-files", "-z", "-o", "-i", "--exclude-standard", "--directory", "--", ".")
        nested = sorted(name for name in touched if name.endswith("/"))
        folders = sorted(name for name in ignored if name.endswith("/"))
        capture.notes += noted(self.root, "repositories of their own, not looked into", nested)
        capture.notes += noted(self.root, "ignored by git, not looked into", folders)
        by_date: dict[str, Entry] = {}
        straight: dict[str, bool] = {}
        there, gone = [], []
        for name in sorted((touched | ignored) - set(nested) - set(folders)):
            status = self._status(name, straight)
            kind = None if status is None else kind_of(status)
            if status is None or kind is None:
                gone.append(name)
            elif status.st_size > self._settings.file_bytes or self._is_full(status.st_size):
                by_date[name] = recorded(status, kind)
                gone.append(name)
            else:
                there.append(name)
        self._feed(gone, "update-index", "-z", "--force-remove", "--stdin")
        self._feed(there, "update-index", "-z", "--add", "--replace", "--remove", "--stdin")
        return by_date

    def _is_full(self, size: int) -> bool:
        if self.kept_bytes + size > self._settings.total_bytes:
            return True
        self.kept_bytes += size
        return False

    def _list(self, capture: Capture) -> None:
        submodules: list[str] = []
        for line in self._run("ls-files", "-s", "-z", "--", ".").split(b"\0")[:-1]:
            about, _, name = line.partition(b"\t")
            mode, digest, _ = about.decode().split()
            kind = _KINDS.get(mode)
            try:
                path = name.decode()
            except UnicodeDecodeError:  # a name that nobody could be told
                continue
            if kind is not None:
                capture.entries[path] = Entry(kind, digest, 0)
            elif mode == _SUBMODULE:
                submodules.append(path)
        capture.notes += noted(self.root, "submodules, not looked into", submodules)

    def _status(self, name: str, straight: dict[str, bool]) -> os.stat_result | None:
        """Of a file, if no folder on the way to it has become a link."""
        folder = os.path.dirname(os.path.join(self.root, name))
        if folder not in straight:
            straight[folder] = os.path.realpath(folder) == folder
        if not straight[folder]:
            return None
        try:
            return os.lstat(os.path.join(self.root, name))
        except OSError:
            return None

    def _names(self, *words: str) -> set[str]:
        return {os.fsdecode(name) for name in self._run(*words).split(b"\0")[:-1]}

    def _feed(self, names: Iterable[str], *words: str) -> None:
        text = b"".join(os.fsencode(name) + b"\0" for name in names)
        if text:
            self._run(*words, feed=text)

    def _run(self, *words: str, feed: bytes = b"", env: dict[str, str] | None = None) -> bytes:
        return _git(words, cwd=self.root, env=env or self._env, seconds=self._deadline.left, feed=feed)


def _environment(*, users: bool = False) -> dict[str, str]:
    """Git's, without a word from whoever configured it; with `users`, as the user has it."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "XDG_CONFIG_HOME") if name in os.environ}
    kept |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_LITERAL_PATHSPECS": "1"}
    if not users:
        kept |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_ATTR_NOSYSTEM": "1"}
    return kept


def _git(
    words: Sequence[str],
    *,
    cwd: str,
    env: dict[str, str],
    seconds: float,
    feed: bytes = b"",
    may_be: tuple[int, ...] = (0,),
) -> bytes:
    try:
        done = subprocess.run(
            ["git", *words], cwd=cwd, env=env, input=feed, capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise OutOfTime from error
    except OSError as error:
        raise GitFailed(f"git cannot be started: {error.strerror}") from error
    if done.returncode not in may_be:
        raise GitFailed(f"git {words[0]} failed with {done.returncode}")
    return done.stdout
