"""The public face is a list someone chose: what `dragoman` exports, and nothing by accident.

Adding a name here is a promise to users; taking one away breaks them.
"""

import importlib
import json
import subprocess
import sys
from types import ModuleType

import dragoman
from tests.test_layers import MAY_IMPORT

EXPORTS: list[str] = [
    "Agent",
    "AgentHandle",
    "AgentSession",
    "AgentTool",
    "Choice",
    "Client",
    "ClientHandle",
    "Conductor",
    "Kit",
    "KitSession",
    "KitTurn",
    "Limits",
    "Modes",
    "MountedTool",
    "Option",
    "Permission",
    "Pool",
    "PromptTurn",
    "Proxy",
    "Session",
    "StopTurn",
    "Switch",
    "Terminal",
    "ToolState",
    "Turn",
    "TurnResult",
    "connect",
    "serve",
    "serving",
    "supervised",
]

ROOMS = MAY_IMPORT.keys() - {"face", "__main__"}

# In an interpreter of its own: here, other tests have already imported rooms and modules.
SHOW_NAMES = """
import json, dragoman
values = {name: getattr(dragoman, name) for name in getattr(dragoman, "__all__", [])}
print(json.dumps(sorted(name for name in {*vars(dragoman), *dir(dragoman)} if not name.startswith("_"))))
"""


def test_the_face_exports_what_was_chosen() -> None:
    assert sorted(getattr(dragoman, "__all__", [])) == sorted(EXPORTS)


def test_every_export_imports_and_is_no_module() -> None:
    face = importlib.import_module("dragoman")
    values = {name: getattr(face, name) for name in EXPORTS}
    assert [name for name, value in values.items() if isinstance(value, ModuleType)] == []


def test_no_export_is_private() -> None:
    assert [name for name in EXPORTS if name.startswith("_")] == []


def test_nothing_else_is_reachable_as_a_public_name() -> None:
    shown = subprocess.run([sys.executable, "-c", SHOW_NAMES], capture_output=True, check=True)
    assert set(json.loads(shown.stdout)) - set(EXPORTS) <= ROOMS
