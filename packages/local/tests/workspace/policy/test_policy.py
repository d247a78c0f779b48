from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dragoman_local.workspace.policy.act import Act
from dragoman_local.workspace.policy.act_reader import act_of_file, act_of_server
from dragoman_local.workspace.policy.decision import STRICTNESS
from dragoman_local.workspace.policy.policy import Policy
from tests.every import every
from tests.workspace.policy.command_lines import NOT_UNDERSTOOD, READABLE, UNREADABLE
from tests.workspace.policy.makers import HOME, ROOT, SETTING, command, policy, tool, write
from tests.workspace.policy.recorder import Recorder
from tests.workspace.policy.test_shell import LINES

NO_PUSH = """
[[rule]]
decision = "deny"
name = "no pushes"
command = "git push"

[[rule]]
decision = "allow"
command = ["git **", "ls **", "a **", "b **", "cat **"]
"""


def test_the_first_rule_that_matches_decides_and_is_named() -> None:
    decision = policy(NO_PUSH).decide(command("git push origin"))
    assert (decision.outcome, decision.rule) == ("deny", "user.toml:2 (no pushes)")
    assert policy(NO_PUSH).decide(command("git status")).rule == "user.toml:7"


def test_what_no_rule_speaks_about_is_asked() -> None:
    decision = policy(NO_PUSH).decide(command("rm x"))
    assert (decision.outcome, decision.rule) == ("ask", "built in default")


def test_a_default_replaces_asking() -> None:
    assert policy('default = "deny"').decide(tool("fetch")).outcome == "deny"


@every(
    ("line", "expected"),
    [
        ("git status && ls", "allow"),
        ("git status && rm x", "ask"),
        ("git status && git push", "deny"),
        ("rm x; git push", "deny"),
        ("git status | cat", "allow"),
        ("git status > x", "ask"),
        ("git push > x", "deny"),
        ("sudo git status", "ask"),
        ("sudo git push", "deny"),
        ("git $(echo push)", "deny"),
        ("bash -c 'git push'", "deny"),
        ("echo x | sh", "ask"),
    ],
)
def test_every_part_of_a_command_must_be_allowed(line: str, expected: str) -> None:
    assert policy(NO_PUSH).decide(command(line)).outcome == expected


@every("line", [*UNREADABLE, *NOT_UNDERSTOOD])
def test_what_cannot_be_read_is_never_allowed_by_rules(line: str) -> None:
    everything = '[[rule]]\ndecision = "allow"\n[[rule]]\ndecision = "allow"\ncommand = "**"\n'
    assert policy(everything).decide(command(line)).outcome == "ask"


def test_a_rule_may_say_that_it_means_what_cannot_be_read_too() -> None:
    text = '[[rule]]\ndecision = "allow"\nkind = "execute"\nunreadable = true\n'
    assert policy(text).decide(command("git $(x)")).outcome == "allow"
    named = '[[rule]]\ndecision = "allow"\ncommand = "tox **"\n'
    assert policy(named).decide(command("tox -e py311")).outcome == "ask"
    assert policy(f"{named}unreadable = true\n").decide(command("tox -e py311")).outcome == "allow"
    assert policy(f"{named}unreadable = true\n").decide(command("tox $x")).outcome == "ask"


@settings(max_examples=max(80, settings().max_examples))
@given(LINES)
def test_nothing_that_is_allowed_runs_what_is_denied(line: str) -> None:
    if policy(NO_PUSH).decide(command(line)).outcome != "allow":
        return
    with TemporaryDirectory() as folder:
        recorder = Recorder(Path(folder))
        for shell in ("sh", "bash"):
            for words in recorder.run(line, shell=shell):
                assert not (words[0] == "git" and "push" in words)


DENIED = ["git push", "git  push -f", "g\\it push", "/usr/bin/git push", "git -C x push"]
AROUND = [
    *("{}", "({})", "{{ {}; }}", "ls && {}", "{} & ls", "{} &", "{} || ls", "ls | {}", "ls; {}", "{}; ls"),
    *("sh -c '{}'", "eval '{}'", 'bash -lc "{}"', "exec {}", "sudo {}", "env X=1 {}", "X=1 {}", "xargs {}"),
    *("$({})", "`{}`", '"$({})"', "{} > x", "timeout 5 {}", "nohup {}", "time {}", "! {}", "{} # ls"),
    *("if {}; then ls; fi", "ls\n{}", "{}\nls", "ls \\\n && {}"),
]


