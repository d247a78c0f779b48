"""Whoever looks for the test of a file finds it by its path.

In a box, `tests/X/test_Y.py` tests `Y.py` of the room X, or its package `Y`; `test_Y_ASPECT.py` stands
beside it and tests one aspect. Tests of whole systems have folders of their own, which CONTRIBUTING.md lists.
What is neither has its reason here.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.boxes import ROOT, folders_of_tests, room_folders, source_of
from tests.every import every

PACKAGE_TESTS = (
    "conversation",
    "conversations",
    "corpus",
    "frames",
    "golden",
    "main",
    "page",
    "properties",
    "recordings",
)
"""Names of tests of the package that a folder mirrors: whole conversations through it, properties of all its
modules, what its page in docs says, its `__main__`.
"""

REASONS: dict[str, str] = {
    "cli/test_agents.py": "ready agents, each the work of another command",
    "cli/test_ending.py": "every command that holds a terminal or an agent",
    "cli/test_hostile_text.py": "every command that shows texts of an agent",
    "cli/test_surroundings.py": "every command, in folders and with outputs that are not as they should be",
    "remote/test_chat_place.py": "the terminal client, the line and both of its ends",
    "remote/test_hub_place.py": "a hub, the line and both of its ends",
    "remote/test_light_starts.py": "what three modules import",
    "remote/test_ssh_command.py": "both ends of the line over a real sshd",
    "review/test_budget.py": "how large the reviewer may be",
    "review/test_room.py": "the `__init__.py` of the package",
    "schema/test_versions.py": "the generated packages of all versions",
}
"""Why a test is neither the mirror of a file nor in the folder of a system."""


def system_folders(text: str) -> set[str]:
    """The folders in the table of CONTRIBUTING.md, `tests` left out."""
    _, _, table = text.partition("| system tests |")
    rows = table.partition("\n\n")[0]
    return set(re.findall(r"`(?:packages/[a-z]+/)?tests/([a-z_/]+)`", rows))


def is_mirror(name: str, modules: set[str]) -> bool:
    """Whether the test at this path below `tests` has a file or a package of the source; `modules` are their
    paths.
    """
    folder, _, stem = name.removesuffix(".py").rpartition("/")
    words = stem.removeprefix("test_").split("_")
    prefix = f"{folder}/" if folder else ""
    homes = {f"{prefix}{'_'.join(words[:count])}" for count in range(1, len(words) + 1)}
    return not homes.isdisjoint(modules) or (folder in modules and words[0] in PACKAGE_TESTS)


def complaints(names: set[str], modules: set[str], systems: set[str], reasons: dict[str, str]) -> list[str]:
    """What is wrong with the places of these tests."""
    found = []
    for name in sorted(names):
        folder = name.rpartition("/")[0]
        in_system = not folder or any(f"{folder}/".startswith(f"{system}/") for system in systems)
        has_place = in_system or is_mirror(name, modules)
        if name in reasons and has_place:
            found.append(f"tests/{name} needs no reason any more")
        elif name not in reasons and not has_place:
            found.append(
                f"tests/{name} tests nothing in the room {folder}: name it after the file that it tests"
            )
    return found + [f"tests/{name} has a reason and does not exist" for name in reasons if name not in names]


def test_the_test_of_a_file_is_found_by_its_path() -> None:
    names = {
        path.relative_to(folder).as_posix()
        for folder in folders_of_tests().values()
        for path in folder.rglob("test_*.py")
    }
    modules = {path.stem for path in source_of("sdk").glob("*.py")}
    for room, folder in room_folders().items():
        files = [Path(room) / path.relative_to(folder) for path in folder.rglob("*.py")]
        modules |= {path.with_suffix("").as_posix() for path in files} | {
            path.parent.as_posix() for path in files
        }
    systems = system_folders((ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    assert systems, "CONTRIBUTING.md has no table of system tests"
    assert complaints(names, modules, systems, REASONS) == []


MODULES = {"wire", "wire/decode", "hub/session", "hub/session/state"}


@every(
    ("name", "expected"),
    [
        ("wire/test_decode.py", True),
        ("wire/test_decode_json.py", True),
        ("hub/test_session.py", True),
        ("hub/session/test_state.py", True),
        ("wire/test_properties.py", True),
        ("wire/test_json.py", False),
        ("hub/test_state.py", False),
        ("hub/session/test_decode.py", False),
        ("nowhere/test_properties.py", False),
    ],
)
def test_a_mirror_has_the_path_of_its_source(name: str, expected: bool) -> None:
    assert is_mirror(name, MODULES) is expected


def test_what_has_no_place_is_named_and_a_reason_that_is_not_needed_too() -> None:
    names = {
        "test_house.py",
        "wire/test_decode.py",
        "wire/test_json.py",
        "web/test_page.py",
        "wire/test_lost.py",
    }
    reasons = {"wire/test_json.py": "a reason", "wire/test_decode.py": "none", "wire/test_gone.py": "none"}
    assert complaints(names, MODULES, {"web"}, reasons) == [
        "tests/wire/test_decode.py needs no reason any more",
        "tests/wire/test_lost.py tests nothing in the room wire: name it after the file that it tests",
        "tests/wire/test_gone.py has a reason and does not exist",
    ]
