"""The tool that searches in files: with ripgrep if it is installed, otherwise with `grep.py`.

Either is a program of its own, because a pattern can take for ever: it ends after a while, and with the turn.
It sees what is on disk, not what is unsaved in an editor.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from functools import cache
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from dragoman.errors import ErrorAnswer
from dragoman_app.agents.code.permission import ToolProblem
from dragoman_app.agents.code.tools.tool import CoderTool, ToolContext, ToolOutcome

SECONDS = 20.0
MATCHES = 200
OUTPUT = 512 * 1024
WIDTH = 300
"""The most characters of a line to show: minified files have one line."""

OWN = str(Path(__file__).with_name("grep.py"))


class SearchArguments(Struct, forbid_unknown_fields=True):
    pattern: Annotated[str, Meta(description="A regular expression, matched within lines")]
    path: Annotated[
        str, Meta(description="The file or folder to search; the working folder if not given")
    ] = "."
    glob: Annotated[str, Meta(description="Only files whose names match, such as *.py")] = ""
    ignore_case: bool = False


async def search(work: ToolContext, arguments: SearchArguments) -> ToolOutcome:
    path = work.places.resolve(arguments.path)
    is_folder = await work.places.is_folder(path)  # and it lies within the session's folders
    where = path if is_folder else os.path.dirname(path)
    command = ripgrep_command(arguments, path) if has_ripgrep() else python_grep_command(arguments, path)
    try:
        async with asyncio.timeout(SECONDS):
            ran = await work.turn.run(*command, cwd=where, output_bytes=OUTPUT)
    except TimeoutError:
        raise ToolProblem(
            f"The search took longer than {SECONDS:.0f} seconds. Search less, or more plainly."
        ) from None
    except ErrorAnswer as error:
        raise ToolProblem(f"The search could not be run: {error.message}") from None
    if ran.exit_code not in (0, 1):
        raise ToolProblem(f"The search failed: {ran.output.strip()[:1000]}")
    return ToolOutcome(format_matches(ran.output, work.places.cwd))


@cache
def has_ripgrep() -> bool:
    return shutil.which("rg") is not None


def ripgrep_command(arguments: SearchArguments, path: str) -> list[str]:
    options = ["--ignore-case"] if arguments.ignore_case else []
    options += ["--glob", arguments.glob] if arguments.glob else []
    fixed_options = [
        "--no-config",
        "--line-number",
        "--with-filename",
        "--no-heading",
        "--color=never",
        "--sort=path",
    ]
    return ["rg", *fixed_options, "--max-count=50", *options, "--regexp", arguments.pattern, "--", path]


def python_grep_command(arguments: SearchArguments, path: str) -> list[str]:
    options = ["--ignore-case"] if arguments.ignore_case else []
    options += [f"--glob={arguments.glob}"] if arguments.glob else []
    # Isolated: a module of the project that is called like one of the library's must not be run.
    return [sys.executable, "-I", OWN, *options, f"--regexp={arguments.pattern}", "--", path]


def format_matches(output: str, cwd: str) -> str:
    lines = [line.removeprefix(cwd.rstrip(os.sep) + os.sep) for line in output.splitlines()]
    cut = [line if len(line) <= WIDTH else f"{line[:WIDTH]}…" for line in lines[:MATCHES]]
    more = [f"(and {len(lines) - MATCHES} more)"] if len(lines) > MATCHES else []
    return "\n".join([*cut, *more]) or "(nothing found)"


SEARCHING = (
    CoderTool(
        name="search",
        description="Search the contents of files with a regular expression: path, line number and line of "
        "each match.",
        arguments=SearchArguments,
        kind="search",
        title=lambda arguments: f"Search {arguments.pattern}",
        path=lambda arguments: None if arguments.path == "." else arguments.path,
        run=search,
    ),
)