@given(st.sampled_from(DENIED), st.sampled_from(AROUND))
def test_nothing_around_a_denied_command_gets_it_through(denied: str, around: str) -> None:
    assert policy(NO_PUSH).decide(command(around.format(denied))).outcome == "deny"


@given(st.lists(st.sampled_from([line for line, _ in READABLE]), min_size=1, max_size=3))
def test_a_longer_command_is_never_decided_more_mildly_than_its_parts(lines: list[str]) -> None:
    chosen = policy(NO_PUSH)
    whole = chosen.decide(command(" ; ".join(line.strip().rstrip(";") for line in lines)))
    parts = [chosen.decide(command(line)) for line in lines]
    assert STRICTNESS[whole.outcome] >= max(STRICTNESS[part.outcome] for part in parts)


def test_a_command_outside_the_roots_or_with_variables_is_not_allowed_by_rules() -> None:
    chosen = policy(NO_PUSH)
    assert chosen.decide(command("ls", cwd=f"{ROOT}/src")).outcome == "allow"
    assert chosen.decide(command("git status", cwd="/elsewhere")).outcome == "ask"
    assert chosen.decide(command("git status", variables=("LD_PRELOAD",))).outcome == "ask"
    assert chosen.decide(command("git status", variables=("CI", "LC_ALL"))).outcome == "allow"


def test_a_command_that_leaves_the_roots_is_not_allowed_by_rules() -> None:
    chosen = policy('[[rule]]\ndecision = "allow"\ncommand = "**"\n')
    for line in ("cd src && ls", f"cd {ROOT}/src && ls", "cd src/../src; ls"):
        assert chosen.decide(command(line)).outcome == "allow", line
    for line in (
        "cd / && ls",
        "cd .. && ls",
        "cd && ls",
        "cd - && ls",
        "ls; cd ~; ls",
        "pushd /tmp; ls",
        "popd; ls",
    ):
        assert chosen.decide(command(line)).outcome == "ask", line


def test_paths_in_commands_are_found_by_rules_that_deny() -> None:
    text = '[[rule]]\ndecision = "deny"\npath = ["**/.env", "~/.ssh/**"]\n'
    text += '[[rule]]\ndecision = "allow"\ncommand = "**"\n'
    chosen = policy(text)
    for line in ("cat .env", "cat ./a/../.env", "cat --file=.env", "cat ~/.ssh/id", "cd ~ && cat .ssh/id"):
        assert chosen.decide(command(line)).outcome == "deny", line
    assert chosen.decide(command("cat environment")).outcome == "allow"


def test_edits_are_allowed_only_if_every_path_is() -> None:
    chosen = policy('[[rule]]\ndecision = "allow"\nkind = "edit"\npath = "src/**"\n')
    assert chosen.decide(tool("edit", "src/a.py", f"{ROOT}/src/b.py")).outcome == "allow"
    assert chosen.decide(tool("edit", "src/a.py", "setup.py")).outcome == "ask"
    assert chosen.decide(tool("edit")).outcome == "ask"
    assert chosen.decide(write(f"{ROOT}/src/a.py")).outcome == "allow"


def test_denied_paths_are_denied_if_any_path_is_one() -> None:
    chosen = policy('[[rule]]\ndecision = "deny"\npath = "secret"\n[[rule]]\ndecision = "allow"\n')
    assert chosen.decide(tool("edit", "src/a.py", "x/SECRET")).outcome == "deny"


def test_a_rule_may_name_agents_tools_and_methods() -> None:
    text = """
        [[rule]]
        decision = "allow"
        agent = "cla*"
        tool = ["Read", "mcp__*"]
        [[rule]]
        decision = "deny"
        method = "fs/write"
    """
    chosen = policy(text)
    assert chosen.decide(tool("other", name="mcp__x")).outcome == "allow"
    assert chosen.decide(tool("other", name="Write")).outcome == "ask"
    assert chosen.decide(write(f"{ROOT}/x")).outcome == "deny"


@every(
    ("agent", "allowed"),
    [("python3", True), ("/usr/bin/python3 /srv/a.py", False), ("env A=1 'python3' -m it", False)],
)
def test_a_rule_for_a_program_restricts_what_runs_by_it_and_allows_it_alone(
    agent: str, allowed: bool
) -> None:
    rule = '[[rule]]\nagent = "python3"\ndecision = "{}"\n'
    act = replace(command("ls"), agent=agent)
    assert policy(rule.format("allow")).decide(act).outcome == ("allow" if allowed else "ask")
    assert policy(rule.format("deny")).decide(act).outcome == "deny"


