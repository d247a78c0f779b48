"""Whole decisions over a table of command lines, and that hiding a denied command never gets it allowed."""

import json
import shlex
import sys
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman_local.workspace.policy.act_reader import act_of_command
from dragoman_local.workspace.policy.policy import Policy
from dragoman_local.workspace.policy.program_calls import read_call
from tests.every import every
from tests.workspace.policy.count_questions import RECORDINGS, recorded_acts
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
    "joints": lambda n: "cat " + "a/," * (n // 3),
    "json": lambda n: "curl -d '" + json.dumps({str(i): {"a": [i, "x:y"]} for i in range(n // 34)}) + "' x",
    "words": lambda n: "git " * (n // 4),
    "runners": lambda n: "sudo " * (n // 5) + "x",
    "commands": lambda n: "a;" * (n // 2),
    "braces": lambda n: "{" + "," * n,
    "sets": lambda n: "[" * n,
    "folders": lambda n: "cd x;" * (n // 5),
    "folders and words": lambda n: "cd x && " * 25 + "ls " + "a/b:c " * min(n // 6, 200),
    "substitutions": lambda n: "$(" * (n // 2),
    "quotes": lambda n: "sudo " + "'a b' " * (n // 6),
    "a here-document": lambda n: "cat <<E\n" + "x\n" * (n // 2),
    "patterns": lambda n: "cat " + "*a" * (n // 2),
    "unknown names": lambda n: "cat " + "$x/" * (n // 3),
    "a script of sed": lambda n: "sed '" + "s/a/b/;" * (n // 7) + "e'",
    "half a script of sed": lambda n: "sed 's/" + "a" * n + "'",
    "options": lambda n: "git " + "-C x " * (n // 5),
    "letters": lambda n: "ls -" + "l" * n,
    "slashes": lambda n: "cat " + "a/" * (n // 2),
    "a message": lambda n: "git commit -m '" + "fix: a, b; c=d " * (n // 16) + "'",
    "an unknown program": lambda n: "frob " + "git pus " * (n // 8),
    "a loop": lambda n: "for x in " + "a " * (n // 2) + "; do git $x; done",
}


@every("make", HUGE.values(), ids=HUGE.keys())
def test_nobody_waits_for_a_line_that_is_made_to_be_slow(make: Callable[[int], str]) -> None:
    """Counts calls of functions, which no load changes: twice the line costs at most some twice the work."""
    short, long, huge = (_calls(make(size)) for size in (8_000, 16_000, 64_000))
    assert long <= 2.5 * short + 2_000
    assert huge <= 60_000, "beyond its bound a line is not read"


def _calls(line: str) -> int:
    """How many functions are called to decide about a line; some 10,000 take a millisecond."""
    count = 0

    def on_event(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    read_call.cache_clear()
    sys.setprofile(on_event)
    try:
        outcome = POLICIES["all-but"].decide(command(line)).outcome
    finally:
        sys.setprofile(None)
    assert outcome in ("ask", "allow")
    return count


@every("make", HUGE.values(), ids=HUGE.keys())
def test_a_decision_about_16_kilobytes_takes_no_time(make: Callable[[int], str]) -> None:
    """The best of three, beside counting to 300,000 in the same moment."""
    line = command(make(16_000))

    def decide() -> None:
        read_call.cache_clear()
        POLICIES["all-but"].decide(line)

    pairs = [(_seconds(decide), _seconds(_count)) for _ in range(3)]
    decision, counting = map(min, zip(*pairs, strict=True))
    assert decision < counting


def _seconds(work: Callable[[], object]) -> float:
    """What it takes of a processor: seconds of this thread alone."""
    started = time.thread_time()
    work()
    return time.thread_time() - started


def _count() -> None:
    total = 0
    for number in range(300_000):
        total += number


@pytest.mark.skipif(
    not RECORDINGS.is_dir(), reason="the recordings of real agents are not beside the repository"
)
def test_recorded_agents_are_not_asked_more_often() -> None:
    """Of what recorded agents ask for, the everyday rules answered so much before they became strict."""
    decisions = [POLICIES["everyday"].decide(act).outcome for _, act in recorded_acts()]
    assert decisions.count("allow") >= 36
