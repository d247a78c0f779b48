"""The table of commands: the parser, `--help`, the completion of shells and the manual are made from it.

A row's `run` names the function that does the work, as `package.module:function`; its module is imported when
the command runs. The options are declared in `cli.options`, whose modules import next to nothing.
"""

from __future__ import annotations

from typing import NamedTuple


class CommandRow(NamedTuple):
    """One command. A name of several words is a command below another one."""

    name: str
    help: str
    """One line. Empty for a command that only programs start: no help names it."""
    group: str = ""
    """Where the list of commands shows it; of the first level only."""
    description: str = ""
    """What its own help says first, if `help` is not enough."""
    run: str = ""
    """Takes the parsed arguments, returns the exit status. Empty for a command that needs another word."""
    options: str = ""
    """The module of `dragoman_app.cli.options` that declares its options, in `add_` and its name."""
    metavar: str = ""
    """How the help calls the word behind it, if there are commands below it."""
    claims_stdio: bool = False
    """Whether standard output is taken for the protocol before the module is imported: nothing that an
    agent's code imports can then print into the conversation.
    """
    starts_early: bool = False
    """Whether the command does something before it loads the rest of its code, which may take longer: it
    starts a process, or finds that it needs no more. It sees to what Python logs, and to the collector of
    garbage, when the rest is loaded.
    """
    examples: str = ""
    """Examples, and what else its help says below the options."""

    @property
    def parent(self) -> str:
        return self.name.rpartition(" ")[0]


EXAMPLES = """examples:
  dragoman run "Explain this folder" --agent claude  one turn with any agent
  dragoman agent echo               an agent on stdin and stdout that says what it was told
  dragoman agent script hello.script  an agent that does what a script says
  dragoman agent --help             all agents

Give an editor the command of an agent, and it is there.
"""

