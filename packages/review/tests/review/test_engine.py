"""The review as a whole: real workers, real tools, and what happens when they fail."""

import asyncio
import contextlib
import signal
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from dragoman_review import (
    Baseline,
    ReviewNote,
    ReviewRule,
    ReviewSettings,
    ReviewSource,
    Severity,
    inspectors,
    judges,
    parse_rules,
    review,
    structure,
)
from dragoman_review import engine as engine_module
from tests.house import children
from tests.review.samples import reviewed, rules_of

BAD = "def f(a=[]):\n    return eval(a)\n"


def rule(more: str) -> ReviewRule:
    head = "[[rule]]\nid = 'x/y'\ntitle = 't'\nwhy = 'w'\nseverity = 'low'\n"
    (made,) = parse_rules(head + more, "x.toml")
    return made


def program(folder: Path, body: str) -> str:
    """A tool that does what the test wants, as a real program."""
    path = folder / "ruff"
    path.write_text(f"#!{sys.executable} -IS\nimport sys, time\nsys.stdin.read()\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


without_workers = pytest.mark.usefixtures("rules_in_this_process")


async def test_what_is_reviewed_is_the_given_text_and_not_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text("x = 1\n")
    found = await reviewed(ReviewSource(str(path), BAD))
    assert {"python/eval", "python/mutable-argument-default"} <= rules_of(found)
    assert path.read_text() == "x = 1\n"


async def test_every_tool_adds_its_findings() -> None:
    found = await reviewed(
        ReviewSource("x.py", "import os\n"),
        ReviewSource("x.js", "debugger; if (a = 1) {}\n"),
        ReviewSource("x", "<<<<<<< a\n"),
    )
    assert {finding.tool for finding in found} == {"ruff", "ast-grep", "oxlint", "dragoman"}


@without_workers
async def test_two_tools_that_find_the_same_report_it_once() -> None:
    found = await reviewed(ReviewSource("x.js", "eval(x);\n"))
    assert [finding.rule for finding in found].count("javascript/no-eval") == 1


@pytest.mark.bound(20)
async def test_findings_come_while_texts_are_still_on_their_way() -> None:
    first = asyncio.Event()

    async def sources() -> AsyncIterator[ReviewSource]:
        yield ReviewSource("a.py", BAD)
        await first.wait()  # never comes if the review waits for all texts
        yield ReviewSource("b.py", BAD)

    paths = set()
    async for finding in review(sources()):
        paths.add(finding.path)
        first.set()
    assert paths == {"a.py", "b.py"}


@without_workers
async def test_only_changed_lines_are_reported_when_they_are_given() -> None:
    text = "x = eval('1')\ny = eval('2')\nz = eval('3')\n"
    found = await reviewed(ReviewSource("x.py", text, frozenset({2})))
    assert [finding.line for finding in found] == [2]
    assert await reviewed(ReviewSource("x.py", text, frozenset())) == []


@without_workers
async def test_the_mildest_and_the_unwanted_are_left_out() -> None:
    source = ReviewSource("x.py", BAD + "# TODO: x\n")
    assert "text/todo" in rules_of(await reviewed(source))
    assert "text/todo" not in rules_of(await reviewed(source, settings=ReviewSettings(severity=Severity.LOW)))
    assert rules_of(await reviewed(source, settings=ReviewSettings(only=("text/*",)))) == {"text/todo"}
    assert "python/eval" not in rules_of(await reviewed(source, settings=ReviewSettings(without=("*/eval",))))


@without_workers
async def test_what_is_in_the_baseline_is_known_as_often_as_it_was_there() -> None:
    once, twice = (
        ReviewSource("x.py", "x = eval('1')\n"),
        ReviewSource("x.py", "\n\nx = eval('1')\nx = eval('1')\n"),
    )
    known = Baseline.of(await reviewed(once))
    assert await reviewed(once, settings=ReviewSettings(baseline=known)) == []
    again = await reviewed(twice, settings=ReviewSettings(baseline=known))
    assert [finding.line for finding in again] == [4]


@without_workers
async def test_a_rule_of_the_user_is_used_beside_ours() -> None:
    settings = ReviewSettings(rules=(rule("pattern = 'frobnicate'\n"),))
    assert "x/y" in rules_of(await reviewed(ReviewSource("x.py", "frobnicate = 1\n"), settings=settings))


@pytest.mark.bound(20)
async def test_a_pattern_that_takes_for_ever_costs_one_text_and_its_deadline() -> None:
    settings = ReviewSettings(rules=(rule("pattern = '^(a+)+$'\n"),), deadline=1.0, workers=1)
    notes: list[ReviewNote] = []
    found = await reviewed(
        *(ReviewSource("slow.txt", "a" * 40 + "!"), ReviewSource("fine.py", BAD)),
        settings=settings,
        notes=notes,
    )
    assert notes == [
        ReviewNote("slow.txt", "rules: took longer than 1 seconds of processor time", is_failure=True)
    ]
    assert "python/eval" in rules_of(found)


@pytest.mark.skipif(sys.platform == "win32", reason="it has no timer of processor time")
@pytest.mark.bound(30)
async def test_a_worker_that_gets_no_processor_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    workers: list[asyncio.subprocess.Process] = []

    async def start() -> asyncio.subprocess.Process:
        workers.append(await start_worker())
        workers[0].send_signal(signal.SIGSTOP)  # as on a machine that has others to serve
        return workers[0]

    start_worker = inspectors._start
    monkeypatch.setattr(inspectors, "_start", start)
    inspector = inspectors.own_inspector(deadline=0.5)
    try:
        async with asyncio.TaskGroup() as group:
            answer = group.create_task(inspector.inspect("x.py", BAD, has_ruff=False))
            await asyncio.sleep(2.6)
            assert not answer.done()
            workers[0].send_signal(signal.SIGCONT)
        assert "python/eval" in rules_of(answer.result().findings)
    finally:
        await inspector.aclose()


@without_workers
async def test_a_ruff_that_fails_is_told_and_our_own_rules_step_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = program(tmp_path, "print('no', file=sys.stderr); sys.exit(2)")
    monkeypatch.setattr(engine_module, "find_ruff", lambda: broken)
    notes: list[ReviewNote] = []
    found = await reviewed(ReviewSource("x.py", BAD), notes=notes)
    assert notes == [ReviewNote("x.py", "ruff: ended with 2: no", is_failure=True)]
    assert {"python/eval", "python/mutable-argument-default"} <= rules_of(found)
    assert {finding.tool for finding in found} == {"ast-grep"}


@without_workers
async def test_that_shapes_are_not_looked_for_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure, "is_available", lambda: False)
    monkeypatch.setattr(judges, "is_available", lambda: False)
    notes: list[ReviewNote] = []
    sources = [ReviewSource("x.go", "package m\n"), ReviewSource("y.go", "package m\n")]
    assert await reviewed(*sources, notes=notes) == []
    (note,) = notes
    assert "ast-grep is not installed" in note.text
    assert not note.is_failure


