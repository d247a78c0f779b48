"""`dragoman chat`: its command line, what it builds from it, and once the whole of it in a real terminal."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dragoman import Agent, ClientHandle, Turn
from dragoman.cli import main
from dragoman.cli.chat.changes import Look
from dragoman.cli.chat.files import Files, listed
from dragoman.cli.chat.forms import cautions
from dragoman.cli.chat.house import LocalHouse
from dragoman.cli.chat.past import PAGE, Past
from dragoman.cli.chat.remote import HubHouse, with_agent
from dragoman.cli.chat.rules import Rules
from dragoman.cli.chat.shell import start
from dragoman.errors import LocalMistake
from dragoman.journal import Entry
from dragoman.journal.memory import MemoryJournal
from dragoman.schema import v1
from dragoman.schema.base import Unknown
from dragoman.sdk.serve import serving
from dragoman.tui.model.entries import Said
from dragoman.tui.model.transcript import Transcript
from dragoman.tui.ports import Filled, Form, Happening, Question, Wanted

DRAGOMAN = [sys.executable, "-m", "dragoman"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "home"
    place.mkdir()
    monkeypatch.setenv("HOME", str(place))
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "DRAGOMAN_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return place


class Quiet:
    """A person and a listener who keep what they hear."""

    def __init__(self) -> None:
        self.transcript = Transcript()
        self.asked: list[Question] = []

    async def ask(self, question: Question) -> str | None:
        self.asked.append(question)
        return question.options[0].option_id

    async def fill(self, form: Form) -> Filled:
        return Filled(action="cancel")

    def heard(self, update: v1.SessionUpdate | Unknown) -> None:
        self.transcript.hear(update)

    def happened(self, happening: Happening) -> None:
        if happening.kind == "noted":
            self.transcript.note(happening.text)

    @property
    def words(self) -> list[str]:
        return [entry.text for entry in self.transcript.entries if isinstance(entry, Said)]


# The command line.


def test_help_has_examples_and_exit_statuses(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["chat", "--help"])
    shown = capsys.readouterr().out
    assert "dragoman chat --agent review" in shown
    assert "exit status:" in shown


def test_without_a_terminal_it_says_what_to_do(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "isatty", lambda _: False)
    assert main(["chat", "--agent", "echo"]) == 2
    assert "`dragoman run` does one turn without one" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--cwd", "/nowhere/at/all"], "is no folder"),
        (["--hub", "not-an-address"], "is no address of a hub"),
        (["--resume", "last"], "nothing is recorded yet"),
        (["--policy", "/nowhere.toml"], "/nowhere.toml"),
    ],
)
def test_mistakes_are_found_before_the_screen(
    arguments: list[str], why: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "isatty", lambda _: True)
    assert main(["chat", *arguments]) == 2
    assert why in capfd.readouterr().err


def test_nobody_pays_for_the_screen_who_does_not_use_it() -> None:
    code = """
import sys
from dragoman.cli import main
try:
    main(["--help"])
except SystemExit:
    pass
