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
import stat
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from dragoman.system import git
from dragoman.system.git import GitPlaces, read_names
from dragoman.system.git_process import GitFailed, GitTimeout, git_program, run_git
from dragoman_local.workspace.folder_snapshot import list_in_note
from dragoman_local.workspace.snapshot_entries import (
    LATE_CHANGE,
    Capture,
    Deadline,
    Kind,
    OutOfTime,
    SnapshotEntry,
    SnapshotSettings,
    TurnStart,
    entry_by_date,
    kind_of,
)

_KINDS: dict[str, Kind] = {"100644": "file", "100755": "program", "120000": "link"}
_SUBMODULE = "160000"

_CONVERTING = re.compile(rb"\b(filter|text|eol|crlf|ident|working-tree-encoding)\b")

# Contents are taken as they are on disk, and kept without thinking about their size.
_SETTINGS = (
    *("core.filemode=true", "core.symlinks=true", "core.autocrlf=false", "core.safecrlf=false"),
    *("core.untrackedCache=false", "core.compression=0", f"core.excludesFile={os.devnull}"),
)

_ATTRIBUTES = "* -text -eol -ident -filter -working-tree-encoding\n"


def find_repository(root: str, seconds: float) -> GitPlaces:
    """The work tree that a folder is in; `GitFailed` if there is none."""
    # Nearly all that git would say to most folders, without a process. Where variables name the repository,
    # it is asked.
    folders = (Path(root), *Path(root).parents)
    if "GIT_DIR" not in os.environ and not any(os.path.lexists(folder / ".git") for folder in folders):
        raise GitFailed("not a git repository, nor is any folder around it")
    output = run_git(git.ask_repository(git_program(), git.LOCATE), cwd=root, seconds=seconds)
    places = git.read_places(output, root)
    if places is None:
        raise GitFailed("a path with a line break")
    if os.path.commonpath((places.top, root)) != places.top:
        raise GitFailed("its work tree is elsewhere")
    return places


