"""Lists of agents to install, in the format of the public ACP agent registry.

    registry = read_registry()
    entry = registry.find("claude")

A list comes with this package, with the date on which it was made. A person may put a newer one beside it
(`dragoman agents registry refresh`); its entries then win. `make interop` writes the versions, hashes and
dates of the agents that it tried into the shipped one. Reading is lenient to unknown members and bounded in
bytes and entries; an entry that makes no sense is left out, with a note. `tested`, and `integrity`, `sha256`
and `needs_scripts` of a package, are members of our own; the public form has hashes for archives alone.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path, PurePosixPath

import msgspec

from dragoman.decoders import convert, json_decoder
from dragoman.errors import LocalMistake
from dragoman.system.folders import user_folder
from dragoman_local.known.installation.store import DistributionKind
from dragoman_local.known.wellknown import WELL_KNOWN, WellKnown

SHIPPED = Path(__file__).with_name("registry.json")
MOST_BYTES = 8 * 1024 * 1024
"""The most bytes of a list: the public one has less than a hundredth of that."""
MOST_ENTRIES = 2_000

ID = re.compile(r"[a-z][a-z0-9-]{0,63}")
VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}")
"""The form of a version, which becomes the name of a folder and a word of a command: not a path, an option or
a range.
"""


class PackageSource(msgspec.Struct, frozen=True, kw_only=True):
    """A package of npm (`npx`) or of Python (`uvx`)."""

    package: str
    cmd: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    integrity: str | None = None
    """The hash of an npm package: `sha512-…`, as in a lock file."""
    sha256: str | None = None
    """The hash of a Python package's file."""
    needs_scripts: bool = False
    """Whether the agent needs the install scripts of its packages."""


class ArchiveSource(msgspec.Struct, frozen=True, kw_only=True):
    """An archive with a program, for one platform."""

    archive: str
    cmd: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    sha256: str | None = None


class AgentDistribution(msgspec.Struct, frozen=True, kw_only=True):
    """The ways to get an agent; at least one."""

    npx: PackageSource | None = None
    uvx: PackageSource | None = None
    binary: dict[str, ArchiveSource] | None = None


class RegistryEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One agent of a list."""

    id: str
    name: str
    version: str
    distribution: AgentDistribution
    description: str = ""
    license: str = ""
    website: str = ""
    repository: str = ""
    tested: date | None = None
    """The day of this version's test with Dragoman; only in the shipped list."""

    @property
    def homepage(self) -> str:
        """Its https homepage; empty if the list has none."""
        return next((page for page in (self.website, self.repository) if page.startswith("https://")), "")

    @property
    def agent_name(self) -> str:
        """The agent's name in Dragoman: the well-known one, otherwise its id."""
        return next((known.name for known in WELL_KNOWN if self.id in _ids(known)), self.id)

    def kinds(self, target: str | None = None) -> list[DistributionKind]:
        """The possible ways on this machine, the most exactly pinned first."""
        options = self.distribution
        kinds: list[DistributionKind] = []
        if options.binary and (target or this_platform()) in options.binary:
            kinds.append("binary")
        if options.npx:
            kinds.append("npx")
        if options.uvx:
            kinds.append("uvx")
        return kinds


class RegistryFile(msgspec.Struct, frozen=True, kw_only=True):
    """A list in our own format."""

    made: date
    """The day on which it was created or downloaded."""
    agents: list[RegistryEntry]
    origin: str = ""
    """The origin of a list that the user downloaded; empty for the shipped one."""
    schema: int = 1


@dataclass(frozen=True, slots=True)
class AgentRegistry:
    """The valid entries by id, and the day of the newest list."""

    entries: Mapping[str, RegistryEntry]
    made: date
    origin: str
    folder: Path | None = None
    """The base of relative paths of packages and archives; None if local files are not allowed."""

    def find(self, name: str) -> RegistryEntry:
        """Return the entry with this name: an id of the list, or our name of the agent."""
        word = name.casefold()
        entry = self.entries.get(word)
        for known in WELL_KNOWN:
            if entry is None and (word == known.name or word in known.aliases):
                entry = next((self.entries[key] for key in _ids(known) if key in self.entries), None)
        if entry is None:
            raise LocalMistake(
                f"no agent named {name!r} in the list. Choose from {', '.join(sorted(self.names()))}"
            )
        return entry

    def names(self) -> Iterator[str]:
        return (entry.agent_name for entry in self.entries.values())


def read_registry() -> AgentRegistry:
    """Return the shipped list, with the entries of the downloaded one in front."""
    shipped = read_registry_file(SHIPPED)
    entries = {entry.id: entry for entry in shipped.agents}
    if not (place := refreshed_path()).exists():
        return AgentRegistry(entries, shipped.made, "")
    refreshed = read_registry_file(place)
    entries.update((entry.id, entry) for entry in refreshed.agents)
    folder = Path(refreshed.origin).parent if os.path.isabs(refreshed.origin) else None
    return AgentRegistry(entries, refreshed.made, refreshed.origin, folder)


def refreshed_path() -> Path:
    """Return the path of the downloaded list."""
    return user_folder("data") / "registry.json"


