"""The schema of events: documented, published as JSON schema, and what really comes out."""

import json
import re
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from dragoman_app.apps.run import events
from dragoman_app.apps.run.exits import EXITS
from tests.apps.run.run_process import run

DOCS = Path(__file__).parents[5] / "docs"
PAGE = (DOCS / "run.md").read_text("utf-8")
KINDS = get_args(events.AnyEvent)
# After a change of the types: python -m tests.apps.run.test_events
PUBLISHED = DOCS / "run-events.schema.json"


def schema() -> dict[str, Any]:
    made: dict[str, Any] = msgspec.json.schema(events.AnyEvent)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "dragoman run", **made}


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading of the page."""
    part = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[1:]]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.__struct_config__.tag))
def test_every_event_and_field_is_described(kind: type[msgspec.Struct]) -> None:
    described = {row[0].strip("`"): row[2] for row in rows("Events")}
    fields = set(kind.__struct_encode_fields__) - {"time"}
    assert fields <= set(re.findall(r"`(\w+)`", described[str(kind.__struct_config__.tag)]))


def test_nothing_is_described_that_is_not_there() -> None:
    assert {row[0].strip("`") for row in rows("Events")} == {str(k.__struct_config__.tag) for k in KINDS}


def test_every_status_is_described() -> None:
    described = {row[1].strip("`"): (int(row[0]), row[2]) for row in rows("How it ends")}
    assert described == EXITS


def test_no_status_has_two_meanings() -> None:
    statuses = [exit_.status for exit_ in EXITS.values()]
    assert len(statuses) == len(set(statuses))


def test_the_published_schema_is_that_of_the_types() -> None:
    assert json.loads(PUBLISHED.read_text("utf-8")) == schema()


@pytest.mark.parametrize(
    "prompt", ["Hello", "/plan", "/usage", "/think", "/notice", "/read a.txt", "/run true"]
)
def test_what_comes_out_is_what_the_schema_says(prompt: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    done = run("--agent", "echo", "--format", "json", "--approve", "all", prompt, folder=tmp_path)
    for line in done.out.splitlines():
        event = msgspec.json.decode(line, type=events.AnyEvent)
        # Nothing in the line that the types do not know, and nothing lost.
        assert json.loads(msgspec.json.encode(event)) == json.loads(line)
    assert [event["event"] for event in done.events if "schema" in event] == ["start"]


if __name__ == "__main__":
    PUBLISHED.write_text(json.dumps(schema(), indent=1) + "\n", "utf-8")