COMMANDS: tuple[CommandRow, ...] = (
    CommandRow(
        name="run",
        group="talk to agents",
        help="one turn with any agent; the exit status tells how it ended",
        description="Start an agent, give it a task, and always learn how it ended and what it changed.",
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
  dragoman run --agent claude --continue-with codex "Fix the tests"   codex goes on if claude cannot

The prompt is made of the words, of --prompt-file and of standard input, in this order. Standard input is read
when there is nothing else, or when a word is `-`.

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
  dragoman chat --agent review                 talk to one at once, here
  dragoman chat --agent "my-agent --acp" --cwd ~/project
  dragoman chat --agent claude --continue      go on with the last session of this folder
  dragoman chat --resume 20260102-0304         go on with this one (see `dragoman sessions`)
  DRAGOMAN_TOKEN=… dragoman chat --hub ws://127.0.0.1:8765/acp
  DRAGOMAN_TOKEN=… dragoman chat --hub ws://127.0.0.1:8765/acp --board
  dragoman chat --theme light

F1 shows the keys, `dragoman help chat` describes everything.

exit status:
    0  you left
    1  Dragoman itself failed; see standard error
    2  the command line makes no sense, or this is no terminal
  129  the terminal is gone (SIGHUP); 130, 131 and 143 are SIGINT, SIGQUIT and SIGTERM
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
  dragoman sessions search needle haystack     sessions in which both words were said
  dragoman sessions export 20260102-0304 a.ndjson
  dragoman sessions import a.ndjson
  dragoman sessions handover last --agent codex --prompt "Now the tests"
  dragoman sessions forget 20260102-030405-1a2b3c4d

An ID may be shortened as long as it is clear; `last` is the latest session, and the agent's own id will do.
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
        help="passages that have all these words",
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
        help="let another agent go on with a session",
        description="Let another agent go on with a session: it gets a brief of what was said and done.",
        run="dragoman_app.cli.sessions_handover:run",
        options="recordings",
        examples="""\
examples:
  dragoman sessions handover last --agent codex --prompt "Now the tests"
  dragoman sessions handover 20260102-0304 --brief       what another agent would be told
  dragoman sessions handover SESSION --agent codex --hub  a session of this user's hub

A recorded session goes on as `dragoman run --session ID --continue-with AGENT`, in the folder of the session,
with its exit status. At a hub, the new session's id is printed; without --prompt it waits for one.
`dragoman help handover` says what is handed over, and what is lost.
""",
    ),
    CommandRow(
        name="sessions forget",
        help="erase sessions with everything that is kept of them",
        description="Erase sessions with everything that is kept of them, from the disk too.",
        run="dragoman_app.cli.sessions_forget:run",
        options="recordings",
        examples="""\
examples:
  dragoman sessions forget last                          the latest session; you are asked first
  dragoman sessions forget --older-than 30d --dry-run    shows what would be erased
  dragoman sessions forget --agent codex --yes           all sessions with this agent, without a question
  dragoman sessions forget SESSION --hub                 a session of this user's hub

Erased are the frames, the index of words, originals, snapshots, child sessions, and what the agents that come
with Dragoman remember of the session. A session that is open, or has a turn running, is kept. The audit log,
files of other agents, your exports and your backups stay: `dragoman help retention` says why and where.

exit status: 0 all are erased · 1 some are kept, and the text says why · 2 wrong command line · 9 no hub
""",
    ),
    CommandRow(
        name="sessions repair",
        help="save what can be read of a damaged history; the damaged file is kept",
        run="dragoman_app.cli.sessions:run",
        options="recordings",
    ),
    CommandRow(
        name="blame",
        group="talk to agents",
        help="who wrote each line of a file, and after which prompt",
        description="Say of each line of a file in which turn it was written, after which prompt, by whom.",
        run="dragoman_app.cli.blame:run",
        options="recordings",
        examples="""\
examples:
  dragoman blame src/app.py                    every line: the agent and turn, a person, or unknown
  dragoman blame src/app.py:12,20              only these lines
  dragoman blame src/app.py --json             with prompts, tool calls and approvals
  dragoman blame src/app.py --format agent-trace    the open Agent Trace record, version 0.1

A line that was only moved or formatted stays its author's. What nobody saw being written is `unknown`.
`dragoman help memory` says how this is known, and what is kept.

exit status: 0 answered · 1 nothing is known of the file · 2 wrong command line
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
        help="put the files of a folder back to how they were before a turn",
        description="Put the files of a folder back to how they were before a turn. Shows what changes.",
        run="dragoman_app.cli.rewind:run",
        options="recordings",
        examples="""\
examples:
  dragoman rewind --to 3 --dry-run             what would change, if turn 3 and all after it had not been
  dragoman rewind --to 3                       put the files back to how they were before turn 3
  dragoman rewind SESSION --to 1               before the first turn of that session
  dragoman rewind --undo                       take the last rewind in this folder back

Turns are counted from 1, as `dragoman blame` counts them: `--to 3` is the state before turn 3, which is what
turn 2 and you had left. Files that a person changed since are not put back without --force. Secret and
ignored files stay as they are. Neither the index nor a branch of git is touched.

exit status: 0 done, or shown · 1 refused, or not all could be put back · 2 wrong command line
""",
    ),
    CommandRow(
        name="fork",
        group="talk to agents",
        help="go on from any turn, in a git worktree of its own",
        description="Go on from any turn of a session in a folder of its own, with any agent.",
        run="dragoman_app.cli.fork:run",
        options="recordings",
        examples="""\
examples:
  dragoman fork                                the last session here, after its last turn
  dragoman fork --turn 2 --agent codex         as after turn 2, for another agent
  dragoman fork SESSION --turn 2 --worktree ../try-again --prompt "Try it without a cache"
  dragoman fork --turn 2 --dry-run             shows where, and which files would be left out

The files are as they were after that turn, in a new git worktree on a new branch, or outside git in a new
folder. Your checkout, your index and your other branches stay as they are. If the agent can fork its session
and the turn is the last one, the agent does so. Otherwise the next prompt brings a brief of what was said.

exit status: 0 made, or shown · 1 refused, and nothing was made · 2 wrong command line · with --prompt, that
of `dragoman run`
""",
    ),
    CommandRow(
        name="attest",
        group="talk to agents",
        help="who wrote the lines that a commit adds: agents, commands or people",
        description="Say who wrote the lines that commits add, in which turns, and what was checked there.",
        run="dragoman_app.cli.attest:run",
        options="recordings",
        examples="""\
examples:
  dragoman attest                              the last commit
  dragoman attest main..HEAD --format json     all that a branch adds, for programs
  dragoman attest --format trailer             lines for a commit message
  dragoman attest HEAD~1 --format note --write    keep it in git, as a note of that commit

Told are the share of agents, commands, people and unknown lines; sessions, turns and models; how many
approvals people gave; tests and reviews that ran. Prompts are told with --prompts alone.

exit status: 0 told · 1 nothing is known, or no such commit · 2 wrong command line
""",
    ),
    CommandRow(
        name="inbox",
        group="talk to agents",
        help="what agents at a hub are waiting for",
        description="What agents at a hub are waiting for, and answers to it.",
        run="dragoman_app.cli.inbox:run",
        options="hub",
        examples="""\
examples:
  dragoman inbox                          what is waiting, oldest first; asks for answers in a terminal
  dragoman inbox --list                   only shows it
  dragoman inbox --json                   the same as one JSON object
  dragoman inbox --answer 3f0c:17 allow   answers one, by the name that the list shows

The hub is this user's own, or the one at --hub URL. The token is read from DRAGOMAN_TOKEN or --token-file,
and needs the scopes observe and approve. An answer is the id of an option, its number, or the beginning of
its kind: allow, reject. The first answer counts, from wherever it comes.

exit status:
    0  nothing is waiting any more, or it was shown
    1  the hub did not want to, or somebody else answered first
    2  the command line makes no sense
    9  the hub cannot be reached
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

An agent speaks the Agent Client Protocol on stdin and stdout, one JSON text a line, until its input ends.
Started by hand it seems to do nothing: it waits for a client.
""",
    ),
    CommandRow(
        name="agent echo",
        help="says what it was told; its slash commands do all that an agent can do",
        run="dragoman_app.cli.agent_echo:run",
        claims_stdio=True,
    ),
    CommandRow(
        name="agent review",
        help="reviews code, offline, and fixes what you let it fix",
        description="A reviewer on stdin and stdout, for any editor.",
        run="dragoman_app.cli.agent_review:run",
        options="agents",
        claims_stdio=True,
        examples="""\
It reviews offline, with rules of its own, with ruff and ast-grep, and with oxlint where that is
installed; `dragoman help review-agent` says what you can ask it.
With a model (--model, or DRAGOMAN_MODEL and the variables of dragoman agent code) it reads files and looks
for bugs itself, within a budget; each bug that it reports is looked at a second time before it is told.
Secrets are masked in everything that is sent to it.

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
        help="does what a script says, also what no agent should do",
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

exit status: 0 it is made, 1 it could not be written, 2 the name or the folder will not do
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
  dragoman agents                              what is known here
  dragoman agents list --all                   also what is not installed, and how to install it
  dragoman agents show claude                  where its command is, what it gets
  dragoman agents import zed --dry-run         what Zed's settings would bring
  dragoman agents add mine my-agent --acp      a name for a command
  dragoman agents default mine                 it answers when you name no agent
  dragoman agents remove mine
  dragoman agents install claude --dry-run     what would be run to install it
  dragoman agents install codex@2.5.0 --yes    this version, without a question
  dragoman agents update                       what is installed, to the versions of the list
  dragoman agents rollback codex               the version before
  dragoman agents registry                     what can be installed
  dragoman agents login mine                   its ways to log in; the only one is taken
  dragoman agents login mine METHOD            log in by this one
  dragoman agents logout mine                  it forgets who is logged in, if it can

Names are for `dragoman run --agent NAME` and `dragoman doctor NAME`. `dragoman help known-agents` describes
the file that they are kept in.
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
        help="take over agents from the configuration of another product",
        run="dragoman_app.cli.agents_edit:run_import",
        options="agents",
    ),
    CommandRow(
        name="agents add",
        help="give a command a name",
        description="Give a command a name. Options stand before the name: what follows is the command.",
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
        help="choose the agent that answers when you name none",
        run="dragoman_app.cli.agents_edit:run_default",
        options="agents",
    ),
    CommandRow(
        name="agents install",
        help="install an agent into a folder of ours, pinned and checked by hash",
        description="Install an agent into a folder of ours. What will be run is shown first, and asked "
        "about on a terminal. A failure leaves what was there.",
        run="dragoman_app.cli.agents_install:run_install",
        options="agents",
        examples="""\
examples:
  dragoman agents install claude
  dragoman agents install codex@2.5.0 --yes
  dragoman agents install opencode --allow-scripts
  dragoman agents install mine --from agent.json --dry-run --json

exit status: 0 installed, 1 it could not be installed and nothing has changed, 2 refused or not confirmed
""",
    ),
    CommandRow(
        name="agents update",
        help="update what was installed, and say what changed",
        run="dragoman_app.cli.agents_install:run_update",
        options="agents",
    ),
    CommandRow(
        name="agents rollback",
        help="use the version before the present one again",
        run="dragoman_app.cli.agents_install:run_rollback",
        options="agents",
    ),
    CommandRow(
        name="agents uninstall",
        help="remove an agent that was installed, with all its versions",
        run="dragoman_app.cli.agents_install:run_uninstall",
        options="agents",
    ),
    CommandRow(
        name="agents registry",
        help="the agents that can be installed, and how old that list is",
        run="dragoman_app.cli.agents_registry:run_show",
        options="agents",
        metavar="ACTION",
    ),
    CommandRow(
        name="agents registry refresh",
        help="take a newer list, from a file or an address",
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
        description="Log in to an agent by one of the ways that it offers; without METHOD they are shown.",
        run="dragoman_app.cli.agents_login:run_login",
        options="agents",
    ),
    CommandRow(
        name="agents logout",
        help="let an agent forget who is logged in",
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

The agent is started and asked for one session, in this folder or in --cwd; it gets no prompt.

exit status:
    0  it works, perhaps with warnings
    2  the command line makes no sense, or there is no such agent
    8  it wants a login
    9  it ended before it had answered
   10  it broke the protocol
   11  it answered with an error
  124  it did not answer in time
  127  it could not be started
""",
    ),
    CommandRow(
        name="policy",
        group="agents and what they may do",
        help="explain, list and try what agents may do",
        metavar="ACTION",
        examples="""\
examples:
  dragoman policy explain --command "git push"         which rule decides this, and why
  dragoman policy explain --tool edit --path src/x.py
  dragoman policy explain --request request.json       the params of session/request_permission
  dragoman policy allow --agent claude --command make  what a run was refused, for this folder
  dragoman policy list                                 every rule that holds here, in order
  dragoman policy forget 7                             take back an answer that was given for good
  dragoman policy test --history --since 30d           what the rules say of all that agents did
  dragoman policy test --history --policy new.toml     the same with another file before yours
  dragoman policy suggest                              rules that would have saved you questions
  dragoman policy learn last                           what the latest session needed

`dragoman help policy` describes the language. `dragoman config check policy` says whether a file can be used.
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
        help="allow for good what an agent was refused",
        run="dragoman_app.cli.policy:run_allow",
        options="agents",
    ),
    CommandRow(
        name="policy list",
        help="the rules that hold here, in their order",
        run="dragoman_app.cli.policy:run_list",
        options="agents",
    ),
    CommandRow(
        name="policy test",
        help="try the rules on what agents did before",
        run="dragoman_app.cli.policy_history:run_test",
        options="agents",
    ),
    CommandRow(
        name="policy suggest",
        help="propose rules that would have saved you questions",
        run="dragoman_app.cli.policy_history:run_suggest",
        options="agents",
    ),
    CommandRow(
        name="policy learn",
        help="propose the smallest wall and rules for what a session did",
        run="dragoman_app.cli.policy_history:run_learn",
        options="agents",
    ),
    CommandRow(
        name="policy forget",
        help="take back an answer that was given for good",
        run="dragoman_app.cli.policy:run_forget",
        options="agents",
    ),
    CommandRow(
        name="sandbox",
        group="agents and what they may do",
        help="show the wall around commands of agents, and try it",
        metavar="ACTION",
        examples="""\
examples:
  dragoman sandbox show                                what a command here may write, read and not see
  dragoman sandbox show --profile read-only --json
  dragoman sandbox show --profile workspace+net:example.org,localhost:5432+memory:4G
  dragoman sandbox verify                              try to get through, from inside
  dragoman sandbox verify -- make test                 the same, and then run a command behind the wall

exit status of verify:
    0  everything holds; with a command, its own status
    2  the wall cannot be built here, and standard error says which layer refuses
    3  something got through

`dragoman help sandbox` says what the wall holds, and what it does not.
""",
    ),
    CommandRow(
        name="sandbox show",
        help="print what a command may write, read and not see",
        run="dragoman_app.cli.sandbox:run_show",
        options="agents",
    ),
    CommandRow(
        name="sandbox verify",
        help="try the wall from inside, and say what came of each attempt",
        run="dragoman_app.cli.sandbox:run_verify",
        options="agents",
    ),
    CommandRow(
        name="audit",
        group="agents and what they may do",
        help="check the log of what agents asked and what was decided",
        metavar="ACTION",
        examples="""\
examples:
  dragoman audit verify                                your log, with the older files beside it
  dragoman audit verify /srv/dragoman/audit.jsonl      the log of a hub
  dragoman audit verify --json                         with the digest of the last line: keep that elsewhere

`dragoman help policy` describes the log.
""",
    ),
    CommandRow(
        name="audit verify",
        help="whether every line is there, as it was written",
        run="dragoman_app.cli.audit:run_verify",
        options="agents",
    ),
    CommandRow(
        name="hub",
        group="over the network",
        help="the server: sessions that survive every disconnect and restart, and a web page",
        run="dragoman_app.cli.hub:run",
        options="hub",
        metavar="COMMAND",
        examples="""\
examples:
  dragoman hub                                    the built-in agents, at http://127.0.0.1:8765/
  dragoman hub --link                             and an address of the page that is good at once
  dragoman hub --listen 127.0.0.1:9000 --journal ~/hub.db
  dragoman hub --journal nats://one:4222,two:4222/team --node left    one of several hubs
  dragoman hub --config hub.toml --check          is the configuration right?
  dragoman hub token add phone --scope observe --scope approve
  dragoman hub pair                               let a phone in, by a QR code
  dragoman hub status
  dragoman connect ws://127.0.0.1:8765/acp        the hub as an agent for any editor
  dragoman inbox                                  what agents are waiting for

Sessions are in the journal before anything happens in them: clients come and go, the hub can be killed, and
nothing is lost. It is closed by default: loopback, and a token that is shown once, when the first is made.
SIGHUP reads the configuration again, unless the terminal is closed, which ends the hub like SIGTERM: turns
end first, and a second signal does not wait.
`dragoman help hub-configuration` describes the configuration.

exit status: 0 when it was told to end, 2 when it cannot run as it is told to
""",
    ),
    CommandRow(
        name="hub token",
        help="make, list, rotate and revoke the tokens of a hub",
        metavar="ACTION",
        examples="""\
examples:
  dragoman hub token add phone --scope observe --scope approve
  dragoman hub token add ci --scope prompt --agent 'review*' --root ~/work --expires 30d
  dragoman hub token list
  dragoman hub token rotate ci --grace 1h
  dragoman hub token revoke phone

scopes: observe (see sessions), prompt (make and drive them), approve (answer what agents ask), admin (status,
prompts of others, pairing devices). prompt and admin include observe, for the same agents and roots.
Without --scope a token has all of them, without --agent all agents, without --root all folders. A token is
shown once, on standard output; only a hash of it is kept. A running hub notices every change within a
second, and ends the connections of a revoked token.

exit status: 0 when it was done, 1 when it could not be (there is no such token, or there is one already),
             2 when the command line or the configuration makes no sense
""",
    ),
    CommandRow(
        name="hub token add",
        help="make a token and show it, once",
        run="dragoman_app.cli.hub_tokens:run",
        options="hub",
    ),
    CommandRow(
        name="hub token list",
        help="the tokens that there are",
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
        help="another token in the place of this one",
        run="dragoman_app.cli.hub_tokens:run",
        options="hub",
    ),
    CommandRow(
        name="hub pair",
        help="let a phone in by a QR code that is good once",
        run="dragoman_app.cli.hub_pair:run",
        options="hub",
        examples="""\
examples:
  dragoman hub pair                                          a code for this user's hub, good for ten minutes
  dragoman hub pair --name phone --scope observe --scope approve
  dragoman hub pair --address https://box.tailnet.ts.net/    the name under which the phone reaches it
  dragoman hub pair --for 2m --expires 30d --json

The code stands behind the # of the address, where no server and no log sees it. The first device that
brings it gets a token of its own; the command says which one came. Where the configuration names pages of
other hubs (origins), it also prints the links that add this hub to them. A device gets nothing that the token
that pairs it (DRAGOMAN_TOKEN or --token-file, with the scope admin) may not do itself. Devices are tokens:
`dragoman hub token list` shows them, `dragoman hub token revoke NAME` ends one.

exit status: 0 when a device was paired, 1 when none was (too late, or refused), 2 when the command line
             makes no sense or the address is not safe, 9 when no hub answers, 130 when it was interrupted
""",
    ),
    CommandRow(
        name="hub reach",
        help="how a phone or another machine reaches this hub safely",
        run="dragoman_app.cli.hub_reach:run",
        options="hub",
        examples="""\
examples:
  dragoman hub reach            what is installed here, and the commands for this hub
  dragoman hub reach --json
  dragoman hub reach ws://127.0.0.1:9000/acp

It starts nothing and opens nothing.

exit status: 0 when the hub is at a safe address, 1 when others could read what is said there, 9 when no
             hub of this user is running
""",
    ),
    CommandRow(
        name="hub status",
        help="how a hub stands: agents, sessions, connections, journal",
        run="dragoman_app.cli.hub_status:run",
        options="hub",
        examples="""\
examples:
  dragoman hub status                             this user's hub, which says where it is
  dragoman hub status wss://hub.example/acp --token-file ~/.config/dragoman/token
  dragoman hub status --watch                     again every two seconds, until Ctrl-C
  dragoman hub status --json | jq '.totals'

The token is read from DRAGOMAN_TOKEN or from --token-file. It needs the scope admin; one that may only
observe is shown the agents. `dragoman help operations` describes every member of the JSON.

exit status:
    0  the hub has said how it stands
    1  it did not want to: the token is wrong, or lacks the scope
    2  the command line makes no sense, or there is no token
    9  it cannot be reached, or did not answer
""",
    ),
    CommandRow(
        name="hub install",
        help="run the hub as a service of yours (systemd or launchd)",
        run="dragoman_app.cli.hub_service:run_install",
        options="shell",
        examples="""\
examples:
  dragoman hub install --dry-run              shows what it would write and run
  dragoman hub install                        writes the unit, enables and starts it
  dragoman hub install --config ~/hub.toml --no-start

Make a token first (`dragoman hub token add owner`): a hub that finds none makes one and shows it, and what a
service shows stays in the system's log. Run it again after an upgrade that moved the program. `dragoman hub
status` says how the hub stands, and `loginctl enable-linger` keeps it when you log out.

exit status: 0 it is done, 1 a file or the service manager refused, 2 the configuration cannot be used
""",
    ),
    CommandRow(
        name="hub uninstall",
        help="stop the service and remove its file; your data stay",
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

Each connection gets an agent of its own, over WebSocket or Streamable HTTP at /acp. It is closed by default:
loopback only, and whoever comes must bring the token that is printed once (or that of --token-file), as
`Authorization: Bearer …`. Pages of others are refused. Off loopback TLS is demanded.

With --openai the agent is a model for clients of OpenAI's API, at /v1/chat/completions, /v1/responses and
/v1/models; the token is their API key. A conversation that goes on goes on in its session. What the agent
may do is decided by the policy and --approve, because nobody can be asked. See
`dragoman help openai`.

exit status: 0 when it was told to end, 2 when it cannot listen
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

Put it where an MCP client wants the command of a server. The tools are prompt (a turn: text, session, cwd,
model), sessions, cancel and close. A mode or an option may end the agent's questions, so the calling model
chooses only those that you name with --allow-choice. One agent is started, at the first call, and shared by
all sessions; they last as long as the server. What the agent asks permission for is asked by elicitation;
where the client has none, the policy and --approve decide, and the result names what was refused. The
client's roots confine the folders.

With --http it listens for clients that speak Streamable HTTP, at the address that is printed. It is closed by
default: loopback only, and whoever comes must bring the token that is printed once (or that of --token-file),
as `Authorization: Bearer …`. On loopback --no-token lets in whoever is on this machine. Pages of others are
refused. Off loopback TLS is demanded. Each client has its own sessions. See
`dragoman help mcp`.

exit status: 0 when the client hung up or a signal came, 2 when the command line makes no sense
""",
    ),
    CommandRow(
        name="connect",
        group="over the network",
        help="a server on the network as an agent for any editor",
        run="dragoman_app.cli.connect:run",
        options="hub",
        examples="""\
examples:
  DRAGOMAN_TOKEN=… dragoman connect ws://127.0.0.1:8765/acp
  dragoman connect --token-file ~/.config/dragoman/token https://agents.example/acp
  dragoman connect --agent review --give-up 600 wss://agents.example/acp

Put it where an editor wants the command of an agent. What the server says is passed on as it is, and back.
When the connection to a hub breaks, it is opened again, and everything goes on where it was: the editor
notices a pause. A server that is no hub has nothing to go on with; its end is the end.
The token is read from DRAGOMAN_TOKEN or from --token-file, never from the command line, which everybody on
this machine can read.

exit status:
    0  the editor hung up
    2  the command line makes no sense
    8  the server refused the token
    9  the server ended the connection, was gone for longer than --give-up, or was never reached
""",
    ),
    CommandRow(
        name="ssh",
        group="over the network",
        help="an agent on another machine or in a container, as an agent for any editor",
        description="""\
Run an agent where its files are, and talk to it from here. Files and terminals that it is lent are those of
the other side; what it may do with them is decided here.""",
        run="dragoman_app.cli.ssh:run",
        options="remote",
        examples="""\
examples:
  dragoman ssh build-server -- claude-code-acp        put this where an editor wants an agent's command
  dragoman ssh me@10.0.0.7 --cwd /srv/app --env ANTHROPIC_API_KEY -- claude-code-acp
  dragoman ssh docker:dev --map ~/app=/workspace -- opencode acp
  dragoman ssh build-server                           what of ours is there; --json for programs
  dragoman ssh build-server --remove                  end our agents there and leave nothing behind
  dragoman run "Fix the build" --agent claude --in ssh:build-server --cwd /srv/app

The other side needs sshd (or a container that docker or podman can enter) and Python 3.11 or later. What we
need beside that is brought along, compared by its SHA-256, and kept in ~/.cache/dragoman/remote there.
When the connection breaks, the agent goes on; we come back to it, and nothing is lost or said twice.
Nothing is forwarded that was not named: no ssh-agent, no ports, no variables. Hosts are checked as your
configuration of ssh says; without a terminal ssh asks nobody.

exit status:
    0  the editor hung up, or the agent ended well
    2  the command line makes no sense
    8  the other side cannot be reached, or lacks something: standard error says what
    9  the agent is lost: its machine was restarted, or was gone for longer than --keep
    otherwise the agent's own
""",
    ),
    CommandRow(
        name="journal",
        group="over the network",
        help="what is stored and since when; prune, back up, restore and copy it",
        description="What is stored of sessions, and what is done with whole journals.",
        run="dragoman_app.cli.journal_prune:run_status",
        options="hub",
        metavar="ACTION",
        examples="""\
examples:
  dragoman journal                                  how much is stored, since when, and the setting
  dragoman journal prune --older-than 90d --dry-run
  dragoman journal backup /backup/hub.db
  dragoman journal restore /backup/hub.db
  dragoman journal copy ~/hub.db nats://one:4222,two:4222,three:4222/team
  dragoman journal copy nats://one:4222/team ~/hub.db --json

A journal is a file, or an address of NATS (`dragoman help cluster`). Every stream is copied with its entries,
its times and what is known about it, read back and compared by its digest. A copy that was broken off is
finished by running it again. A target with anything else in it is refused. Nobody should write into either
meanwhile.

exit status: 0 all is copied and the same · 1 it is not, and the text says why · 2 the command line is wrong
""",
    ),
    CommandRow(
        name="journal backup",
        help="copy a journal's file while it is in use",
        description="Copy a journal's file, also while a hub writes into it, as of one moment.",
        run="dragoman_app.cli.journal_backup:run_backup",
        options="hub",
        examples="""\
examples:
  dragoman journal backup /backup/hub.db                          the hub's journal
  dragoman journal backup --journal ~/.local/share/dragoman/history.db /backup/history.db

The copy is examined before it gets its name, and has the mode of the original. A sealed journal stays
sealed: keep its key elsewhere. Tokens and configuration are other files, which `dragoman where` names.

exit status: 0 it is made · 1 it is not, and the text says why · 2 the command line is wrong
""",
    ),
    CommandRow(
        name="journal restore",
        help="put a backup in the place of a journal",
        description="Put a backup in the place of a journal; the one that was there is kept beside it.",
        run="dragoman_app.cli.journal_backup:run_restore",
        options="hub",
        examples="""\
examples:
  dragoman journal restore /backup/hub.db                         where there is no journal
  dragoman journal restore --force /backup/hub.db                 in the place of the one that is there

The backup is examined first. A journal that somebody has open is not replaced: stop the hub, and wait until
its agents are gone, which remember more than the backup does.

exit status: 0 it is there · 1 it is not, and the text says why · 2 the command line is wrong
""",
    ),
    CommandRow(
        name="journal prune",
        help="erase every session in which nothing was said for so long",
        description="Erase every session in which nothing was said for so long, with all that is kept of it.",
        run="dragoman_app.cli.journal_prune:run_prune",
        options="hub",
        examples="""\
examples:
  dragoman journal prune --older-than 90d --dry-run       shows how much would be erased
  dragoman journal prune --older-than 90d
  dragoman journal prune --older-than 30d --journal ~/.local/share/dragoman/history.db

Without --journal it goes through your history, the sessions of the agents that come with Dragoman, and the
hub's journal. While a hub runs, the hub erases its own: give its token with DRAGOMAN_TOKEN or --token-file.
To let the hub do it by itself, set keep_days in hub.toml. A run that was killed is finished by the next.

exit status: 0 all are erased · 1 some are kept, and the text says why · 2 the command line is wrong
""",
    ),
    CommandRow(
        name="journal copy",
        help="copy every stream, and prove that the copy is the same",
        description="Copy every stream of a journal into another, and prove that the copy is the same.",
        run="dragoman_app.cli.journal:run",
        options="hub",
        examples="""\
examples:
  dragoman journal copy ~/hub.db nats://one:4222,two:4222,three:4222/team
  dragoman journal copy nats://one:4222/team ~/hub.db --json

A journal is a file, or an address of NATS (`dragoman help cluster`). Every stream is copied with its entries,
its times and what is known about it, read back and compared by its digest. A copy that was broken off is
finished by running it again. A target with anything else in it is refused. Nobody should write into either
meanwhile.

exit status: 0 all is copied and the same · 1 it is not, and the text says why · 2 the command line is wrong
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
  dragoman review --diff main           what changed since the history of main was left
  dragoman review --staged              what would be committed now
  dragoman review --fix                 mend what can be mended safely
  dragoman review --format sarif > review.sarif
  dragoman review --list-rules

exit status: 0 nothing found at or above --fail-on, 1 something found, 2 the command line or a rule makes no
sense, 3 a tool failed, so that findings may be missing. `dragoman help review` describes rules
and formats.
""",
    ),
    CommandRow(
        name="check",
        group="review, examine and record",
        help="whether an agent, a client or a recording keeps to the protocol",
        description="Whether an agent, a client or a recording keeps to the protocol, frame by frame.",
        metavar="WHAT",
        examples="""\
examples:
  dragoman check agent -- my-agent --acp       examine an agent
  dragoman check client -- my-client {agent}   examine a client
  dragoman check endpoint http://127.0.0.1:8080/acp   examine a server
  dragoman check trace session.ndjson          judge a recording of any agent and client
  dragoman check list                          all requirements, and which of them are judged
  dragoman check explain TURN-06               what it is, how it is judged, how to keep it

exit status:
    0  nothing is broken
    1  something is
    2  the command line makes no sense, or a file cannot be read
    3  the peer wants a login, and most could not be tried
    4  the peer could not be examined at all

SIGTERM, SIGHUP and Ctrl-C end an examination early. What was found until then is reported as incomplete, and
the exit status is 128 and the number of the signal.
""",
    ),
    CommandRow(
        name="check agent",
        help="examine an agent",
        description="Examine an agent: whether it keeps to the protocol, requirement by requirement.",
        run="dragoman_app.cli.check_agent:run",
        options="check",
        examples="""\
examples:
  dragoman check agent -- my-agent --acp
  dragoman check agent --prompts prompts.toml --save examination/ -- my-agent --acp
  dragoman check agent --only TURN,CAN --format junit=check.xml --format text -- my-agent --acp

The agent is started several times, in the folder you are in; its sessions work in folders of their own, that
are gone afterwards. It is sent right and wrong things, and prompted with texts that should make it use tools,
ask for permission, take long and so on. --prompts FILE has better texts for your agent; what could not be
triggered is "not exercised". With --save DIR each connection is kept as a recording, which
`dragoman check trace`, `view` and `replay` read.

An agent that wants a login is "blocked" (exit status 3): log in with its own command first, or name one of
its methods with --login.
""",
    ),
    CommandRow(
        name="check client",
        help="examine a client, with a stand-in for its agent",
        description="Examine a client: it is started with a stand-in for its agent, or pointed at one.",
        run="dragoman_app.cli.check_client:run",
        options="check",
        examples="""\
examples:
  dragoman check client -- dragoman run hello --approve all --no-history --agent {agent}
  dragoman check client --say hello -- python3 my_client.py {agent_words}
  dragoman check client                        prints what to put into an editor's configuration

{agent} becomes the stand-in's command as one line, {agent_json} the same as a JSON list, and {agent_words}
as many words as it has. The client is started once for each part that the stand-in plays, and should send a
prompt and end. It works in the folder that it is started in; the stand-in makes a folder of its own there,
and removes it.
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
        help="examine a server: Streamable HTTP and WebSocket",
        run="dragoman_app.cli.check_endpoint:run",
        options="check",
        examples="""\
examples:
  dragoman check endpoint http://127.0.0.1:8080/acp
  dragoman check endpoint --header "Authorization: Bearer $TOKEN" https://agents.example/acp
  dragoman check endpoint ws://127.0.0.1:8080/acp        the WebSocket alone

What the server does around the messages is judged: statuses, headers, streams, closing codes. The official
proposal is a draft, and its implementations differ: most of it only warns or is recorded. What the agent
behind it says is for `dragoman check agent`.
""",
    ),
    CommandRow(
        name="check trace",
        help="judge recordings",
        description="Judge recordings: what each side did, requirement by requirement.",
        run="dragoman_app.cli.check_trace:run",
        options="check",
        examples="""\
examples:
  dragoman check trace session.ndjson
  dragoman check trace --side agent --format sarif=acp.sarif --format text session.ndjson
  dragoman check trace examination/*.ndjson

Any recording will do: of `dragoman tap`, of an examination, of other recorders, or plain frames one a line.
Several files are judged together, as connections of the same peer.
""",
    ),
    CommandRow(
        name="check translate",
        help="examine an agent with and without the interpreter",
        description="Examine an agent with and without `dragoman translate` in between, and compare.",
        run="dragoman_app.cli.check_translate:run",
        options="check",
        examples="""\
examples:
  dragoman check translate -- my-agent --acp
  dragoman check translate --agent v1 --only TURN,CAN -- my-agent --acp

With and without `dragoman translate` in between, an agent must mean the same. The examination is that of
`dragoman check agent`. A requirement is worse if it is broken only behind the interpreter, lost if it never
showed there, better if it is mended there, shown if it shows only there.

exit status:
    0  nothing is worse
    1  something is (with --strict: or lost)
    2  the command line makes no sense
    4  the agent could not be examined, with or without the interpreter
  128  and the number of a signal: it came first, and only what both examinations show was compared
""",
    ),
    CommandRow(
        name="check list",
        help="all requirements, and which of them are judged",
        description="All requirements.",
        run="dragoman_app.cli.check_show:run_list",
        options="check",
    ),
    CommandRow(
        name="check explain",
        help="what a requirement is, how it is judged, how to keep it",
        description="One requirement.",
        run="dragoman_app.cli.check_show:run_explain",
        options="check",
    ),
    CommandRow(
        name="tap",
        group="review, examine and record",
        help="write down what an agent and its client say to each other",
        description="Run an agent, pass every byte, and write down everything.",
        run="dragoman_app.cli.tap:run",
        options="recordings",
        examples="""\
examples:
  dragoman tap -- claude-agent-acp
  dragoman tap --guard --record session.ndjson -- my-agent --acp
  dragoman tap attach                  in another terminal: what passes, as it passes
  dragoman tap attach session.ndjson
  dragoman check trace session.ndjson

Put `dragoman tap --` before the command of an agent in an editor's configuration; the editor and the agent
notice nothing. Recordings are transcripts, one JSON object a line, readable by you alone. Secrets are hidden
in them: values of variables whose names say so, headers and environments of MCP servers, and what looks like
a key. The exit status is the agent's.
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

The file needs no server and no network. It holds the whole recording, and is readable by you alone. Findings
are those of `dragoman check trace`.
""",
    ),
    CommandRow(
        name="replay",
        group="review, examine and record",
        help="serve a recording as an agent, or play its client to a live agent",
        run="dragoman_app.cli.replay:run",
        options="recordings",
        examples="""\
examples:
  dragoman replay session.ndjson                        an agent for any editor, that does the same again
  dragoman run "say hello" --agent "dragoman replay session.ndjson"
  dragoman replay session.ndjson --speed real
  dragoman replay session.ndjson --as client -- my-agent --acp

As an agent, it answers each request as the recorded agent answered the one most like it: the same params
(--match exact), else the same words and structure (shape, the default), else the next one of its method
(order). As a client, it makes the recorded requests to a live agent and says what is different now.

exit status (--as client):
    0  the agent behaved as recorded
    1  it behaved differently
    2  the file cannot be read, or the command line makes no sense
    9  the agent ended, or left a request unanswered
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

Times, ids and how text was cut into pieces mean nothing; what was said, asked, decided, written and how each
turn ended does.

exit status:
    0  both mean the same
    1  they differ
    2  a file cannot be read
""",
    ),
    CommandRow(
        name="chaos",
        group="review, examine and record",
        help="run an agent with faults on purpose",
        run="dragoman_app.cli.chaos:run",
        options="recordings",
        examples="""\
profiles:
  network   frames come late, in halves, or not for a while
  process   the agent stalls, and dies
  peer      a sloppy agent: answers missing or failed, updates doubled, late, unknown, in floods

examples:
  dragoman chaos --seed 7 -- my-agent --acp
  dragoman chaos --profile peer --seed 3 --save faults.ndjson -- my-agent --acp
  dragoman chaos --script faults.ndjson -- my-agent --acp
  dragoman chaos --script faults.ndjson --shrink "pytest -q test_client.py --agent {agent}" -- my-agent --acp

The same seed gives the same faults to the same conversation. --save writes down those that struck; --script
does them again. --shrink runs a test command with {agent} put for this agent under chaos, and leaves out
faults as long as the test fails: what is left is written over the script with .min before its suffix.

exit status: 0 when the conversation ended; with --shrink 0 if a shorter script was found, 1 if the test does
not fail, 2 if the command line makes no sense; 127 if the agent could not be started.
""",
    ),
    CommandRow(
        name="translate",
        group="between dialects",
        help="stand between a client and an agent that speak different dialects",
        run="dragoman_app.cli.translate:run",
        options="recordings",
        examples="""\
dialects:
  auto          found out from the first frames, and said on standard error (the default)
  v1            the protocol itself, stable version 1
  v2            its draft version 2
  crow          snake_case and @type
  threads       the thread protocol: no jsonrpc, threads and entries
  haven, haven-legacy   a bridge's reference, and what that bridge really spoke
  koog          whole messages and serverInfo, from a guide for JetBrains IDEs
  acpex, acpex-wire     an Elixir SDK: as its overview says, and as its code speaks

examples:
  dragoman translate -- some-agent --acp
  dragoman translate --client threads --agent v1 -- dragoman agent review
  dragoman translate --client v1 --agent crow --ledger lost.json -- crow-agent
  dragoman translate --strict --agent v2 -- codex-acp

Put it before the command of an agent in an editor's configuration. What could not be carried is said on
standard error at the end, and written to --ledger FILE as JSON. Where a dialect has no way to ask for
permission, nobody consents, unless --policy FILE allows it; its rules also hold for files that are lent to an
agent whose client has none (`dragoman help policy`).

exit status:
    0  the client ended the conversation
    2  the command line makes no sense
    3  --strict, and something could not be carried
  127  the agent could not be started
An agent that ends by itself gives its own status (128 and the number of a signal).
""",
    ),
    CommandRow(
        name="dialect",
        group="between dialects",
        help="explain which dialect a recording is, and list those that are known",
        metavar="ACTION",
        examples="""\
examples:
  dragoman dialect explain conversation.ndjson    who speaks what, where it strays from v1, how to mend it
  dragoman dialect explain - --json < frames.ndjson
  dragoman dialect list                           every dialect that can be translated

TRACE is a transcript (`dragoman sessions export`, or lines with `c2a` and `a2c`), or frames, one a line.
`dragoman help dialects` describes the dialects.

exit status:
    0  both sides speak v1 and nothing deviates
    1  TRACE cannot be read
    2  the command line makes no sense
    3  something deviates from v1
""",
    ),
    CommandRow(
        name="dialect explain",
        help="which dialect a recording is, and what deviates from v1",
        run="dragoman_app.cli.dialect:run_explain",
        options="recordings",
    ),
    CommandRow(
        name="dialect list",
        help="the dialects that can be translated",
        run="dragoman_app.cli.dialect:run_list",
        options="recordings",
    ),
    CommandRow(
        name="editors",
        group="this machine",
        help="put our agents into the settings of an editor",
        metavar="ACTION",
        examples="""\
examples:
  dragoman editors install zed --dry-run        what would be changed
  dragoman editors install zed                  asks at a terminal; --yes elsewhere
  dragoman editors install vscode --agent review --yes
  dragoman editors uninstall zed

Comments in settings stay, what was there is kept as a backup, and a second run changes nothing.
`dragoman help editors` describes what is written.

exit status: 0 it is as wanted, 1 the settings cannot be edited, 2 it was not agreed to
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
        help="take our agents out of an editor's settings",
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
  dragoman config show hub              every value that holds, and which of them you set
  dragoman config schema hub            its JSON Schema, for editors

The files are agents, hub and policy: `dragoman help known-agents`, `hub-configuration` and `policy`.

exit status: 0 all is good, 1 a file cannot be used, 2 the command line makes no sense
""",
    ),
    CommandRow(
        name="config check",
        help="whether the files can be used; every mistake with its line",
        run="dragoman_app.cli.config:run_check",
        options="shell",
    ),
    CommandRow(
        name="config show",
        help="what holds, without secrets",
        run="dragoman_app.cli.config:run_show",
        options="shell",
    ),
    CommandRow(
        name="config schema",
        help="the JSON Schema of a file",
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
  dragoman help policy          what agents may do, and how you say it

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
  eval "$(dragoman completions zsh)"        in ~/.zshrc, behind compinit
  dragoman completions fish | source        in ~/.config/fish/config.fish

Commands, options, and the names of your agents and sessions are completed.
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
