import json

from dragoman_app.apps.chat.stored_history import PAGE, StoredHistory
from dragoman_app.tui.model.entries import SpeechEntry
from dragoman_app.tui.model.transcript import Transcript
from dragoman_local.journal import Entry
from dragoman_local.journal.memory import MemoryJournal


def _frame(method: str, **params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": {"sessionId": "s", **params}}).encode()


def _said(text: str) -> Entry:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    return Entry("to_client", _frame("session/update", update=update), 0.0)


def _asked(text: str) -> Entry:
    return Entry("to_agent", _frame("session/prompt", prompt=[{"type": "text", "text": text}]), 0.0)


async def test_the_past_comes_in_pages_over_all_times_that_a_session_was_gone_on_with() -> None:
    journal = MemoryJournal()
    await journal.append("a", [_asked("one"), *[_said("x")] * (PAGE + 10), Entry("note", b"{}", 0.0)])
    await journal.describe("a", session="s")
    await journal.append("b", [_asked("two"), Entry("to_client", b"not json", 0.0), _said("end")])
    await journal.describe("b", session="s")
    past = StoredHistory(journal, (await journal.list(session="s")).streams, "s")
    whole = Transcript()
    pages = 0
    while (page := await past.earlier()) is not None:
        whole.prepend(page)
        pages += 1
    assert pages == 3
    texts = [entry.text for entry in whole.entries if isinstance(entry, SpeechEntry)]
    assert texts == ["one", "x" * (PAGE + 10), "two", "end"]
    assert await past.earlier() is None


async def test_a_stream_in_which_everything_was_told_again_is_the_first() -> None:
    journal = MemoryJournal()
    for name, entries in (
        ("a", [_said("before")]),
        ("b", [Entry("to_agent", _frame("session/load"), 0.0), _said("again")]),
    ):
        await journal.append(name, entries)
        await journal.describe(name, session="s")
    past = StoredHistory(journal, (await journal.list(session="s")).streams, "s")
    page = await past.earlier()
    assert page is not None
    assert [entry.text for entry in page.entries if isinstance(entry, SpeechEntry)] == ["again"]
    assert await past.earlier() is None
