"""What comes out of each example of README and of the help: the table that `test_commands_examples.py` runs.

`shows` is looked for in the output, and `status` is the exit status. `ELSEWHERE` has the examples that need
what a test has not: another machine, a registry of packages, a server on a fixed port.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from tests.cli.example_stage import HELLO, MCP_HELLO


class Shows(NamedTuple):
    """How one example ends."""

    shows: str
    """A regular expression for what it prints, on either stream, or writes into `file`."""
    status: int = 0
    given: str = ""
    """Said to it on standard input, which ends once `shows` has come."""
    file: str = ""
    before: str = ""
    """What its reader has done before."""
    way: Literal["end", "serve", "hub", "screen"] = "end"
    """`end`: it ends by itself. `serve`: it listens until it is stopped. `hub`: a hub of this user is
    running. `screen`: it draws on a terminal until it is stopped.
    """


def answers(name: str) -> Shows:
    """An agent on standard streams that says its name."""
    return Shows(rf'"agentInfo":{{[^}}]*"name":"{name}"', given=HELLO)


FINDING = Shows(r"src/app.py:5:5  medium  .*shell", 1)
CODER = answers("dragoman-code")
SERVED = Shows(r"^ws://127.0.0.1:\d+/acp\nhttp://127.0.0.1:\d+/acp\n", way="serve")
HUB = Shows(
    r"^The page: +http://127.0.0.1:\d+/#token=\S+\nFor programs: +ws://127.0.0.1:\d+/acp\n", way="serve"
)
JUDGED = Shows(r"\nagent my-agent 1.0: 1 warned, \d+ passed")

EXAMPLES: dict[str, Shows] = {
    'dragoman run "Explain this folder" --agent claude': Shows(
        "^claude-agent-acp heard: Explain this folder\n$"
    ),
    'dragoman run "Explain this folder"': Shows("^claude-agent-acp heard: Explain this folder\n$"),
    'dragoman run --agent "python3 my_agent.py" --approve all "Fix the failing test"': Shows(
        "^my_agent.py heard: Fix the failing test\n$"
    ),
    'dragoman run "Fix the failing test" --format json': Shows(
        '"text":"Fix the failing test".*\n[\\s\\S]*"outcome":"end_turn","status":0'
    ),
    'git diff | dragoman run "Review this:" - --format quiet > review.md': Shows(
        r"^claude-agent-acp heard: Review this:\s+diff --git [\s\S]*\n\+    os.system", file="review.md"
    ),
    'dragoman run --format json "/plan"': Shows(
        '"event":"text".*"text":"claude-agent-acp heard: "}\n.*"/plan"'
    ),
    'dragoman run --continue "And now the tests"': Shows(
        "^claude-agent-acp heard: And now the tests\n$", before='dragoman run "Hello"'
    ),
    'dragoman run --agent claude --continue-with codex "Fix the tests"': Shows(
        "^claude-agent-acp heard: Fix the tests\n$"
    ),
    'dragoman run "review my changes" --agent "dragoman agent review"': Shows(r"medium: .*src/app.py:5"),
    'dragoman run "say hello" --agent "dragoman replay session.ndjson"': Shows("^Hello from my-agent.\n$"),
    "dragoman agent echo": answers("echo"),
    "dragoman agent script hello.script": answers("hello.script"),
    "dragoman agent --help": Shows("echo .*\n[\\s\\S]*review .*\n[\\s\\S]*script "),
    "dragoman agent review": answers("dragoman-review"),
    "dragoman agent code --model anthropic:claude-sonnet-5-5": CODER,
    "dragoman agent code --model openai:gpt-6.1-sol --key-file ~/.keys/openai": CODER,
    "dragoman agent code --model qwen3-coder --base-url http://localhost:11434/v1": CODER,
    "dragoman chat": Shows("Claude Code", way="screen"),
    "dragoman chat --agent review": Shows("review[\\s\\S]*● ready", way="screen"),
    'dragoman chat --agent "my-agent --acp" --cwd ~/project': Shows("my-agent[\\s\\S]*● ready", way="screen"),
    "dragoman chat --agent claude --continue": Shows(
        "claude[\\s\\S]*● ready", way="screen", before='dragoman run "Hello"'
    ),
    "dragoman chat --resume 20260102-0304": Shows("codex[\\s\\S]*● ready", way="screen"),
    "dragoman chat --theme light": Shows("Claude Code", way="screen"),
    "dragoman sessions": Shows(r"\d{8}-\d{6}-\w{8} .* claude +end_turn +A needle in a haystack\n"),
    "dragoman sessions show last": Shows("\n> hello again\n\ncodex-acp heard: hello again\n"),
    "dragoman sessions search needle haystack": Shows("prompt 5: A needle in a haystack\n"),
    "dragoman sessions export 20260102-0304 a.ndjson": Shows('"hello again"', file="a.ndjson"),
    "dragoman sessions import a.ndjson": Shows(r"^\d{8}-\d{6}-\w{8}\n$"),
    'dragoman sessions handover last --agent codex --prompt "Now the tests"': Shows(
        r"^codex-acp heard: [\s\S]*hello again[\s\S]*Now the tests"
    ),
    "dragoman sessions handover 20260102-0304 --brief": Shows("hello again"),
    "dragoman blame src/app.py": Shows(
        r"^unknown +1  import os\n", before="dragoman run hello --agent my-agent"
    ),
    "dragoman why src/app.py:12": Shows("no turn ran in the folder of ", 1),
    "dragoman blame src/app.py:12,20": Shows("no turn ran in the folder of ", 1),
    "dragoman blame src/app.py --json": Shows("no turn ran in the folder of ", 1),
    "dragoman blame src/app.py --format agent-trace": Shows("no turn ran in the folder of ", 1),
    "dragoman attest": Shows("adds \\d+ lines\n  agent ", before="dragoman run hello --agent my-agent"),
    "dragoman attest main..HEAD --format json": Shows(r'"sessions": \[\]'),
    "dragoman attest --format trailer": Shows("^Dragoman-Lines: agent 0, command 0, person 0, unknown "),
    "dragoman attest HEAD~1 --format note --write": Shows("git can't read HEAD~1", 1),
    "dragoman rewind --to 3 --dry-run": Shows("no turn is remembered in ", 1),
    "dragoman rewind --to 3": Shows("no turn is remembered in ", 1),
    "dragoman rewind --to 3 --steps": Shows("no turn is remembered in ", 1),
    "dragoman rewind --to 3 --step 2": Shows("no turn is remembered in ", 1),
    "dragoman rewind SESSION --to 1": Shows("no session matches 'SESSION'", 1),
    "dragoman rewind --undo": Shows("no rewind to undo in ", 1),
    "dragoman fork": Shows("no turn is remembered in ", 1),
    "dragoman fork --turn 2 --agent codex": Shows("no turn is remembered in ", 1),
    'dragoman fork SESSION --turn 2 --worktree ../try-again --prompt "Try it without a cache"': Shows(
        "no session matches 'SESSION'", 1
    ),
    "dragoman fork --turn 2 --dry-run": Shows("no turn is remembered in ", 1),
    "dragoman sessions forget 20260102-030405-1a2b3c4d": Shows("can.t ask you", 1),
    "dragoman sessions forget last": Shows("can.t ask you", 1),
    "dragoman sessions forget --older-than 30d --dry-run": Shows("history.db: no session matches"),
    "dragoman sessions forget --agent codex --yes": Shows(r"^forgot \d{8}-"),
    "dragoman journal": Shows(r"history +2 sessions since .*\n[\s\S]*keep_days = 0: sessions are kept"),
    "dragoman journal prune --older-than 90d --dry-run": Shows("history.db: would forget 0 sessions\n"),
    "dragoman journal prune --older-than 90d": Shows("history.db: forgot 0 sessions\n"),
    "dragoman journal prune --older-than 30d --journal ~/.local/share/dragoman/history.db": Shows(
        "history.db: forgot 0 sessions\n"
    ),
    "dragoman new agent word-counter": Shows("^word-counter: 10 files"),
    "dragoman new client asker --into ~/asker": Shows("/asker: 8 files"),
    "dragoman new proxy house-rules": Shows("^house-rules: 10 files"),
    "dragoman agents": Shows("claude +path +claude-agent-acp +Claude Code\n[\\s\\S]*\nDefault: claude\n"),
    "dragoman agents list --all": Shows("\nNot installed:\ngemini .*dragoman agents install gemini"),
    "dragoman agents show claude": Shows("command  claude-agent-acp\nprogram  .*/bin/claude-agent-acp\n"),
    "dragoman agents import zed --dry-run": Shows("would take theirs: theirs --acp\nNothing was written.\n"),
    "dragoman agents add mine my-agent --acp": Shows(
        "^Added mine: my-agent --acp\n", before="dragoman agents remove mine"
    ),
    "dragoman agents default claude": Shows("^claude is now your default agent.\n"),
    "dragoman agents default mine": Shows("^mine is now your default agent.\n"),
    "dragoman agents remove mine": Shows("^Removed mine from "),
    "dragoman agents registry": Shows("claude +[\\d.]+ +npx .*Claude Agent\n"),
    "dragoman agents login mine": Shows("mine offers no login method", 2),
    "dragoman agents login mine METHOD": Shows("mine offers no login method 'METHOD'", 2),
    "dragoman agents logout mine": Shows("mine can't log out over the protocol", 1),
    "dragoman doctor claude": Shows(
        "ok +initialize  claude-agent-acp 1.0[\\s\\S]*ok +session +session/new works"
    ),
    "dragoman doctor 'my-agent --acp' --timeout 10": Shows("ok +session +session/new works"),
    "dragoman doctor --json -- my-agent --acp": Shows('"outcome": "ok",\n  "status": 0'),
    'dragoman policy explain --command "git push"': Shows("^ask: git push\n"),
    "dragoman policy explain --tool edit --path src/x.py": Shows("^ask: edit .*/src/x.py\n"),
    "dragoman policy explain --request request.json": Shows("^ask: edit /project/src/x.py\n"),
    "dragoman policy allow --agent claude --command make": Shows(
        "only a person at a terminal may allow this", 1
    ),
    "dragoman policy list": Shows("^No rules yet."),
    "dragoman policy test --history --since 30d": Shows("actions in |nothing is recorded yet", 0),
    "dragoman policy test --history --policy new.toml": Shows("new.toml: there is no such file", 1),
    "dragoman policy suggest": Shows("^# 0 questions, of which"),
    "dragoman policy learn last": Shows("^# A sandbox that was enough"),
    "dragoman sandbox show": Shows(r"^profile    workspace\nwritable   /"),
    "dragoman sandbox show --profile workspace+net:example.org,localhost:5432+memory:4G": Shows(
        r"(?s)limit      memory 4G for each process.*network    localhost:5432"
    ),
    "dragoman sandbox show --profile read-only --json": Shows('"profile": "read-only"'),
    "dragoman audit verify": Shows("can't read the audit log .*audit.jsonl: No such file", 1),
    "dragoman audit verify /srv/dragoman/audit.jsonl": Shows("can't read the audit log .*: No such file", 1),
    "dragoman audit verify --json": Shows("can't read the audit log .*audit.jsonl: No such file", 1),
    "dragoman policy forget 7": Shows("no rule begins at line 7 of ", 1),
    "dragoman hub": HUB,
    "dragoman hub --link": HUB,
    "dragoman hub --listen 127.0.0.1:9000 --journal ~/hub.db": HUB,
    "dragoman hub --config hub.toml --check": Shows(
        "^listen +127.0.0.1:0\n[\\s\\S]*\nagents +.*claude.*codex"
    ),
    "dragoman hub token add phone --scope observe --scope approve": Shows(
        r"^[\w-]{40,}\n.*the token 'phone'"
    ),
    "dragoman hub token add ci --scope prompt --agent 'review*' --root ~/work --expires 30d": Shows(
        r"^[\w-]{40,}\n.*the token 'ci'"
    ),
    "dragoman hub token list": Shows("owner +", way="hub"),
    "dragoman hub token rotate ci --grace 1h": Shows(r"^[\w-]{40,}\n", before="dragoman hub token add ci"),
    "dragoman hub token revoke phone": Shows("phone", before="dragoman hub token add phone"),
    "dragoman hub reach": Shows(r"^The hub is at ws://127.0.0.1:\d+/acp.\n", way="hub"),
    "dragoman hub reach --json": Shows('^{"url":"ws://127.0.0.1:.*"safe":true', way="hub"),
    "dragoman hub reach ws://127.0.0.1:9000/acp": Shows("^The hub is at ws://127.0.0.1:9000/acp.\n"),
    "dragoman hub status": Shows(r"^dragoman hub \S+ · ok · [\s\S]*\nreview +stopped ", way="hub"),
    "dragoman hub status --json | jq '.totals'": Shows('"sessions": {}', way="hub"),
    "dragoman hub install --dry-run": Shows(
        "^Would write .*dragoman-hub.service:\n[\\s\\S]*ExecStart=.* hub\n"
    ),
    "dragoman inbox": Shows("^No open questions", way="hub"),
    "dragoman inbox --list": Shows("^No open questions", way="hub"),
    "dragoman inbox --json": Shows(r"\[\]", way="hub"),
    "dragoman serve -- my-agent --acp": SERVED,
    "dragoman serve --listen 127.0.0.1:8765 -- dragoman agent review": SERVED,
    "dragoman serve --openai --agent claude --listen 127.0.0.1:8766": Shows(
        r"^http://127.0.0.1:\d+/v1\n", way="serve"
    ),
    "dragoman serve --openai --approve all --cwd ~/work -- my-agent --acp": Shows(
        r"^http://127.0.0.1:\d+/v1\n", way="serve"
    ),
    "dragoman mcp --agent claude": Shows('"serverInfo":.*"claude, through Dragoman"', given=MCP_HELLO),
    "dragoman mcp --cwd ~/work --root ~/work --approve all -- my-agent --acp": Shows(
        '"serverInfo":.*"my-agent, through Dragoman"', given=MCP_HELLO
    ),
    "dragoman mcp --http --agent claude --listen 127.0.0.1:8767": Shows(
        r"^http://127.0.0.1:\d+/mcp\n", way="serve"
    ),
    "dragoman connect ws://127.0.0.1:8765/acp": answers("dragoman-review")._replace(way="hub"),
    "DRAGOMAN_TOKEN=… dragoman connect ws://127.0.0.1:8765/acp": answers("dragoman-review")._replace(
        way="hub"
    ),
    "dragoman journal backup --journal ~/.local/share/dragoman/history.db /backup/history.db": Shows(
        "/backup/history.db: 2 sessions, "
    ),
    "dragoman journal backup /backup/hub.db": Shows(r"/backup/hub.db: \d+ session", way="hub"),
    "dragoman review": FINDING,
    "dragoman review src/app.py lib": FINDING,
    "dragoman review --diff": FINDING,
    "dragoman review --diff main": FINDING,
    "dragoman review --staged": Shows("^nothing found in 0 files\n$"),
    "dragoman review --fix": FINDING,
    "dragoman review --format sarif > review.sarif": Shows(
        '"ruleId": ?"python/shell-call"', 1, file="review.sarif"
    ),
    "dragoman review --list-rules": Shows("\nc/gets +critical +c, cpp +gets: buffer overflow\n"),
    "dragoman check trace session.ndjson": JUDGED,
    "dragoman check trace --side agent --format sarif=acp.sarif --format text session.ndjson": JUDGED,
    "dragoman check trace examination/*.ndjson": JUDGED,
    "dragoman check list": Shows("^RPC-01 +B SCHEMA +judged "),
    "dragoman check explain TURN-06": Shows("^TURN-06: All updates of the turn precede its response.\n"),
    "dragoman tap -- claude-agent-acp": answers("claude-agent-acp"),
    "dragoman tap -- my-agent --acp": answers("my-agent"),
    "dragoman tap attach session.ndjson": Shows(
        "session/prompt .*: say hello\n[\\s\\S]*Hello from my-agent."
    ),
    "dragoman view session.ndjson": Shows("<html[\\s\\S]*Hello from my-agent.", file="session.html"),
    "dragoman replay session.ndjson": answers("my-agent"),
    "dragoman replay session.ndjson --speed real": answers("my-agent"),
    "dragoman replay session.ndjson --as client -- my-agent --acp": Shows("^$"),
    "dragoman diff before.ndjson after.ndjson": Shows("^$"),
    "dragoman diff --json a.ndjson b.ndjson": Shows('"same":false.*Hello from my-agent', 1),
    "dragoman chaos --seed 7 -- my-agent --acp": answers("my-agent"),
    "dragoman chaos --profile peer --seed 3 --save faults.ndjson -- my-agent --acp": answers("my-agent"),
    "dragoman chaos --script faults.ndjson -- my-agent --acp": answers("my-agent"),
    "dragoman translate -- some-agent --acp": answers("some-agent"),
    "dragoman translate --strict --agent v2 -- codex-acp": answers("codex-acp"),
    "dragoman dialect explain conversation.ndjson": Shows(
        "The agent speaks v1.[\\s\\S]*Everything follows version 1."
    ),
    "dragoman dialect explain - --json < frames.ndjson": Shows('^{"frames":1,"client":.*"dialect":"v1"'),
    "dragoman dialect list": Shows("^v1 +the protocol itself"),
    "dragoman editors install zed --dry-run": Shows('\\+  "Dragoman Review": {'),
    "dragoman editors install zed": Shows("Nothing was written", 2),
    "dragoman editors install vscode --agent review --yes": Shows("/Code/User/settings.json: written\n"),
    "dragoman editors uninstall zed": Shows("zed/settings.json: nothing to change\n"),
    "dragoman config check": Shows("dragoman/config.toml: is good\n.*dragoman/hub.toml: is good\n"),
    "dragoman config check hub --file hub.toml": Shows("^hub.toml: is good\n$"),
    "dragoman config show hub": Shows("\nlisten = 127.0.0.1:0 +# set here\n"),
    "dragoman config schema hub": Shows('"title": "The configuration of a Dragoman hub"'),
    "dragoman help": Shows("^Pages: .* policy,"),
    "dragoman help policy": Shows("^# What an agent may do\n"),
    "dragoman where": Shows("agents +.*/.config/dragoman/config.toml\n"),
    "dragoman where --json": Shows('"path": ".*/.config/dragoman/config.toml"'),
    'cp "$(dragoman where hub)" /backup': Shows("known_agents = false", file="../backup/hub.toml"),
    'eval "$(dragoman completions bash)"': Shows("^$"),
}

_NETWORK = "it asks a registry of packages; packages/app/tests/cli/test_agents_install.py has one"
_SLOW = "an examination takes half a minute; packages/app/tests/cli/test_check_agent.py"
_ELSEWHERE = "another machine, or a container; packages/hub/tests/remote"
_NATS = "servers of NATS; packages/app/tests/cli/test_journal.py, packages/hub/tests/cluster"
_WALL = "a machine that can hold a sandbox; packages/app/tests/cli/test_sandbox.py"
_SHELL = "another shell; packages/app/tests/cli/test_complete.py"
_WAITS = "it waits for a person or a device; packages/app/tests/cli, packages/hub/tests/hub"

ELSEWHERE: dict[str, str] = {
    "dragoman sandbox verify": _WALL,
    "dragoman sandbox verify -- make test": _WALL,
    'DRAGOMAN_TOKEN=… dragoman run "hello" --agent ws://127.0.0.1:8765/acp': "tests/cli/test_serve.py",
    "DRAGOMAN_TOKEN=… dragoman chat --hub ws://127.0.0.1:8765/acp": "packages/app/tests/apps/chat",
    "DRAGOMAN_TOKEN=… dragoman chat --hub ws://127.0.0.1:8765/acp --board": "packages/app/tests/apps/chat",
    "dragoman sessions handover SESSION --agent codex --hub": "packages/app/tests/cli/test_sessions.py",
    "dragoman sessions forget SESSION --hub": "packages/hub/tests/hub/outside/test_forgetting.py",
    "dragoman inbox --answer 3f0c:17 allow": _WAITS,
    "dragoman hub --journal nats://one:4222,two:4222/team --node left": _NATS,
    "dragoman hub pair": _WAITS,
    "dragoman hub pair --name phone --scope observe --scope approve": _WAITS,
    "dragoman hub pair --address https://box.tailnet.ts.net/": _WAITS,
    "dragoman hub pair --for 2m --expires 30d --json": _WAITS,
    "dragoman hub status wss://hub.example/acp --token-file ~/.config/dragoman/token": _ELSEWHERE,
    "dragoman hub status --watch": "it never ends; packages/app/tests/cli/test_hub_status.py",
    "dragoman hub install": "a service manager; packages/app/tests/cli/test_hub_service.py",
    "dragoman hub install --config ~/hub.toml --no-start": "a service manager; tests/cli/test_hub_service.py",
    '{"mcpServers": {"claude": {"command": "dragoman", "args": ["mcp", "--agent", "claude"]}}}': "no command",
    "dragoman connect --token-file ~/.config/dragoman/token https://agents.example/acp": _ELSEWHERE,
    "dragoman connect --agent review --give-up 600 wss://agents.example/acp": _ELSEWHERE,
    "dragoman ssh build-server -- claude-code-acp": _ELSEWHERE,
    "dragoman ssh me@10.0.0.7 --cwd /srv/app --env ANTHROPIC_API_KEY -- claude-code-acp": _ELSEWHERE,
    "dragoman ssh docker:dev --map ~/app=/workspace -- opencode acp": _ELSEWHERE,
    "dragoman ssh build-server": _ELSEWHERE,
    "dragoman ssh build-server --remove": _ELSEWHERE,
    'dragoman run "Fix the build" --agent claude --in ssh:build-server --cwd /srv/app': _ELSEWHERE,
    'dragoman run "Fix the build" --agent claude --in ssh:build-server': _ELSEWHERE,
    'dragoman run "Fix the failing test" --sandbox workspace': _WALL,
    "dragoman journal restore /backup/hub.db": "packages/app/tests/cli/test_journal.py",
    "dragoman journal restore --force /backup/hub.db": "packages/app/tests/cli/test_journal.py",
    "dragoman journal copy ~/hub.db nats://one:4222,two:4222,three:4222/team": _NATS,
    "dragoman journal copy nats://one:4222/team ~/hub.db --json": _NATS,
    "dragoman agents install claude": _NETWORK,
    "dragoman agents install claude --dry-run": _NETWORK,
    "dragoman agents install codex@2.5.0 --yes": _NETWORK,
    "dragoman agents install opencode --allow-scripts": _NETWORK,
    "dragoman agents install mine --from agent.json --dry-run --json": _NETWORK,
    "dragoman agents update": _NETWORK,
    "dragoman agents rollback codex": _NETWORK,
    "dragoman check agent -- my-agent --acp": _SLOW,
    "dragoman check agent --prompts prompts.toml --save examination/ -- my-agent --acp": _SLOW,
    "dragoman check agent --only TURN,CAN --format junit=check.xml --format text -- my-agent --acp": _SLOW,
    "dragoman check client": "it waits for an editor; packages/app/tests/cli/test_check_client.py",
    "dragoman check client -- my-client {agent}": _SLOW,
    "dragoman check client -- dragoman run hello --approve all --no-history --agent {agent}": _SLOW,
    "dragoman check client --say hello -- python3 my_client.py {agent_words}": _SLOW,
    "dragoman check endpoint http://127.0.0.1:8080/acp": _ELSEWHERE,
    "dragoman check endpoint ws://127.0.0.1:8080/acp": _ELSEWHERE,
    'dragoman check endpoint --header "Authorization: Bearer $TOKEN" https://agents.example/acp': _ELSEWHERE,
    "dragoman check translate -- my-agent --acp": _SLOW,
    "dragoman check translate --agent v1 --only TURN,CAN -- my-agent --acp": _SLOW,
    "dragoman tap attach": "it waits for a recording; packages/app/tests/cli/test_tap_attach.py",
    "dragoman tap --guard --record session.ndjson -- my-agent --acp": "tests/cli/test_recordings.py",
    "dragoman tap --record session.ndjson -- my-agent; dragoman view session.ndjson": "the two are run alone",
    "dragoman view session.ndjson -o /tmp/session.html --open": "a browser; tests/cli/test_recordings.py",
    "dragoman chaos --script faults.ndjson "
    '--shrink "pytest -q test_client.py --agent {agent}" -- my-agent --acp': (
        "it runs pytest often; packages/app/tests/cli/test_recordings.py"
    ),
    "dragoman translate --client threads --agent v1 -- dragoman agent review": "tests/dialect/threads",
    "dragoman translate --client v1 --agent crow --ledger lost.json -- crow-agent": "tests/dialect/crow",
    'eval "$(dragoman completions zsh)"': _SHELL,
    "dragoman completions fish | source": _SHELL,
}
