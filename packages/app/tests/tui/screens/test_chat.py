"""The conversation on the screen, in stories: each starts the application once and does several things."""

import asyncio
from pathlib import Path

import pytest

from dragoman import Agent, ClientHandle, Turn
from dragoman.schema import v1
from dragoman_app.tui.model.entries import SpeechEntry
from dragoman_app.tui.ports import ChatRequest
from tests.forks import DRAGOMAN
from tests.tui.stage import StageBackend, on_stage

pytestmark = pytest.mark.bound(60)

OLD = "def total(prices):\n    return prices[0]\n"
NEW = "def total(prices):\n    return sum(prices)\n"


def worker() -> Agent:
    """Does what a coding agent does, in a few steps."""
    agent = Agent("worker", title="Worker")

    @agent.new_session
    async def begin(request: v1.NewSessionRequest, client: ClientHandle) -> v1.NewSessionResponse:
        modes = [v1.SessionMode(id="ask", name="Ask"), v1.SessionMode(id="free", name="Free")]
        state = v1.SessionModeState(current_mode_id="ask", available_modes=modes)
        return v1.NewSessionResponse(session_id="s-1", modes=state)

    @agent.set_mode
    async def set_mode(request: v1.SetSessionModeRequest) -> None:
        return None

    @agent.prompt
    async def work(turn: Turn) -> None:
        await turn.think("The sum is wrong.\nIt takes the first price only.")
        await turn.plan([("Read", "completed"), ("Mend", "in_progress")])
        await turn.say("The function `total` takes **one** price.\n\n")
        path = f"{turn.session.cwd}/shop.py"
        diff = v1.Diff(path=path, old_text=OLD, new_text=NEW)
        async with turn.tool("Edit shop.py", kind="edit", status="pending") as call:
            await call.progress(content=[diff])
            if await call.ask():
                await turn.write_text_file(path, NEW)
                await call.complete()
                await turn.say("Mended.")
            else:
                await call.fail("Not allowed")
        await turn.usage(used=1200, size=10_000, cost=0.5)

    return agent


async def test_a_turn_from_the_prompt_to_the_review_of_its_changes(shop: Path) -> None:
    file = shop / "shop.py"
    file.write_text(OLD)
    backend = StageBackend(shop, worker=worker())
    async with on_stage(backend, ChatRequest(agent="worker", cwd=str(shop))) as eyes:
        await eyes.see("● ready", "Ask")
        await eyes.say("Mend the sum in @shop.py")
        await eyes.see("Permission", "-    return prices[0]", "+    return sum(prices)", "(y)", "plan 1/2")
        assert file.read_text() == OLD
        await eyes.like("permission")
        eyes.picture("permission")
        await eyes.press("y")
        await eyes.see("● ready", "Mended.", "Changed on disk: 1 file, +1 -1", "0.50 USD")
        assert file.read_text() == NEW
        await eyes.like("chat")
        eyes.picture("conversation")
        await eyes.pilot.mouse_down(eyes.chat.view, offset=(3, 0))
        await eyes.pilot.hover(eyes.chat.view, offset=(8, 0))
        await eyes.pilot.mouse_up(eyes.chat.view, offset=(8, 0))
        await eyes.until(lambda: eyes.app.screen.get_selected_text() == "Mend t", "what the mouse selected")
        await eyes.press("ctrl+c")
        assert eyes.app.clipboard == "Mend t"
        await eyes.pilot.resize_terminal(44, 20)
        await eyes.until(lambda: max(map(len, eyes.screen.split("\n"))) <= 44, "a narrow screen")
        await eyes.see("reviews them.", "0.50 USD")
        await eyes.pilot.resize_terminal(80, 24)
        await eyes.until(lambda: "? help" in eyes.screen, "a wide one")
        await eyes.press("ctrl+t")
        await eyes.see("It takes the first price only.")
        await eyes.press("ctrl+g")
        await eyes.see("Changed on disk", "~ shop.py", "+    return sum(prices)")
        await eyes.like("review")
        eyes.picture("review")
        await eyes.press("r")
        await eyes.see("put back")
        assert file.read_text() == OLD
        await eyes.press("escape", "shift+tab")
        await eyes.until(lambda: eyes.screen.splitlines()[0].endswith("Free"), "the next mode")


