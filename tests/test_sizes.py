"""A Python file is one idea, mostly 100 to 500 lines. A larger or a very small file has its reason here."""

import re
from pathlib import Path

import pytest

from tests.boxes import ROOT
from tests.every import every

FOLDERS = ("packages", "tests", "examples", "bench", "tools")
SKIPPED = {"node_modules", ".venvs", "__pycache__"}
LIMIT = 500
GENERATED = re.compile(r'(# ?|""")Generated\b')

REASONS: dict[str, str] = {
    "dragoman_app/cli/commands.py": "the table of commands: one row for each, with its examples",
    "dragoman_hub/session/machine.py": "a small function for each event; together they are `step`",
    "dragoman_hub/session/state.py": "a session's values, and the fold that is the only way to them",
    "dragoman_hub/engine/live_session.py": "where a session meets journal, agent and clients",
    "dragoman_local/workspace/line_history.py": "one answer: whose each line is, through all snapshots",
    "dragoman_local/secrets/named.py": "one search: what a name says of its value, for each notation",
    "dragoman_local/secrets/places.py": "one table: a row for each command, call and statement",
    "dragoman_local/workspace/tree_store.py": "one store: its tables, and all that reads and writes them",
    "tests/sandbox/breakouts.py": "one program, a few lines an attempt: another user runs it as one file",
    "tests/hub/session/test_machine.py": "one table: a case for each event and each effect of `step`",
    "tests/hub/explore/moves.py": "a method for each thing that happens to a world",
    "tests/hub/explore/planted_bugs.py": "one table: a row for each planted bug",
    "tests/hub/simulate/clients.py": "one person: a method for each thing that people do",
    "tests/hub/outside/gate_stage.py": "one table: an `Act` for each row of the gate's table",
    "dragoman/sdk/client/prompt.py": "one turn: how it is read, and what is said to it while it runs",
    "dragoman_hub/agents/process.py": "one process of an agent: its words, its calls, its bytes",
    "dragoman_hub/agents/pool.py": "processes, and how they bring sessions back: one owner ends both",
}
"""Why a file over the limit is not several."""


SMALL = 40

SMALL_REASONS: dict[str, str] = {
    "dragoman_check/marked_processes.py": "scenes of agents and of clients share it",
    "dragoman/__main__.py": "`python -m dragoman` needs it",
    "dragoman/version.py": "the build reads it",
    "dragoman_app/agents/code/anthropic_models.py": "a vendor's client: imported only for its models",
    "dragoman_app/agents/code/openai_models.py": "a vendor's client: imported only for its models",
    "dragoman_review/judges.py": "all that judges a text, loaded late in one place",
    "dragoman_review/rule_files.py": "apart from the catalogue, which loads every rule",
    "dragoman_review/plain_rules.py": "rules that take long to load: imported with the first judgement",
    "dragoman_app/cli/agent_code.py": "a command: imported only when it runs",
    "dragoman_app/cli/agent_echo.py": "a command: imported only when it runs",
    "dragoman_app/cli/agent_script.py": "a command: imported only when it runs",
    "dragoman_app/cli/review.py": "a command: it reads the files, and `review_run` does the rest",
    "dragoman_app/cli/check_trace.py": "a command: imported only when it runs",
    "dragoman_app/cli/client_tools.py": "a command: imported only when it runs",
    "dragoman_app/cli/diff.py": "a command: imported only when it runs",
    "dragoman_app/cli/mcp.py": "a command: it chooses between streams and HTTP, and loads one of them",
    "dragoman/dialect/credentials.py": "both sides of a login and the host use it",
    "dragoman/blocking/server.py": "the verb of agents: it does not load what clients use",
    "dragoman/runtime/deferred_module.py": "modules of three rooms use it to import asyncio late",
    "dragoman/schema/errors.py": "the one error of the room, for whoever reads or writes",
    "dragoman/schema/lazy.py": "generated packages import it, and nothing else of the room",
    "dragoman/schema/scalars.py": "generated modules import it, and nothing else of the room",
    "dragoman/schema/surrogates.py": "loaded only for a text that cannot be read without it",
    "dragoman/text/diff.py": "one of the room's tools; the others are larger",
    "dragoman_hub/agents/host/__main__.py": "`python -m dragoman_hub.agents.host` needs it",
    "dragoman_hub/agents/host/host_reply.py": "both ends of a pipe read it, and neither loads the other",
    "dragoman_review/source.py": "whoever reads files loads it, and nothing that judges them",
    "dragoman_review/worker_messages.py": "both ends of a pipe read it, and neither loads the other",
    "dragoman/system/git_files.py": "one list for two rooms; who starts git for more does not need it",
    "dragoman/transport/waiters.py": "one class, which rooms above use too",
}
"""Why a small file does not join its neighbour."""


def files() -> list[Path]:
    found = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    return sorted(path for path in found if not SKIPPED.intersection(path.parts))


def name_of(path: Path) -> str:
    """Its path below the `src` of its box, below its box, or below the house."""
    name = path.relative_to(ROOT).as_posix()
    return re.sub(r"^packages/\w+/(src/)?", "", name)


def complaint(name: str, text: str, *, reasons: dict[str, str]) -> str | None:
    """What is wrong with the size of one file, or None."""
    lines = text.splitlines()
    if lines and GENERATED.match(lines[0]):
        return None
    if len(lines) <= LIMIT:
        return f"{name} needs no reason any more: it has {len(lines)} lines" if name in reasons else None
    if name in reasons:
        return None
    return f"{name} has {len(lines)} lines: split it by idea, or say in REASONS why it is one"


def test_a_large_file_has_a_reason() -> None:
    texts = {name_of(path): path.read_text(encoding="utf-8") for path in files()}
    found = [complaint(name, text, reasons=REASONS) for name, text in texts.items()]
    assert [text for text in found if text] == []


def test_every_reason_is_for_a_file_that_exists() -> None:
    names = {name_of(path) for path in files()}
    assert [name for name in (*REASONS, *SMALL_REASONS) if name not in names] == []


def test_a_small_file_of_the_source_has_a_reason() -> None:
    """Packages need their `__init__.py`, however little is in it."""
    small = set()
    for path in files():
        lines = path.read_text(encoding="utf-8").splitlines()
        is_source = name_of(path).startswith("dragoman") and path.name != "__init__.py"
        if is_source and len(lines) < SMALL and not GENERATED.match(lines[0]):
            small.add(name_of(path))
    assert small == SMALL_REASONS.keys()


@every(
    ("lines", "reasons", "expected"),
    [
        (LIMIT, {}, None),
        (LIMIT + 1, {}, "split it"),
        (LIMIT + 1, {"a.py": "one idea"}, None),
        (LIMIT, {"a.py": "one idea"}, "no reason any more"),
    ],
)
def test_only_large_files_need_a_reason(lines: int, reasons: dict[str, str], expected: str | None) -> None:
    found = complaint("a.py", "x = 1\n" * lines, reasons=reasons)
    assert found is None if expected is None else expected in (found or "")


@pytest.mark.parametrize("line", ["# Generated; do not edit", '"""Generated by a tool."""'])
def test_a_generated_file_may_be_long(line: str) -> None:
    assert complaint("a.py", f"{line}\n" + "x = 1\n" * LIMIT, reasons={}) is None


def test_the_word_alone_does_not_make_a_file_generated() -> None:
    assert complaint("a.py", "# Not Generated\n" + "x = 1\n" * LIMIT, reasons={}) is not None
