"""A copy of the checkout in which mistakes are made, so that the real one never holds any.

It has an environment of its own, which finds our packages in the copy and all others where they are.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path


def make_copy(root: Path, target: Path) -> Path:
    """Tracked and new files as they are now, with their bytecode; returns the Python of the copy.

    What an earlier copy has is kept. Trials write no bytecode, so that none is kept of a mistake.
    """
    names = _listed(root)
    folders = {(root / name).parent for name in names if name.endswith(".py")}
    compiled = [path for folder in folders for path in (folder / "__pycache__").glob("*.pyc")]
    wanted = {*names, *(path.relative_to(root).as_posix() for path in compiled)}
    for name in wanted:
        place = target / name
        if not _is_same(root / name, place):
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, place, follow_symlinks=False)
    for box in ("packages", "tests"):
        for path in (target / box).rglob("*.py"):
            if path.relative_to(target).as_posix() not in wanted and "node_modules" not in path.parts:
                path.unlink()
    modules = [(root / name).parent / "node_modules" for name in names if name.endswith("package.json")]
    for folder in [*modules, root / "build" / "ready"]:
        place = target / folder.relative_to(root)
        if folder.exists() and not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(folder)
    return _make_environment(root / ".venv", target)


def _is_same(one: Path, other: Path) -> bool:
    if not other.exists():
        return False
    first, second = one.lstat(), other.lstat()
    return (first.st_mtime_ns, first.st_size) == (second.st_mtime_ns, second.st_size)


def state_of(root: Path) -> str:
    """A name for sources and tests as they are now: what was found out about another state does not hold."""
    digest = hashlib.sha256()
    for name in _listed(root):
        if name.endswith(".py") and name.startswith(("packages/", "tests/")):
            digest.update(name.encode() + b"\0" + (root / name).read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _listed(root: Path) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        check=True,
    )
    names = filter(None, os.fsdecode(listed.stdout).split("\0"))
    return sorted(name for name in names if (root / name).is_file())


def _make_environment(original: Path, target: Path) -> Path:
    environment = target / ".venv"
    shutil.rmtree(environment, ignore_errors=True)
    packages = next((original / "lib").glob("python*/site-packages"))
    own = environment / packages.relative_to(original)
    own.mkdir(parents=True)
    sources = [f"{source}\n" for source in sorted(target.glob("packages/*/src"))]
    # The first lines come before what the original's own files name, so that the copy's packages are found.
    adds = f"import site; site.addsitedir({str(packages)!r})\n"
    (own / "copy.pth").write_text("".join([*sources, adds]), "utf-8")
    shutil.copy2(original / "pyvenv.cfg", environment / "pyvenv.cfg")
    (environment / "bin").mkdir()
    for program in (original / "bin").iterdir():
        place = environment / "bin" / program.name
        if program.is_symlink():
            place.symlink_to(os.readlink(program))
        elif b"\0" in (content := program.read_bytes()):
            place.symlink_to(program)
        else:
            place.write_bytes(content.replace(os.fsencode(original), os.fsencode(environment)))
            place.chmod(0o755)
    return environment / "bin" / "python"