def test_a_project_that_is_not_trusted_can_only_make_things_stricter() -> None:
    user = '[[rule]]\ndecision = "deny"\ncommand = "rm"\n[[rule]]\ndecision = "allow"\ncommand = "ls **"\n'
    loosens = '[[rule]]\ndecision = "ask"\ncommand = "rm"\n[[rule]]\ndecision = "allow"\n'
    chosen = policy(user, project=loosens)
    assert chosen.decide(command("rm x")).outcome == "deny"
    assert chosen.decide(command("make")).outcome == "ask"
    strict = policy(user, project='default = "deny"\n[[rule]]\ndecision = "allow"\ncommand = "ls"\n')
    assert strict.decide(command("ls")).outcome == "allow"
    assert strict.decide(command("ls x")).outcome == "deny"


OUTCOMES = st.sampled_from(["allow", "ask", "deny"])


@given(OUTCOMES, OUTCOMES, OUTCOMES)
def test_no_project_makes_any_decision_milder(user: str, first: str, default: str) -> None:
    mine = f'default = "{user}"\n'
    theirs = f'default = "{default}"\n[[rule]]\ndecision = "{first}"\ncommand = "ls"\n'
    for act in (command("ls"), command("rm x"), tool("edit", "x")):
        alone, both = policy(mine).decide(act), policy(mine, project=theirs).decide(act)
        assert STRICTNESS[both.outcome] >= STRICTNESS[alone.outcome]


def test_answers_given_for_good_answer_what_would_be_asked_and_nothing_else() -> None:
    kept = '[[rule]]\ndecision = "allow"\ncommand = ["git push", "make test"]\n'
    chosen = policy(NO_PUSH, remembered=kept)
    assert chosen.decide(command("make test")).outcome == "allow"
    assert chosen.decide(command("make test")).rule.startswith("remembered.toml")
    assert chosen.decide(command("git push")).outcome == "deny"


@pytest.mark.parametrize(
    ("approve", "read", "edit", "pushes"),
    [("all", "allow", "allow", "deny"), ("reads", "allow", "deny", "deny"), ("none", "deny", "deny", "deny")],
)
def test_approving_answers_in_a_persons_place(approve: str, read: str, edit: str, pushes: str) -> None:
    chosen = policy(NO_PUSH, approve=approve)  # type: ignore[arg-type]
    assert chosen.decide(tool("read", "src/x.py")).outcome == read
    assert chosen.decide(act_of_file("read", f"{ROOT}/x", SETTING)).outcome == read
    assert chosen.decide(tool("edit", "src/x.py")).outcome == edit
    assert chosen.decide(write(f"{ROOT}/x")).outcome == edit
    assert chosen.decide(command("make $(x)")).outcome == edit
    assert chosen.decide(command("git push")).outcome == pushes
    assert chosen.decide(command("git status")).outcome == "allow"


def test_a_rule_that_asks_wants_a_person_and_reads_are_not_one() -> None:
    rules = '[[rule]]\ndecision = "ask"\npath = "private/**"\n'
    private = tool("read", "private/x")
    assert policy(rules, approve="reads").decide(private).outcome == "deny"
    assert policy(rules, approve="all").decide(private).outcome == "allow"
    assert policy(rules).decide(private).outcome == "ask"
    assert policy("", project=rules, approve="reads").decide(private).outcome == "deny"
    assert policy(rules, approve="reads").decide(tool("read", "x")).outcome == "allow"


def test_reads_leave_the_session_only_if_somebody_says_so() -> None:
    chosen = policy(approve="reads")
    assert chosen.decide(tool("read", "/etc/passwd")).outcome == "deny"
    assert chosen.decide(tool("read", f"{ROOT}/../x")).outcome == "deny"
    assert chosen.decide(tool("search")).outcome == "allow"
    assert chosen.decide(tool("fetch")).outcome == "deny"


def test_files_of_the_session_may_be_read_without_a_question() -> None:
    assert policy().decide(act_of_file("read", f"{ROOT}/x", SETTING)).outcome == "allow"
    assert policy().decide(tool("read", "x")).outcome == "ask"


def test_files_that_hold_policies_are_never_written_without_a_person() -> None:
    text = '[[rule]]\ndecision = "allow"\nunreadable = true\n'
    base = policy(text, approve="all")
    chosen = Policy(
        layers=base.layers,
        approve="all",
        protected_paths=(f"{ROOT}/.dragoman", f"{ROOT}/.dragoman/**", f"{HOME}/p/**"),
    )
    assert chosen.decide(tool("edit", ".dragoman/policy.toml")).outcome == "deny"
    assert chosen.decide(command("cp x .dragoman/policy.toml")).outcome == "deny"
    assert chosen.decide(write(f"{HOME}/p/policy.toml")).outcome == "deny"
    assert chosen.decide(tool("read", ".dragoman/policy.toml")).outcome == "allow"
    assert chosen.decide(tool("edit", "x")).outcome == "allow"


