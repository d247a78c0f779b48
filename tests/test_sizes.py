"""A Python file is one idea, mostly 100 to 500 lines. A larger or a very small file has its reason here."""

import re
from pathlib import Path

import pytest

from tests.every import every

ROOT = Path(__file__).parent.parent
FOLDERS = ("src", "tests", "examples", "bench", "tools")
SKIPPED = {"node_modules", ".venvs", "__pycache__"}
LIMIT = 500
GENERATED = re.compile(r'(# ?|""")Generated\b')

REASONS: dict[str, str] = {
    "packages/app/src/dragoman_app/cli/commands.py": "the table of commands: one row for each, with its examples",
    "packages/hub/src/dragoman_hub/session/machine.py": "a small function for each event; together they are `step`",
    "packages/hub/src/dragoman_hub/session/state.py": "a session's values, and the fold that is the only way to them",
    "packages/hub/src/dragoman_hub/engine/live_session.py": "where a session meets journal, agent and clients",
    "packages/hub/tests/hub/session/test_machine.py": "one table: a case for each event and each effect of `step`",
    "packages/hub/tests/hub/explore/moves.py": "a method for each thing that happens to a world",
    "packages/hub/tests/hub/explore/planted_bugs.py": "one table: a row for each planted bug",
    "packages/hub/tests/hub/simulate/clients.py": "one person: a method for each thing that people do",
    "packages/hub/tests/hub/outside/gate_stage.py": "one table: an `Act` for each row of the gate's table",
    "packages/sdk/src/dragoman/sdk/client/prompt.py": "one turn: how it is read, and what is said to it while it runs",
    "packages/hub/src/dragoman_hub/agents/process.py": "one process of an agent: its words, its calls, its bytes",
    "packages/hub/src/dragoman_hub/agents/pool.py": "processes, and how they bring sessions back: one owner ends both",
}
"""Why a file over the limit is not several."""


SMALL = 40

SMALL_REASONS: dict[str, str] = {
    "packages/sdk/src/dragoman/__main__.py": "`python -m dragoman` needs it",
    "packages/sdk/src/dragoman/version.py": "the build reads it",
    "packages/app/src/dragoman_app/agents/code/anthropic_models.py": "a vendor's client: imported only for its models",
    "packages/app/src/dragoman_app/agents/code/openai_models.py": "a vendor's client: imported only for its models",
    "packages/review/src/dragoman_review/judges.py": "all that judges a text, loaded late in one place",
    "packages/review/src/dragoman_review/rule_files.py": "apart from the catalogue, which loads every rule",
    "packages/review/src/dragoman_review/plain_rules.py": "rules that take long to load: imported with the first judgement",
    "packages/app/src/dragoman_app/cli/agent_code.py": "a command: imported only when it runs",
    "packages/app/src/dragoman_app/cli/agent_echo.py": "a command: imported only when it runs",
    "packages/app/src/dragoman_app/cli/agent_script.py": "a command: imported only when it runs",
    "packages/app/src/dragoman_app/cli/review.py": "a command: it reads the files, and `review_run` does the rest",
    "packages/app/src/dragoman_app/cli/check_trace.py": "a command: imported only when it runs",
    "packages/app/src/dragoman_app/cli/client_tools.py": "a command: imported only when it runs",
    "packages/app/src/dragoman_app/cli/diff.py": "a command: imported only when it runs",
    "packages/sdk/src/dragoman/dialect/credentials.py": "both sides of a login and the host use it",
    "packages/sdk/src/dragoman/blocking/server.py": "the verb of agents: it does not load what clients use",
    "packages/sdk/src/dragoman/runtime/deferred_module.py": "modules of three rooms use it to import asyncio late",
    "packages/sdk/src/dragoman/schema/errors.py": "the one error of the room, for whoever reads or writes",
    "packages/sdk/src/dragoman/schema/lazy.py": "generated packages import it, and nothing else of the room",
    "packages/sdk/src/dragoman/schema/scalars.py": "generated modules import it, and nothing else of the room",
    "packages/sdk/src/dragoman/schema/surrogates.py": "loaded only for a text that cannot be read without it",
    "packages/sdk/src/dragoman/text/diff.py": "one of the room's tools; the others are larger",
    "packages/hub/src/dragoman_hub/agents/host/__main__.py": "`python -m dragoman_hub.agents.host` needs it",
    "packages/hub/src/dragoman_hub/agents/host/host_reply.py": "both ends of a pipe read it, and neither loads the other",
    "packages/hub/src/dragoman_hub/remote/package_files.py": "a start needs it, and needs nothing of the packing beside it",
    "packages/review/src/dragoman_review/source.py": "whoever reads files loads it, and nothing that judges them",
    "packages/review/src/dragoman_review/worker_messages.py": "both ends of a pipe read it, and neither loads the other",
    "packages/sdk/src/dragoman/system/git_files.py": "one list for two rooms; who starts git for more does not need it",
    "packages/sdk/src/dragoman/transport/waiters.py": "one class, which rooms above use too",
}
"""Why a small file does not join its neighbour."""


def files() -> list[Path]:
    found = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    return sorted(path for path in found if not SKIPPED.intersection(path.parts))


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
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in files()}
    found = [complaint(name, text, reasons=REASONS) for name, text in texts.items()]
    assert [text for text in found if text] == []


def test_every_reason_is_for_a_file_that_exists() -> None:
    assert [name for name in (*REASONS, *SMALL_REASONS) if not (ROOT / name).is_file()] == []


def test_a_small_file_of_the_source_has_a_reason() -> None:
    """Packages need their `__init__.py`, however little is in it."""
    small = set()
    for path in files():
        lines = path.read_text(encoding="utf-8").splitlines()
        is_source = path.is_relative_to(ROOT / "src") and path.name != "__init__.py"
        if is_source and len(lines) < SMALL and not GENERATED.match(lines[0]):
            small.add(str(path.relative_to(ROOT)))
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