@without_workers
async def test_a_ruff_that_hangs_is_ended_at_its_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "find_ruff", lambda: program(tmp_path, "time.sleep(1000)"))
    notes: list[ReviewNote] = []
    found = await reviewed(ReviewSource("x.py", BAD), settings=ReviewSettings(deadline=1.5), notes=notes)
    assert [note.text for note in notes] == ["ruff: took longer than 1.5 seconds and was ended"]
    assert "python/eval" in rules_of(found)


@without_workers
async def test_an_oxlint_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "find_oxlint", lambda: program(tmp_path, "print('{}')"))
    notes: list[ReviewNote] = []
    found = await reviewed(ReviewSource("x.js", "eval(x);\n"), notes=notes)
    assert [note.is_failure for note in notes] == [True]
    assert rules_of(found) == {"javascript/no-eval"}


@without_workers
async def test_what_is_not_reviewed_is_told() -> None:
    notes: list[ReviewNote] = []
    settings = ReviewSettings(largest=10)
    assert (
        await reviewed(ReviewSource("a", "x" * 11), ReviewSource("b", "a\0b"), settings=settings, notes=notes)
        == []
    )
    assert [(note.path, note.is_failure) for note in notes] == [("a", False), ("b", False)]


@without_workers
async def test_very_many_findings_of_one_kind_are_cut_and_counted() -> None:
    notes: list[ReviewNote] = []
    found = await reviewed(
        ReviewSource("x.py", "# TODO: x\n" * 9), settings=ReviewSettings(most=5), notes=notes
    )
    assert len(found) == 5
    assert notes == [ReviewNote("x.py", "4 more findings of text/todo are not shown")]


async def test_a_lone_surrogate_is_survived() -> None:
    found = await reviewed(ReviewSource("x.py", "s = '\udcff'; x = eval('1')\n"))
    assert [(finding.rule, finding.place.column) for finding in found] == [("python/eval", 14)]


@pytest.mark.bound(20)
async def test_leaving_early_leaves_no_process_and_no_task() -> None:
    before = children()
    found = review([ReviewSource(f"{number}.py", BAD * 20) for number in range(200)])
    async with contextlib.aclosing(found):
        async for _ in found:
            break
    assert children().keys() <= before.keys()


@pytest.mark.bound(20)
async def test_a_review_that_is_cancelled_leaves_nothing() -> None:
    before = children()
    begun = asyncio.Event()

    async def run() -> None:
        async for _ in review([ReviewSource(f"{number}.py", BAD * 20) for number in range(200)]):
            begun.set()

    task = asyncio.create_task(run())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert children().keys() <= before.keys()


@pytest.mark.bound(20)
@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 10, 40, 200])
async def test_a_review_can_be_cancelled_at_any_step(steps: int) -> None:
    before = children()
    task = asyncio.create_task(reviewed(ReviewSource("x.py", BAD), ReviewSource("x.js", "eval(x)\n")))
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert children().keys() <= before.keys()


async def test_an_error_of_the_sources_reaches_the_caller_as_it_is() -> None:
    def sources() -> Iterator[ReviewSource]:
        yield ReviewSource("a.py", BAD)
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        [finding async for finding in review(sources())]


@without_workers
async def test_nothing_to_review_is_no_finding() -> None:
    assert await reviewed() == []
    assert await reviewed(ReviewSource("x.py", "")) == []


async def test_nothing_of_the_project_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("msgspec.py", "dragoman.py", "ast.py", "sitecustomize.py"):
        (tmp_path / name).write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nraise SystemExit('mine')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "")
    assert "python/eval" in rules_of(await reviewed(ReviewSource("x.py", BAD)))
    assert not (tmp_path / "ran").exists()


@pytest.mark.bound(60)
async def test_hundreds_of_texts_are_reviewed_in_one_go() -> None:
    text = "def f(x):\n    return x\n\n\n" * 60
    sources = [ReviewSource(f"{number}.py", text + "x = eval('1')\n") for number in range(200)]
    found = await reviewed(*sources)
    assert len([finding for finding in found if finding.rule == "python/eval"]) == 200
