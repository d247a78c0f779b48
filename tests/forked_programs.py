"""Runs many programs with one start of an interpreter, which imports what they import and forks for each.

A program runs as `python NAME` runs it: in its own folder, with standard input empty, and it ends as an
interpreter ends. It finds modules imported that others have asked for. That helps only a program with
`import package` that goes on with `package.module`: `imports_package` tells such programs.
"""

from __future__ import annotations

import ast
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from dragoman.testing.pace import patience

NAME = "block.py"
OUTPUT = "output"
"""Beside the folder of a program: what it has printed, on either stream."""

SECONDS = 50
"""For one program."""

RUNNER = """
import atexit, gc, importlib, json, os, runpy, signal, sys, threading

modules, programs, seconds = json.load(sys.stdin)
for name, wanted in modules.items():
    try:
        module = importlib.import_module(name)
    except ImportError:
        continue  # the program will tell
    for each in wanted:
        getattr(module, each, None)  # a package may load what is in it when somebody asks for it
gc.freeze()


def fork_each():
    running = {}
    while programs or running:
        while programs and len(running) < 2:
            folder, variables = programs.pop()
            if (pid := os.fork()) == 0:
                return folder, variables
            running[pid] = folder
        pid, status = os.wait()
        print(json.dumps([running.pop(pid), os.waitstatus_to_exitcode(status)]), flush=True)
    sys.exit()


folder, variables = fork_each()
signal.alarm(seconds)
os.environ.update(variables)
os.chdir(folder)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
output = os.open("../output", os.O_WRONLY | os.O_CREAT)
os.dup2(output, 1)
os.dup2(output, 2)
sys.path[0] = folder
sys.argv = ["block.py"]
runpy.run_path("block.py", run_name="__main__")

# As an interpreter ends, but for taking its modules apart: they lie in memory that is shared with the others,
# and would be copied for that, page by page.
threading._shutdown()
atexit._run_exitfuncs()
gc.collect()
sys.stdout.flush()
os._exit(0)
"""


class Program(NamedTuple):
    """A text in a folder, and the variables that are its own."""

    folder: Path
    variables: Mapping[str, str]


class Ended(NamedTuple):
    """How a program has ended, negative for a signal, and what it printed."""

    status: int
    output: str


def run_programs(python: Path, programs: Sequence[Program], env: Mapping[str, str]) -> dict[Path, Ended]:
    """How each of them has ended, by its folder. `python` may have other packages than ours."""
    texts = [(program.folder / NAME).read_text("utf-8") for program in programs]
    modules: dict[str, list[str]] = {}
    for name, wanted in sorted(pair for text in texts for pair in imports(text)):
        modules.setdefault(name, []).extend([wanted] if wanted else [])
    places = [(str(program.folder), dict(program.variables)) for program in programs]
    done = subprocess.run(
        [str(python), "-c", RUNNER],
        input=json.dumps([modules, places, round(patience(SECONDS))]),
        env=dict(env),
        cwd=programs[0].folder.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(SECONDS) * len(programs),
    )
    assert done.returncode == 0, done.stderr
    ends = [json.loads(line) for line in done.stdout.splitlines()]
    return {
        Path(folder): Ended(status, Path(folder, "..", OUTPUT).read_text("utf-8", errors="replace"))
        for folder, status in ends
    }


def imports(text: str) -> set[tuple[str, str]]:
    """The modules that a program imports, each with a name that it takes from it, or with none."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {(alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {(node.module, alias.name) for alias in node.names}
    return found


def imports_package(text: str) -> bool:
    """Whether it imports a package of ours, or a module inside any package, as such."""
    statements = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import)]
    names = {alias.name for node in statements for alias in node.names}
    return any(name == "dragoman" or "." in name for name in names)
