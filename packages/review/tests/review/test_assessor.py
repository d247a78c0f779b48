"""Proposals that are judged by a worker process: a real one."""

import asyncio

import pytest

from dragoman_review.assessor import Assessor
from dragoman_review.risks import LARGEST, Proposal, new_lines
from dragoman_review.source import ReviewSource

PYTHON = "import os\n\n\ndef run(text):\n    eval(text)\n"


@pytest.mark.bound(60)  # a process is started
async def test_a_change_is_judged_by_all_rules_in_its_new_lines() -> None:
    assessor = Assessor()
    change = Proposal(
        texts=(
            ReviewSource("a.js", "eval(text)\n"),
            ReviewSource("b.py", PYTHON, new_lines(PYTHON.replace("eval", "print"), PYTHON)),
            ReviewSource("c.py", PYTHON, new_lines(PYTHON, PYTHON + "x = 1\n")),
        ),
        commands=(f"echo {'x' * 5000}; rm -rf /",),
    )
    try:
        judged, small = await asyncio.gather(
            assessor.judge(change), assessor.judge(Proposal(commands=("sudo ls",)))
        )
    finally:
        await assessor.aclose()
    assert [risk.rule for risk in small.risks or ()] == ["shell/privilege"]
    assert judged.note == ""
    assert {(risk.rule, risk.path, risk.line) for risk in judged.risks or ()} >= {
        ("shell/remove-root", "", 0),
        ("javascript/no-eval", "a.js", 1),
        ("python/eval", "b.py", 5),
    }
    assert not any(risk.path == "c.py" for risk in judged.risks or ())


@pytest.mark.bound(60)  # a process is started
async def test_what_takes_too_long_is_said_to_be_unjudged() -> None:
    assessor = Assessor(deadline=0.001)
    try:
        judged = await assessor.judge(Proposal(texts=(ReviewSource("a.py", PYTHON * 5_000),)))
        assert judged.risks is None
        assert judged.note.startswith("Not checked for risks: the rules ")
    finally:
        await assessor.aclose()


async def test_what_is_too_large_is_said_to_be_unjudged() -> None:
    assessor = Assessor()
    judged = await assessor.judge(Proposal(commands=("x" * (LARGEST + 1),)))
    assert (judged.risks, judged.note) == (None, "Not checked for risks: it is too large.")
    await assessor.aclose()
