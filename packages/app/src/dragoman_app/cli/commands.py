"""The table of commands: the parser, `--help`, the completion of shells and the manual are made from it.

A row's `run` names the function that does the work, as `package.module:function`; its module is imported when
the command runs. The options are declared in `cli.options`, whose modules import next to nothing.
"""

from __future__ import annotations

from typing import NamedTuple


class CommandRow(NamedTuple):
    """A command. A name of several words is a subcommand."""

    name: str
    help: str
    """One line. Empty for a command that only programs start: no help lists it."""
    group: str = ""
    """Its group in the list of commands; for the first level only."""
    description: str = ""
    """The beginning of its own help, if `help` is not enough."""
    run: str = ""
    """The function that takes the parsed arguments and returns the exit status. Empty for a command that
    needs a subcommand.
    """
    options: str = ""
    """The module of `dragoman_app.cli.options` with its options, in the function `add_` plus its name."""
    metavar: str = ""
    """The placeholder for its subcommand in the help."""
    claims_stdio: bool = False
    """Whether standard output is reserved for the protocol before the module is imported: then no import of
    an agent can print into the conversation.
    """
    starts_early: bool = False
    """Whether the command begins its work before the rest of its code is loaded: it starts a process, or
    finds that no more code is needed. It sets up Python's logging and the garbage collector after the rest is
    loaded.
    """
    examples: str = ""
    """Examples and further text below the options in its help."""

    @property
    def parent(self) -> str:
        return self.name.rpartition(" ")[0]


EXAMPLES = """examples:
  dragoman run "Explain this folder" --agent claude  one turn with any agent
  dragoman agent echo               an agent on stdin and stdout that repeats what you say
  dragoman agent script hello.script  an agent that follows a script
  dragoman agent --help             all agents

To use an agent in your editor, paste its command into the editor's agent settings.
"""

