"""What the pages show is run: every Python block of README.md and docs/*.md, and every script.

A block that begins with an import is a complete program and must end with status 0; one that defines tests
is run by pytest. Anything else is a fragment and must at least be Python. A comment `<!-- not run: why -->`
on the line above a block says that it cannot be run here. Programs find the folder `examples` where they
are run, and an empty standard input.
"""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from dragoman.testing import Script
from dragoman.testing.pace import patience
from tests.together import SideBySide

together = SideBySide(2)

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(
    r"^(?P<above>[^\n]*)\n```(?P<language>[a-z]+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
NOT_RUN = re.compile(r"<!-- not run: .+ -->")


class Block(NamedTuple):
    page: str
    line: int
    language: str
    text: str
    run: bool

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: str, text: str) -> list[Block]:
    return [
        Block(
            page,
            text.count("\n", 0, found.start("text")) + 1,
            found["language"],
            found["text"],
            run=not NOT_RUN.fullmatch(found["above"].strip()),
        )
        for found in FENCE.finditer(f"\n{text}")
    ]


def kind(text: str) -> str:
    """`tests`, `program` or `fragment`; what is no Python raises."""
    tree = compile(text, "block", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    assert isinstance(tree, ast.Module)
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    if any(name.startswith("test_") for name in names):
        return "tests"
    begins = [
        node
        for node in tree.body
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    ]
    return "program" if begins and isinstance(begins[0], ast.Import | ast.ImportFrom) else "fragment"


FOUND = [block for page in PAGES for block in blocks(str(page.relative_to(ROOT)), page.read_text("utf-8"))]


def in_language(language: str) -> list[Block]:
    return [block for block in FOUND if block.language == language and block.run]


@pytest.mark.parametrize("block", in_language("python"), ids=str)
@together
def test_a_python_block_works(block: Block, tmp_path: Path) -> None:
    what = kind(block.text)
    if what == "fragment":
        return
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    program = tmp_path / ("test_block.py" if what == "tests" else "block.py")
    program.write_text(block.text, encoding="utf-8")
    command = [sys.executable, program.name]
    if what == "tests":
        plugins = ["-p", "dragoman.testing.plugin", "-p", "pytest_asyncio.plugin", "-o", "asyncio_mode=auto"]
        command = [sys.executable, "-m", "pytest", "-q", *plugins, "--update-golden", program.name]
    env = {
        **os.environ,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
    }
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(50),
    )
    assert done.returncode == 0, f"{block} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("block", in_language("script"), ids=str)
def test_a_script_can_be_read(block: Block) -> None:
    Script.parse(block.text)


def test_pages_have_blocks() -> None:
    assert len(in_language("python")) >= 2


EXAMPLE = """Text
```python
import os
```
<!-- not run: it needs a network -->
```python
import socket
```

```text
no code
```
"""


def test_blocks_are_found_with_their_lines() -> None:
    assert [(block.line, block.language, block.run) for block in blocks("page", EXAMPLE)] == [
        *((3, "python", True), (7, "python", False), (11, "text", True)),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"""Doc."""\nimport os\nos.getpid()', "program"),
        ("from dragoman import Agent\n", "program"),
        ("import pytest\n\n\nasync def test_it() -> None: ...", "tests"),
        ("session = await agent.new_session()\n", "fragment"),
        ("", "fragment"),
    ],
)
def test_a_block_is_told_by_its_beginning(text: str, expected: str) -> None:
    assert kind(text) == expected


def test_what_is_no_python_is_noticed() -> None:
    with pytest.raises(SyntaxError):
        kind("def :")
