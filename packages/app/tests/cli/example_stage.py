"""The machine of a reader who tries the examples: a home, a project under git, agents on PATH, recordings.

An agent says its own name and what it heard, so that an example shows who answered. The lines are run by a
shell as they are written; only what a reader has to fill in is filled in, such as a token.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from dragoman.testing.pace import patience
from tests import forks

SCRIPT = """
agent {name} version=1.0
  can load
on prompt "say hello"
  say "Hello from {name}."
on prompt
  say "{name} heard: " "$text"
"""

AGENTS = ("claude-agent-acp", "claude-code-acp", "codex-acp", "opencode", "my-agent", "some-agent")

HELLO = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":'
    '{"protocolVersion":1,"clientInfo":{"name":"reader","version":"1"},"clientCapabilities":{}}}\n'
)
"""What an editor says first."""

MCP_HELLO = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":'
    '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"reader","version":"1"}}}\n'
)

README_AGENT = """\
from dragoman import Agent, Turn, serve

agent = Agent("mine")


@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.say(f"my_agent.py heard: {turn.text}")


serve(agent)
"""

FILES = {
    ".config/dragoman/config.toml": 'default_agent = "claude"\n\n[agents.mine]\ncommand = "my-agent --acp"\n',
    ".config/dragoman/hub.toml": 'listen = "127.0.0.1:0"\nknown_agents = false\n',
    ".config/zed/settings.json": '{"agent_servers": {"theirs": {"command": "theirs", "args": ["--acp"]}}}\n',
    "hub.toml": 'listen = "127.0.0.1:0"\n',
    "project/my_agent.py": README_AGENT,
    "project/hello.script": SCRIPT.format(name="hello.script"),
    "project/hub.toml": 'listen = "127.0.0.1:0"\n',
    "project/policy.toml": 'version = 1\n[[rule]]\ndecision = "deny"\ncommand = "git push"\n',
    "project/src/app.py": "import os\n\n\ndef run(word):\n    os.system(word)\n",
    "project/lib/tidy.py": "TIDY = True\n",
    "project/request.json": '{"sessionId":"s","toolCall":{"toolCallId":"t","kind":"edit","title":"Edit",'
    '"locations":[{"path":"/project/src/x.py"}]},"options":[]}\n',
}


class Stage:
    """One reader's machine. `dragoman` on its PATH is a fork if this run has a server of forks."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.project = home / "project"
        tools = "/usr/local/bin:/usr/bin:/bin"
        self.env = {
            "HOME": str(home),
            "PATH": f"{home / 'bin'}:{tools}",
            "TERM": "xterm",
            "TMPDIR": str(home / "tmp"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_AUTHOR_NAME": "A",
            "GIT_AUTHOR_EMAIL": "a@example.org",
            "GIT_COMMITTER_NAME": "A",
            "GIT_COMMITTER_EMAIL": "a@example.org",
        }

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", "-c", line],
            cwd=self.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=patience(15),
            check=False,
        )

    def copy(self, home: Path) -> Stage:
        """The same machine for one example, which may change it."""
        shutil.copytree(self.home, home, symlinks=True)
        return Stage(home)


def make_stage(home: Path) -> Stage:
    stage = Stage(home)
    for name, text in FILES.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text, encoding="utf-8")
    for folder in ("bin", "tmp", "work", "app", "backup", ".keys"):
        (home / folder).mkdir(parents=True)
    _program(home, "dragoman", [*forks.DRAGOMAN])
    _program(home, "python3", forks.forked([sys.executable]))
    for name in AGENTS:
        script = home / f".{name}.script"
        script.write_text(SCRIPT.format(name=name), encoding="utf-8")
        _program(home, name, [*forks.DRAGOMAN, "agent", "script", str(script)], takes_arguments=False)
    prepare = """
        git init -q -b main . && git add . && git commit -qm first
        printf 'import os\\n\\n\\ndef run(word):\\n    os.system("x " + word)\\n' > src/app.py
        dragoman run "A needle in a haystack" --agent claude
        dragoman run "hello again" --agent codex
        dragoman run "say hello" --agent "dragoman tap --record session.ndjson -- my-agent" --no-history
        cp session.ndjson conversation.ndjson; cp session.ndjson before.ndjson; cp session.ndjson after.ndjson
        cp session.ndjson b.ndjson; mkdir examination; cp session.ndjson examination/one.ndjson
        dragoman sessions export last a.ndjson
        echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}' > frames.ndjson
        dragoman chaos --profile peer --seed 3 --save faults.ndjson -- my-agent < frames.ndjson
    """
    done = stage.run(f"set -e\n{prepare}")
    assert done.returncode == 0, done.stdout + done.stderr
    return stage


def _program(home: Path, name: str, command: list[str], *, takes_arguments: bool = True) -> None:
    program = home / "bin" / name
    arguments = ' "$@"' if takes_arguments else ""
    program.write_text(f"#!/bin/sh\nexec {shlex.join(command)}{arguments}\n")
    program.chmod(0o755)
