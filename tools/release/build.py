"""Builds what is published into a folder, and checks it: `make dist`.

    PYTHONPATH=tools python -m release.build FOLDER

FOLDER then holds the four wheels, the source archive, `dragoman.pyz`, the list of parts (CycloneDX) and
SHA256SUMS. Everything is built twice, the second time as somebody else would (another time zone, umask and
hash seed), and the wheels a third time from the source archive. All must be the same, byte for byte. The time
in them is that of the commit, or SOURCE_DATE_EPOCH.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

from release.inspection import WHEELS, inspect_sdist, inspect_wheel
from release.pyz import describe_wheel, locked_wheels, write_pyz
from release.sbom import make_sbom

ROOT = Path(__file__).parent.parent.parent
NO_HABITS: Mapping[str, str] = {}
OTHER_HABITS = {"TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "7", "LC_ALL": "C"}


def main(folder: Path) -> None:
    epoch = source_date()
    version = project_version()
    empty(folder)
    with tempfile.TemporaryDirectory() as scratch:
        wheels, sdist = build_distributions(Path(scratch), epoch)
        for wheel in wheels:
            inspect_wheel(wheel, version=version)
        inspect_sdist(sdist, version=version)
        built = [Path(shutil.copy2(file, folder)) for file in (*wheels, sdist)]
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *map(str, built)], check=True)
    ours = [describe_wheel(file.name, file.read_bytes()) for file in built if file.suffix == ".whl"]
    pyz = folder / "dragoman.pyz"
    write_pyz(pyz, [*ours, *locked_wheels(ROOT / "build/pyz-wheels")], epoch=epoch)
    built.append(pyz)
    parts = folder / "dragoman.cdx.json"
    parts.write_bytes(make_sbom(ROOT, built, version=version, epoch=epoch))
    validate_sbom(parts)
    write_sums(folder, [*built, parts])
    for file in sorted(folder.iterdir()):
        print(f"{file.stat().st_size:>10,}  {file}")


def empty(folder: Path) -> None:
    """Without what an earlier run has left; the extension for VS Code is of `make vscode`, and stays."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        if file.suffix != ".vsix":
            shutil.rmtree(file) if file.is_dir() else file.unlink()


def source_date() -> int:
    """The time that is written into archives: the same sources have the same."""
    if date := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(date)
    command = ["git", "log", "-1", "--format=%ct"]
    log = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if log.returncode != 0:
        sys.exit("this is no checkout of git, so that the commit's time is unknown: set SOURCE_DATE_EPOCH")
    return int(log.stdout)


def project_version() -> str:
    names: dict[str, str] = {}
    exec((ROOT / "packages/sdk/src/dragoman/version.py").read_text("utf-8"), names)
    return names["VERSION"]


def build_distributions(scratch: Path, epoch: int) -> tuple[list[Path], Path]:
    """The wheels and the source archive; whoever builds them gets the same bytes."""
    first, second, third = scratch / "first", scratch / "second", scratch / "third"
    build_wheels(ROOT, first, epoch)
    hatch(ROOT, first, epoch, target="sdist")
    before = os.umask(0o077)
    try:
        build_wheels(ROOT, second, epoch, OTHER_HABITS)
        hatch(ROOT, second, epoch, OTHER_HABITS, target="sdist")
    finally:
        os.umask(before)
    (sdist,) = first.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(scratch / "source", filter="data")
    (source,) = (scratch / "source").iterdir()
    build_wheels(source, third, epoch)
    for other in (*second.iterdir(), *third.iterdir()):
        if other.read_bytes() != (first / other.name).read_bytes():
            sys.exit(f"{other.name} is not reproducible: {first / other.name} and {other} differ")
    return sorted(first.glob("*.whl")), sdist


def build_wheels(root: Path, folder: Path, epoch: int, habits: Mapping[str, str] = NO_HABITS) -> None:
    """All that are published, from a checkout or from the source archive."""
    for wheel in WHEELS.values():
        hatch(root / "packages" / wheel.box, folder, epoch, habits, target="wheel")


def hatch(
    source: Path, folder: Path, epoch: int, habits: Mapping[str, str] = NO_HABITS, *, target: str
) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder), "--target", target]
    variables = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch), **habits}
    built = subprocess.run(
        command, cwd=source, env=variables, capture_output=True, text=True, check=False, timeout=300
    )
    if built.returncode != 0:
        sys.exit(f"hatchling cannot build {source}:\n{built.stdout}{built.stderr}")


def validate_sbom(file: Path) -> None:
    """Hold the list of parts to the published schema of its format."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(file.read_text("utf-8"))
    if error is not None:
        sys.exit(f"{file.name} is no valid CycloneDX document: {error}")


def write_sums(folder: Path, files: list[Path]) -> None:
    """In the form that `sha256sum --check` reads."""
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(files)]
    (folder / "SHA256SUMS").write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