def test_explaining_shows_every_rule_and_why_it_does_not_speak() -> None:
    ((_, steps, decision),) = policy(NO_PUSH).explain(command("git $(x)"))
    assert [step.objection for step in steps] == [
        "the rule might apply: the command contains a substitution ($)",
        "the command cannot be allowed by a rule: the command contains a substitution ($)",
    ]
    assert decision.outcome == "ask"


ALLOWS, DENIES, ASKS = (f'[[rule]]\ndecision = "{outcome}"\n' for outcome in ("allow", "deny", "ask"))
MANY = " ".join(f"a{number}" for number in range(400))


@every(
    ("rules", "act", "expected"),
    [
        ("", act_of_file("read", f"{ROOT}/a.py", SETTING), "allow"),
        ("", act_of_file("read", "/etc/hosts", SETTING), "ask"),
        (ALLOWS, command("touch hub policy agents"), "allow"),
        (ALLOWS, command("dragoman hub"), "ask"),
        (f"{ALLOWS}unreadable = true", command(f"echo $(x); touch {MANY} .git/config"), "ask"),
        (f"{ALLOWS}unreadable = true", command(f"cat > x <<EOF\n{MANY}\nEOF"), "allow"),
        (f"{ALLOWS}unreadable = true", command("git mv x bare/HEAD"), "ask"),
        (ALLOWS, replace(command("python3 /x/y.py"), roots=()), "allow"),
        (ALLOWS, command("python3 /x/y.py"), "ask"),
        (ALLOWS, command("make", cwd=f"{ROOT}/../other"), "ask"),
        (ALLOWS, replace(command("cd /x && ls", cwd="/y"), roots=()), "allow"),
        (f'{ALLOWS}kind = "read"', tool("read", "a.py", raw_input={"x": "some words"}), "ask"),
        (f'{ALLOWS}kind = "other"', tool("other", "a.py", raw_input={"x": "some words"}), "allow"),
        (
            f'{ALLOWS}kind = "execute"\nunreadable = true',
            tool("execute", raw_input={"command": "make", "x": "some words"}),
            "allow",
        ),
        (
            f'{ALLOWS}path = "src/**"\nunreadable = true',
            tool("execute", "src/a.py", raw_input={"command": "make", "x": "some words"}),
            "allow",
        ),
        (f'{ALLOWS}command = "tox **"\nunreadable = true', command("rm $(x)"), "ask"),
        (f'{DENIES}kind = "read"', tool("read", "a.py", raw_input={"diff": "x"}), "deny"),
        (f'{DENIES}kind = "edit"', tool("read", "a.py", raw_input={"diff": "x"}), "deny"),
        (f'{DENIES}kind = "fetch"', tool("read", "a.py", raw_input={"diff": "x"}), "ask"),
        (f'{DENIES}command_line = "ls"', tool("edit", "a.py"), "ask"),
        (f'{DENIES}project = "/**"', replace(tool("edit", "a.py"), roots=()), "ask"),
    ],
)
def test_each_condition_of_a_rule_and_of_a_guard_decides(rules: str, act: Act, expected: str) -> None:
    assert policy(rules).decide(act).outcome == expected


def test_the_variables_of_a_server_are_its_owners_and_no_doubt() -> None:
    server = act_of_server({"command": "y", "env": {"LD_PRELOAD": "1"}}, SETTING)
    rules = policy(f'{DENIES}method = "mcp"\ncommand = "x"').about_servers()
    assert rules.decide(server).outcome == "allow"


def test_no_remembered_answer_is_one_about_guarded_files() -> None:
    chosen = policy(remembered=ALLOWS)
    assert chosen.decide(tool("edit", "a.py")).outcome == "allow"
    assert chosen.decide(tool("edit", ".git/config")).outcome == "ask"


@pytest.mark.parametrize("first", ["asks", "denies"])
def test_where_a_rule_that_denies_might_apply_no_other_doubt_stands_in_front_of_it(first: str) -> None:
    asks, denies = f'{ASKS}command = "make"\n', f'{DENIES}command = "rm"\n'
    chosen = policy(asks + denies if first == "asks" else denies + asks, approve="all")
    assert chosen.decide(command("$(x)")).outcome == "deny"
