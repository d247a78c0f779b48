from dragoman import ToolState
from dragoman.schema import v1
from dragoman_app.tui.model.entries import SpeechEntry, ToolEntry
from dragoman_app.tui.text.places import FilePlace, place_at, places_in, places_of

PLACES = {
    "see src/a.py:12 there": [("src/a.py", 12)],
    "(a.py:3:7), b.ts#L9-L12.": [("a.py", 3), ("b.ts", 9)],
    "`./x/y.tar.gz` and ~/.config/x.toml:1": [("./x/y.tar.gz", 0), ("~/.config/x.toml", 1)],
    "file:///home/ann/a%20b.py:4": [("/home/ann/a b.py", 4)],
    "https://example.org/a/b.html:80": [],
    "e.g. 3.11 a.py and i.e. v1.2": [],
    "src/Makefile": [],
    "日本/語.py:2": [("日本/語.py", 2)],
}


def test_places_are_found_in_words_and_addresses_are_none() -> None:
    for text, places in PLACES.items():
        assert [tuple(named_place.place) for named_place in places_in(text)] == places, text
    assert place_at("see src/a.py:12", 5) == FilePlace("src/a.py", 12)
    assert place_at("see src/a.py:12", 3) is None


def test_a_hostile_line_takes_no_time() -> None:
    assert list(places_in("a/" * 100_000)) == []
    assert list(places_in("a" * 200_000)) == []
    assert list(places_in("." * 200_000)) == []


def test_a_tool_call_names_its_locations_its_changes_and_what_it_said_each_once() -> None:
    call = v1.ToolCall(
        tool_call_id="t",
        title="Edit src/a.py",
        locations=[v1.ToolCallLocation(path="/p/src/a.py", line=3)],
        content=[
            v1.Diff(path="/p/b.py", old_text="x\ny\n", new_text="x\nz\n"),
            v1.Content(content=v1.TextContent(text="src/c.py:9 is wrong, src/c.py:9")),
        ],
    )
    assert places_of(ToolEntry(ToolState.of(call))) == [
        FilePlace("/p/src/a.py", 3),
        FilePlace("/p/b.py", 2),
        FilePlace("src/a.py"),
        FilePlace("src/c.py", 9),
    ]
    assert places_of(SpeechEntry("agent", "src/c.py and src/c.py:9")) == [FilePlace("src/c.py", 9)]