def talker(gate: asyncio.Event) -> Agent:
    agent = Agent("talker")

    @agent.new_session
    async def begin(request: v1.NewSessionRequest, client: ClientHandle) -> v1.NewSessionResponse:
        commands = [
            v1.AvailableCommand(name="plan", description="makes a plan"),
            v1.AvailableCommand(
                name="play", description="plays", input=v1.UnstructuredCommandInput(hint="TUNE")
            ),
        ]
        update = v1.AvailableCommandsUpdate(available_commands=commands)
        asyncio.get_running_loop().call_soon(
            client.link.notify, "session/update", _note(v1.SessionNotification(session_id="s", update=update))
        )
        return v1.NewSessionResponse(session_id="s")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        links = [block.name for block in turn.prompt if isinstance(block, v1.ResourceLink)]
        await turn.say(f"heard <{turn.text}> {links}")
        if turn.text == "wait":
            await gate.wait()

    return agent


def _note(note: v1.SessionNotification) -> bytes:
    from dragoman.schema.codec import write

    return write(note)


async def test_writing_with_commands_files_shell_queue_and_recall(project: Path) -> None:
    for name in ("alpha.txt", "beta.txt"):
        (project / name).write_text(name)
    gate = asyncio.Event()
    backend = StageBackend(project, talker=talker(gate))
    async with on_stage(backend, ChatRequest(agent="talker", cwd=str(project))) as eyes:
        await eyes.see("● ready")
        await eyes.until(lambda: eyes.chat.transcript.facts.commands, "the commands")
        await eyes.press("/", "p", "l")
        await eyes.see("/plan", "/play", "makes a plan")
        await eyes.press("down", "tab")
        assert eyes.chat.box.text == "/play "
        eyes.chat.box.clear()
        await eyes.press(*"see @bt")
        await eyes.see("beta.txt")
        await eyes.press("enter")
        assert eyes.chat.box.text == "see @beta.txt "
        await eyes.press("enter")
        await eyes.see("heard <see @beta.txt> ['beta.txt']", "● ready")

        await eyes.say("!echo from-$((40+2)); exit 3")
        await eyes.see("from-42", "ended: 3")

        await eyes.say("wait")
        await eyes.see("heard <wait>", "esc stops")
        await eyes.say("next one")
        await eyes.say("last one")
        await eyes.see("⋯ next one", "⋯ last one")
        await eyes.press("up")
        assert eyes.chat.box.text == "last one"
        await eyes.lose("⋯ last one")
        await eyes.press("ctrl+s")
        # The agent takes nothing into its turn: the turn begins again, with both messages.
        await eyes.see("Will restart", "heard <wait", "last one> []", "heard <next one>", "● ready")

        await eyes.press("up")
        assert eyes.chat.box.text == "next one"
        await eyes.press("ctrl+c")
        assert eyes.chat.box.text == ""
        await eyes.say("wait")
        await eyes.until(lambda: eyes.chat.transcript.last_answer.startswith("heard <wait>"))
        await eyes.press("escape")
        await eyes.until(lambda: eyes.chat.conversation.state == "idle")


async def test_commands_of_the_agent_are_shown_live(project: Path) -> None:
    agent = Agent("runner")
    go = asyncio.Event()

    @agent.prompt
    async def run(turn: Turn) -> None:
        async with turn.tool("Run it", kind="execute") as call:
            script = "printf '\\033[32mgreen\\033[0m one\\n'; cat go; printf 'two\\n'"
            async with await turn.create_terminal("/bin/sh", "-c", script, cwd=turn.session.cwd) as terminal:
                await call.progress(status="in_progress", content=[terminal.content])
                await go.wait()
                await terminal.wait()
            await call.complete()

    import os

    os.mkfifo(project / "go")
    async with on_stage(
        StageBackend(project, runner=agent), ChatRequest(agent="runner", cwd=str(project))
    ) as eyes:
        await eyes.see("● ready")
        await eyes.say("go")
        await eyes.see("Permission", "/bin/sh -c")
        await eyes.press("1")
        await eyes.see("│ green one", "◐ Run it")
        assert "two" not in eyes.screen
        await asyncio.to_thread((project / "go").write_text, "")
        go.set()
        await eyes.see("│ two", "ended: 0", "✓ Run it", "● ready")
        await eyes.press("tab", "up", "o")
        await eyes.see("All of it")
        await eyes.press("escape")


