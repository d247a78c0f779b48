"""The peers: for each, the commands of its programs. A scenario names the programs it needs.

Commands run with bench/ as their working directory, so that ``-m peers.…`` finds the programs. Nothing is
started or installed here.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
VENVS = BENCH / ".venvs"

# The import alone, with both sides in use, and with every model: Dragoman loads what is used when it is used.
DRAGOMAN_IMPORT = "import dragoman"
DRAGOMAN_IMPORT_USED = (
    f"{DRAGOMAN_IMPORT}, dragoman.schema.v1; dragoman.Agent, dragoman.Client, dragoman.connect"
)
DRAGOMAN_IMPORT_ALL = f"{DRAGOMAN_IMPORT_USED}; from dragoman.schema.v1 import *"

# Over a WebSocket: the client starts the agent's server.
REMOTE = ("remote_agent", "remote_client")

# What only we are asked about.
OWN = ("handler", "large_say")

# What the official Python SDK is served with: the same as our hub.
SERVER = ("uvicorn==0.54.0", "websockets==17.4")

# Where each pinned SDK lives; bench/setup.py fills these environments.
PYTHON_SDKS = {
    "official_py": ("agent-client-protocol[http]==0.12.1", "pydantic==2.14.3", *SERVER),
    "official_py_rc": ("agent-client-protocol[http]==1.0.0rc3", "pydantic==2.14.3", *SERVER),
    # Ours too: the development environment holds packages that make every import slower.
    "dragoman": ("--editable", f"{BENCH.parent}"),
    # What is imported by whoever installs the SDK alone: msgspec loads more where there is more.
    "dragoman_alone": ("--editable", f"{BENCH.parent}/packages/sdk"),
}


@dataclass(frozen=True)
class Peer:
    name: str
    title: str
    programs: dict[str, list[str]]
    skips: frozenset[str] = frozenset()  # scenarios that would measure nothing of interest

    def takes_part(self, scenario: str, needs: tuple[str, ...]) -> bool:
        return scenario not in self.skips and all(need in self.programs for need in needs)


def venv_python(name: str) -> str:
    return str(VENVS / name / "bin" / "python")


def _python_programs(python: str, folder: str) -> dict[str, list[str]]:
    """``echo`` runs by path, the rest as modules: its start is measured, and ``-m`` would be part of it."""
    found = {path.stem for path in (BENCH / "peers" / folder).glob("*.py")}
    modules = found & {"agent", "client", "pairs", "pool", "relay", "interpreter", "recorder", *REMOTE, *OWN}
    programs = {name: [python, "-m", f"peers.{folder}.{name}"] for name in modules}
    if "echo" in found:
        programs["echo"] = [python, str(BENCH / "peers" / folder / "echo.py")]
    return programs


def _official(name: str, title: str) -> Peer:
    python = venv_python(name)
    # Its package imports every model anyway.
    imports = [python, "-c", "import acp, acp.schema"]
    programs = _python_programs(python, "official_py")
    return Peer(name, title, {**programs, "import": imports, "import_used": imports, "import_all": imports})


def _typescript() -> Peer:
    node = shutil.which("node") or "node"
    folder = BENCH / "peers" / "typescript"
    names = ("agent", "client", "echo", "relay", *REMOTE)
    programs = {name: [node, str(folder / f"{name}.mjs")] for name in names}
    programs["pairs"] = [node, "--expose-gc", str(folder / "pairs.mjs")]
    for name in ("import", "import_used", "import_all"):
        programs[name] = [node, str(BENCH / "ts" / "sdk.mjs")]
    return Peer("typescript", "TypeScript 2.4.0", programs)


def _raw() -> Peer:
    programs = {**_python_programs(sys.executable, "raw"), "import": [sys.executable, "-c", "pass"]}
    return Peer("raw", "raw pipe", programs, skips=frozenset({"large", "load"}))


def _dragoman() -> Peer:
    python = venv_python("dragoman")
    programs = _python_programs(python, "dragoman")
    alone = venv_python("dragoman_alone")
    programs["import"] = [alone, "-c", DRAGOMAN_IMPORT]
    programs["import_used"] = [alone, "-c", DRAGOMAN_IMPORT_USED]
    programs["import_all"] = [alone, "-c", DRAGOMAN_IMPORT_ALL]
    for path in (BENCH / "hub").glob("measure_*.py"):
        programs[path.stem.replace("measure", "hub")] = [python, "-m", f"hub.{path.stem}"]
    # What draws its screen is in the environment of the benchmark alone.
    programs["chat"] = [sys.executable, "-m", "chat.measure"]
    programs["remote_client"] = programs["hub_stream"]  # its agent is behind a hub
    return Peer("dragoman", "Dragoman", programs)


def _dragoman_blocking() -> Peer:
    """One call at a time is what it is for: it has no calls in flight, and replays like the other face."""
    programs = _python_programs(venv_python("dragoman"), "dragoman_blocking")
    return Peer(
        "dragoman_blocking",
        "Dragoman, blocking",
        programs,
        skips=frozenset({"inflight", "replay", "load", "large"}),
    )


def all_peers() -> list[Peer]:
    return [
        _official("official_py", "Python 0.12.1"),
        _official("official_py_rc", "Python 1.0.0rc3"),
        _typescript(),
        _raw(),
        _dragoman(),
        _dragoman_blocking(),
    ]
