"""Every quirk with the transcript that shows it: what the peer says, and what the other side hears.

The first line of a transcript names its quirk, what the `peer` is, and the `recording` of the program itself,
null if there is none. Any other line is a frame, who says it, and what is `heard` on the other side if not
the same. At least one line should be one that the quirk looks at and leaves alone. Recordings of the programs
themselves are looked through too, where they stand beside the repository.
"""

import json
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Any

import pytest

from dragoman.dialect import EdgeSettings, Ledger, Position, Translator
from dragoman.dialect.edge import Edge
from dragoman.dialect.quirks.edge import QUIRKS, Quirks, quirks_of
from tests.every import every
from tests.interop.recordings import ELSEWHERE, conversations

ROOT = Path(__file__).parents[5]
STORIES = Path(__file__).parent / "stories"
PAGE = ROOT / "docs" / "dialects" / "quirks.md"


def story(title: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    file = STORIES / f"{title}.ndjson"
    if not file.exists():
        pytest.fail(f"the quirk {title!r} has no transcript: write {file.relative_to(ROOT)}")
    about, *lines = [json.loads(text) for text in file.read_text().splitlines()]
    return about, lines


def quirky(position: Position) -> Translator:
    ledger = Ledger()
    return Translator([Quirks(position, EdgeSettings(), ledger)], ledger, on_mistake=_raise)


def alone(title: str) -> Translator:
    """With one quirk: another one of the same peer may let it see what it does not ask for itself."""
    ledger = Ledger()
    (quirk,) = [quirk for quirk in QUIRKS if quirk.title == title]
    return Translator([quirk(EdgeSettings(), ledger)], ledger, on_mistake=_raise)


def _raise(error: Exception) -> None:
    raise error


def carried(translator: Translator, block: bytes, *, from_peer: bool) -> bytes:
    if from_peer:
        return translator.from_peer(block).inside
    return translator.from_inside(block).peer


TITLES = [quirk.title for quirk in QUIRKS]


@every("is_alone", [False, True], ids=["all", "alone"])
@every("title", TITLES)
def test_what_the_transcript_shows_is_repaired_and_nothing_else(title: str, is_alone: bool) -> None:
    about, lines = story(title)
    translator = alone(title) if is_alone else quirky(about["peer"])
    for line in lines:
        block = json.dumps(line["frame"]).encode() + b"\n"
        heard = carried(translator, block, from_peer=line["by"] == about["peer"])
        if "heard" in line:
            assert heard != block, "not repaired; of updates a quirk sees only those of its SIGNS_FROM_PEER"
            assert [json.loads(text) for text in heard.splitlines()] == line["heard"]
        else:
            assert heard == block
    (entry,) = translator.ledger.entries
    changed = sum("heard" in line for line in lines)
    assert (entry.outcome, entry.dialect, entry.count) == ("repaired", "quirks", changed)
    assert f"`{entry.what}`" in PAGE.read_text(), f"{PAGE} does not say what the ledger calls it"


JUNK: tuple[Any, ...] = (None, 0, "", "x", [], {}, [None])


def put_wrong(value: Any) -> Iterator[Any]:
    """The value with one thing in it put wrong or left out, in every place."""
    items = list(value.items() if isinstance(value, dict) else enumerate(value))
    for key, part in items:
        others = [wrong for wrong in JUNK if wrong != part]
        if isinstance(part, dict | list) and part:
            others += put_wrong(part)
        for other in others:
            changed = copy(value)
            changed[key] = other
            yield changed
        yield {name: rest for name, rest in items if name != key}


@every("title", TITLES)
def test_no_frame_that_is_put_wrong_makes_a_quirk_fail(title: str) -> None:
    about, lines = story(title)
    translator = quirky(about["peer"])
    for line in lines:
        is_peer = line["by"] == about["peer"]
        carried(translator, json.dumps(line["frame"]).encode() + b"\n", from_peer=is_peer)
        part = "params" if "params" in line["frame"] else "result"
        if "initialize" in json.dumps(line["frame"]) or "Info" in json.dumps(line["frame"]):
            continue  # who it is stays known
        for wrong in put_wrong(line["frame"].get(part) or {}):
            frame = {**line["frame"], part: wrong}
            for heard in carried(
                translator, json.dumps(frame).encode() + b"\n", from_peer=is_peer
            ).splitlines():
                json.loads(heard)


@every("title", TITLES)
def test_a_peer_of_another_name_is_left_alone(title: str) -> None:
    about, lines = story(title)
    translator = quirky(about["peer"])
    text = json.dumps([line["frame"] for line in lines])
    name = next(
        info["name"]
        for line in lines[:2]
        for info in [line["frame"].get("params", line["frame"].get("result")).get(f"{about['peer']}Info")]
        if info
    )
    for line, frame in zip(lines, json.loads(text.replace(name, "nobody-known")), strict=True):
        block = json.dumps(frame).encode() + b"\n"
        assert carried(translator, block, from_peer=line["by"] == about["peer"]) == block
    assert translator.ledger.entries == []
    assert [type(edge) for edge in translator.edges] == [Edge]


TOLD = sorted(path.stem for path in STORIES.glob("*.ndjson"))
RECORDED = [(title, about["recording"]) for title in TOLD if (about := story(title)[0])["recording"]]


@pytest.mark.parametrize(("title", "recording"), RECORDED)
def test_the_program_itself_shows_it(title: str, recording: str) -> None:
    if not (ELSEWHERE / recording).exists():
        pytest.skip("the recordings of other people's programs are not beside the repository")
    what: set[str] = set()
    for conversation in conversations(ELSEWHERE / recording):
        translator = quirky("agent")
        for frame in conversation.frames:
            carried(translator, frame.raw + b"\n", from_peer=frame.to == "client")
        what |= {entry.what for entry in translator.ledger.entries}
    _, lines = story(title)
    shown = quirky("agent")
    for line in lines:
        carried(shown, json.dumps(line["frame"]).encode() + b"\n", from_peer=line["by"] == "agent")
    assert {entry.what for entry in shown.ledger.entries} <= what


def test_names_are_whole_names() -> None:
    assert [quirk.title for quirk in quirks_of("codex-acp", "agent")] == ["unannounced"]
    assert quirks_of("some-codex-acp", "agent") == []
    assert quirks_of("gemini-cli", "client") == []
    assert quirks_of("", "agent") == []


def test_text_of_a_quirky_agent_passes_undecoded() -> None:
    translator = quirky("agent")
    _, lines = story("line-zero")
    for line in lines[:2]:
        carried(translator, json.dumps(line["frame"]).encode() + b"\n", from_peer=line["by"] == "agent")
    update = b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hm"}}'
    block = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":%s}}\n' % update
    whole = block * 3
    assert translator.from_peer(whole).inside is whole


def test_the_page_lists_every_quirk() -> None:
    page = PAGE.read_text()
    assert [title for title in TITLES if f"`{title}`" not in page] == [], f"not in {PAGE}"
    assert sorted(TITLES) == TOLD, "stories beside this file and QUIRKS of dialect/quirks/edge.py differ"