HOSTILE = "\x1b[2J\x1b]0;owned\x07[bold red]markup[/] \u202eevil " + "x" * 200_000


async def test_hostile_text_is_shown_and_not_obeyed_down_to_forty_columns_without_colours(
    project: Path,
) -> None:
    agent = Agent("evil", title="[reverse]evil\x07")

    @agent.prompt
    async def attack(turn: Turn) -> None:
        await turn.title("[@click=app.leave]title\n[/]")
        await turn.think("[bold]" + "y" * 100_000)
        async with turn.tool("[red]\x1b[31mtool\u2066", kind="execute", raw_input={"x": "[/]"}) as call:
            await call.complete("[blink]\x1b[5mout\x9b")
        await turn.notice("[b]note", description="\x1b[H")
        await turn.plan(["[u]step\x07"])
        await turn.say(HOSTILE)
        await turn.say("\n\nthe end")

    backend = StageBackend(project, evil=agent)
    async with on_stage(
        backend, ChatRequest(agent="evil", cwd=str(project)), size=(40, 20), colours=False
    ) as eyes:
        await eyes.see("● ready")
        await eyes.say("go")
        await eyes.see("the end", "● ready")
        assert max(map(len, eyes.screen.split("\n"))) <= 40
        assert not {"\x1b", "\x07", "\x9b", "\u202e", "\u2066"} & set(eyes.screen)
        (said,) = [e for e in eyes.chat.transcript.entries if isinstance(e, SpeechEntry) and e.who == "agent"]
        assert len(said.text) > 200_000
        view = eyes.chat.view
        await eyes.until(lambda: view.scroll_home(animate=False) or "❯ go" in eyes.screen, "the beginning")
        await eyes.see(
            "[red]␛[31mtool\\u2066", "[b]note: ␛[H", "[u]step␇", "␛[2J␛]0;owned␇[bold red]markup[/]"
        )


async def test_a_long_history_opens_at_its_end_and_goes_back_when_one_scrolls(project: Path) -> None:
    agent = Agent("keeper")

    @agent.load_session
    async def load(request: v1.LoadSessionRequest, client: ClientHandle) -> None:
        session = client.sessions[request.session_id]
        for number in range(300):
            await session.echo(f"question {number}")
            await session.say(f"answer {number}")

    agent.prompt(lambda turn: None)
    wanted = ChatRequest(agent="keeper", cwd=str(project), session="old")
    async with on_stage(StageBackend(project, keeper=agent), wanted) as eyes:
        await eyes.see("answer 299", "● ready")
        assert len(eyes.chat.view._drawn_entries) < 100
        for _ in range(4):
            await eyes.press("pageup")
        await eyes.until(lambda: "answer 299" not in eyes.screen and "answer 2" in eyes.screen)
        seen = eyes.screen
        eyes.chat.transcript.note("something new")
        await eyes.until(lambda: not eyes.chat._has_changes)
        assert _words(eyes.screen) == _words(seen)
        await eyes.say("hello")
        await eyes.see("❯ hello")


def _words(screen: str) -> list[str]:
    """What is read of a conversation: without heading, foot and scroll bar."""
    return [line[:78].rstrip() for line in screen.splitlines()[1:-3]]


SCRIPT = """
agent mortal
on prompt "die"
  complain "out of luck"
  die 3
on prompt
  say "alive, " "$text"
"""


async def test_a_dead_agent_is_started_again_with_one_key(project: Path, tmp_path: Path) -> None:
    script = tmp_path / "mortal.script"
    script.write_text(SCRIPT)
    command = [*DRAGOMAN, "agent", "script", str(script)]
    async with on_stage(
        StageBackend(project, mortal=command), ChatRequest(agent="mortal", cwd=str(project))
    ) as eyes:
        await eyes.see("● ready")
        await eyes.say("die")
        await eyes.see("the agent has ended", "out of luck", "F5 starts it again")
        await eyes.press("f5")
        await eyes.see("● ready")
        await eyes.say("again")
        await eyes.see("alive, again")
