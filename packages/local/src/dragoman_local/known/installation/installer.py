"""Installs, updates, rolls back and removes an agent.

    plan = make_plan("claude", registry=read_registry())
    result = install(plan, progress=print)

A plan says all that would happen and does nothing. An installation goes into a folder of its own and counts
only once it is complete (`store`), so that a failure leaves what was there. The installation before stays,
for `roll_back`; older ones are removed.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import msgspec

from dragoman.errors import LocalMistake
from dragoman_local.known.config import NAME
from dragoman_local.known.installation.archives import InstallFailed, Progress, download, inner_path, unpack
from dragoman_local.known.installation.packages import (
    PackageInstall,
    PackageRequest,
    install_npm,
    install_python,
    listed_version,
    npm_command,
    package_spec,
    pip_command,
)
from dragoman_local.known.installation.registry import (
    VERSION,
    AgentRegistry,
    ArchiveSource,
    PackageSource,
    RegistryEntry,
    this_platform,
)
from dragoman_local.known.installation.store import (
    DistributionKind,
    HashSource,
    InstalledAgent,
    InstallRecord,
    InstallState,
    PackageHash,
    find_installed,
    locked_store,
    new_installation,
    remove_agent_files,
    require_installed,
    store_folder,
    use_installation,
    write_record,
)
from dragoman_local.known.lookup import BUILT_IN

SECONDS = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallPlan:
    """All steps of an installation."""

    name: str
    version: str
    kind: DistributionKind
    entry: RegistryEntry
    source: PackageSource | ArchiveSource
    spec: str
    """The package or the address to download."""
    folder: Path | None
    """The base of local files in the list."""
    is_pinned: bool
    is_listed: bool = True
    """Whether the list has this version: its hash, licence and test date do not apply to any other."""
    allow_scripts: bool = False
    allow_unverified: bool = False
    python: str = sys.executable
    """The Python for a Python package."""

    @property
    def identity(self) -> str:
        """A digest of all steps: a plan with the same identity does the same."""
        values = (self.name, self.version, self.kind, self.source, self.spec, self.steps, str(self.folder))
        return hashlib.sha256(msgspec.json.encode(values, order="deterministic")).hexdigest()[:32]

    @property
    def license(self) -> str:
        """Its licence, if the list has it for this version."""
        return self.entry.license if self.is_listed else ""

    @property
    def tested(self) -> date | None:
        """The day of this version's test with Dragoman."""
        return self.entry.tested if self.is_listed else None

    @property
    def listed_hash(self) -> str | None:
        """The list's hash of this version."""
        if isinstance(self.source, ArchiveSource) or self.kind == "uvx":
            return f"SHA-256 {self.source.sha256}" if self.source.sha256 else None
        return self.source.integrity

    @property
    def checked_by(self) -> HashSource:
        """The source of the hash to check; nothing is installed if it does not match."""
        if self.listed_hash is not None:
            return "list"
        is_file = isinstance(self.source, ArchiveSource) or os.path.isabs(self.spec)
        return "nothing" if is_file else "registry"

    @property
    def check(self) -> str:
        """The check in words."""
        if self.listed_hash is not None:
            return f"{self.listed_hash}, from the list"
        tool = "npm" if self.kind == "npx" else "pip"
        return {
            "registry": f"{tool}'s registry alone: the list has no hash of {self.version}",
            "nothing": "nothing: the list has no hash",
        }[self.checked_by]

    @property
    def steps(self) -> list[str]:
        """The commands to run, one line for each step."""
        check = "skip the check: the list has no hash"
        if self.checked_by != "nothing":
            check = f"check it by {self.check}"
        if isinstance(self.source, ArchiveSource):
            return [f"download {self.spec}", check, "unpack it"]
        if self.kind == "npx":
            scripts = ["run npm rebuild, which runs the install scripts"] if self.allow_scripts else []
            return [f"run {shlex.join(npm_command(self.spec))}", check, *scripts]
        words = shlex.join(pip_command(self.spec, allow_scripts=self.allow_scripts))
        return [f"run {self.python} -m venv", f"run {words}", check]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallResult:
    """The new installation, and the previous one."""

    record: InstallRecord
    before: InstallRecord | None
    folder: Path

    @property
    def changes(self) -> list[str]:
        """The differences between the two, one line for each."""
        return [] if self.before is None else describe_changes(self.before, self.record)