def read_registry_file(path: Path) -> RegistryFile:
    """Read a list in Dragoman's own format. Raises `LocalMistake`."""
    try:
        return json_decoder(RegistryFile).decode(read_bounded(path))
    except msgspec.ValidationError as error:
        raise LocalMistake(f"{path} is not a list of agents: {error}") from None
    except msgspec.DecodeError:
        raise LocalMistake(f"{path} is not JSON") from None


def read_bounded(path: Path) -> bytes:
    """Return the bytes of a list. Raises `LocalMistake` if there are too many, or none."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise LocalMistake(f"cannot read {path}: {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise LocalMistake(f"{path} is larger than a list of agents may be ({MOST_BYTES:,} bytes)")
    return data


def parse_registry(data: bytes, *, origin: str, today: date) -> tuple[RegistryFile, list[str]]:
    """Parse a public `registry.json` or one `agent.json`; return it with notes on skipped entries."""
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        raise LocalMistake(f"{origin} is not JSON") from None
    items: object = document.get("agents") if isinstance(document, dict) else None
    if isinstance(document, dict) and "distribution" in document:
        items = [document]  # one `agent.json`
    if not isinstance(items, list):
        raise LocalMistake(f"{origin} is not a list of agents: it has no member `agents`")
    if len(items) > MOST_ENTRIES:
        raise LocalMistake(f"{origin} has {len(items):,} agents; {MOST_ENTRIES:,} are the most")
    entries: dict[str, RegistryEntry] = {}
    notes = []
    for number, item in enumerate(items):
        try:
            # No other list knows our trials.
            entry = convert({**item, "tested": None} if isinstance(item, dict) else item, RegistryEntry)
            check_entry(entry)
            entries[entry.id] = entry
        except (msgspec.ValidationError, LocalMistake) as error:
            label = item.get("id") if isinstance(item, dict) else None
            notes.append(f"entry {number} ({str(label)[:64]}) was left out: {error}")
    if not entries:
        raise LocalMistake(f"{origin} has no agent that can be used" + (f"; {notes[0]}" if notes else ""))
    return RegistryFile(made=today, agents=list(entries.values()), origin=origin), notes


def check_entry(entry: RegistryEntry) -> None:
    """Raise `LocalMistake` for values that must not become a path or part of a command."""
    if not ID.fullmatch(entry.id):
        raise LocalMistake("its id is not lower case letters, digits and hyphens")
    if not VERSION.fullmatch(entry.version):
        raise LocalMistake(f"{entry.version[:64]!r} is not a version")
    options = entry.distribution
    if not (options.npx or options.uvx or options.binary):
        raise LocalMistake("it says no way to get it")
    for source in (options.npx, options.uvx):
        if source is not None and (not source.package or source.package.startswith("-")):
            raise LocalMistake(f"{source.package!r} is not a package")
        if source is not None and source.cmd is not None and not is_inner_path(source.cmd):
            raise LocalMistake("its command is a path outside of the package")
    for target in (options.binary or {}).values():
        if not is_inner_path(target.cmd):
            raise LocalMistake("its command is a path outside of the archive")
        if target.sha256 is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", target.sha256):
            raise LocalMistake("its sha256 is not a hash")


def is_inner_path(text: str) -> bool:
    """Whether a path with either kind of slash stays in its base folder."""
    path = PurePosixPath(text.replace("\\", "/"))
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and ":" not in text


def this_platform() -> str:
    """Return this machine's name in the registry, such as `linux-x86_64`."""
    system = {"win32": "windows", "darwin": "darwin"}.get(sys.platform, "linux")
    machine = platform.machine().lower()
    return f"{system}-{ {'amd64': 'x86_64', 'arm64': 'aarch64'}.get(machine, machine) }"


def is_newer(version: str, *, than: str) -> bool:
    """Whether a version is newer than another. False if they can't be compared."""
    mine, other = _version_key(version), _version_key(than)
    return mine is not None and other is not None and mine > other


def _version_key(version: str) -> tuple[tuple[int, ...], int, tuple[tuple[bool, str, int], ...]] | None:
    """The numbers, then: before the release (`-rc.1`, `b2`), the release, after it (`.post1`)."""
    found = re.fullmatch(r"v?(\d+(?:\.\d+)*)[-._]?([^+]*)(?:\+.*)?", version.lower())
    if found is None:
        return None
    numbers = tuple(int(part) for part in found[1].split("."))
    while numbers and numbers[-1] == 0:
        numbers = numbers[:-1]
    parts = tuple(
        (word != "", word, int(digits or 0)) for word, digits in re.findall(r"([a-z]+)|(\d+)", found[2])
    )
    rank = 0 if not found[2] else 1 if found[2].startswith("post") else -1
    return numbers, rank, parts


def split_version(package: str, kind: DistributionKind) -> tuple[str, str | None]:
    """Split `@scope/name@1.2` into `@scope/name` and `1.2`; Python writes `name==1.2` or `name@1.2`."""
    name, mark, version = package.partition("==") if kind == "uvx" else ("", "", "")
    if not mark:
        at = package.rfind("@")
        name, version = (package[:at], package[at + 1 :]) if at > 0 else (package, "")
    return name.strip(), version.strip() or None


def _ids(known: WellKnown) -> tuple[str, ...]:
    """Under which ids the public list may have an agent that we know."""
    return (known.registry, known.name, *known.aliases)