COMMANDS: tuple[CommandRow, ...] = (
    CommandRow(
        name="run",
        group="talk to agents",
        help="give any agent one task; the exit status tells how it ended",
        description="Start an agent and give it one task. You always see how it ended and what it changed.",
        run="dragoman_app.cli.traced_run:run",
        starts_early=True,
        options="apps",
        examples="""\
examples:
  dragoman run "Explain this folder" --agent claude
  dragoman run --agent "python3 my_agent.py" --approve all "Fix the failing test"
  git diff | dragoman run "Review this:" - --format quiet > review.md
  dragoman run --format json "/plan"         one event a line; see `dragoman help run`
  dragoman run --continue "And now the tests"
  dragoman run --agent claude --continue-with codex "Fix the tests"   codex takes over if claude fails

The prompt joins the words, --prompt-file and standard input, in this order. Dragoman reads standard input
only if you give no other prompt, or if a word is `-`.

exit status:
""",
    ),
    CommandRow(
        name="chat",
        group="talk to agents",
        help="talk to any agent in the terminal",
        description="Talk to any agent in the terminal: sessions, permissions, changes, history.",
        run="dragoman_app.apps.chat.command:run",
        options="apps",
        examples="""\
examples:
  dragoman chat                                choose an agent and a folder
  dragoman chat --agent review                 start with this agent, in this folder
  dragoman chat --agent "my-agent --acp" --cwd ~/project
  dragoman chat --agent claude --continue      continue the last session of this folder
  dragoman chat --resume 20260102-0304         continue this session (see `dragoman sessions`)
  DRAGOMAN_TOKEN=… dragoman chat --hub ws://127.0.0.1:8765/acp
  DRAGOMAN_TOKEN=… dragoman chat --hub ws://127.0.0.1:8765/acp --board
  dragoman chat --theme light

F1 shows the keys, `dragoman help chat` describes everything.

exit status:
    0  you left
    1  Dragoman itself failed; see standard error
    2  the command line is invalid, or there is no terminal
  129  the terminal was closed (SIGHUP); 130, 131 and 143 are SIGINT, SIGQUIT and SIGTERM
""",
    ),
    CommandRow(
        name="sessions",
        group="talk to agents",
        help="list, show, export, search and forget recorded sessions",
        run="dragoman_app.cli.sessions:run",
        options="recordings",
        metavar="ACTION",
        examples="""\
examples:
  dragoman sessions                            the latest sessions
  dragoman sessions show last                  the conversation as text
  dragoman sessions search needle haystack     sessions that contain both words
  dragoman sessions export 20260102-0304 a.ndjson
  dragoman sessions import a.ndjson
  dragoman sessions handover last --agent codex --prompt "Now the tests"
  dragoman sessions forget 20260102-030405-1a2b3c4d

You can shorten an ID to its first characters. `last` is the latest session. The agent's own id works too.
`dragoman help journal` describes what is stored, and the format of transcripts.
""",
    ),
    CommandRow(
        name="sessions list",
        help="the latest sessions",
        run="dragoman_app.cli.sessions:run",
        options="recordings",
    ),
    CommandRow(
        name="sessions show",
        help="the conversation as text",
        run="dragoman_app.cli.sessions:run",
        options="recordings",
    ),
    CommandRow(
        name="sessions search",
        help="find passages that contain all these words",
        run="dragoman_app.cli.sessions:run",
        options="recordings",
    ),
    CommandRow(
        name="sessions export",
        help="write a session as a transcript",
        run="dragoman_app.cli.sessions:run",
        options="recordings",
    ),
    CommandRow(
        name="sessions import",
        help="read a transcript into the history",
        run="dragoman_app.cli.sessions:run",
        options="recordings",
    ),
    CommandRow(
        name="sessions handover",
        help="let another agent continue a session",
        description="Let another agent continue a session. The agent gets a brief of what was said and done.",
        run="dragoman_app.cli.sessions_handover:run",
        options="recordings",
        examples="""\
examples:
  dragoman sessions handover last --agent codex --prompt "Now the tests"
  dragoman sessions handover 20260102-0304 --brief       show the brief that another agent would get
  dragoman sessions handover SESSION --agent codex --hub  a session of your hub

A recorded session continues as `dragoman run --session ID --continue-with AGENT`, in the folder of the
session, with its exit status. At a hub, this command prints the id of the new session, which waits for a
prompt if you give none. `dragoman help handover` describes what is handed over, and what is lost.
""",
    ),
    CommandRow(
        name="sessions forget",
        help="erase sessions with all their data",
        description="Erase sessions with all their data, from the disk too.",
        run="dragoman_app.cli.sessions_forget:run",
        options="recordings",
        examples="""\
examples:
  dragoman sessions forget last                          the latest session; asks you first
  dragoman sessions forget --older-than 30d --dry-run    show what would be erased
  dragoman sessions forget --agent codex --yes           all sessions with this agent, without a question
  dragoman sessions forget SESSION --hub                 a session of your hub

This erases the messages, the search index, originals, snapshots, child sessions, and what the built-in
agents remember of the session. It keeps a session that is open or has a running turn. It does not touch the
audit log, files of other agents, your exports and your backups: `dragoman help retention` says why and
where they are.

exit status: 0 all erased · 1 some were kept, and the text says why · 2 invalid command line · 9 no hub
""",
    ),
    CommandRow(
        name="sessions repair",
        help="save the readable part of a damaged history; keeps the damaged file",
        run="dragoman_app.cli.sessions:run",
        options="recordings",
    ),
    CommandRow(
        name="blame",
        group="talk to agents",
        help="who wrote each line of a file, and after which prompt",
        description="Show for each line of a file who wrote it, in which turn, and after which prompt.",
        run="dragoman_app.cli.blame:run",
        options="recordings",
        examples="""\
examples:
  dragoman blame src/app.py                    every line: the agent and turn, a person, or unknown
  dragoman blame src/app.py:12,20              only these lines
  dragoman blame src/app.py --json             with prompts, tool calls and approvals
  dragoman blame src/app.py --format agent-trace    the open Agent Trace record, version 0.1

A line that was only moved or formatted keeps its author. A line that Dragoman did not see being written is
`unknown`. `dragoman help memory` explains how Dragoman knows this, and what it keeps.

exit status: 0 shown · 1 Dragoman knows nothing about the file · 2 invalid command line
""",
    ),
    CommandRow(
        name="why",
        group="talk to agents",
        help="the story of one line: prompt, thought, approval, diff",
        run="dragoman_app.cli.blame:run_why",
        options="recordings",
        examples="""\
examples:
  dragoman why src/app.py:12
""",
    ),
    CommandRow(
        name="rewind",
        group="talk to agents",
        help="put the files of a folder back to their state before a turn",
        description="Put the files of a folder back to their state before a turn. Shows what changes.",
        run="dragoman_app.cli.rewind:run",
        options="recordings",
        examples="""\
examples:
  dragoman rewind --to 3 --dry-run             show what would change without turn 3 and later turns
  dragoman rewind --to 3                       put the files back to their state before turn 3
  dragoman rewind --to 3 --steps               list what each tool call of turn 3 did to files
  dragoman rewind --to 3 --step 2              put the files back to their state before its step 2
  dragoman rewind SESSION --to 1               back to before the first turn of that session
  dragoman rewind --undo                       undo the last rewind in this folder

Turns are counted from 1, as in `dragoman blame`: `--to 3` is the state just before turn 3. Files that a
person changed since then are put back only with --force. Secret and ignored files stay as they are, and so
do the index and the branches of git.

exit status: 0 done, or shown · 1 refused, or some files could not be put back · 2 invalid command line
""",
    ),
    CommandRow(
        name="fork",
        group="talk to agents",
        help="continue from any turn, in a new git worktree",
        description="Continue from any turn of a session, in a new folder, with any agent.",
        run="dragoman_app.cli.fork:run",
        options="recordings",
        examples="""\
examples:
  dragoman fork                                the last session here, after its last turn
  dragoman fork --turn 2 --agent codex         the state after turn 2, with another agent
  dragoman fork SESSION --turn 2 --worktree ../try-again --prompt "Try it without a cache"
  dragoman fork --turn 2 --dry-run             show the new folder, and which files would be left out

The fork has the files as they were after that turn, in a new git worktree on a new branch, or without git
in a new folder. Your checkout, your index and your other branches stay as they are. If the agent can fork
its session and the turn is the last one, the agent does so. Otherwise the next prompt brings a brief of
what was said.

exit status: 0 made, or shown · 1 refused, and nothing was made · 2 invalid command line · with --prompt, the
status of `dragoman run`
""",
    ),
    CommandRow(
        name="attest",
        group="talk to agents",
        help="who wrote the lines that a commit adds: agents, commands or people",
        description="Show who wrote the lines that commits add, in which turns, and which tests ran there.",
        run="dragoman_app.cli.attest:run",
        options="recordings",
        examples="""\
examples:
  dragoman attest                              the last commit
  dragoman attest main..HEAD --format json     everything that a branch adds, for programs
  dragoman attest --format trailer             lines for a commit message
  dragoman attest HEAD~1 --format note --write    store the result in git, as a note of that commit

You see how many lines came from agents, commands, people and unknown authors; the sessions, turns and models;
how many approvals people gave; and which tests and reviews ran. Prompts are included only with --prompts.

exit status: 0 shown · 1 Dragoman knows nothing, or there is no such commit · 2 invalid command line
""",
    ),
    CommandRow(
        name="inbox",
        group="talk to agents",
        help="show and answer the questions of agents at a hub",
        description="Show and answer the questions that agents at a hub are waiting on.",
        run="dragoman_app.cli.inbox:run",
        options="hub",
        examples="""\
examples:
  dragoman inbox                          open questions, oldest first; you can answer in the terminal
  dragoman inbox --list                   only show the questions
  dragoman inbox --json                   the same as one JSON object
  dragoman inbox --answer 3f0c:17 allow   answer one question, by the name in the list

This uses your own hub, or the hub at --hub URL. The token comes from DRAGOMAN_TOKEN or --token-file, and
needs
the scopes observe and approve. An answer is the id of an option, its number, or the beginning of its kind:
allow, reject. The first answer counts, no matter where it was given.

exit status:
    0  no open questions are left, or the list was shown
    1  the hub refused, or somebody else answered first
    2  the command line is invalid
    9  the hub could not be reached
""",
    ),
    CommandRow(
        name="agent",
        group="agents and what they may do",
        help="run a ready agent on stdin and stdout",
        metavar="NAME",
        examples="""\
examples:
  dragoman agent echo
  dragoman agent script hello.script

An agent speaks the Agent Client Protocol on stdin and stdout, one JSON text per line, until its input ends.
If you start an agent by hand, it shows nothing: it waits for a client.
""",
    ),
    CommandRow(
        name="agent echo",
        help="repeats what you say; its slash commands show everything an agent can do",
        run="dragoman_app.cli.agent_echo:run",
        claims_stdio=True,
    ),
    CommandRow(
        name="agent review",
        help="reviews code offline, and fixes the findings you choose",
        description="A reviewer on stdin and stdout, for any editor.",
        run="dragoman_app.cli.agent_review:run",
        options="agents",
        claims_stdio=True,
        examples="""\
The reviewer works offline, with its own rules, with ruff and ast-grep, and with oxlint if that is
installed. `dragoman help review-agent` describes what you can ask. With a model (--model, or DRAGOMAN_MODEL
and the variables of dragoman agent code) the reviewer also reads files and looks for bugs, within a budget.
It checks each bug a second time before it reports the bug. Secrets are masked in everything that the model
gets.

examples:
  dragoman agent review
  dragoman run "review my changes" --agent "dragoman agent review"
""",
    ),
    CommandRow(
        name="agent code",
        help="writes code with your own model",
        description="A coding agent on stdin and stdout, with any OpenAI-compatible or Anthropic model.",
        run="dragoman_app.cli.agent_code:run",
        options="agents",
        claims_stdio=True,
        examples="""\
The model and its key may also come from the environment (DRAGOMAN_MODEL, DRAGOMAN_BASE_URL,
DRAGOMAN_API_KEY, DRAGOMAN_KEY_FILE, OPENAI_API_KEY, ANTHROPIC_API_KEY) or from the file
dragoman/code.toml in the folder for configuration; `dragoman help coder` describes it.

examples:
  dragoman agent code --model anthropic:claude-sonnet-5-5
  dragoman agent code --model openai:gpt-6.1-sol --key-file ~/.keys/openai
  dragoman agent code --model qwen3-coder --base-url http://localhost:11434/v1
""",
    ),
    CommandRow(
        name="agent script",
        help="follows a script, also into behaviour that breaks the protocol",
        run="dragoman_app.cli.agent_script:run",
        options="agents",
        claims_stdio=True,
    ),
    CommandRow(
        name="new",
        group="agents and what they may do",
        help="make a project for an agent, a client or a proxy of your own",
        description="Make a project for an agent, a client or a proxy: typed, with tests that pass, checks "
        "in CI, and files for editors.",
        run="dragoman_app.cli.new:run",
        options="agents",
        examples="""\
examples:
  dragoman new agent word-counter            ./word-counter
  dragoman new client asker --into ~/asker
  dragoman new proxy house-rules

exit status: 0 made · 1 could not be written · 2 the name or the folder is not allowed
""",
    ),
    CommandRow(
        name="agents",
        group="agents and what they may do",
        help="list, install, update, add and remove agents, and choose your default",
        run="dragoman_app.cli.agents_show:run_list",
        options="agents",
        metavar="ACTION",
        examples="""\
examples:
  dragoman agents                              agents that you can start here
  dragoman agents list --all                   also agents to install, and how
  dragoman agents show claude                  its command and its variables
  dragoman agents import zed --dry-run         show which agents Zed's settings have
  dragoman agents add mine my-agent --acp      give a command a name
  dragoman agents default mine                 use this agent when you name none
  dragoman agents remove mine
  dragoman agents install claude --dry-run     show what the installation would run
  dragoman agents install codex@2.5.0 --yes    this version, without a question
  dragoman agents update                       update installed agents to the versions of the list
  dragoman agents rollback codex               go back to the version before
  dragoman agents registry                     agents that you can install
  dragoman agents login mine                   log in, or show the ways to log in
  dragoman agents login mine METHOD            log in with this method
  dragoman agents logout mine                  log out, if the agent supports this

Use the names in `dragoman run --agent NAME` and `dragoman doctor NAME`. `dragoman help known-agents`
describes the file that stores them.
""",
    ),
    CommandRow(
        name="agents list",
        help="the agents that can be started here",
        run="dragoman_app.cli.agents_show:run_list",
        options="agents",
    ),
    CommandRow(
        name="agents show",
        help="one agent: its command, its variables, where it comes from",
        run="dragoman_app.cli.agents_show:run_show",
        options="agents",
    ),
    CommandRow(
        name="agents import",
        help="import agents from the settings of another program",
        run="dragoman_app.cli.agents_edit:run_import",
        options="agents",
    ),
    CommandRow(
        name="agents add",
        help="give a command a name",
        description="Give a command a name. Put options before the name: the words after it are the command.",
        run="dragoman_app.cli.agents_edit:run_add",
        options="agents",
    ),
    CommandRow(
        name="agents remove",
        help="take a name out of the configuration file",
        run="dragoman_app.cli.agents_edit:run_remove",
        options="agents",
    ),
    CommandRow(
        name="agents default",
        help="choose the agent for when you name none",
        run="dragoman_app.cli.agents_edit:run_default",
        options="agents",
    ),
    CommandRow(
        name="agents install",
        help="install an agent: a fixed version, checked by its hash",
        description="Install an agent into Dragoman's own folder. Shows first what it will run, and asks "
        "you. "
        "If the installation fails, the version you had stays.",
        run="dragoman_app.cli.agents_install:run_install",
        options="agents",
        examples="""\
examples:
  dragoman agents install claude
  dragoman agents install codex@2.5.0 --yes
  dragoman agents install opencode --allow-scripts
  dragoman agents install mine --from agent.json --dry-run --json

exit status: 0 installed · 1 failed, and nothing has changed · 2 refused or not confirmed
""",
    ),
    CommandRow(
        name="agents update",
        help="update installed agents, and show what changed",
        run="dragoman_app.cli.agents_install:run_update",
        options="agents",
    ),
    CommandRow(
        name="agents rollback",
        help="go back to the version before",
        run="dragoman_app.cli.agents_install:run_rollback",
        options="agents",
    ),
    CommandRow(
        name="agents uninstall",
        help="remove an installed agent with all its versions",
        run="dragoman_app.cli.agents_install:run_uninstall",
        options="agents",
    ),
    CommandRow(
        name="agents registry",
        help="the agents that you can install, and the age of this list",
        run="dragoman_app.cli.agents_registry:run_show",
        options="agents",
        metavar="ACTION",
    ),
    CommandRow(
        name="agents registry refresh",
        help="get a newer list from a file or an address",
        run="dragoman_app.cli.agents_registry:run_refresh",
        options="agents",
    ),
    CommandRow(
        name="agents registry reset",
        help="use the built-in list again",
        run="dragoman_app.cli.agents_registry:run_reset",
        options="agents",
    ),
    CommandRow(
        name="agents login",
        help="log in to an agent",
        description="Log in to an agent with one of its methods. Without METHOD, show the methods.",
        run="dragoman_app.cli.agents_login:run_login",
        options="agents",
    ),
    CommandRow(
        name="agents logout",
        help="log out of an agent",
        run="dragoman_app.cli.agents_login:run_logout",
        options="agents",
    ),
    CommandRow(
        name="doctor",
        group="agents and what they may do",
        help="find out why an agent does not start",
        run="dragoman_app.cli.doctor:run",
        options="agents",
        examples="""\
examples:
  dragoman doctor claude
  dragoman doctor 'my-agent --acp' --timeout 10
  dragoman doctor --json -- my-agent --acp

This starts the agent and opens one session, in this folder or in --cwd. It sends no prompt.

exit status:
    0  the agent works, perhaps with warnings
    2  the command line is invalid, or there is no such agent
    8  the agent needs a login
    9  the agent ended before it answered
   10  the agent broke the protocol
   11  the agent answered with an error
  124  the agent did not answer in time
  127  the agent could not be started
""",
    ),
    CommandRow(
        name="policy",
        group="agents and what they may do",
        help="list, explain and test the rules for agents",
        metavar="ACTION",
        examples="""\
examples:
  dragoman policy explain --command "git push"         which rule decides this, and why
  dragoman policy explain --tool edit --path src/x.py
  dragoman policy explain --request request.json       the params of session/request_permission
  dragoman policy allow --agent claude --command make  always allow this command in this folder
  dragoman policy list                                 all rules for this folder, in order
  dragoman policy forget 7                             delete the remembered answer in line 7
  dragoman policy test --history --since 30d           check your rules against what agents did
  dragoman policy test --history --policy new.toml     the same with another file before yours
  dragoman policy suggest                              rules that would have saved you questions
  dragoman policy learn last                           rules and sandbox for what the latest session did

`dragoman help policy` describes how to write rules. To find mistakes in a file: dragoman config check policy
""",
    ),
    CommandRow(
        name="policy explain",
        help="which rule decides a request, and why",
        run="dragoman_app.cli.policy:run_explain",
        options="agents",
    ),
    CommandRow(
        name="policy allow",
        help="always allow a request that was refused",
        run="dragoman_app.cli.policy:run_allow",
        options="agents",
    ),
    CommandRow(
        name="policy list",
        help="the rules for this folder, in order",
        run="dragoman_app.cli.policy:run_list",
        options="agents",
    ),
    CommandRow(
        name="policy test",
        help="check the rules against what agents did before",
        run="dragoman_app.cli.policy_history:run_test",
        options="agents",
    ),
    CommandRow(
        name="policy suggest",
        help="suggest rules that would have saved you questions",
        run="dragoman_app.cli.policy_history:run_suggest",
        options="agents",
    ),
    CommandRow(
        name="policy learn",
        help="suggest the smallest sandbox and rules for what a session did",
        run="dragoman_app.cli.policy_history:run_learn",
        options="agents",
    ),
    CommandRow(
        name="policy forget",
        help="delete a remembered answer",
        run="dragoman_app.cli.policy:run_forget",
        options="agents",
    ),
    CommandRow(
        name="sandbox",
        group="agents and what they may do",
        help="show and test the sandbox around commands of agents",
        metavar="ACTION",
        examples="""\
examples:
  dragoman sandbox show                                what a command here may write, read and see
  dragoman sandbox show --profile read-only --json
  dragoman sandbox show --profile workspace+net:example.org,localhost:5432+memory:4G
  dragoman sandbox verify                              try to break out of the sandbox
  dragoman sandbox verify -- make test                 the same, then run a command in the sandbox

exit status of verify:
    0  nothing got out; with a command, the command's own status
    2  this machine can't build the sandbox, and standard error says which layer failed
    3  something got out

`dragoman help sandbox` describes what the sandbox stops, and what it does not.
""",
    ),
    CommandRow(
        name="sandbox show",
        help="print what a command may write, read and see",
        run="dragoman_app.cli.sandbox:run_show",
        options="agents",
    ),
    CommandRow(
        name="sandbox verify",
        help="try to break out of the sandbox, and report each attempt",
        run="dragoman_app.cli.sandbox:run_verify",
        options="agents",
    ),
    CommandRow(
        name="audit",
        group="agents and what they may do",
        help="check the log of requests and decisions",
        metavar="ACTION",
        examples="""\
examples:
  dragoman audit verify                                your log, with its older files
  dragoman audit verify /srv/dragoman/audit.jsonl      the log of a hub
  dragoman audit verify --json                         with the digest of the last line; keep it elsewhere

`dragoman help policy` describes the log.
""",
    ),
    CommandRow(
        name="audit verify",
        help="check that no line was changed or removed",
        run="dragoman_app.cli.audit:run_verify",
        options="agents",
    ),
    CommandRow(
        name="hub",
        group="over the network",
        help="run the server: sessions that survive disconnects and restarts, and a web page",
        run="dragoman_app.cli.hub:run",
        options="hub",
        metavar="COMMAND",
        examples="""\
examples:
  dragoman hub                                    the built-in agents, at http://127.0.0.1:8765/
  dragoman hub --link                             also print an address that opens the page at once
  dragoman hub --listen 127.0.0.1:9000 --journal ~/hub.db
  dragoman hub --journal nats://one:4222,two:4222/team --node left    one of several hubs
  dragoman hub --config hub.toml --check          check the configuration
  dragoman hub token add phone --scope observe --scope approve
  dragoman hub pair                               give a phone access with a QR code
  dragoman hub status
  dragoman connect ws://127.0.0.1:8765/acp        the hub as an agent for any editor
  dragoman inbox                                  show and answer the questions of agents

The hub stores every message before it acts. Clients can disconnect and the hub can be killed: nothing is
lost. By default only this machine can reach the hub, and every client needs a token. The first start
creates a token and shows it once. SIGHUP reloads the configuration. SIGTERM, or closing the terminal, ends
the hub after its turns; a second signal ends it at once. `dragoman help hub-configuration` describes the
configuration.

exit status: 0 ended by a signal · 2 the configuration or the command line is invalid
""",
    ),
    CommandRow(
        name="hub token",
        help="create, list, rotate and revoke the tokens of a hub",
        metavar="ACTION",
        examples="""\
examples:
  dragoman hub token add phone --scope observe --scope approve
  dragoman hub token add ci --scope prompt --agent 'review*' --root ~/work --expires 30d
  dragoman hub token list
  dragoman hub token rotate ci --grace 1h
  dragoman hub token revoke phone

scopes: observe (see sessions), prompt (start and continue sessions), approve (answer agents), admin (status,
prompts of others, pairing devices). prompt and admin include observe, for the same agents and folders.
Without --scope a token has all scopes, without --agent all agents, without --root all folders. A token is
shown once, on standard output: the hub stores only its hash. A running hub notices every change within a
second, and closes the connections of a revoked token.

exit status: 0 done · 1 no such token, or the token already exists · 2 the command line or the configuration
             is invalid
""",
    ),
    CommandRow(
        name="hub token add",
        help="create a token and show it once",
        run="dragoman_app.cli.hub_tokens:run",
        options="hub",
    ),
    CommandRow(
        name="hub token list",
        help="list the tokens",
        run="dragoman_app.cli.hub_tokens:run",
        options="hub",
    ),
    CommandRow(
        name="hub token revoke",
        help="revoke a token",
        run="dragoman_app.cli.hub_tokens:run",
        options="hub",
    ),
    CommandRow(
        name="hub token rotate",
        help="replace a token with a new one",
        run="dragoman_app.cli.hub_tokens:run",
        options="hub",
    ),
    CommandRow(
        name="hub pair",
        help="give a phone access with a QR code that works once",
        run="dragoman_app.cli.hub_pair:run",
        options="hub",
        examples="""\
examples:
  dragoman hub pair                                          a code for your hub, valid for ten minutes
  dragoman hub pair --name phone --scope observe --scope approve
  dragoman hub pair --address https://box.tailnet.ts.net/    the address where the phone finds the hub
  dragoman hub pair --for 2m --expires 30d --json

You need a token with the scope admin, in DRAGOMAN_TOKEN or --token-file. The first device that opens the
address gets its own token, and this command tells you which device it was. The device may do no more than
your token. To see all devices: dragoman hub token list. To end the access of a device: dragoman hub token
revoke NAME. The code is behind the # of the address, so no server or log sees it. If your configuration
names the pages of other hubs (origins), this command also prints the links that add your hub to those
pages.

exit status: 0 paired · 1 not paired (too late, or refused) · 2 the command line is invalid, or the address is
             not safe · 9 no hub answers · 130 interrupted
""",
    ),
    CommandRow(
        name="hub reach",
        help="show safe ways to reach this hub from a phone or another machine",
        run="dragoman_app.cli.hub_reach:run",
        options="hub",
        examples="""\
examples:
  dragoman hub reach            the ways, what is installed here, and the commands to run
  dragoman hub reach --json
  dragoman hub reach ws://127.0.0.1:9000/acp

This only shows commands. It starts nothing and opens nothing.

exit status: 0 the hub's address is safe · 1 others could read the traffic · 9 you have no running hub
""",
    ),
    CommandRow(
        name="hub status",
        help="show the state of a hub: agents, sessions, connections, journal",
        run="dragoman_app.cli.hub_status:run",
        options="hub",
        examples="""\
examples:
  dragoman hub status                             your own hub
  dragoman hub status wss://hub.example/acp --token-file ~/.config/dragoman/token
  dragoman hub status --watch                     again every two seconds, until Ctrl-C
  dragoman hub status --json | jq '.totals'

The token comes from DRAGOMAN_TOKEN or --token-file, and needs the scope admin. With the scope observe you see
only the agents. `dragoman help operations` describes every field of the JSON.

exit status:
    0  shown
    1  the hub refused: the token is wrong, or lacks the scope
    2  the command line is invalid, or there is no token
    9  the hub could not be reached, or did not answer
""",
    ),
    CommandRow(
        name="hub install",
        help="run the hub as your own service (systemd or launchd)",
        run="dragoman_app.cli.hub_service:run_install",
        options="shell",
        examples="""\
examples:
  dragoman hub install --dry-run              show what it would write and run
  dragoman hub install                        write the unit, enable it and start it
  dragoman hub install --config ~/hub.toml --no-start

Create a token first (`dragoman hub token add owner`). Otherwise the hub prints a new token into the system's
log. After an upgrade that moved the program, run this command again. To see the state of the hub:
dragoman hub status. To keep the hub running when you log out: loginctl enable-linger

exit status: 0 done · 1 a file or the service manager refused · 2 the configuration is invalid
""",
    ),
    CommandRow(
        name="hub uninstall",
        help="stop the service and remove its file; keeps your data",
        run="dragoman_app.cli.hub_service:run_uninstall",
        options="shell",
    ),
    CommandRow(
        name="serve",
        group="over the network",
        help="offer an agent to clients on the network, or as a model of OpenAI's API",
        run="dragoman_app.cli.serve:run",
        options="hub",
        examples="""\
examples:
  dragoman serve -- my-agent --acp
  dragoman serve --listen 127.0.0.1:8765 -- dragoman agent review
  DRAGOMAN_TOKEN=… dragoman run "hello" --agent ws://127.0.0.1:8765/acp
  dragoman serve --openai --agent claude --listen 127.0.0.1:8766
  dragoman serve --openai --approve all --cwd ~/work -- my-agent --acp

Each connection gets its own agent, over WebSocket or Streamable HTTP at /acp. By default only this machine
can connect, and clients must send the token that is printed once (or the token of --token-file) as
`Authorization: Bearer …`. Web pages of other origins are refused. For other addresses you need TLS.

With --openai the agent is a model for clients of OpenAI's API, at /v1/chat/completions, /v1/responses and
/v1/models; the token is their API key. A conversation stays in its session. Nobody can answer the agent's
questions here, so the policy and --approve decide. See `dragoman help openai`.

exit status: 0 ended by a signal · 2 can't listen
""",
    ),
    CommandRow(
        name="mcp",
        group="over the network",
        help="any agent as an MCP server: its turns are tools",
        description="Give an ACP agent to MCP clients, as tools.",
        run="dragoman_app.cli.mcp:run",
        options="apps",
        examples="""\
examples:
  dragoman mcp --agent claude
  dragoman mcp --cwd ~/work --root ~/work --approve all -- my-agent --acp
  dragoman mcp --http --agent claude --listen 127.0.0.1:8767
  {"mcpServers": {"claude": {"command": "dragoman", "args": ["mcp", "--agent", "claude"]}}}

Use this command as the command of a server in an MCP client. The tools are prompt (a turn: text, session,
cwd, model), sessions, cancel and close. A mode or an option could stop the agent's questions, so the
calling model may choose only those that you name with --allow-choice. All sessions share one agent, which
starts with the first call; the sessions end with the server. The agent's requests for permission become
elicitations. If the client has no elicitation, the policy and --approve decide, and the result names what
was refused. The client's roots limit the folders.

With --http the server listens for clients that speak Streamable HTTP, at the address that it prints. By
default only this machine can connect, and clients must send the token that is printed once (or the token of
--token-file) as `Authorization: Bearer …`. On loopback, --no-token lets everybody on this machine connect.
Web pages of other origins are refused. For other addresses you need TLS. Each client has its own sessions.
See `dragoman help mcp`.

exit status: 0 the client disconnected, or a signal ended it · 2 the command line is invalid
""",
    ),
    CommandRow(
        name="connect",
        group="over the network",
        help="use a server on the network as an agent in any editor",
        run="dragoman_app.cli.connect:run",
        options="hub",
        examples="""\
examples:
  DRAGOMAN_TOKEN=… dragoman connect ws://127.0.0.1:8765/acp
  dragoman connect --token-file ~/.config/dragoman/token https://agents.example/acp
  dragoman connect --agent review --give-up 600 wss://agents.example/acp

Paste this command into your editor's agent settings. It passes every message on unchanged, in both
directions. If the connection to a hub breaks, Dragoman reconnects and continues where it was: the editor
only notices a pause. Other servers can't continue a session, so there a broken connection ends the command.
The token comes from DRAGOMAN_TOKEN or --token-file. It is never an argument, because everybody on this
machine can read arguments.

exit status:
    0  the editor disconnected
    2  the command line is invalid
    8  the server refused the token
    9  the server closed the connection, was away for longer than --give-up, or could not be reached
""",
    ),
    CommandRow(
        name="ssh",
        group="over the network",
        help="use an agent on another machine or in a container in any editor",
        description="""\
Run an agent on another machine, and talk to it from here. The agent uses the files and terminals of that
machine. You decide here what it may do.""",
        run="dragoman_app.cli.ssh:run",
        options="remote",
        examples="""\
examples:
  dragoman ssh build-server -- claude-code-acp        for your editor's agent settings
  dragoman ssh me@10.0.0.7 --cwd /srv/app --env ANTHROPIC_API_KEY -- claude-code-acp
  dragoman ssh docker:dev --map ~/app=/workspace -- opencode acp
  dragoman ssh build-server                           what Dragoman has there; --json for programs
  dragoman ssh build-server --remove                  end Dragoman's agents there and remove all its files
  dragoman run "Fix the build" --agent claude --in ssh:build-server --cwd /srv/app

The other machine needs sshd (or a container that docker or podman can enter) and Python 3.11 or later.
Dragoman copies everything else there, checks it by SHA-256, and keeps it in ~/.cache/dragoman/remote. If
the connection breaks, the agent keeps working. Dragoman reconnects, and nothing is lost or sent twice.
Dragoman forwards only what you name: no ssh-agent, no ports, no variables. ssh checks hosts as your ssh
configuration says; without a terminal ssh can't ask you.

exit status:
    0  the editor disconnected, or the agent ended well
    2  the command line is invalid
    8  the other machine could not be reached, or lacks something: standard error says what
    9  the agent is lost: its machine was restarted, or was away for longer than --keep
    otherwise the agent's own status
""",
    ),
    CommandRow(
        name="journal",
        group="over the network",
        help="show, prune, back up, restore and copy stored sessions",
        description="Show which sessions are stored, and work with whole journals.",
        run="dragoman_app.cli.journal_prune:run_status",
        options="hub",
        metavar="ACTION",
        examples="""\
examples:
  dragoman journal                                  how much is stored, since when, and for how long
  dragoman journal prune --older-than 90d --dry-run
  dragoman journal backup /backup/hub.db
  dragoman journal restore /backup/hub.db
  dragoman journal copy ~/hub.db nats://one:4222,two:4222,three:4222/team
  dragoman journal copy nats://one:4222/team ~/hub.db --json

A journal is a file, or an address of NATS (`dragoman help cluster`). `copy` copies every session with its
entries, times and details, then reads the copy and compares digests. If a copy was interrupted, run the
command again to finish it. The target must be empty or an unfinished copy. Let nothing write to either
journal during the copy.

exit status: 0 copied and identical · 1 failed, and the text says why · 2 the command line is invalid
""",
    ),
    CommandRow(
        name="journal backup",
        help="back up a journal, also while a hub uses it",
        description="Back up a journal's file as of one moment, also while a hub uses it.",
        run="dragoman_app.cli.journal_backup:run_backup",
        options="hub",
        examples="""\
examples:
  dragoman journal backup /backup/hub.db                          the hub's journal
  dragoman journal backup --journal ~/.local/share/dragoman/history.db /backup/history.db

Dragoman checks the copy before it gets its name. The copy has the file mode of the original. A sealed journal
stays sealed: store its key elsewhere. Tokens and configuration are other files: see `dragoman where`.

exit status: 0 done · 1 failed, and the text says why · 2 the command line is invalid
""",
    ),
    CommandRow(
        name="journal restore",
        help="replace a journal with a backup",
        description="Replace a journal with a backup. The replaced journal is kept beside it.",
        run="dragoman_app.cli.journal_backup:run_restore",
        options="hub",
        examples="""\
examples:
  dragoman journal restore /backup/hub.db                         if there is no journal now
  dragoman journal restore --force /backup/hub.db                 replace the journal that is there

Dragoman checks the backup first. It does not replace a journal that is in use: stop the hub, and wait until
its agents have ended, because they remember more than the backup.

exit status: 0 restored · 1 failed, and the text says why · 2 the command line is invalid
""",
    ),
    CommandRow(
        name="journal prune",
        help="erase all sessions that are older than a time",
        description="Erase all sessions without a message for a time, with all their data.",
        run="dragoman_app.cli.journal_prune:run_prune",
        options="hub",
        examples="""\
examples:
  dragoman journal prune --older-than 90d --dry-run       show how much would be erased
  dragoman journal prune --older-than 90d
  dragoman journal prune --older-than 30d --journal ~/.local/share/dragoman/history.db

Without --journal this covers your history, the sessions of the built-in agents, and the hub's journal. A
running hub erases its own sessions, and needs a token in DRAGOMAN_TOKEN or --token-file. To prune
automatically, set keep_days in hub.toml. If a run was interrupted, the next run finishes it.

exit status: 0 all erased · 1 some were kept, and the text says why · 2 the command line is invalid
""",
    ),
    CommandRow(
        name="journal copy",
        help="copy all sessions to another journal, and compare both",
        description="Copy all sessions of a journal to another journal, and compare both.",
        run="dragoman_app.cli.journal:run",
        options="hub",
        examples="""\
examples:
  dragoman journal copy ~/hub.db nats://one:4222,two:4222,three:4222/team
  dragoman journal copy nats://one:4222/team ~/hub.db --json

A journal is a file, or an address of NATS (`dragoman help cluster`). `copy` copies every session with its
entries, times and details, then reads the copy and compares digests. If a copy was interrupted, run the
command again to finish it. The target must be empty or an unfinished copy. Let nothing write to either
journal during the copy.

exit status: 0 copied and identical · 1 failed, and the text says why · 2 the command line is invalid
""",
    ),
    CommandRow(
        name="review",
        group="review, examine and record",
        help="review files or changes, offline",
        run="dragoman_app.cli.review:run",
        starts_early=True,
        options="check",
        examples="""\
examples:
  dragoman review                       the files of this folder (those that git does not ignore)
  dragoman review src/app.py lib        some files and folders
  dragoman review --diff                what changed since the last commit, in changed lines only
  dragoman review --diff main           what changed since this branch left main
  dragoman review --staged              what you would commit now
  dragoman review --fix                 apply the safe fixes
  dragoman review --format sarif > review.sarif
  dragoman review --list-rules

exit status: 0 no findings at or above --fail-on · 1 findings · 2 the command line or a rule is invalid · 3 a
tool failed, so findings may be missing. `dragoman help review` describes rules and formats.
""",
    ),
    CommandRow(
        name="check",
        group="review, examine and record",
        help="test whether an agent, a client or a recording follows the protocol",
        description="Test whether an agent, a client or a recording follows the protocol, message by "
        "message.",
        metavar="WHAT",
        examples="""\
examples:
  dragoman check agent -- my-agent --acp       test an agent
  dragoman check client -- my-client {agent}   test a client
  dragoman check endpoint http://127.0.0.1:8080/acp   test a server
  dragoman check trace session.ndjson          test a recording of any agent and client
  dragoman check list                          all requirements, and which have a test
  dragoman check explain TURN-06               one requirement, its test, and how to meet it

exit status:
    0  no requirement is broken
    1  a requirement is broken
    2  the command line is invalid, or a file can't be read
    3  the peer needs a login, so most tests could not run
    4  the peer could not be tested at all

SIGTERM, SIGHUP and Ctrl-C end a test run early. The report is then marked as incomplete, and the exit
status is 128 plus the number of the signal.
""",
    ),
    CommandRow(
        name="check agent",
        help="test an agent",
        description="Test whether an agent follows the protocol, requirement by requirement.",
        run="dragoman_app.cli.check_agent:run",
        options="check",
        examples="""\
examples:
  dragoman check agent -- my-agent --acp
  dragoman check agent --prompts prompts.toml --save examination/ -- my-agent --acp
  dragoman check agent --only TURN,CAN --format junit=check.xml --format text -- my-agent --acp

Dragoman starts the agent several times, in the current folder. Its sessions work in temporary folders.
Dragoman sends valid and invalid messages, and prompts that should make the agent use tools, ask for
permission, take long and so on. Use --prompts FILE for prompts that suit your agent. What could not be
triggered is "not exercised". With --save DIR each connection is kept as a recording for `dragoman check
trace`, `view` and `replay`.

An agent that needs a login is "blocked" (exit status 3). Log in with the agent's own command first, or name
one of its methods with --login.
""",
    ),
    CommandRow(
        name="check client",
        help="test a client, with a stand-in for its agent",
        description="Test a client with a stand-in for its agent.",
        run="dragoman_app.cli.check_client:run",
        options="check",
        examples="""\
examples:
  dragoman check client -- dragoman run hello --approve all --no-history --agent {agent}
  dragoman check client --say hello -- python3 my_client.py {agent_words}
  dragoman check client                        print the settings for an editor

{agent} becomes the stand-in's command as one line, {agent_json} the same as a JSON list, and {agent_words}
the same as separate words. Dragoman starts the client once for each part that the stand-in plays. The client
should send a prompt and end. It works in the current folder, where the stand-in creates a temporary folder.
""",
    ),
    CommandRow(
        name="check stand-in",
        help="the agent that `check client` uses",
        description="An agent on stdin and stdout that plays the scenes of `dragoman check client`.",
        run="dragoman_app.cli.check_stand_in:run",
        options="check",
    ),
    CommandRow(
        name="check endpoint",
        help="test a server: Streamable HTTP and WebSocket",
        run="dragoman_app.cli.check_endpoint:run",
        options="check",
        examples="""\
examples:
  dragoman check endpoint http://127.0.0.1:8080/acp
  dragoman check endpoint --header "Authorization: Bearer $TOKEN" https://agents.example/acp
  dragoman check endpoint ws://127.0.0.1:8080/acp        the WebSocket alone

This tests what is around the messages: statuses, headers, streams, closing codes. The official proposal is a
draft and implementations differ, so most findings are warnings or records. To test the messages of the agent
behind the server, use `dragoman check agent`.
""",
    ),
    CommandRow(
        name="check trace",
        help="test recordings",
        description="Test what each side of a recording did, requirement by requirement.",
        run="dragoman_app.cli.check_trace:run",
        options="check",
        examples="""\
examples:
  dragoman check trace session.ndjson
  dragoman check trace --side agent --format sarif=acp.sarif --format text session.ndjson
  dragoman check trace examination/*.ndjson

Use any recording: from `dragoman tap`, from `dragoman check`, from other recorders, or plain messages, one
per line. Several files count together, as connections of the same peer.
""",
    ),
    CommandRow(
        name="check translate",
        help="test an agent with and without `dragoman translate`",
        description="Test an agent with and without `dragoman translate` in between, and compare.",
        run="dragoman_app.cli.check_translate:run",
        options="check",
        examples="""\
examples:
  dragoman check translate -- my-agent --acp
  dragoman check translate --agent v1 --only TURN,CAN -- my-agent --acp

The tests are those of `dragoman check agent`. Translation must not change their results. A requirement is
worse if it is broken only with translation, lost if it could be tested only without, better if it is broken
only without, shown if it could be tested only with translation.

exit status:
    0  nothing is worse
    1  a requirement is worse (with --strict: or lost)
    2  the command line is invalid
    4  the agent could not be tested, with or without translation
  128  plus the number of a signal: a signal ended the run, and only common results were compared
""",
    ),
    CommandRow(
        name="check list",
        help="list all requirements, and which have a test",
        description="List all requirements.",
        run="dragoman_app.cli.check_show:run_list",
        options="check",
    ),
    CommandRow(
        name="check explain",
        help="explain a requirement, its test, and how to meet it",
        description="Explain a requirement.",
        run="dragoman_app.cli.check_show:run_explain",
        options="check",
    ),
    CommandRow(
        name="tap",
        group="review, examine and record",
        help="record what an agent and its client say to each other",
        description="Run an agent, pass every byte on, and record everything.",
        run="dragoman_app.cli.tap:run",
        options="recordings",
        examples="""\
examples:
  dragoman tap -- claude-agent-acp
  dragoman tap --guard --record session.ndjson -- my-agent --acp
  dragoman tap attach                  in another terminal: watch the messages live
  dragoman tap attach session.ndjson
  dragoman check trace session.ndjson

Put `dragoman tap --` before the command of an agent in your editor's settings. The editor and the agent
notice nothing. Recordings are transcripts, one JSON object per line, and only you can read them. Dragoman
hides secrets in them: values of variables with secret names, headers and environments of MCP servers, and
keys. The exit status is the agent's.
""",
    ),
    CommandRow(
        name="view",
        group="review, examine and record",
        help="show a recording as one HTML file",
        run="dragoman_app.cli.view:run",
        options="recordings",
        examples="""\
examples:
  dragoman view session.ndjson
  dragoman view session.ndjson -o /tmp/session.html --open
  dragoman tap --record session.ndjson -- my-agent; dragoman view session.ndjson

The file needs no server and no network. It contains the whole recording, and only you can read it. The
findings in it are those of `dragoman check trace`.
""",
    ),
    CommandRow(
        name="replay",
        group="review, examine and record",
        help="replay a recording as an agent, or as a client of a live agent",
        run="dragoman_app.cli.replay:run",
        options="recordings",
        examples="""\
examples:
  dragoman replay session.ndjson                        an agent for any editor that repeats the recording
  dragoman run "say hello" --agent "dragoman replay session.ndjson"
  dragoman replay session.ndjson --speed real
  dragoman replay session.ndjson --as client -- my-agent --acp

As an agent, it answers each request like the most similar recorded request: with the same params
(--match exact), the same words and structure (shape, the default), or the next request of this method
(order). As a client, it sends the recorded requests to a live agent and shows what is different now.

exit status (--as client):
    0  the agent behaved as recorded
    1  the agent behaved differently
    2  the file can't be read, or the command line is invalid
    9  the agent ended, or did not answer a request
  127  the agent could not be started
""",
    ),
    CommandRow(
        name="diff",
        group="review, examine and record",
        help="compare two recordings by meaning",
        run="dragoman_app.cli.diff:run",
        options="recordings",
        examples="""\
examples:
  dragoman diff before.ndjson after.ndjson
  dragoman diff --json a.ndjson b.ndjson

The comparison ignores times, ids, and how text was split into pieces. It covers what was said, asked, decided
and written, and how each turn ended.

exit status:
    0  both recordings mean the same
    1  the recordings differ
    2  a file can't be read
""",
    ),
    CommandRow(
        name="chaos",
        group="review, examine and record",
        help="run an agent with deliberate faults",
        run="dragoman_app.cli.chaos:run",
        options="recordings",
        examples="""\
profiles:
  network   messages arrive late, in pieces, or not for a while
  process   the agent stalls, and dies
  peer      a careless agent: answers are missing or fail, updates are doubled, late, unknown or too many

examples:
  dragoman chaos --seed 7 -- my-agent --acp
  dragoman chaos --profile peer --seed 3 --save faults.ndjson -- my-agent --acp
  dragoman chaos --script faults.ndjson -- my-agent --acp
  dragoman chaos --script faults.ndjson --shrink "pytest -q test_client.py --agent {agent}" -- my-agent --acp

The same seed gives the same faults in the same conversation. --save records the faults, and --script
repeats them. --shrink runs a test command, where {agent} stands for the agent with faults, and removes
faults as long as the test fails. It writes the shortest script to a file with .min before the suffix.

exit status: 0 the conversation ended; with --shrink 0 a shorter script was found, 1 the test does not fail, 2
the command line is invalid; 127 the agent could not be started.
""",
    ),
    CommandRow(
        name="translate",
        group="between dialects",
        help="connect a client and an agent that speak different dialects",
        run="dragoman_app.cli.translate:run",
        options="recordings",
        examples="""\
dialects:
  auto          detected from the first messages, and shown on standard error (the default)
  v1            the protocol itself, stable version 1
  v2            its draft version 2
  crow          snake_case and @type
  threads       the thread protocol: no jsonrpc, threads and entries
  haven, haven-legacy   a bridge's documentation, and what that bridge really sent
  koog          whole messages and serverInfo, from a guide for JetBrains IDEs
  acpex, acpex-wire     an Elixir SDK: its documentation, and what its code really sends

examples:
  dragoman translate -- some-agent --acp
  dragoman translate --client threads --agent v1 -- dragoman agent review
  dragoman translate --client v1 --agent crow --ledger lost.json -- crow-agent
  dragoman translate --strict --agent v2 -- codex-acp

Put this before the command of an agent in your editor's settings. At the end, standard error lists what
could not be translated; --ledger FILE writes the same as JSON. If a dialect can't ask for permission,
requests are denied unless --policy FILE allows them. The policy also applies to files that Dragoman
provides when the client has no file methods (`dragoman help policy`).

exit status:
    0  the client ended the conversation
    2  the command line is invalid
    3  --strict, and something could not be translated
  127  the agent could not be started
If the agent ends first, the status is the agent's (128 plus the number of a signal).
""",
    ),
    CommandRow(
        name="dialect",
        group="between dialects",
        help="find out which dialect a recording uses, or list all dialects",
        metavar="ACTION",
        examples="""\
examples:
  dragoman dialect explain conversation.ndjson    the dialects, the differences from v1, and how to fix them
  dragoman dialect explain - --json < frames.ndjson
  dragoman dialect list                           every dialect that Dragoman can translate

TRACE is a transcript (`dragoman sessions export`, or lines with `c2a` and `a2c`), or messages, one per line.
`dragoman help dialects` describes the dialects.

exit status:
    0  both sides speak v1
    1  TRACE can't be read
    2  the command line is invalid
    3  at least one side differs from v1
""",
    ),
    CommandRow(
        name="dialect explain",
        help="which dialect a recording uses, and where it differs from v1",
        run="dragoman_app.cli.dialect:run_explain",
        options="recordings",
    ),
    CommandRow(
        name="dialect list",
        help="the dialects that Dragoman can translate",
        run="dragoman_app.cli.dialect:run_list",
        options="recordings",
    ),
    CommandRow(
        name="editors",
        group="this machine",
        help="add Dragoman's agents to an editor's settings",
        metavar="ACTION",
        examples="""\
examples:
  dragoman editors install zed --dry-run        show what would change
  dragoman editors install zed                  asks you first; without a terminal, use --yes
  dragoman editors install vscode --agent review --yes
  dragoman editors uninstall zed

Your comments stay, the old settings are kept as a backup, and a second run changes nothing.
`dragoman help editors` describes what is written.

exit status: 0 done · 1 the settings can't be edited · 2 you did not confirm
""",
    ),
    CommandRow(
        name="editors install",
        help="add agents to an editor's settings",
        run="dragoman_app.cli.editors:run_install",
        options="shell",
    ),
    CommandRow(
        name="editors uninstall",
        help="remove Dragoman's agents from an editor's settings",
        run="dragoman_app.cli.editors:run_uninstall",
        options="shell",
    ),
    CommandRow(
        name="config",
        group="this machine",
        help="check and show configuration files",
        metavar="ACTION",
        examples="""\
examples:
  dragoman config check                 all three files; every mistake with its line
  dragoman config check hub --file hub.toml
  dragoman config show hub              every value in use, and which of them you set
  dragoman config schema hub            the JSON Schema, for editors

The files are agents, hub and policy: see `dragoman help known-agents`, `hub-configuration` and `policy`.

exit status: 0 no mistakes · 1 a file has mistakes · 2 the command line is invalid
""",
    ),
    CommandRow(
        name="config check",
        help="check the files; shows every mistake with its line",
        run="dragoman_app.cli.config:run_check",
        options="shell",
    ),
    CommandRow(
        name="config show",
        help="show the values in use, without secrets",
        run="dragoman_app.cli.config:run_show",
        options="shell",
    ),
    CommandRow(
        name="config schema",
        help="print the JSON Schema of a file",
        run="dragoman_app.cli.config:run_schema",
        options="shell",
    ),
    CommandRow(
        name="help",
        group="this machine",
        help="read a page of the documentation",
        run="dragoman_app.cli.help:run",
        options="shell",
        examples="""\
examples:
  dragoman help                 the pages
  dragoman help policy          what agents may do, and how to write rules

The pages come with the package and need no network.
""",
    ),
    CommandRow(
        name="where",
        group="this machine",
        help="where your files lie: configuration, history, journal, caches",
        run="dragoman_app.cli.where:run",
        options="shell",
        examples="""\
examples:
  dragoman where
  dragoman where --json
  cp "$(dragoman where hub)" /backup
""",
    ),
    CommandRow(
        name="completions",
        group="this machine",
        help="print the completion script of a shell",
        run="dragoman_app.cli.complete:run_script",
        options="shell",
        examples="""\
examples:
  eval "$(dragoman completions bash)"       in ~/.bashrc
  eval "$(dragoman completions zsh)"        in ~/.zshrc, after compinit
  dragoman completions fish | source        in ~/.config/fish/config.fish

Tab then completes commands, options, and the names of your agents and sessions.
""",
    ),
    CommandRow(
        name="complete",
        group="this machine",
        help="",
        run="dragoman_app.cli.complete:run",
        options="shell",
    ),
    CommandRow(
        name="client-tools",
        group="between dialects",
        help="",
        run="dragoman_app.cli.client_tools:run",
    ),
)