def make_plan(
    query: str,
    *,
    registry: AgentRegistry,
    kind: DistributionKind | None = None,
    allow_scripts: bool = False,
    allow_unverified: bool = False,
    python: str | None = None,
) -> InstallPlan:
    """Plan an installation of `NAME` or `NAME@VERSION`. Raises `LocalMistake` if it is impossible."""
    name, _, version = query.partition("@")
    entry = registry.find(name)
    if version and not VERSION.fullmatch(version):
        raise LocalMistake(f"{version!r} is not a version")
    agent_name = entry.agent_name
    if any(agent.name == agent_name for agent in BUILT_IN) or not NAME.fullmatch(agent_name):
        raise LocalMistake(f"an agent that comes with dragoman is called {agent_name}")
    chosen = _choose_kind(entry, kind, is_other=version not in ("", entry.version))
    source = _source(entry, chosen)
    listed = listed_version(source, chosen, entry=entry)
    if isinstance(source, ArchiveSource):
        if source.sha256 is None and not allow_unverified:
            raise LocalMistake(
                f"no hash for the archive of {agent_name}. To install it anyway, use --allow-unverified"
            )
        spec = source.archive
    else:
        spec = package_spec(source, chosen, entry=entry, version=version or None, folder=registry.folder)
        if source.needs_scripts and not allow_scripts:
            raise LocalMistake(
                f"{agent_name} does not work without the install scripts of its packages, which run with "
                "your rights; --allow-scripts runs them"
            )
        if version not in ("", listed):
            source = msgspec.structs.replace(source, integrity=None, sha256=None)
    return InstallPlan(
        name=agent_name,
        version=version or listed,
        kind=chosen,
        entry=entry,
        source=source,
        spec=spec,
        folder=registry.folder,
        is_pinned=bool(version),
        is_listed=version in ("", listed),
        allow_scripts=allow_scripts,
        allow_unverified=allow_unverified,
        python=python or sys.executable,
    )


def install(plan: InstallPlan, *, progress: Progress, seconds: float = SECONDS) -> InstallResult:
    """Carry out the plan. Raises `InstallFailed` if it fails; then nothing has changed."""
    try:
        with locked_store(), new_installation(plan.name, plan.version) as folder:
            before = find_installed(plan.name)
            record = _fill(plan, folder, progress, seconds)
            write_record(folder, record)
            previous = None if before is None else before.state.current
            use_installation(folder.parent, InstallState(current=folder.name, previous=previous))
            return InstallResult(
                record=record, before=None if before is None else before.record, folder=folder
            )
    except OSError as error:
        raise InstallFailed(f"cannot write to {store_folder()}: {error.strerror or error}") from None


def roll_back(name: str) -> InstallResult:
    """Return to the previous installation. Raises `LocalMistake` if there is none."""
    with locked_store():
        agent = require_installed(name)
        if agent.previous is None or agent.state.previous is None:
            raise LocalMistake(
                f"{name} {agent.record.version} is the only version here; nothing to go back to"
            )
        state = InstallState(current=agent.state.previous, previous=agent.state.current)
        use_installation(agent.folder, state)
        return InstallResult(
            record=agent.previous, before=agent.record, folder=agent.folder / agent.state.previous
        )


def uninstall(name: str) -> InstalledAgent:
    """Remove an agent with all its versions. Raises `LocalMistake` if it is not installed."""
    with locked_store():
        agent = require_installed(name)
        try:
            remove_agent_files(agent)
        except OSError as error:
            raise LocalMistake(f"cannot remove {agent.folder}: {error.strerror}") from None
        return agent


