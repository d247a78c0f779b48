"""The store of installed agents: a folder for each agent, with a folder for each installation.

    agents/claude/state.json                 which installation is used, and which one was before it
    agents/claude/0.99.1-3f9c21aa/           an installation; its folder is never moved
    agents/claude/0.99.1-3f9c21aa/install.json   what was installed, from where, with which hashes

An installation counts from the moment that `state.json` names it, and that file is replaced as a whole: a
failure before leaves what was there, and a folder that no state names is removed by the next installation.
Reading imports little, because every look for an agent reads it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

import msgspec

from dragoman.decoders import json_decoder
from dragoman.errors import LocalMistake
from dragoman.system.files import try_lock
from dragoman.system.folders import user_folder
from dragoman_local.known.agent import AgentSource, KnownAgent
from dragoman_local.known.wellknown import WELL_KNOWN

STATE, RECORD, LOCK = "state.json", "install.json", ".lock"
T = TypeVar("T")

DistributionKind: TypeAlias = Literal["npx", "uvx", "binary"]
"""The kind of an agent's distribution: a package of npm, one of Python, or an archive. The words are the
registry's.
"""


HashSource: TypeAlias = Literal["list", "registry", "nothing"]
"""The source of a hash: the list of agents, the package's registry, or none."""


class PackageHash(msgspec.Struct, frozen=True, kw_only=True):
    """One package or archive of an installation, with its hash."""

    name: str
    version: str
    hash: str


class InstallRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The description of an installation."""

    name: str
    version: str
    kind: DistributionKind
    source: str
    """The package or the archive."""
    command: tuple[str, ...]
    env: dict[str, str] = {}
    title: str = ""
    license: str = ""
    packages: tuple[PackageHash, ...] = ()
    is_pinned: bool = False
    """Whether the user chose this version: an update of all agents does not change it."""
    checked_by: HashSource = "nothing"
    """The source of the hash for the agent's own package or archive."""
    scripts: tuple[str, ...] = ()
    """Packages whose install scripts were not run."""
    schema: int = 1


class InstallState(msgspec.Struct, frozen=True, kw_only=True):
    """The used installation of an agent, and the others, as names of folders."""

    current: str
    previous: str | None = None


class InstalledAgent(msgspec.Struct, frozen=True, kw_only=True):
    """An installed agent."""

    folder: Path
    state: InstallState
    record: InstallRecord
    previous: InstallRecord | None = None

    def as_known(self) -> KnownAgent:
        """Return the agent for starting. It gets the variables that its maker documents, like one on PATH."""
        record = self.record
        allow = next((entry.allow for entry in WELL_KNOWN if entry.name == record.name), ())
        return KnownAgent(
            name=record.name,
            command=record.command,
            env=record.env,
            allow=allow,
            source=AgentSource.INSTALLED,
            title=f"{record.title} {record.version}".strip(),
        )


def store_folder() -> Path:
    """Return the folder of installed agents."""
    return user_folder("data") / "agents"


def installed_agents() -> list[InstalledAgent]:
    """Return all installed agents, by name. Unreadable ones are left out."""
    try:
        names = sorted(entry.name for entry in os.scandir(store_folder()) if entry.is_dir())
    except OSError:
        return []
    agents = (find_installed(name) for name in names)
    return [agent for agent in agents if agent is not None]


def find_installed(name: str) -> InstalledAgent | None:
    """Return the installed agent with this name, if any."""
    if not name or name.startswith(".") or os.path.basename(name) != name:
        return None
    folder = store_folder() / name
    state = _read(folder / STATE, InstallState)
    record = None if state is None else _read(folder / state.current / RECORD, InstallRecord)
    if state is None or record is None:
        return None
    previous = None if state.previous is None else _read(folder / state.previous / RECORD, InstallRecord)
    return InstalledAgent(folder=folder, state=state, record=record, previous=previous)


def require_installed(name: str) -> InstalledAgent:
    """Do the same; raise `LocalMistake` if there is none."""
    agent = find_installed(name)
    if agent is None:
        names = ", ".join(agent.record.name for agent in installed_agents()) or "none"
        raise LocalMistake(f"dragoman has not installed {name!r}; installed are: {names}")
    return agent


@contextmanager
def new_installation(name: str, version: str) -> Iterator[Path]:
    """Create an empty folder for an installation. It is removed again unless a state names it at the end."""
    home = store_folder() / name
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    _remove_strays(home)
    folder = home / f"{version}-{os.urandom(4).hex()}"
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        state = _read(home / STATE, InstallState)
        if state is None or folder.name not in (state.current, state.previous):
            remove_tree(folder)
            with suppress(OSError):  # it holds another installation
                home.rmdir()


@contextmanager
def locked_store() -> Iterator[None]:
    """Lock the store for one installer. Raises `LocalMistake` if another one has the lock."""
    root = store_folder()
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(root / LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    except OSError as error:
        raise LocalMistake(f"cannot write to {root}: {error.strerror}") from None
    try:
        if not try_lock(descriptor):
            raise LocalMistake("another dragoman installs or removes an agent; try again when it is done")
        yield
    finally:
        os.close(descriptor)


def write_record(folder: Path, record: InstallRecord) -> None:
    """Write the description of an installation into its folder."""
    _write(folder / RECORD, msgspec.json.format(msgspec.json.encode(record), indent=2))


def use_installation(home: Path, state: InstallState) -> None:
    """Activate an installation, and remove those that the state does not name."""
    _write(home / STATE, msgspec.json.encode(state))
    _remove_strays(home)


def _write(path: Path, data: bytes) -> None:
    from dragoman.system.replacement import replace_file  # who only looks an agent up writes nothing

    replace_file(path, data)


def remove_agent_files(agent: InstalledAgent) -> None:
    """Remove all installations of an agent. It is gone at once, even if some files can't be removed."""
    (agent.folder / STATE).unlink()
    remove_tree(agent.folder)


def remove_tree(folder: Path) -> None:
    """Remove a folder with its contents; files that the system keeps are left for the next call."""
    shutil.rmtree(folder, ignore_errors=True)


def _remove_strays(home: Path) -> None:
    state = _read(home / STATE, InstallState)
    named = {STATE} if state is None else {STATE, state.current, state.previous}
    for entry in os.scandir(home):
        if entry.name not in named:
            remove_tree(Path(entry.path)) if entry.is_dir(follow_symlinks=False) else os.unlink(entry.path)


def _read(path: Path, kind: type[T]) -> T | None:
    try:
        return json_decoder(kind).decode(path.read_bytes())
    except (OSError, msgspec.DecodeError):
        return None