import dragoman.agents.echo, dragoman.cli.chat
print("textual" in sys.modules, "rich" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False False"


# What it builds.

SCRIPT = """
agent keeper
  can load
on prompt
  say "remembered " "$text"
on load
  user "what was asked"
  say "what was answered"
  answer {}
"""


@pytest.mark.bound(60)
async def test_a_conversation_is_recorded_found_and_gone_on_with(tmp_path: Path) -> None:
    script = tmp_path / "keeper.script"
    script.write_text(SCRIPT)
    agent = " ".join([*DRAGOMAN, "agent", "script", str(script)])
    house = LocalHouse(str(tmp_path), Rules())
    quiet = Quiet()
    async with house.open(Wanted(agent=agent, cwd=str(tmp_path)), quiet, quiet) as talk:
        assert talk.agent == "keeper"
        await talk.look()
        assert (await talk.turn([v1.TextContent(text="plums")])).stop_reason == "end_turn"
        assert await talk.review() is not None
        session = talk.wanted.session
    (row,) = await house.sessions("")
    assert (row.agent, row.cwd, row.title) == ("keeper", str(tmp_path), "plums")
    assert row.wanted is not None
    assert row.wanted.session == session
    (found,) = await house.sessions("remembered")
    assert "plums" in found.excerpt
    assert await house.sessions("pears") == []

    again = Quiet()
    async with house.open(Wanted(agent=agent, cwd=str(tmp_path), session="last"), again, again) as talk:
        assert talk.wanted.session == session
        assert await talk.earlier() is None
    assert again.words == ["what was asked", "what was answered"]
    script.write_text(SCRIPT.replace("  can load\n", ""))
    async with house.open(row.wanted, Quiet(), Quiet()) as talk:
        page = await talk.earlier()
        assert page is not None
        assert page.prompts == ["what was asked"]  # as the agent itself told it the last time
    with pytest.raises(LocalMistake, match="no session of this agent"):
        async with house.open(Wanted(agent="echo", cwd=str(tmp_path), session="last"), again, again):
            pass


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
    past = Past(journal, (await journal.list(session="s")).streams, "s")
    whole = Transcript()
    pages = 0
    while (page := await past.earlier()) is not None:
        whole.prepend(page)
        pages += 1
    assert pages == 3
    texts = [entry.text for entry in whole.entries if isinstance(entry, Said)]
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
    past = Past(journal, (await journal.list(session="s")).streams, "s")
    page = await past.earlier()
    assert page is not None
    assert [entry.text for entry in page.entries if isinstance(entry, Said)] == ["again"]
    assert await past.earlier() is None


def test_files_are_those_that_git_knows_or_all_that_are_not_of_tools(tmp_path: Path) -> None:
    for name in ("b.py", "deep/a.py", "node_modules/x.js", "ignored.log", ".gitignore"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("*.log\nnode_modules\n")
    assert listed(str(tmp_path)) == [".gitignore", "b.py", "ignored.log", "deep/a.py"]
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert listed(str(tmp_path)) == [".gitignore", "b.py", "deep/a.py"]


async def test_a_few_letters_find_a_file(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("")
    assert await Files(str(tmp_path)).find("mp") == ["main.py"]


async def test_what_a_turn_changed_can_be_put_back(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one\n")
    look = Look(str(tmp_path), pytest.fail)
    await look.take()
    file.write_text("two\n")
    compared = await look.compare()
    assert compared is not None
    (changed,) = compared.files
    assert (changed.path, changed.added, changed.removed) == (str(file), 1, 1)
    await compared.revert(changed.path)
    assert file.read_text() == "one\n"
    await look.aclose()


async def test_a_line_of_shell_is_the_persons_own(tmp_path: Path) -> None:
    line = start("echo $((1+1)); pwd >&2; exit 7", str(tmp_path))
    await line.wait()
    assert (line.text.split(), line.ended) == (["2", str(tmp_path)], "7")
    with pytest.raises(LocalMistake):
        start("", str(tmp_path))


@pytest.mark.parametrize(
    ("url", "notes"),
    [
        ("https://example.org/", 0),
        ("http://example.org/", 1),
        ("https://a@xn--b.example", 2),
        ("https://[", 1),
    ],
)
def test_addresses_are_looked_at_before_they_are_opened(url: str, notes: int) -> None:
    assert len(cautions(url)) == notes


# Through a hub.


def test_the_agent_is_named_in_the_address_of_a_hub() -> None:
    assert with_agent("ws://h/acp", "") == "ws://h/acp"
    assert with_agent("ws://h/acp?x=1&agent=old", "a b") == "ws://h/acp?x=1&agent=a+b"


def hub_like() -> Agent:
    """An agent that says what a hub says beyond the protocol."""
    agent = Agent("hub-like")
    changed = [{"path": "/far/a.py", "kind": "modified", "diff": "--- a\n+++ b\n@@ @@\n-x\n+y\n+z\n"}]

    @agent.load_session
    async def load(request: v1.LoadSessionRequest, client: ClientHandle) -> None:
        await client.sessions[request.session_id].echo("from afar")

    @agent.list_sessions
    async def sessions(request: v1.ListSessionsRequest) -> v1.ListSessionsResponse:
        return v1.ListSessionsResponse(
            sessions=[v1.SessionInfo(session_id="far-1", cwd="/far", title="Far away")]
        )

    @agent.prompt
    async def reply(turn: Turn) -> None:
        links = [block.uri for block in turn.prompt if isinstance(block, v1.ResourceLink)]
        await turn.say(f"{turn.text} {links}")

    agent.extension("_dragoman/hub/agents")(
        lambda params: {"agents": [{"name": "review", "title": "Reviews"}]}
    )
    agent.extension("_dragoman/hub/files")(lambda params: {"files": ["src/far.py"]})
    agent.extension("_dragoman/hub/changes")(lambda params: {"files": changed})

    @agent.extension("_dragoman/hub/revert")
    def revert(params: object) -> dict[str, object]:
        changed.clear()
        return {}

    agent.extension("_dragoman/hub/search")(
        lambda params: {"found": [{"sessionId": "far-2", "title": "Other", "excerpt": "needle"}]}
    )
    return agent


@asynccontextmanager
async def hub_at(agent: Agent, token: str) -> AsyncIterator[str]:
    from dragoman.hub.admission import Admission, Grant, hashed, local_hosts
    from dragoman.hub.endpoint import Endpoint, Visit
    from dragoman.hub.listening import listening, open_socket
    from dragoman.transport.messages import MessageTransport

    tasks: set[asyncio.Task[None]] = set()

    async def serve(client: MessageTransport) -> None:
        async with serving(agent, client) as served:
            await served.wait_ended()

    def accept(client: MessageTransport, visit: Visit) -> None:
        tasks.add(asyncio.create_task(serve(client)))

    bound = open_socket("127.0.0.1", 0, tls=None, insecure=False)
    port = bound.getsockname()[1]
    endpoint = Endpoint(Admission({hashed(token): Grant("token")}, hosts=local_hosts(port)), accept)
    async with listening(endpoint, bound, tls=None):
        yield f"ws://127.0.0.1:{port}/acp"
        endpoint.leave()
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


@pytest.mark.bound(60)
async def test_through_a_hub_its_agents_sessions_files_and_changes_are_used(tmp_path: Path) -> None:
    token = "t" * 40
    async with hub_at(hub_like(), token) as url:
        house = HubHouse("/far", Rules(), url=url, headers={"authorization": f"Bearer {token}"})
        (choice,) = await house.agents()
        assert (choice.name, choice.title) == ("review", "Reviews")
        quiet = Quiet()
        async with house.open(Wanted(agent="review", cwd="/far", session="far-1"), quiet, quiet) as talk:
            assert await talk.files("f") == ["src/far.py"]
            blocks = await talk.attachments(["src/far.py"])
            await talk.turn([v1.TextContent(text="look"), *blocks])
            assert quiet.words == ["from afar", "look ['file:///far/src/far.py']"]
            rows = await house.sessions("away")
            assert [row.title for row in rows] == ["Far away", "Other"]
            review = await talk.review()
            assert review is not None
            assert (review.files[0].added, review.files[0].removed) == (2, 1)
            await review.revert("/far/a.py")
            assert await talk.review() is None


# The whole of it.

TMUX = shutil.which("tmux")


@pytest.mark.skipif(TMUX is None, reason="tmux is not installed: there is no terminal to try it in")
@pytest.mark.timeout(90)
def test_it_runs_in_a_real_terminal(tmp_path: Path) -> None:
    socket = tmp_path / "tmux"
    folder = tmp_path / "project"
    folder.mkdir()
    command = [*DRAGOMAN, "chat", "--agent", "echo", "--cwd", str(folder), "--no-history"]

    def tmux(*words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(socket), *words], capture_output=True, text=True, check=True, timeout=30
        )
        return done.stdout

    def see(text: str) -> None:
        until = time.monotonic() + 40
        shown = ""
        while time.monotonic() < until:
            shown = tmux("capture-pane", "-p", "-t", "chat")
            if text in shown:
                return
            time.sleep(0.05)
        raise AssertionError(f"{text!r} was not seen:\n{shown}")

    ended = tmp_path / "ended"
    line = " ".join([*command, ";", "echo", "$?", ">", str(ended)])
    tmux("-f", "/dev/null", "new-session", "-d", "-s", "chat", "-x", "80", "-y", "24", line)
    try:
        see("● ready")
        tmux("send-keys", "-t", "chat", "Hello from a terminal", "Enter")
        see("You said: Hello from a terminal")
        tmux("send-keys", "-t", "chat", "F1")
        see("Saying something")
        tmux("send-keys", "-t", "chat", "C-q")
        until = time.monotonic() + 40
        while not (ended.exists() and ended.read_text()) and time.monotonic() < until:
            time.sleep(0.05)
        assert ended.read_text() == "0\n"
    finally:
        subprocess.run(
            ["tmux", "-S", str(socket), "kill-server"], capture_output=True, check=False, timeout=30
        )
