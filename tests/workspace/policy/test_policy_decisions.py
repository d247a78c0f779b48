"""Whole decisions over a table of command lines, and that hiding a denied command never gets it allowed."""

import shlex

from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.workspace.policy.act_reader import act_of_command
from dragoman.workspace.policy.policy import Policy
from tests.every import every
from tests.workspace.policy.decision_lines import RULES, decision_lines, lines_of
from tests.workspace.policy.makers import ROOT, SETTING, command, policy

LINES = list(decision_lines())
POLICIES = {name: policy(text) for name, text in RULES.items()}
HOSTILE = lines_of("all-but-never-allow")


def test_the_table_is_large_and_half_of_it_is_everyday() -> None:
    everyday = [line for rules, line, _ in LINES if rules == "everyday"]
    assert len(LINES) >= 300
    assert len(everyday) >= 150
    assert len(set(LINES)) == len(LINES)


@every(("rules", "line", "expected"), LINES, ids=[repr(line) for _, line, _ in LINES])
def test_every_line_is_decided_as_the_table_says(rules: str, line: str, expected: str) -> None:
    decision = POLICIES[rules].decide(command(line))
    assert decision.outcome in expected.split(" or "), decision


DENYING = RULES["all-but"].partition('[[rule]]\ndecision = "allow"')[0]


@every("line", HOSTILE)
def test_a_default_that_allows_does_not_allow_what_might_be_denied(line: str) -> None:
    assert policy(f'default = "allow"\n{DENYING}').decide(command(line)).outcome != "allow"


@every("line", HOSTILE)
def test_nobody_approves_in_a_persons_place_what_might_be_denied(line: str) -> None:
    assert policy(DENYING, approve="all").decide(command(line)).outcome == "deny"


@every("line", HOSTILE)
def test_a_project_that_is_not_trusted_denies_as_generously(line: str) -> None:
    allowing = policy(RULES["nothing-denied"], project=DENYING)
    assert allowing.decide(command(line)).outcome != "allow"


@every(
    "line",
    ["for f in src/*.py; do echo x; done", "npm test > out.txt", "cat *.md", "ls | wc -l > y"],
)
def test_a_doubt_that_no_rule_could_mean_is_approved_where_all_is(line: str) -> None:
    assert policy(DENYING, approve="all").decide(command(line)).outcome == "allow"


# Hiding.

DENIED = [
    ["git", "push"],
    ["git", "push", "origin", "main"],
    ["git", "-C", ".", "push"],
    ["rm", "-r", "-f", "x"],
    ["rm", "-rf", "x"],
    ["rm", "--recursive", "--force", "x"],
    ["cat", ".env"],
    ["cat", "secrets/key"],
    ["npm", "publish"],
]
WRAPPERS = [
    "{}",
    "env {}",
    "env A=1 {}",
    "A=1 {}",
    "nohup {}",
    "timeout 5 {}",
    "timeout -s KILL 5 {}",
    "nice -n 3 {}",
    "setsid {}",
    "command {}",
    "exec {}",
    "eval {}",
    "time {}",
    "xargs {}",
    "uv run {}",
    "npx {}",
    "true && {}",
    "{} || true",
    "ls; {}",
    "ls | {}",
    "({})",
    "{{ {}; }}",
    "if true; then {}; fi",
    "while {}; do ls; done",
    "echo $({})",
    "`{}`",
    "{} > out",
    "{} 2>&1",
    "{} &",
    "! {}",
    "ls\n{}",
    "{} #",
]
QUOTED_WRAPPERS = [
    "sh -c {}",
    "bash -lc {}",
    "eval {}",
    "env -S {}",
    "su -c {}",
    "bash -c {} x",
    "ssh host {}",
]


