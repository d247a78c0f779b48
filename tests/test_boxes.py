"""No box imports a box above it, but by the few doors that are named here."""

from __future__ import annotations

from dragoman import version
from tests.boxes import MAY_USE, PACKAGES, box_of, modules
from tests.test_layers import imports_of

DOORS = {
    "dragoman": "names of agents made from a kit are loaded when they are first used",
    "dragoman.__main__": "`python -m dragoman` is the command, if that is installed",
    "dragoman.sdk.interpreter.dialect_transport": "loads what lends files when a peer first asks for one",
}
"""Modules that load something of a box above theirs, and why; the wheel of the SDK holds `local`, too."""


def box_objection(module: str, imported: str) -> str | None:
    """Why a module may not import another one: its box stands below."""
    box, target = box_of(module), box_of(imported)
    if box is None or target in (None, box, *MAY_USE[box]) or module in DOORS:
        return None
    return f"box {box} may not import box {target}"


def test_no_box_imports_one_above_it() -> None:
    found = [
        f"{module}:{found.line}: {why}"
        for module, path in modules()
        for found in imports_of(module, path)
        if (why := box_objection(module, found.module))
    ]
    assert found == []


def test_the_source_knows_all_packages() -> None:
    assert tuple(PACKAGES.values()) == version.PACKAGES


def test_boxes_have_an_order() -> None:
    assert all(
        list(PACKAGES).index(low) < list(PACKAGES).index(box) for box in MAY_USE for low in MAY_USE[box]
    )
    assert box_objection("dragoman.wire.frame", "dragoman_local.journal") is not None
    assert box_objection("dragoman_check.rule", "dragoman_review.rules") is not None
    assert box_objection("dragoman_app.cli", "dragoman_hub.hub") is None


def test_every_door_is_used() -> None:
    known = dict(modules())
    texts = {module: known[module].read_text("utf-8") for module in DOORS}
    above = tuple(package for package in PACKAGES.values() if package != "dragoman")
    assert [module for module, text in texts.items() if not any(name in text for name in above)] == []
