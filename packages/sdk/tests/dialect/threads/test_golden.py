"""Every example of the dialect's document, and every method: read, carried through v1, and back to what it
meant. The official SDKs take all of v1 that is said in between.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.dialect.official import refused
from tests.dialect.threads.frames import EXAMPLES, TO_AGENT, TO_CLIENT
from tests.dialect.threads.round_trips import carry, created
from tests.dialect.threads.stage import Between, user

SEED = next(iter((Path(__file__).parents[6] / "shared" / "seeds").glob("001_*.txt")), None)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_of_the_document_arrives_as_it_was(example: Any, tmp_path: Path) -> None:
    between = Between()
    assert carry(between, example) == example
    assert not refused(between.v1, tmp_path, typescript=False)
    assert not between.lost


@pytest.mark.skipif(SEED is None, reason="the document that describes the dialect is not here")
def test_every_example_in_the_document_itself_arrives_as_it_was(tmp_path: Path) -> None:
    assert SEED is not None
    examples = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", SEED.read_text(), re.DOTALL)]
    assert len(examples) == len(EXAMPLES)
    for example, ours in zip(examples, EXAMPLES, strict=True):
        between = Between()
        assert carry(between, example) == example
        assert not refused(between.v1, tmp_path, typescript=False)
        assert example.keys() == ours.keys(), "our examples have the shapes of the document's"


def ask(between: Between, number: int, method: str, params: Any, result: Any) -> None:
    """A request of the client, and the answer of the agent, whatever it takes to get there."""
    heard = len(between.to_agent)
    between.client_says({"id": number, "method": method, "params": params})
    if method == "getThreadEntries":  # it was read when the thread was opened
        assert between.to_agent[heard:] == []
    else:
        (asked,) = between.to_agent[heard:]
        assert (asked["method"], asked["params"]) == (method, params)
        between.agent_says({"id": asked["id"], "result": result})
    if method == "openThread":
        asked = between.to_agent[-1]
        assert asked["method"] == "getThreadEntries"
        between.agent_says({"id": asked["id"], "result": TO_AGENT[3][2]})
    assert between.to_client[-1] == {"id": number, "result": result}


def test_all_ten_methods_arrive_with_their_params_and_results(tmp_path: Path) -> None:
    between = Between()
    for number, (method, params, result) in enumerate(TO_AGENT):
        ask(between, number, method, params, result)
    for number, (method, params, result) in enumerate(TO_CLIENT):
        between.agent_says({"id": number, "method": method, "params": params})
        asked = between.to_client[-1]
        assert (asked["method"], asked["params"]) == (method, params)
        between.client_says({"id": asked["id"], "result": result})
        assert between.to_agent[-1] == {"id": number, "result": result}
    assert not between.lost
    assert not refused(between.v1, tmp_path)


def test_what_a_client_hears_of_a_failure_is_what_the_agent_said() -> None:
    for code in (-32602, -32000, -32002, 17):
        between = Between()
        created(between, "th")
        between.client_says({"id": 9, "method": "sendMessage", "params": user("th", "go")})
        error = {"code": code, "message": "no water"}
        between.agent_says({"id": between.to_agent[-1]["id"], "error": error})
        assert between.to_client[-1] == {"id": 9, "error": error}
