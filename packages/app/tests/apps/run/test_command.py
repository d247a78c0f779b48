"""`dragoman run` from the outside: what is on standard output, and with which status it ends."""

import os
import subprocess
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from dragoman_app.apps.run.exits import EXITS
from tests.apps.run.run_process import RUN, home, run, scripted
from tests.together import SideBySide

together = SideBySide(2)


@together
def test_the_text_is_on_standard_output_and_nothing_else(tmp_path: Path) -> None:
    done = run("--agent", "echo", "Hello", folder=tmp_path)
    assert done == (0, "You said: Hello\n", "")


@together
def test_quiet_is_the_text_alone(tmp_path: Path) -> None:
    done = run("--agent", "echo", "--format", "quiet", "/think a lot", folder=tmp_path)
    assert done == (0, "I have thought about it.\n", "")


@together
def test_json_begins_with_the_schema_and_ends_with_the_outcome(tmp_path: Path) -> None:
    done = run("--agent", "echo", "--format", "json", "/usage 100", folder=tmp_path)
    first, last = done.events[0], done.events[-1]
    assert (first["event"], first["schema"]) == ("start", 1)
    assert (last["event"], last["outcome"], last["status"]) == ("end", "end_turn", 0)
    assert last["usage"]["totalTokens"] == 100
    assert last["sessionId"] == done.named("session")[0]["sessionId"]
    assert all("time" in event for event in done.events)
    assert done.err == ""


@pytest.mark.parametrize("reason", ["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"])
@together
def test_the_status_is_the_stop_reasons(reason: str, tmp_path: Path) -> None:
    done = run("--agent", "echo", "--format", "json", f"/stop {reason}", folder=tmp_path)
    assert done.status == EXITS[reason].status
    assert done.events[-1]["stopReason"] == reason


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ("on initialize\n  die 3", "agent_died"),
        ("on prompt\n  say half\n  die 3", "agent_died"),
        ("on prompt\n  close", "agent_died"),
        ("on initialize\n  fail -32000 Login", "auth_needed"),
        ('on initialize\n  answer {"protocolVersion": 999}', "protocol_error"),
        ("on initialize\n  answer null", "protocol_error"),
        ("on new\n  fail -32603 Broken", "agent_error"),
        ('on prompt\n  frame {"jsonrpc": "2.0", "id": "$id", "error": "text"}', "agent_error"),
        ('on prompt\n  answer {"stopReason": "tired"}', "protocol_error"),
    ],
)
@together
def test_every_bad_end_has_a_status_and_a_message(script: str, outcome: str, tmp_path: Path) -> None:
    agent = scripted(tmp_path, f"agent bad\n{script}\n")
    done = run("--agent", agent, "--format", "json", "Hello", folder=tmp_path)
    assert (done.events[-1]["outcome"], done.status) == (outcome, EXITS[outcome].status)
    assert done.events[-1]["message"]
    assert "dragoman run: " in done.err
    assert "Traceback" not in done.err


@together
def test_an_agent_that_does_not_exist_is_told_at_once(tmp_path: Path) -> None:
    done = run("--agent", "/no/such/agent --acp", "Hello", folder=tmp_path)
    assert (done.status, done.out) == (127, "")
    assert "no such file" in done.err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--agent", "echo", "   "], "the prompt is empty"),
        (["--agent", "echo"], "the prompt is empty"),
        (["--agent", "echo", "--cwd", "/no/such/folder", "x"], "is not a folder"),
        (["--agent", "echo", "--file", "missing.txt", "x"], "cannot attach 'missing.txt'"),
        (["--agent", "echo", "--set", "speed", "x"], "--set takes KEY=VALUE"),
        (["--agent", "echo", "--mcp", "missing.json", "x"], "cannot read the MCP file"),
        (["--agent", "echo", "--prompt-file", "missing.txt"], "cannot read the prompt file"),
        (["--agent", "", "x"], "no agent was named"),
        (["--agent", "echo", "--mode", "turbo", "x"], "unknown mode 'turbo'"),
        (["--agent", "echo", "--set", "speed=1", "x"], "unknown option 'speed'"),
        (["--agent", "echo", "--session", "abc", "x"], "can't continue a stored session"),
    ],
)
@together
def test_a_mistake_ends_with_status_two_and_what_to_do(
    arguments: list[str], why: str, tmp_path: Path
) -> None:
    done = run(*arguments, folder=tmp_path)
    assert done.status == 2
    assert why in done.err
    assert "Try: " in done.err
    assert done.out == ""


@together
def test_the_help_has_every_status(tmp_path: Path) -> None:
    done = run("--help", folder=tmp_path)
    assert done.status == 0
    assert all(f"{exit_.status:>3}  {name}" in done.out for name, exit_ in EXITS.items())


