import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman_local.workspace.policy.policy_parser import PolicyError, read_policy
from tests.every import every

GOOD = """
version = 1
default = "deny"  # nothing by default
trust = ["~/mine"]

[[rule]]
decision = "allow"
name = "reads [[rule]]"
note = \"\"\"
[[rule]]
decision = "nonsense"
\"\"\"
kind = ["read", "search"]

[[ rule ]]
decision = "deny"
command = ["git push", "rm -rf"]
method = "terminal"
"""


def test_rules_have_the_lines_of_their_headers() -> None:
    book = read_policy(GOOD, "p.toml")
    assert [(rule.line, rule.decision) for rule in book.rules] == [(6, "allow"), (15, "deny")]
    assert book.rules[0].label == "p.toml:6 (reads [[rule]])"
    assert book.rules[1].command == (("git", "push"), ("rm", "-rf"))
    assert (book.default, book.trust) == ("deny", ("~/mine",))


def test_an_empty_policy_is_one() -> None:
    assert read_policy("", "p.toml") == ((), None, ())


RULE = '# one\n[[rule]]\ndecision = "allow"\n'


@every(
    ("text", "line", "why"),
    [
        ("x = \n", 1, "Invalid value"),
        ("a = 1\nb = 'x", 2, "Expected"),
        ('\nversion = 1\nrules = "x"\n', 3, "unknown key 'rules'"),
        ("version = 2\n", 1, "only version 1"),
        ('\ndefault = "maybe"\n', 2, "default must be one of allow, ask, deny"),
        ("trust = 5\n", 1, "trust must be text"),
        ("rule = 5\n", 1, "rules are written as [[rule]]"),
        ("[rule]\ndecision = 'allow'\n", 1, "rules are written as [[rule]]"),
        (RULE + "paths = 'x'\n", 4, "unknown key 'paths'"),
        (RULE + "\n[[rule]]\nkind = 'read'\n", 5, "decision must be one of"),
        ("[[rule]]\ndecision = 'Allow'\n", 2, "decision must be one of"),
        ("[[rule]]\ndecision = ['allow']\n", 2, "decision must be one of"),
        (RULE + "kind = 'reed'\n", 4, "unknown kind 'reed'"),
        (RULE + "kind = [\n'read',\n5]\n", 4, "kind must be text"),
        (RULE + "kind = []\n", 4, "kind is an empty list"),
        (RULE + "method = 'fs'\n", 4, "unknown method 'fs'"),
        (RULE + "command = 'git ** x'\n", 4, "** may only be the last word"),
        (RULE + "command = ''\n", 4, "command must be text"),
        (RULE + "path = '../x'\n", 4, "holds '..'"),
        (RULE + "unreadable = 1\n", 4, "true or false"),
        ("[[rule]]\ndecision = 'deny'\nunreadable = true\n", 3, "for rules that allow"),
        (RULE + "name = 5\n", 4, "name must be text"),
        ("rule = [{decision = 'allow', kind = 'x'}]\n", 1, "unknown kind 'x'"),
        (RULE + "source = 'x'\n", 4, "unknown key 'source'"),
    ],
)
def test_a_mistake_is_named_with_its_line(text: str, line: int, why: str) -> None:
    with pytest.raises(PolicyError) as caught:
        read_policy(text, "p.toml")
    assert (caught.value.line, why in caught.value.why) == (line, True), str(caught.value)
    assert str(caught.value).startswith(f"p.toml:{line}: ")


@given(st.text(st.sampled_from("[]rule =\"'#\n\\ax5{},"), max_size=60))
def test_any_text_is_a_policy_or_a_mistake_with_a_line(text: str) -> None:
    lines = text.count("\n") + 2
    assert all(1 <= line <= lines for line in (_line_of_mistake(text),) if line is not None)


def _line_of_mistake(text: str) -> int | None:
    try:
        read_policy(text, "p")
    except PolicyError as error:
        return error.line
    return None
