"""The boxes of the house, from the lowest to the highest, and the rooms in them.

A box is a folder of `packages` with a package of its own. `dragoman_hub` is the room `hub`, but for rooms of
its own inside it; a folder directly below one of the other packages is a room.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent

PACKAGES = {
    "sdk": "dragoman",
    "local": "dragoman_local",
    "check": "dragoman_check",
    "review": "dragoman_review",
    "hub": "dragoman_hub",
    "app": "dragoman_app",
}
"""What each box is imported as."""

MAY_USE = {
    "sdk": (),
    "local": ("sdk",),
    "check": ("sdk", "local"),
    "review": ("sdk", "local"),
    "hub": ("sdk", "local", "review"),
    "app": ("sdk", "local", "check", "review", "hub"),
}
"""The boxes that each box may import."""

WHEEL_BOXES = ("sdk", "check", "review", "app")
"""Boxes that build a wheel: that of `sdk` holds `local`, too, and that of `app` holds `hub`."""

ROOMS_WITHIN = {"check": ("trace",), "review": (), "hub": ("nats", "remote", "web")}
"""Boxes that are one room, and the rooms of their own inside them."""


def source_of(box: str) -> Path:
    return ROOT / "packages" / box / "src" / PACKAGES[box]


def box_of(module: str) -> str | None:
    """None for modules that are not ours."""
    top = module.partition(".")[0]
    return next((box for box, package in PACKAGES.items() if package == top), None)


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of the source by its name."""
    for box in PACKAGES:
        source = source_of(box)
        for path in sorted(source.rglob("*.py")):
            parts = path.relative_to(source.parent).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def room_folders() -> dict[str, Path]:
    """Where the source of each room is."""
    found: dict[str, Path] = {}
    for box in PACKAGES:
        source = source_of(box)
        if box in ROOMS_WITHIN:
            found[box] = source
            found |= {room: source / room for room in ROOMS_WITHIN[box]}
        else:
            found |= {path.name: path for path in source.iterdir() if any(path.glob("**/*.py"))}
    return found


def folders_of_tests() -> dict[str, Path]:
    """The tests of the boxes, and those of the whole house."""
    return {"": ROOT / "tests"} | {box: ROOT / "packages" / box / "tests" for box in PACKAGES}