class GitFolder:
    """One root in a work tree."""

    def __init__(
        self,
        root: str,
        repository: GitPlaces,
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
        self._where = {"GIT_INDEX_FILE": str(self._folder / "index")}
        # The user's objects are for reading alone: git would freshen the date of one that it meets again.
        objects = os.path.realpath(repository.objects).replace("\\", "\\\\").replace('"', '\\"')
        self._with_objects = {**self._where, "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{objects}"'}
        self._deadline = Deadline(settings.seconds, stop)
        self.kept_bytes = 0
        self._modes: dict[str, int] = {}  # of files that git has not stored as they are
        self._index_count = 0  # entries of the user's index
        self._prepare()
        self._prepared_at = time.time_ns()

    def _prepare(self) -> None:
        """A git folder of our own."""
        git.fill_own_folder(self._folder, self.algorithm)
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
            index_entries = self._run("ls-files", "-v", "-z").split(b"\0")
            self._index_count = len(index_entries)
            if any(entry[:1].islower() or entry[:1] == b"S" for entry in index_entries):
                return False
            settings = run_git(
                git.ask_repository(
                    git_program(), ("config", "--get-regexp", r"^core\.(autocrlf|eol|attributesfile)$")
                ),
                cwd=self.root,
                seconds=self._deadline.seconds_left,
                may_be=(0, 1),
            )
        except GitFailed:
            return False
        if any(line.split()[-1:] not in ([b"false"], [b"lf"], [b"native"]) for line in settings.splitlines()):
            return False
        attributes = [entry[2:] for entry in index_entries if entry.endswith(b".gitattributes")]
        files = [Path(self._repository.top, os.fsdecode(name)) for name in attributes]
        files.append(Path(self._repository.top, ".gitattributes"))
        files.append(self._repository.exclude.parent / "attributes")
        return not any(file.is_file() and _CONVERTING.search(file.read_bytes()) for file in files)

    def capture(self, *, keep: bool, start: TurnStart | None = None) -> Capture:
        """What is there now; git keeps new contents in any case. What may have changed since `start` is told
        apart: it is no longer what was there before.
        """
        if start is not None:
            start.is_heeded = True
            start.file_count += self._index_count
            if start.moment is not None and start.moment <= self._prepared_at:
                # The agent may have told git of its work before we took the index for what was there.
                note = f"{self.root}: the turn began before this look; changes here are not known"
                return Capture(is_complete=False, notes=[note])
        self._deadline = Deadline(self._settings.seconds, self._stop)
        capture = Capture()
        try:
            by_date = self._update(capture, start)
            self._list(capture)
        except (GitFailed, GitTimeout, OutOfTime) as error:
            why = str(error) if isinstance(error, GitFailed) else "too much to look at"
            capture.is_complete = False
            capture.notes.append(f"{self.root}: {why}; changes here are not known")
            return capture
        capture.entries.update(by_date)
        for name in capture.unknown:
            capture.entries.pop(name, None)
        if start is not None and start.moment is not None:
            folders = {name[: name.rfind("/") + 1] for name in (*capture.entries, *capture.unknown, "")}
            capture.unknown_folders.update(name for name in folders if self._is_late(name, start))
        capture.notes += list_in_note(self.root, LATE_CHANGE, sorted(capture.unknown))
        capture.notes += list_in_note(self.root, "too large to be kept, compared by date", sorted(by_date))
        return capture

    def content(self, entry: SnapshotEntry) -> bytes:
        """What a blob holds; FileNotFoundError if it is gone."""
        try:
            self._deadline = Deadline(self._settings.seconds, self._stop)
            return self._run("cat-file", "blob", entry.digest, where=self._with_objects)
        except (GitFailed, GitTimeout, OutOfTime) as error:
            raise FileNotFoundError(f"what it held is not at hand ({error})") from error

    def _update(self, capture: Capture, start: TurnStart | None) -> dict[str, SnapshotEntry]:
        """Bring our index up to date. What is too large is given back, by date."""
        changed_names = self._names("ls-files", "-z", "-m", "-d", "-o", "--exclude-standard", "--", ".")
        ignored_names = self._names(
            "ls-files", "-z", "-o", "-i", "--exclude-standard", "--directory", "--", "."
        )
        repositories = sorted(name for name in changed_names if name.endswith("/"))
        folders = sorted(name for name in ignored_names if name.endswith("/"))
        capture.notes += list_in_note(self.root, "repositories of their own, not looked into", repositories)
        capture.notes += list_in_note(self.root, "ignored by git, not looked into", folders)
        by_date: dict[str, SnapshotEntry] = {}
        straight: dict[str, bool] = {}
        present_names, absent_names = [], []
        for name in sorted((changed_names | ignored_names) - set(repositories) - set(folders)):
            status = self._status(name, straight)
            kind = None if status is None else kind_of(status)
            if status is None or kind is None:
                absent_names.append(name)
            elif status.st_size > self._settings.file_bytes or self._is_full(status.st_size):
                by_date[name] = entry_by_date(status, kind)
                absent_names.append(name)
            else:
                present_names.append(name)
                self._modes[name] = stat.S_IMODE(status.st_mode)
        self._feed(absent_names, "update-index", "-z", "--force-remove", "--stdin")
        self._feed(present_names, "update-index", "-z", "--add", "--replace", "--remove", "--stdin")
        if start is not None and start.moment is not None:
            # When they have been read: somebody may have written to them meanwhile.
            names = (*present_names, *absent_names)
            capture.unknown.update(name for name in names if self._is_late(name, start))
        return by_date

    def _is_late(self, name: str, start: TurnStart) -> bool:
        """Whether a file may have been changed or removed when the turn had begun."""
        path = os.path.join(self.root, name)
        while True:
            try:
                return start.is_before(os.lstat(path))
            except OSError:  # it is gone: the folder that it was in has the date of that, if it is there
                path = os.path.dirname(path)

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
                capture.entries[path] = SnapshotEntry(kind, digest, 0, self._modes.get(path))
            elif mode == _SUBMODULE:
                submodules.append(path)
        capture.notes += list_in_note(self.root, "submodules, not looked into", submodules)

    def _status(self, name: str, straight: dict[str, bool]) -> os.stat_result | None:
        """The status of a file; None if a folder on the way to it has become a link."""
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
        return set(read_names(self._run(*words)))

    def _feed(self, names: Iterable[str], *words: str) -> None:
        text = b"".join(os.fsencode(name) + b"\0" for name in names)
        if text:
            self._run(*words, feed=text)

    def _run(self, *words: str, feed: bytes = b"", where: dict[str, str] | None = None) -> bytes:
        command = git.in_own_folder(
            git_program(),
            words,
            folder=str(self._folder),
            top=self._repository.top,
            where=where or self._where,
            settings=_SETTINGS,
        )
        return run_git(command, cwd=self.root, seconds=self._deadline.seconds_left, feed=feed)
