import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dragoman import Agent, Turn
from dragoman.schema import v1
from dragoman.testing.pace import deadline
from dragoman_app.tui.conversation import ChatConversation, mentions
from dragoman_app.tui.model.entries import NoteEntry, SpeechEntry
from dragoman_app.tui.model.transcript import Transcript
from dragoman_app.tui.ports import ChatRequest, FormAnswer, FormPrompt, PermissionQuestion
from tests.tui.stage import StageBackend

pytestmark = pytest.mark.bound(30)


class Nobody:
    async def ask(self, question: PermissionQuestion) -> str | None:
        return None

    async def fill(self, form: FormPrompt) -> FormAnswer:
        return FormAnswer(action="cancel")


class Scene:
    def __init__(self) -> None:
        self.changed = asyncio.Event()
        self.transcript = Transcript()
        self.conversation = ChatConversation(self.transcript, self.changed.set)
        self.transcript.wake = self.changed.set

    async def until(self, state: str) -> None:
        async with deadline(20):
            while self.conversation.state != state:
                self.changed.clear()
                await self.changed.wait()

    @property
    def words(self) -> list[str]:
        return [e.text for e in self.transcript.entries if isinstance(e, SpeechEntry | NoteEntry)]


def agent_of(gate: asyncio.Event | None = None) -> Agent:
    agent = Agent("slow")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(f"<{turn.text}>")
        if turn.text == "wait":
            await (gate or asyncio.Event()).wait()

    return agent


@asynccontextmanager
async def conversing(folder: Path, agent: Agent) -> AsyncIterator[Scene]:
    scene = Scene()
    backend = StageBackend(folder, slow=agent)
    conversing = scene.conversation.converse(backend, ChatRequest(agent="slow", cwd=str(folder)), Nobody())
    task = asyncio.create_task(conversing)
    try:
        await scene.until("idle")
        yield scene
    finally:
        task.cancel()
        await asyncio.wait([task])


async def on_update(scene: Scene, text: str) -> None:
    async with deadline(20):
        while not any(text in words for words in scene.words):
            scene.changed.clear()
            await scene.changed.wait()


async def test_what_is_said_during_a_turn_waits_its_turn(project: Path) -> None:
    gate = asyncio.Event()
    async with conversing(project, agent_of(gate)) as scene:
        scene.conversation.submit("wait")
        await on_update(scene, "<wait>")
        scene.conversation.submit("second")
        scene.conversation.submit("third")
        assert list(scene.conversation.queue) == ["second", "third"]
        assert scene.conversation.withdraw() == "third"
        gate.set()
        await on_update(scene, "<second>")
        await scene.until("idle")
        assert scene.transcript.prompts == ["wait", "second"]


async def test_steering_begins_the_turn_again_where_the_agent_takes_no_messages(project: Path) -> None:
    async with conversing(project, agent_of()) as scene:
        scene.conversation.submit("wait")
        await on_update(scene, "<wait>")
        scene.conversation.submit("later")
        await scene.conversation.steer("now")
        await on_update(scene, "<later>")
        assert [w for w in scene.words if w.startswith("<")] == ["<wait>", "<wait\n\nnow>", "<later>"]
        assert scene.transcript.prompts == ["wait", "now", "later"]


async def test_steering_speaks_into_the_turn_of_an_agent_that_takes_messages(project: Path) -> None:
    agent = Agent("open", steering=True)

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(f"<{turn.text}>")
        while not (messages := turn.take_steering()):  # noqa: ASYNC110  # an agent has its own work to do
            await asyncio.sleep(0)
        await turn.say(f"<{messages[0].text}>")

    async with conversing(project, agent) as scene:
        scene.conversation.submit("wait")
        await on_update(scene, "<wait>")
        await scene.conversation.steer("now")
        await scene.until("idle")
        assert scene.transcript.prompts == ["wait", "now"]
        assert "Delivered: the agent took it into the running turn." in scene.words


async def test_after_a_cancel_the_queue_waits_until_the_person_goes_on(project: Path) -> None:
    async with conversing(project, agent_of()) as scene:
        scene.conversation.submit("wait")
        await on_update(scene, "<wait>")
        scene.conversation.submit("later")
        await scene.conversation.cancel()
        await on_update(scene, "Cancelled.")
        await scene.until("idle")
        assert list(scene.conversation.queue) == ["later"]
        scene.conversation.go_on()
        await on_update(scene, "<later>")


async def test_too_many_prompts_are_refused(project: Path) -> None:
    async with conversing(project, agent_of()) as scene:
        scene.conversation.submit("wait")
        await on_update(scene, "<wait>")
        assert [scene.conversation.submit(str(n)) for n in range(51)] == [True] * 50 + [False]


async def test_an_agent_that_fails_a_turn_is_told_and_talked_to_again(project: Path) -> None:
    agent = Agent("slow")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        if turn.text == "fail":
            raise RuntimeError("broken")
        await turn.say("well")

    async with conversing(project, agent) as scene:
        scene.conversation.submit("fail")
        await on_update(scene, "The turn failed")
        scene.conversation.submit("again")
        await on_update(scene, "well")


async def test_a_house_that_cannot_open_says_why(project: Path) -> None:
    scene = Scene()
    agent = Agent("picky")

    @agent.new_session
    async def refuse(request: v1.NewSessionRequest) -> v1.NewSessionResponse:
        raise RuntimeError("no")

    agent.prompt(lambda turn: None)
    await scene.conversation.converse(
        StageBackend(project, picky=agent), ChatRequest(agent="picky", cwd=str(project)), Nobody()
    )
    assert scene.conversation.state == "failed"
    assert "F5 tries again" in scene.words[-1]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("look at @src/a.py, and @b.md.", ["src/a.py", "b.md"]),
        ('@"two words.txt" twice @"two words.txt"', ["two words.txt"]),
        ("me@example.org is not a file", []),
    ],
)
def test_files_are_named_with_an_at_sign(text: str, found: list[str]) -> None:
    assert mentions(text) == found