@together
def test_the_deadline_ends_the_turn(tmp_path: Path) -> None:
    done = run(
        "--agent", "echo", "--timeout", f"{patience(3)}", "--format", "json", "/wait 60", folder=tmp_path
    )
    assert (done.status, done.events[-1]["outcome"]) == (124, "timeout")
    assert done.events[-1]["stopReason"] == "cancelled"  # the agent was asked, and answered


@together
def test_silence_ends_the_turn(tmp_path: Path) -> None:
    agent = scripted(tmp_path, "agent mute\non prompt\n  say one\n  unanswered\n")
    done = run("--agent", agent, "--silence", f"{patience(2)}", "Hello", folder=tmp_path)
    assert (done.status, done.out) == (124, "one\n")
    assert "silence" in done.err


@together
def test_an_agent_that_never_introduces_itself_is_given_up(tmp_path: Path) -> None:
    agent = scripted(tmp_path, "agent mute\non initialize\n  unanswered\n")
    done = run("--agent", agent, "--start-timeout", "0.5", "Hello", folder=tmp_path)
    assert (done.status, done.out) == (124, "")
    assert "initialize" in done.err
    assert "give it more time with --start-timeout SECONDS" in done.err


@together
def test_what_comes_after_the_answer_is_shown(tmp_path: Path) -> None:
    agent = scripted(tmp_path, 'agent late\non prompt\n  say first\n  stop end_turn\n  say " and last"\n')
    assert run("--agent", agent, "Hello", folder=tmp_path).out == "first and last\n"
    events = run("--agent", agent, "--format", "json", "Hello", folder=tmp_path).named("text")
    assert [event.get("phase", "turn") for event in events] == ["turn", "after"]


@together
def test_what_is_said_in_another_session_is_not_shown(tmp_path: Path) -> None:
    foreign = (
        '{"sessionId": "other", "update": {"sessionUpdate": "agent_message_chunk", '
        '"content": {"type": "text", "text": "not yours"}}}'
    )
    agent = scripted(tmp_path, f"agent two\non prompt\n  notify session/update {foreign}\n  say yours\n")
    assert run("--agent", agent, "Hello", folder=tmp_path).out == "yours\n"


@together
def test_no_escape_sequence_passes(tmp_path: Path) -> None:
    nasty = "\\u001b]52;c;aGFjaw==\\u0007\\u009b2J"
    script = f'agent nasty\non prompt\n  say "{nasty}"\n  complain "{nasty}"\n  tool "{nasty}"\n'
    agent = scripted(tmp_path, script)
    for how in ("text", "json", "quiet"):
        done = run("--agent", agent, "--format", how, "--verbose", "Hello", folder=tmp_path)
        assert done.status == 0
        assert not any(found in done.out + done.err for found in "\x1b\x07\x9b")


@together
def test_a_closed_output_ends_the_run_and_the_agent(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*RUN, "--agent", "echo", "/stream 100000000 100"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env=home(tmp_path),
    ) as process:
        assert process.stdout is not None
        assert os.read(process.stdout.fileno(), 10)
        process.stdout.close()
        assert process.wait(timeout=patience(10)) == 141


@together
def test_secrets_stay_here_unless_they_are_named(tmp_path: Path) -> None:
    agent = f"{RUN[0]} -c \"import os,sys; sys.exit(' '.join(sorted(os.environ)))\""
    env = home(tmp_path, A_SECRET="s3cret", B_SECRET="hidden")
    shown = run("--agent", agent, "x", folder=tmp_path, env=env).err
    assert "SECRET" not in shown
    shown = run("--agent", agent, "--env", "A_SECRET", "--env", "C=1", "x", folder=tmp_path, env=env).err
    assert "A_SECRET" in shown
    assert "B_SECRET" not in shown
    assert " C " in shown


@together
def test_what_an_agent_says_beside_its_error_is_told(tmp_path: Path) -> None:
    agent = scripted(tmp_path, 'agent bad\non prompt\n  fail -32603 Broken {"details": "no such model"}\n')
    done = run("--agent", agent, "Hello", folder=tmp_path)
    assert done.status == 11
    assert "Broken (no such model)" in done.err


@together
def test_standard_streams_may_be_closed(tmp_path: Path) -> None:
    command = " ".join([*RUN, "--agent", "echo", "Hello"])
    for closed, out in (("2>&-", b"You said: Hello\n"), ("<&-", b"You said: Hello\n"), (">&-", b"")):
        done = subprocess.run(
            ["/bin/sh", "-c", f"{command} {closed}"],
            capture_output=True,
            cwd=tmp_path,
            env=home(tmp_path),
            check=False,
        )
        assert (done.returncode, done.stdout) == (141 if closed == ">&-" else 0, out)
