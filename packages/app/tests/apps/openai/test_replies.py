"""How the protocol's counts become OpenAI's."""

from __future__ import annotations

import pytest

from dragoman.schema import v1
from dragoman_app.apps.openai.replies import usage_of


@pytest.mark.parametrize(
    ("total", "prompt", "completion"),
    [(100, 70, 30), (60, 40, 20)],  # cached tokens and thoughts by themselves, or as parts of the others
)
def test_cached_tokens_and_thoughts_are_counted_once(total: int, prompt: int, completion: int) -> None:
    usage = v1.Usage(
        total_tokens=total,
        input_tokens=40,
        output_tokens=20,
        thought_tokens=10,
        cached_read_tokens=25,
        cached_write_tokens=5,
    )
    counts = usage_of(usage)
    assert counts is not None
    assert (counts["prompt_tokens"], counts["completion_tokens"]) == (prompt, completion)
    assert counts["total_tokens"] == prompt + completion
    assert counts["prompt_tokens_details"] == {"cached_tokens": 25}
    assert counts["completion_tokens_details"] == {"reasoning_tokens": 10}


def test_an_agent_that_counts_nothing_has_no_usage() -> None:
    assert usage_of(None) is None
