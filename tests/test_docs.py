"""What the pages show is run as a user would run it, with our wheels alone and in an empty folder.

Every Python block of README.md, of the READMEs of the boxes and of docs/*.md is tried: one that begins with
an import is a complete program, must end with status 0 and print what its comments say; one that defines
tests is run by pytest, with the settings that its page shows. Anything else is a fragment and must at least
be Python. Each page has what it tells its reader to install, and nothing more. Of shell commands every
`dragoman` command line must be one that the command understands, and those that need no more than the agents
that we ship are run. A comment `<!-- not run: why -->` on the line above a block says that it cannot be run
here. Standard input is empty.
"""

import ast
import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from dragoman.testing import Script
from dragoman.testing.pace import patience
from tests.forked_programs import NAME, Ended, Program, imports_package, run_programs
from tests.together import SideBySide
from tests.wheel_environment import environment, shared_folder, variables

together = SideBySide(2)

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "packages").glob("*/README.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs/from").glob("*.md")),
    *sorted((ROOT / "docs/guides").glob("*.md")),
]
"""The pages of the tutorial build on each other: `test_tutorial.py` plays them."""

FENCE = re.compile(
    r"^(?P<above>[^\n]*)\n```(?P<language>[a-z]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
NOT_RUN = re.compile(r"<!-- not run: .+ -->")
PRINTS = re.compile(r"  # prints: (.+)$", re.MULTILINE)
"""What a line of a program prints, in its own words."""


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


SHELL = ("", "sh", "bash")
INLINE = re.compile(r"`([^`]+)`")
INSTALL = re.compile(r"pip install\s+([^#&|;]+)")
PACKAGE = re.compile(r"[A-Za-z][\w.-]*(\[[\w,-]+\])?")


def installs(page: str) -> set[str]:
    """What a page tells its reader to install, in a block or in a sentence. What a page shows must work
    without the extra that brings everything.
    """
    text = (ROOT / page).read_text("utf-8")
    said = [line for block in blocks(page, text) for line in block.text.splitlines()]
    said += [" ".join(code.split()) for code in INLINE.findall(FENCE.sub("", f"\n{text}"))]
    words = [word for one in said for found in INSTALL.findall(one) for word in shlex.split(found)]
    return {word for word in words if PACKAGE.fullmatch(word)} - {"dragoman[all]"}


def pytest_settings(page: str) -> str:
    """The part of pyproject.toml that a page shows."""
    shown = [block.text for block in in_language("toml") if block.page == page]
    return "".join(text for text in shown if "[tool.pytest.ini_options]" in text)


def run(command: list[str], page: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run it as somebody who has read the page."""
    made = environment(shared_folder(folder), installs(page))
    work = folder / "empty"
    work.mkdir(exist_ok=True)
    return subprocess.run(
        [str(made / "bin" / command[0]), *command[1:]],
        cwd=work,
        env=variables(made, folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(50),
    )


PYTHON = [(kind(block.text), block) for block in in_language("python")]
"""Every Python block with its kind: what is no Python raises here."""
TESTS = [block for what, block in PYTHON if what == "tests"]


@pytest.fixture(scope="module")
def ends(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[Block, Ended]:
    """How the programs of this run have ended. Those that need the same packages are forks of one process."""
    wanted: dict[frozenset[str], dict[Path, Block]] = {}
    for item in request.session.items:
        if getattr(item, "function", None) is test_a_program_works_with_the_wheel_alone:
            block: Block = item.callspec.params["block"]  # type: ignore[attr-defined]
            folder = tmp_path_factory.mktemp("program") / "empty"
            folder.mkdir()
            (folder / NAME).write_text(block.text, encoding="utf-8")
            wanted.setdefault(frozenset(installs(block.page)), {})[folder] = block
    found: dict[Block, Ended] = {}
    for packages, blocks in wanted.items():
        made = environment(shared_folder(next(iter(blocks)).parent), packages)
        places = [Program(folder, variables(made, folder.parent)) for folder in blocks]
        done = run_programs(made / "bin" / "python", places, places[0].variables)
        found |= {block: done[folder] for folder, block in blocks.items()}
    return found


@pytest.mark.timeout(600)  # the first is all of them
@pytest.mark.parametrize("block", [block for what, block in PYTHON if what == "program"], ids=str)
def test_a_program_works_with_the_wheel_alone(block: Block, ends: dict[Block, Ended]) -> None:
    assert ends[block].status == 0, f"{block} ended with {ends[block].status}\n{ends[block].output}"
    missing = [text for text in PRINTS.findall(block.text) if text not in ends[block].output]
    assert not missing, f"{block} does not print {missing}\n{ends[block].output}"


def test_no_program_imports_a_package_as_such() -> None:
    """It would run in a fork, where others have imported modules of the package, and fail for its reader."""
    assert not [block for what, block in PYTHON if what == "program" and imports_package(block.text)]


@pytest.mark.parametrize("page", sorted({block.page for block in TESTS}))
@together
def test_the_tests_of_a_page_pass_with_the_wheel_alone(page: str, tmp_path: Path) -> None:
    """Each in a folder of its own, all in one run of pytest."""
    for block in TESTS:
        if block.page == page:
            folder = tmp_path / "empty" / f"line_{block.line}"
            folder.mkdir(parents=True)
            (folder / f"test_line_{block.line}.py").write_text(block.text, encoding="utf-8")
    (tmp_path / "empty" / "pyproject.toml").write_text(pytest_settings(page), encoding="utf-8")
    done = run(["python", "-m", "pytest", "-q", "--update-golden"], page, tmp_path)
    assert done.returncode == 0, f"{page} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"


def test_the_checkout_is_on_no_path_of_a_reader(tmp_path: Path) -> None:
    program = "import dragoman, json, sys; print(json.dumps([dragoman.__file__, *sys.path]))"
    done = run(["python", "-c", program], "README.md", tmp_path)
    assert done.returncode == 0, done.stderr
    assert not [path for path in json.loads(done.stdout) if path.startswith(str(ROOT))]


def command_lines() -> list[tuple[Block, list[str]]]:
    """Each `dragoman` command of a shell block, as the shell would split it. What is a pattern for the reader
    to fill in (`[…]`, `…`, names in capitals) is none.
    """
    found = []
    for block in FOUND:
        if block.language not in SHELL or not block.run:
            continue
        for line in block.text.replace("\\\n", " ").splitlines():
            if not line.strip().startswith("#") and not re.search(r"[…\[]|\b[A-Z]{3,}\b(?!=)", line):
                found += [(block, words) for words in _commands(line)]
    return found


def _commands(line: str) -> list[list[str]]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    commands: list[list[str]] = [[]]
    for word in lexer:
        if set(word) <= set("|&;<>()"):
            commands.append([])
        else:
            commands[-1].append(word)
    return [words[1:] for words in commands if words[:1] == ["dragoman"]]


PARSE = """
import contextlib, io, json, sys
from dragoman_app.cli.parser import make_parser

wrong = []
for place, words in json.load(open("commands.json")):
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            make_parser().parse_args(words)
    except SystemExit as end:
        if end.code:
            wrong.append(f"{place}: {' '.join(words)}: {said.getvalue().strip()}")
print("\\n".join(wrong))
"""


def test_every_command_line_is_one_that_the_command_understands(tmp_path: Path) -> None:
    lines = [(str(block), words) for block, words in command_lines()]
    assert len(lines) > 50
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "commands.json").write_text(json.dumps(lines))
    done = run(["python", "-c", PARSE], "README.md", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() in ([], [""])


SHIPPED = [
    (block, words)
    for block, words in command_lines()
    if words[:1] == ["run"]
    and any(word.startswith("dragoman agent ") and "--model" not in word for word in words)
]


@pytest.mark.parametrize(("block", "words"), SHIPPED, ids=str)
@together
def test_a_command_that_needs_only_our_agents_works(block: Block, words: list[str], tmp_path: Path) -> None:
    done = run(["dragoman", *words], block.page, tmp_path)
    assert done.returncode == 0, f"{block} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"


def test_the_wheel_has_the_pages_that_its_help_names(tmp_path: Path) -> None:
    done = run(["dragoman", "help", "policy"], "README.md", tmp_path)
    assert (done.returncode, done.stdout.partition("\n")[0]) == (0, "# What an agent may do")


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

```
plain
```
"""


def test_blocks_are_found_with_their_lines() -> None:
    assert [(block.line, block.language, block.run) for block in blocks("page", EXAMPLE)] == [
        *((3, "python", True), (7, "python", False), (11, "", True)),
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
