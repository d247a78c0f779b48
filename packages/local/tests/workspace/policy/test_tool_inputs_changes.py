from typing import Any

from dragoman.schema import v1
from dragoman_local.workspace.policy.tool_inputs import changes_in, remarks_in, texts_of
from tests.every import every

DIFF = v1.Diff(path="/p/a.py", old_text="a", new_text="b")
WORDS = v1.Content(content=v1.TextContent(text="words"))


def texts_in(shown: v1.ToolCallUpdate) -> tuple[v1.Diff, ...]:
    return texts_of(changes_in(shown), remarks_in(shown))


def call(**fields: Any) -> v1.ToolCallUpdate:
    return v1.ToolCallUpdate(tool_call_id="1", **fields)


@every(
    ("fields", "texts"),
    [
        ({}, []),
        ({"content": [DIFF]}, [("/p/a.py", "b")]),
        ({"content": [WORDS, DIFF]}, [("/p/a.py", "b"), ("", "words")]),
        ({"raw_input": {"file_path": "/p/a", "content": "x"}}, [("/p/a", "x")]),
        ({"raw_input": {"path": "/p/a", "edits": [{"new_string": "x"}, 3]}}, [("/p/a", "x")]),
        ({"raw_input": {"content": "x"}}, []),
        ({"raw_input": {"path": "/p/a", "content": ["x"]}}, []),
        ({"raw_input": "rm", "content": [DIFF]}, [("/p/a.py", "b")]),
        ({"raw_input": {"path": "/p/a", "content": "x"}, "content": [DIFF]}, [("/p/a.py", "b")]),
    ],
)
def test_a_call_says_what_files_would_hold(fields: dict[str, Any], texts: list[tuple[str, str]]) -> None:
    assert [(one.path, one.new_text) for one in texts_in(call(**fields))] == texts


def test_a_diff_keeps_what_was_there_before() -> None:
    assert texts_in(call(content=[DIFF])) == (DIFF,)