def describe_changes(before: InstallRecord, after: InstallRecord) -> list[str]:
    """Return the differences between two installations of an agent."""
    lines = []
    if before.version != after.version:
        lines.append(f"version {before.version} → {after.version}")
    if before.license != after.license:
        lines.append(f"licence {before.license or 'unknown'} → {after.license or 'unknown'}")
    if before.kind != after.kind:
        lines.append(f"comes as {after.kind}, was {before.kind}")
    if before.command[1:] != after.command[1:]:
        lines.append(f"arguments {shlex.join(before.command[1:])} → {shlex.join(after.command[1:])}")
    if before.env != after.env:
        lines.append(f"sets {', '.join(after.env) or 'no variables'}")
    return lines + _package_changes(before.packages, after.packages)


def _package_changes(before: tuple[PackageHash, ...], after: tuple[PackageHash, ...]) -> list[str]:
    old = {(package.name, package.hash) for package in before}
    new = {(package.name, package.hash) for package in after}
    old_names, new_names = {name for name, _ in old}, {name for name, _ in new}
    changed = {name for name, _ in new - old} & old_names
    counts = [
        (len(new_names - old_names), "new"),
        (len(old_names - new_names), "gone"),
        (len(changed), "changed"),
    ]
    words = [f"{count} {word}" for count, word in counts if count]
    return [f"packages: {', '.join(words)}, {len(new_names)} in all"] if words else []


def _fill(plan: InstallPlan, folder: Path, progress: Progress, seconds: float) -> InstallRecord:
    source = plan.source
    if isinstance(source, ArchiveSource):
        result = _unpack_archive(plan, source, folder, progress, seconds)
    else:
        request = PackageRequest(
            source=source,
            spec=plan.spec,
            folder=folder,
            seconds=seconds,
            allow_scripts=plan.allow_scripts,
            progress=progress,
            python=plan.python,
        )
        result = install_npm(request) if plan.kind == "npx" else install_python(request)
    return InstallRecord(
        name=plan.name,
        version=result.version or plan.version,
        kind=plan.kind,
        source=plan.spec,
        command=(*result.command, *source.args),
        env=source.env,
        title=plan.entry.name,
        license=plan.license,
        packages=result.packages,
        is_pinned=plan.is_pinned,
        checked_by=plan.checked_by,
        scripts=result.scripts,
    )


def _unpack_archive(
    plan: InstallPlan, source: ArchiveSource, folder: Path, progress: Progress, seconds: float
) -> PackageInstall:
    archive, tree = folder / ".archive", folder / "tree"
    digest = download(plan.spec, archive, folder=plan.folder, seconds=seconds, progress=progress)
    if source.sha256 is not None and digest != source.sha256.lower():
        raise InstallFailed(
            f"the SHA-256 of the archive is {digest}, its entry says {source.sha256}; nothing was unpacked"
        )
    tree.mkdir()
    progress("the archive is unpacked")
    unpack(archive, plan.spec, tree, program=source.cmd)
    archive.unlink()
    program = inner_path(tree, source.cmd)
    if not program.is_file():
        raise InstallFailed(f"the archive has no program {source.cmd!r}")
    program.chmod(0o755)
    part = PackageHash(name=plan.name, version=plan.version, hash=f"sha256:{digest}")
    return PackageInstall(command=(str(program),), packages=(part,), version=plan.version)


def _choose_kind(entry: RegistryEntry, kind: DistributionKind | None, *, is_other: bool) -> DistributionKind:
    kinds = entry.kinds()
    if is_other:
        kinds = [option for option in kinds if option != "binary"]
        if not kinds and entry.kinds():
            raise LocalMistake(
                f"the list has an archive of {entry.id} {entry.version} alone, no other version"
            )
    if kind is not None and kind not in kinds:
        raise LocalMistake(
            f"{entry.id} does not come as {kind} here; it comes as {', '.join(kinds) or 'nothing'}"
        )
    if not kinds:
        raise LocalMistake(f"{entry.id} has nothing for {this_platform()}")
    return kind or kinds[0]


def _source(entry: RegistryEntry, kind: DistributionKind) -> PackageSource | ArchiveSource:
    options = entry.distribution
    archive = (options.binary or {}).get(this_platform())
    source = {"binary": archive, "npx": options.npx, "uvx": options.uvx}[kind]
    assert source is not None, "the kind was chosen among those that there are"
    return source
