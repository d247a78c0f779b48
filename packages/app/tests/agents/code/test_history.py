"""Sessions of the coder outlive it, and the model's memory with them."""

import asyncio
from pathlib import Path

import pytest

from dragoman import Client
from dragoman.schema.v1 import ClientCapabilities, CompactionUpdate, SessionNotification, UserMessageChunk
from dragoman.testing.models import TokenUsage, call, fail, hold, scripted_model, think, turn
from tests.agents.code.coder_runs import coding, text_of

pytestmark = [pytest.mark.bound(30), pytest.mark.in_turn("api")]

APIS = pytest.mark.parametrize("api", ["openai", "anthropic"])


@APIS
async def test_a_loaded_session_goes_on_with_the_whole_history(api: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("A\n")
    script = [turn("Let me see. ", call("read", path="a")), turn("An A."), turn("An A, as I said.")]
    async with scripted_model(script) as model:
        async with coding(model, tmp_path, api=api, mode="accept_edits") as coder:
            await coder.prompt("What is in a?")
        shown: list[SessionNotification] = []
        client = Client("editor")
        client.update(shown.append)
        async with coding(model, tmp_path, api=api, client=client, session_id=coder.session.id) as again:
            assert again.session.modes
            assert again.session.modes.current_mode_id == "accept_edits"
            replayed = [note.update for note in shown]
            await again.prompt("And now?")
    users = [update for update in replayed if isinstance(update, UserMessageChunk)]
    assert [update.content.text for update in users] == ["What is in a?"]  # type: ignore[union-attr]
    assert text_of(replayed) == "Let me see. An A."
    first, last = model.requests[1], model.requests[2]
    assert [message.text for message in last.messages][-2:] == ["An A.", "And now?"]
    assert last.results == first.results


async def test_a_refused_prompt_is_forgotten_for_good(tmp_path: Path) -> None:
    script = [turn("A."), turn("No.", stop="refusal"), turn("B.")]
    async with scripted_model(script) as model:
        async with coding(model, tmp_path) as coder:
            await coder.prompt("One")
            await coder.prompt("Bad")
        async with coding(model, tmp_path, session_id=coder.session.id) as again:
            await again.prompt("Two")
    assert [message.text for message in model.requests[2].messages] == ["One", "A.", "Two"]


@APIS
async def test_a_call_whose_process_died_is_told_as_cut_short(api: str, tmp_path: Path) -> None:
    script = [turn(call("run", command="sleep 60")), turn("Fine.")]
    async with scripted_model(script) as model:
        async with coding(model, tmp_path, api=api, mode="full") as coder:
            running = coder.session.prompt("Sleep")
            async for update in running:
                if getattr(update, "status", None) == "in_progress":
                    break  # and leave: the connection ends in the middle of the call
        async with coding(model, tmp_path, api=api, session_id=coder.session.id) as again:
            await again.prompt("Go on")
    (result,) = model.requests[1].results.values()
    assert "cut short" in result.text


@APIS
async def test_a_conversation_that_fills_the_context_is_compacted_and_the_user_told(
    api: str, tmp_path: Path
) -> None:
    full = TokenUsage(input=900, output=20)
    script = [turn("Hello.", usage=full), turn("They greeted."), turn("Yes.")]
    async with scripted_model(script) as model:
        async with coding(model, tmp_path, api=api, context_size=1000) as coder:
            await coder.prompt("Hi, remember the word lemon")
            _, updates = await coder.prompt("Still there?")
        async with coding(model, tmp_path, api=api, session_id=coder.session.id, context_size=1000):
            pass
    told = [update for update in updates if isinstance(update, CompactionUpdate)]
    assert [update.status for update in told] == ["in_progress", "completed"]
    assert told[0].compaction_id == told[1].compaction_id
    assert told[1].summary
    assert "lemon" in model.requests[1].text
    assert not model.requests[1].tools
    left = "".join(message.text for message in model.requests[2].messages)
    assert "They greeted." in left
    assert "Still there?" in left
    assert "lemon" not in left
    assert text_of(updates) == "Yes."


class Plain(Client):
    """A client that knows nothing but the basics."""

    def capabilities(self) -> ClientCapabilities:
        return ClientCapabilities()


async def test_a_client_without_the_capability_is_told_of_a_compaction_in_words(tmp_path: Path) -> None:
    script = [turn("Hello.", usage=TokenUsage(input=900, output=20)), turn("They greeted."), turn("Yes.")]
    async with coding(script, tmp_path, context_size=1000, client=Plain()) as coder:
        await coder.prompt("Hi")
        _, updates = await coder.prompt("Still there?")
    assert not [update for update in updates if isinstance(update, CompactionUpdate)]
    words = "The conversation is summarised, to make room in the model's context."
    assert text_of(updates).splitlines() == [words, "The model continues with the summary only.", "Yes."]


async def test_a_context_that_overflows_is_compacted_and_asked_again(tmp_path: Path) -> None:
    script = [turn("Hello."), turn(fail(413)), turn("They greeted."), turn("Yes.")]
    async with coding(script, tmp_path) as coder:
        await coder.prompt("Hi")
        stop, updates = await coder.prompt("Still there?")
    assert (stop, text_of(updates)) == ("end_turn", "Yes.")
    assert "They greeted." in coder.model.requests[3].messages[0].text


async def test_the_command_compact_makes_room_at_once(tmp_path: Path) -> None:
    script = [turn("Hello."), turn("They greeted."), turn("Yes.")]
    async with coding(script, tmp_path) as coder:
        await coder.prompt("Hi")
        await coder.prompt("/compact")
        await coder.prompt("Still there?")
    assert "They greeted." in coder.model.requests[2].messages[0].text


async def test_a_cancelled_compaction_changes_nothing(tmp_path: Path) -> None:
    script = [turn("Hello."), turn("They", hold()), turn("Yes.")]
    async with coding(script, tmp_path) as coder:
        await coder.prompt("Hi")
        running = asyncio.ensure_future(coder.prompt("/compact"))
        await coder.model.wait_for_hold()
        await coder.session.cancel()
        stop, updates = await running
        assert stop == "cancelled"
        assert [update.status for update in updates if isinstance(update, CompactionUpdate)][
            -1
        ] == "cancelled"
        await coder.prompt("Still there?")
    assert [message.text for message in coder.model.requests[2].messages] == ["Hi", "Hello.", "Still there?"]


async def test_a_conversation_can_change_its_vendor(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("A\n")
    script = [
        turn(think("Hm."), call("read", path="a")),
        turn("An A."),
        turn(think("So."), "Still.", call("read", path="a")),
        turn("Yes."),
        turn("Bye."),
    ]
    models = ["anthropic:large"]
    async with coding(script, tmp_path, api=None, model="openai:small", models=models) as coder:
        await coder.prompt("Read a")
        await coder.session.set_config_option("model", "anthropic:large")
        await coder.prompt("Still so?")
        await coder.session.set_config_option("model", "openai:small")
        assert (await coder.prompt("Bye"))[0] == "end_turn"
    assert [request.format for request in coder.model.requests] == ["chat"] * 2 + ["messages"] * 2 + ["chat"]
    assert len(coder.model.requests[4].results) == 2


async def test_sessions_of_one_coder_do_not_see_each_other(tmp_path: Path) -> None:
    script = [turn("$text", when=lambda request: True, times=None)]
    async with coding(script, tmp_path) as coder:
        others = [await coder.handle.new_session(cwd=str(tmp_path)) for _ in range(5)]
        answers = await asyncio.gather(*(one.prompt(f"I am {n}") for n, one in enumerate(others)))
    assert [answer.text for answer in answers] == [f"I am {n}" for n in range(5)]
    assert {len(request.messages) for request in coder.model.requests} == {1}
