"""Entries from updates: what belongs together, what is read, what is forgotten."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.ledger import LedgerNote
from dragoman.dialect.threads.entries import MOST_CALLS, Entries
from tests.dialect.threads.stage import chunk


class Book:
    def __init__(self, most_bytes: int = 10_000) -> None:
        self.notes: list[str] = []
        self.entries = Entries(self._note, most_bytes=most_bytes)

    def _note(self, phrase: LedgerNote) -> None:
        self.notes.append(phrase.what)

    def say(self, role: str, text: str, message_id: str | None = None) -> None:
        update: Any = {"sessionUpdate": f"{role}_message_chunk", "content": {"type": "text", "text": text}}
        self.entries.update({**update, "messageId": message_id})

    def call(self, update: str = "tool_call", /, **fields: Any) -> None:
        self.entries.update({"sessionUpdate": update, "toolCallId": "c", **fields})

    @property
    def listed(self) -> list[Any]:
        return self.entries.to_json()


def shown(text: str) -> list[Any]:
    return [{"type": "content", "content": {"type": "text", "text": text}}]


def test_chunks_of_one_role_and_message_are_one_entry() -> None:
    book = Book()
    for role, text, message_id in (
        ("agent", "a", None),
        ("agent", "b", None),
        ("agent", "c", "m"),
        ("user", "d", "m"),
        ("agent", "e", "m"),
    ):
        book.say(role, text, message_id)
    assert [[one["chunk"] for one in entry["chunks"]] for entry in book.listed] == [
        ["a", "b"],
        ["c"],
        ["d"],
        ["e"],
    ]


def test_a_read_is_entered_when_it_is_complete() -> None:
    book = Book()
    book.call(kind="read", status="pending", locations=[{"path": "/a"}, {"path": "/b"}])
    assert book.listed == []
    book.call("tool_call_update", content=shown("text"))
    book.call("tool_call_update", status="completed", content=None)
    assert book.listed == [{"type": "readFile", "path": "/a", "content": "text"}]
    assert book.notes == []


def test_a_file_in_a_read_may_be_an_embedded_resource_and_its_path_an_argument() -> None:
    book = Book()
    resource = {"type": "resource", "resource": {"uri": "file:///a", "text": "text"}}
    content = [{"type": "content", "content": resource}, {"type": "diff", "path": "/a"}]
    book.call(kind="read", status="completed", rawInput={"path": "/a"}, content=content)
    assert book.listed == [{"type": "readFile", "path": "/a", "content": "text"}]


def test_files_that_were_read_are_entered_one_by_one_and_not_again_by_their_tool_call() -> None:
    book = Book()
    book.entries.read("/a", "first")
    book.entries.read("/b", "second")
    book.call(kind="read", status="completed", locations=[{"path": "/a"}, {"path": "/b"}], content=shown("2"))
    assert [(entry["path"], entry["content"]) for entry in book.listed] == [("/a", "first"), ("/b", "second")]


def test_reads_without_a_text_and_other_tools_are_noted() -> None:
    book = Book()
    book.call(kind="read", status="completed", locations=[{"path": "/a"}])
    book.call(kind="edit", status="completed", locations=[{"path": "/a"}], content=shown("x"))
    assert book.listed == []
    assert book.notes == ["reads whose path or text the agent did not tell", "tool calls that read no file"]


def test_the_oldest_entries_are_forgotten_first_and_that_is_noted() -> None:
    book = Book(most_bytes=1000)
    for number in range(5):
        book.entries.begin("user", [str(number) * 200])
    assert [entry["chunks"][0]["chunk"][0] for entry in book.listed] == ["3", "4"]
    assert book.notes == ["the oldest entries of a long thread"] * 3


def test_one_message_that_grows_for_ever_loses_its_beginning() -> None:
    book = Book(most_bytes=1000)
    for number in range(10):
        book.say("agent", str(number) * 100)
    (entry,) = book.listed
    assert entry["chunks"][-1] == chunk("9" * 100)
    assert len(entry["chunks"]) < 5
    assert "the oldest entries of a long thread" in book.notes


def test_a_text_that_is_too_long_alone_is_cut_and_a_file_left_out() -> None:
    book = Book(most_bytes=1000)
    book.say("agent", "x" * 5000)
    book.call(kind="read", status="completed", locations=[{"path": "/a"}], content=shown("y" * 5000))
    assert sum(len(one["chunk"]) for entry in book.listed for one in entry["chunks"]) <= 1000
    assert book.notes.count("the oldest entries of a long thread") >= 2


def test_calls_that_never_end_are_forgotten() -> None:
    book = Book()
    for number in range(MOST_CALLS + 1):
        update = {"sessionUpdate": "tool_call", "toolCallId": str(number), "kind": "read"}
        book.entries.update({**update, "locations": [{"path": f"/{number}"}], "content": shown("x")})
    for number in (0, MOST_CALLS):
        ending = {"sessionUpdate": "tool_call_update", "toolCallId": str(number), "status": "completed"}
        book.entries.update(ending)
    assert [entry["path"] for entry in book.listed] == [f"/{MOST_CALLS}"]
