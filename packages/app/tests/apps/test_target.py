"""Which agent is meant, and how it is reached."""

import socket
import subprocess
import threading
from pathlib import Path

from tests.apps.run.run_process import DRAGOMAN, home, run


def test_an_agent_behind_a_socket(tmp_path: Path) -> None:
    path = tmp_path / "agent.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            peer, _ = listener.accept()
            with peer:
                subprocess.run(
                    [*DRAGOMAN, "agent", "echo"], stdin=peer.fileno(), stdout=peer.fileno(), check=False
                )

        thread = threading.Thread(target=serve)
        thread.start()
        done = run("--agent", f"unix:{path}", "Hello", folder=tmp_path)
        thread.join()
    assert done == (0, "You said: Hello\n", "")


def test_a_socket_that_nobody_listens_to(tmp_path: Path) -> None:
    done = run("--agent", f"unix:{tmp_path}/nothing.sock", "Hello", folder=tmp_path)
    assert (done.status, done.out) == (127, "")
    assert "cannot reach" in done.err


def test_the_configuration_names_agents_and_a_default(tmp_path: Path) -> None:
    folder = tmp_path / ".config/dragoman"
    folder.mkdir(parents=True)
    words = ", ".join(f'"{word}"' for word in [*DRAGOMAN, "agent", "echo"])
    (folder / "config.toml").write_text(f'default_agent = "mine"\n[agents.mine]\ncommand = [{words}]\n')
    assert run("Hello", folder=tmp_path, env=home(tmp_path)) == (0, "You said: Hello\n", "")
    assert run("--agent", "mine", "Hello", folder=tmp_path).out == "You said: Hello\n"


def test_the_mode_is_switched_before_the_turn(tmp_path: Path) -> None:
    done = run("--agent", "echo", "--mode", "bench", "/mode", folder=tmp_path)
    assert done.out == "The mode is bench.\n"
