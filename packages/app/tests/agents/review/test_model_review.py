"""A review by a model: a scripted one, over real HTTP. It looks with tools, and what it finds is verified."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman import Session
from dragoman.schema.v1 import Plan
from dragoman.testing.models import (
    ModelTurn,
    ScriptedModel,
    TokenUsage,
    call,
    fail,
    hold,
    scripted_model,
    turn,
)
from tests.agents.review.ground import Told, findings_in, git, make_repository, say
from tests.agents.review.model_ground import (
    BUG,
    OTHER,
    SHOP,
    is_second_look,
    make_shop,
    model_reviewer,
    verdict,
)
from tests.agents.review.process import running

pytestmark = pytest.mark.bound(40)  # the model layer takes seconds to import on a busy machine

KEY = "ghp_" + "9fQ2xLrT7vKpW3sZ8dYb1nHc6mJg4aEuRoIq"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_shop(tmp_path / "project")


@asynccontextmanager
async def reviewer(
    folder: Path, model: ScriptedModel, *, api: str = "openai", **limits: Any
) -> AsyncIterator[Session]:
    address = model.openai_url if api == "openai" else model.anthropic_url
    async with model_reviewer(folder, address, api=api, **limits) as session:
        yield session


async def reviewed(
    folder: Path, script: Sequence[ModelTurn], words: str = "review shop.py", **limits: Any
) -> tuple[Told, ScriptedModel]:
    async with scripted_model(script) as model, reviewer(folder, model, **limits) as session:
        return await say(session, words), model


def plan_of(told: Told) -> dict[str, str]:
    """The last plan: what each step is called, and how it stands."""
    plans = [update for update in told.updates if isinstance(update, Plan)]
    return {entry.content: entry.status for entry in plans[-1].entries}


async def test_the_prompt_goes_to_the_model_with_the_files_and_what_the_rules_found(folder: Path) -> None:
    (folder / "run.py").write_text(
        "import subprocess\n\n\ndef run(line):\n    subprocess.run(line, shell=True)\n"
    )
    told, model = await reviewed(folder, [turn("Nothing more.")], "review run.py for holes")
    [request] = model.requests
    assert "review run.py for holes" in request.messages[0].text
    assert "- run.py (6 lines)" in request.messages[0].text
    assert "python/shell-true" in request.messages[0].text
    assert set(request.tools) == {
        "read",
        "references",
        "search",
        "callers",
        "log",
        "rules",
        "history",
        "report",
    }
    assert "## Review by clever\n\nNothing more." in told.text
    assert told.stop == "end_turn"
    assert plan_of(told) == {
        "Find what to review": "completed",
        "Read 1 file": "completed",
        "Analyse 1 file": "completed",
        "Look for bugs with the model": "completed",
        "Verify what it found": "completed",
        "Sum up": "completed",
    }


async def test_results_of_tools_go_back_to_the_model_until_it_calls_no_more(folder: Path) -> None:
    script = [
        turn(call("read", path="shop.py", line=4, limit=2), call("references", name="price")),
        turn(call("rules", paths=["cart.py"])),
        turn("It is fine."),
    ]
    told, model = await reviewed(folder, script)
    assert [result.text for result in model.requests[2].results.values()] == [
        "     4\tdef price(total: int, count: int) -> float:\n     5\t    return total / count\n"
        "(there is more, from line 6 on)",
        "cart.py:1: from shop import price\ncart.py:3: price(1, 0)\n"
        "shop.py:4: def price(total: int, count: int) -> float:",
        "(nothing found)",
    ]
    assert told.ends["Read shop.py"] == told.ends["Find references to price"] == "completed"
    assert told.ends["Run the rules on cart.py"] == "completed"
    read = [entry for entry in told.calls if entry.title == "Read shop.py"][-1]
    assert read.raw_input == {"path": "shop.py", "line": 4, "limit": 2}
    assert read.locations
    assert read.locations[0].path == str(folder / "shop.py")


@pytest.mark.parametrize("api", ["openai", "anthropic"])
async def test_a_finding_that_stands_the_second_look_is_told_as_verified_with_its_lines(
    folder: Path, api: str
) -> None:
    script = [turn(call("report", **BUG)), turn("Done."), verdict("Nobody checks count.", refuted=False)]
    told, model = await reviewed(folder, script, api=api)
    assert told.findings == {("model/finding", "shop.py", 5)}
    assert "**1. high: Division by zero**" in told.text
    assert "> 5 |     return total / count\n  6 |\n" in told.text
    assert "Verified by a second check: Nobody checks count." in told.text
    assert "clever reported 1 finding: 1 verified." in told.text
    assert told.ends["Verify: Division by zero (shop.py:5)"] == "completed"
    second = model.requests[-1]
    assert is_second_look(second)
    assert len(second.messages) == 1, "it begins a conversation of its own"
    assert "5:     return total / count" in second.messages[0].text


async def test_a_finding_that_is_refuted_is_left_out_and_counted(folder: Path) -> None:
    script = [
        turn(call("report", **BUG), call("report", **OTHER)),
        turn("Done."),
        verdict("The caller checks it.", refuted=True, about="Division"),
        verdict("It does.", refuted=False, about="Rounds"),
    ]
    told, _ = await reviewed(folder, script)
    assert told.findings == {("model/finding", "shop.py", 9)}
    assert "1 verified, 1 refuted and left out" in told.text


async def test_findings_of_rules_and_model_are_one_list_without_doubles_the_worst_first(folder: Path) -> None:
    (folder / "run.py").write_text(
        "import subprocess\n\n\ndef run(line, seen=[]):\n"
        "    subprocess.run(line, shell=True)\n    return 1 / len(seen)\n"
    )
    double = BUG | {
        "path": "run.py",
        "title": "Command injection through shell=True",
        "evidence": "subprocess.run(line, shell=True)",
    }
    new = BUG | {"path": "run.py", "severity": "critical", "evidence": "return 1 / len(seen)"}
    script = [
        turn(call("report", **double), call("report", **new), call("report", **new)),
        turn("Done."),
        verdict("Yes.", refuted=False),
    ]
    told, model = await reviewed(folder, script, "review run.py")
    results = [result.text for result in model.requests[1].results.values()]
    assert results[0] == "Known already: python/shell-true reports it in line 5."
    assert results[1:] == ["Taken: run.py:6.", "Known already: you have reported it."]
    rules = [rule for rule, _, _ in findings_in(told.text)]
    assert rules[0] == "model/finding"
    assert rules.count("model/finding") == 1
    assert set(rules) == {"model/finding", "python/shell-true", "python/mutable-argument-default"}


async def test_evidence_that_is_not_in_the_file_is_not_taken(folder: Path) -> None:
    wrong = BUG | {"evidence": "return total / (count + 1)"}
    told, model = await reviewed(folder, [turn(call("report", **wrong)), turn("Sorry.")])
    assert "The evidence is not in shop.py" in model.requests[1].text
    assert told.findings == set()


async def test_a_used_up_budget_of_requests_ends_with_what_was_found_so_far(folder: Path) -> None:
    script = [turn(call("report", **BUG)), turn(call("read", path="cart.py"))]
    told, model = await reviewed(folder, script, requests=2)
    assert told.stop == "max_turn_requests"
    assert len(model.requests) == 2
    assert told.findings == {("model/finding", "shop.py", 5)}
    assert "Not verified: the budget of 2 requests is used up." in told.text
    assert "clever did not look at everything: the budget of 2 requests is used up" in told.text


async def test_a_used_up_budget_of_tokens_ends_with_max_tokens(folder: Path) -> None:
    script = [turn(call("report", **BUG), usage=TokenUsage(900, 200))]
    told, model = await reviewed(folder, script, tokens=1000)
    assert told.stop == "max_tokens"
    assert len(model.requests) == 1
    assert "Not verified: the budget of 1000 tokens is used up." in told.text


async def test_a_used_up_budget_of_seconds_ends_a_request_that_hangs(folder: Path) -> None:
    told, _ = await reviewed(folder, [turn("I", hold())], seconds=0.3)
    assert told.stop == "max_turn_requests"
    assert "the budget of 0.3 seconds is used up" in told.text
    assert "1 file reviewed, no findings." in told.text


async def test_a_part_of_the_budget_is_kept_for_the_second_look(folder: Path) -> None:
    script = [
        turn(call("report", **BUG)),
        turn(call("read", path="cart.py")),
        verdict("Yes.", refuted=False),
    ]
    told, model = await reviewed(folder, script, requests=3)
    assert len(model.requests) == 3
    assert told.stop == "max_turn_requests"
    assert "Verified by a second check: Yes." in told.text


async def test_a_cancel_ends_the_look_and_keeps_what_was_reported(folder: Path) -> None:
    script = [turn(call("report", **BUG)), turn("Then\n", hold())]
    async with scripted_model(script) as model, reviewer(folder, model) as session:
        prompt = session.prompt("review shop.py")
        async for update in prompt:
            if getattr(getattr(update, "content", None), "text", "") == "Then\n":
                await session.cancel()
        assert prompt.result.stop_reason == "cancelled"
        told = await say(session, "explain 1")
    assert "Division by zero" in told.text
    assert "Not verified." in told.text


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (turn(fail(401, "No")), "clever did not finish its review"),
        (turn("I will not.", stop="refusal"), "clever refused to review"),
    ],
)
async def test_a_model_that_fails_takes_nothing_from_the_rules(
    folder: Path, answer: ModelTurn, words: str
) -> None:
    (folder / "run.py").write_text("def run(seen=[]):\n    return seen\n")
    told, _ = await reviewed(folder, [answer], "review run.py")
    assert told.findings == {("python/mutable-argument-default", "run.py", 1)}
    assert words in told.text
    assert told.stop == "end_turn"


async def test_a_second_look_that_fails_leaves_findings_unverified(folder: Path) -> None:
    broken = turn(fail(400, "No more"), when=is_second_look)
    told, _ = await reviewed(folder, [turn(call("report", **BUG)), turn("Done."), broken])
    assert told.findings == {("model/finding", "shop.py", 5)}
    assert "Not verified: The request was rejected" in told.text
    assert told.ends["Verify: Division by zero (shop.py:5)"] == "failed"


async def test_a_fix_is_shown_if_it_passes_the_checks_and_applied_when_asked_for(folder: Path) -> None:
    fixed = BUG | {
        "fix_old": "    return total / count\n",
        "fix_new": "    return total / count if count else 0.0\n",
    }
    script = [turn(call("report", **fixed)), turn("Done."), verdict("Yes.", refuted=False)]
    async with scripted_model(script) as model, reviewer(folder, model) as session:
        told = await say(session, "review shop.py")
        assert "+    return total / count if count else 0.0" in told.text
        await say(session, "apply fix 1")
    assert (folder / "shop.py").read_text() == SHOP.replace("/ count\n", "/ count if count else 0.0\n")


@pytest.mark.parametrize(
    ("new", "why"),
    [
        ("    return total / (count\n", "the file does not parse after it"),
        ("    return eval(f'{total} / {count}')\n", "the rule python/eval complains about it"),
    ],
)
async def test_a_fix_that_does_not_pass_the_checks_is_dropped_and_counted(
    folder: Path, new: str, why: str
) -> None:
    fixed = BUG | {"fix_old": "    return total / count\n", "fix_new": new}
    script = [turn(call("report", **fixed)), turn("Done."), verdict("Yes.", refuted=False)]
    told, model = await reviewed(folder, script)
    assert f"Its fix is dropped: {why}" in model.requests[1].text
    assert "1 fix that it proposed did not pass the checks." in told.text
    assert "```diff" not in told.text
    assert told.findings == {("model/finding", "shop.py", 5)}


async def test_no_secret_leaves_in_any_request(folder: Path) -> None:
    body = "MIIEowIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgO/Rare/zNm0tRgeLezV6ffAt0"
    pem = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n{body[::-1]}\n-----END RSA PRIVATE KEY-----"
    (folder / "conf.py").write_text(f'TOKEN = "{KEY}"\n\n\ndef token(seen=[]):\n    return TOKEN\n')
    (folder / "pair.py").write_text(
        f'PEM = """{pem}"""\nTOKEN = "{KEY}"  # dragoman: ignore[secrets/hardcoded] known\n'
    )
    (folder / ".env").write_text("PASSWORD=hunter2-not-random\n")
    bug = BUG | {"path": "conf.py", "evidence": "return TOKEN"}
    script = [
        turn(call("read", path="conf.py"), call("read", path="pair.py"), call("read", path=".env")),
        turn(call("references", name="TOKEN"), call("references", name="Rare"), call("report", **bug)),
        turn("Done."),
        verdict("Yes.", refuted=False),
    ]
    told, model = await reviewed(folder, script, f"review conf.py, the token is {KEY}")
    assert len(model.requests) == 4
    sent = "".join(str(request.body) for request in model.requests)
    for secret in (KEY, body, body[::-1], "hunter2"):
        assert secret not in sent
        assert secret not in told.text
    assert "TOKEN = " in sent
    assert ".env may contain secrets" in sent


async def test_nothing_outside_the_folders_of_the_session_is_read(folder: Path) -> None:
    (folder.parent / "other.py").write_text("SIDE = 1\n")
    (folder / "link.py").symlink_to(folder.parent / "other.py")
    script = [turn(call("read", path="../other.py"), call("read", path="link.py")), turn("Well.")]
    _, model = await reviewed(folder, script)
    results = [result.text for result in model.requests[1].results.values()]
    assert "SIDE" not in str(model.requests[1].body)
    assert ["lies outside the folders of the session" in text for text in results] == [True, True]


async def test_the_history_of_lines_names_commits_and_what_is_not_committed(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    text = (folder / "src" / "clean.py").read_text()
    (folder / "src" / "clean.py").write_text(f"# New.\n{text}")
    script = [turn(call("history", path="src/clean.py", line=1, end_line=2)), turn("I see.")]
    told, model = await reviewed(folder, script, "review src/clean.py")
    head = git(folder, "rev-parse", "HEAD")[:10]
    assert "1: not committed yet" in model.requests[1].text
    assert f"2: {head} " in model.requests[1].text
    assert "Ada: Begin" in model.requests[1].text
    assert told.ends["History of src/clean.py:1"] == "completed"


async def test_the_command_line_names_the_model_and_its_budget(folder: Path) -> None:
    script = [turn(call("report", **BUG))]
    async with scripted_model(script) as model:
        options = ("--model", "openai:clever", "--base-url", model.openai_url, "--budget-requests", "1")
        async with running(folder.with_name("sessions.db"), *options) as peer:
            session_id = await peer.open(folder)
            answer = await peer.prompt(session_id, "review shop.py")
    assert answer["result"]["stopReason"] == "max_turn_requests"
    assert "Not verified: the budget of 1 requests is used up." in peer.text()