def _spelled(word: str, way: str) -> str:
    middle = len(word) // 2
    return {
        "plain": shlex.quote(word),
        "single": f"'{word}'",
        "double": f'"{word}"',
        "split": f"{word[:middle]}''{word[middle:]}",
        "half": f'{word[:middle]}"{word[middle:]}"',
        "escaped": "".join(f"\\{character}" for character in word),
        "continued": f"{word[:middle]}\\\n{word[middle:]}",
        "variable": f"{word[:middle]}${{E}}{word[middle:]}",
        "substituted": f"$(echo {word})",
        "backticks": f"`echo {word}`",
        "ansi": "$'" + "".join(f"\\x{ord(character):02x}" for character in word) + "'",
        "glob": word[:-1] + "?" if not word.startswith("-") else word,
        "set": word[:-1] + f"[{word[-1]}]" if not word.startswith("-") else word,
        "brace": "{" + word + "," + word + "}",
    }[way]


WAYS = ["plain", "single", "double", "split", "half", "escaped", "continued", "variable", "substituted"]
WAYS += ["backticks", "ansi", "glob", "set", "brace"]
PLACES = ["", "/usr/bin/", "./", "./x/../../", "~/bin/", "$X/", "//"]


@st.composite
def hidden_lines(draw: st.DrawFn) -> str:
    """A denied command, spelled, placed and wrapped in some way."""
    words = list(draw(st.sampled_from(DENIED)))
    if words[0] == "rm":
        flags = [word for word in words[1:] if word.startswith("-")]
        words = ["rm", *draw(st.permutations([*flags, "x"]))]
    if words[0] == "git" and draw(st.booleans()):
        words[1:1] = draw(st.sampled_from([["--no-pager"], ["-C", "x"], ["--git-dir=x"], ["-c", "a.b=c"]]))
    words[0] = draw(st.sampled_from(PLACES)) + words[0]
    ways = [draw(st.sampled_from(WAYS)) if draw(st.booleans()) else "plain" for _ in words]
    # A place that begins with a tilde or a variable must stay bare to mean one.
    first = words[0] if words[0][:1] in ("~", "$") else _spelled(words[0], ways[0])
    line = " ".join([first, *(_spelled(word, way) for word, way in zip(words[1:], ways[1:], strict=True))])
    for _ in range(draw(st.integers(0, 2))):
        if draw(st.booleans()):
            line = draw(st.sampled_from(QUOTED_WRAPPERS)).format(shlex.quote(line))
        else:
            line = draw(st.sampled_from(WRAPPERS)).format(line)
    return line


@settings(max_examples=max(50, settings().max_examples))
@given(hidden_lines())
def test_hiding_a_denied_command_never_gets_it_allowed(line: str) -> None:
    assert POLICIES["all-but"].decide(command(line)).outcome != "allow"
    assert policy(DENYING, approve="all").decide(command(line)).outcome == "deny"


@given(hidden_lines())
def test_nor_does_handing_it_to_a_shell_in_a_terminal(line: str) -> None:
    for words in (["sh", "-c", line], ["bash", "-lc", line], ["env", "bash", "-c", line]):
        assert POLICIES["all-but"].decide(act_of_command(words, SETTING, cwd=ROOT)).outcome != "allow"


@given(st.text(max_size=60))
def test_any_text_is_decided(line: str) -> None:
    chosen: Policy = POLICIES["all-but"]
    assert chosen.decide(command(line)).outcome in ("allow", "ask", "deny")


HUGE = {
    "words": "git " * 16_000,
    "runners": "sudo " * 13_000 + "x",
    "commands": "a;" * 32_000,
    "braces": "{" + "," * 60_000,
    "sets": "[" * 60_000,
    "folders": "cd x;" * 13_000,
    "substitutions": "$(" * 30_000,
    "quotes": "sudo " + "'a b' " * 10_000,
    "a here-document": "cat <<E\n" + "x\n" * 30_000,
    "patterns": "cat " + "*" * 60_000,
    "unknown names": "cat " + "$x/" * 20_000,
    "a script of sed": "sed '" + "s/a/b/;" * 8_000 + "e'",
    "options": "git " + "-C x " * 12_000,
}


@every("line", HUGE.values(), ids=HUGE.keys())
def test_nobody_waits_for_a_line_that_is_made_to_be_slow(line: str) -> None:
    """Each took minutes before its length was bounded; the limit for a test is a few seconds."""
    assert POLICIES["all-but"].decide(command(line)).outcome == "ask"
