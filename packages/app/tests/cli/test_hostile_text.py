"""Whatever an agent puts into its texts, no command sends it to a terminal as it is."""

from __future__ import annotations

import ast
import asyncio
import json
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

import dragoman_app.cli
from dragoman_app.cli import main
from tests.apps.run.run_process import DRAGOMAN, home
from tests.apps.run.teletype import in_terminal
from tests.cli.command_forks import run_command
from tests.cli.test_hub import Running

pytestmark = [pytest.mark.bound(60), pytest.mark.timeout(180)]

AGENT = [sys.executable, str(Path(__file__).with_name("hostile_agent.py"))]
SHOWN = "a\\u202eb\\u2066c\\u200bd\\U000e0041e\\u00adf\\u2028g␍h␡"
HIDDEN = "\u034f\u3164\ufe00\ufe01\ufe0e\ufe0f"


def assert_safe(shown: str, *, colours: bool = False) -> None:
    """Nothing in it acts on a terminal or hides."""
    if colours:
        assert "\x1b]" not in shown
        assert "\x1b[2J" not in shown
        shown = shown.replace("\x1b[", "").replace("\r\n", "\n")
    bad = {
        f"{ord(character):04x}"
        for character in shown
        if character not in "\n\t"
        and (unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs", "Zl", "Zp") or character in HIDDEN)
    }
    assert not bad, shown


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the history and the recording of one turn."""
    folder = tmp_path_factory.mktemp("hostile")
    tapped = ["tap", "--record", str(folder / "rec.ndjson"), "--", *AGENT]
    done = command(folder, "run", "go", "--agent", " ".join([*DRAGOMAN, *tapped]))
    assert "words<" in done.stdout
    return folder


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run_command(*words, cwd=folder, env=home(folder))


RUN = ["run", "go", "--agent", " ".join(AGENT)]
WITH_AGENT: dict[str, tuple[list[str], str]] = {
    "run": (RUN, "words<␛]0;evil␇"),
    "run with its log": ([*RUN, "--verbose"], "complaint<␛"),
    "run that fails": (["run", "go", "--agent", " ".join([*AGENT, "fail"])], "failure<␛"),
    "run as JSON": ([*RUN, "--format", "json"], "words<"),
    "run, quiet": ([*RUN, "--format", "quiet"], "words<␛"),
    "the doctor": (["doctor", "--verbose", "--", *AGENT], "agent<"),
    "the doctor as JSON": (["doctor", "--json", "--", *AGENT], "agent<"),
}
OF_THE_PAST: dict[str, tuple[list[str], str]] = {
    "sessions": (["sessions", "list"], "session<␛"),
    "a session": (["sessions", "show", "last"], "words<␛"),
    "a search": (["sessions", "search", "words"], "words"),
    "sessions as JSON": (["sessions", "--json", "list"], "session<"),
    "what passed": (["tap", "attach", "rec.ndjson"], "session/prompt"),
    "a judgement": (["check", "trace", "rec.ndjson", "--details"], "agent<␛"),
    "a dialect": (["dialect", "explain", "rec.ndjson"], "frames"),
}


@pytest.mark.parametrize(("words", "found"), WITH_AGENT.values(), ids=WITH_AGENT)
def test_a_command_shows_what_an_agent_says_and_does_not_obey_it(
    folder: Path, words: list[str], found: str
) -> None:
    done = command(folder, *words)
    assert found in done.stdout + done.stderr, done
    assert_safe(done.stdout)
    assert_safe(done.stderr)


@pytest.mark.parametrize(("words", "found"), OF_THE_PAST.values(), ids=OF_THE_PAST)
def test_a_command_shows_what_an_agent_said_and_does_not_obey_it(
    folder: Path,
    words: list[str],
    found: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    for name, value in home(folder).items():
        monkeypatch.setenv(name, value)
    main(words)
    shown = capsys.readouterr()
    assert found in shown.out + shown.err
    assert_safe(shown.out)
    assert_safe(shown.err)


def test_a_person_in_a_terminal_sees_what_is_to_be_approved(tmp_path: Path) -> None:
    with in_terminal("go", "--agent", " ".join(AGENT), folder=tmp_path) as at:
        at.read_until("Choose")
        at.type("2\n")
        at.wait()
    for text in (
        "tool<␛",
        "option<␛",
        "ls ␛]0;evil␇",
        "\\u202eb\\u2066c\\u200bd\\U000e0041e\\u00adf\\u2028g␍h␡",
    ):
        assert text in at.shown
    assert_safe(at.shown, colours=True)


async def test_the_inbox_and_the_status_of_a_hub_are_safe(tmp_path: Path) -> None:
    hub = Running(tmp_path, agent=AGENT)
    try:
        client = await hub.client()
        session = await client.new(str(tmp_path))
        turn = client.prompt(session, "x\u202ey\x1b[2J")
        await client.asked()
        listed = await asyncio.to_thread(hub.run, "inbox", "--list")
        assert "ls ␛]0;evil␇" in listed.stdout or "ls \\u001b]0;evil" in listed.stdout
        assert "a\\u202eb\\u2066c\\u200bd\\U000e0041e\\u00adf" in listed.stdout
        assert_safe(listed.stdout)
        assert json.loads((await asyncio.to_thread(hub.run, "inbox", "--json")).stdout)["requests"]
        status = await asyncio.to_thread(hub.run, "hub", "status")
        assert "session<␛]0;evil␇␛[2J" in status.stdout, "the agent's own title comes after the prompt's"
        assert_safe(status.stdout)
        name = listed.stdout.split()[0]
        assert (await asyncio.to_thread(hub.run, "inbox", "--answer", name, "reject")).returncode == 0
        await client.answer(turn)
        await client.transport.aclose()
    finally:
        hub.close()
    assert_safe((tmp_path / "log").read_text("utf-8"))


def test_every_command_prints_through_the_console() -> None:
    """`print` takes constants alone."""
    allowed = {"apps/console.py"}
    source = Path(dragoman_app.cli.__file__).parents[1]
    found = [
        f"{path.name}:{node.lineno}"
        for path in (*(source / "cli").rglob("*.py"), *(source / "apps").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
        and not all(isinstance(argument, ast.Constant) for argument in node.args)
        and path.relative_to(source).as_posix() not in allowed
    ]
    assert found == []
