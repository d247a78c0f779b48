import pytest

from dragoman.testing import Script, ScriptError
from dragoman.testing.script.script import ScriptRules, prompt_text
from tests.every import every


def test_an_agent_is_described_in_the_script() -> None:
    settings = Script.parse(
        """
        agent tester version=2.1
          can load image audio
          capabilities {"promptCapabilities": {"embeddedContext": true}, "_meta": {"x": 1}}
          auth {"id": "login", "name": "Log in"}
        """
    ).settings
    assert (settings.name, settings.version) == ("tester", "2.1")
    assert settings.capabilities == {
        "loadSession": True,
        "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
        "_meta": {"x": 1},
    }
    assert settings.auth_methods == [{"id": "login", "name": "Log in"}]


def test_reading_one_script_does_not_change_the_next() -> None:
    Script.parse('agent a\n  can image\n  capabilities {"promptCapabilities": {"audio": true}}')
    assert Script.parse("agent b\n  can image").settings.capabilities == {
        "promptCapabilities": {"image": True}
    }


@every(
    ("text", "line", "why"),
    [
        ("on prompt\n  sya hello", 2, "'sya' is not a verb"),
        ("on prompt\n  say", 2, "takes at least 1 words, not 0"),
        ("on prompt\n  say {}", 2, "takes text"),
        ("on prompt\n  say a colour=red", 2, "no option 'colour'"),
        ("on prompt\n  say a\n    say b", 3, "nothing can be indented"),
        ("on prompt\n  wait long", 2, "not a number of seconds"),
        ("on prompt\n  wait -1", 2, "not a number of seconds"),
        ("on prompt\n  repeat many", 2, "not a whole number"),
        ("on prompt\n  until tomorrow", 2, "until cancelled"),
        ("on prompt\n  tool a\n    status done", 3, "a status is"),
        ("on prompt\n  plan\n    done a", 3, "an entry is"),
        ("on prompt\n  ask a\n    perhaps", 3, "not an outcome"),
        ("on prompt\n  read a\n    allowed", 3, "not an outcome"),
        ("on prompt\n  raw", 2, "hex="),
        ("on prompt\n  raw hex=xyz", 2, "hex="),
        ("on prompt\n  die SIGNOTHING", 2, "not a whole number"),
        ("on prompt\n  fail x", 2, "not a whole number"),
        ("on", 1, "takes 1 to 2 words"),
        ("on prompt times=x", 1, "not a whole number"),
        ("say hello", 1, "agent, client, start and on"),
        ("agent a\n  can fly", 2, "not a capability"),
        ("agent a\n  likes b", 2, "can, capabilities and auth"),
        ("client\n  expect", 2, "expect what"),
        ("client\n  expect wonders", 2, "cannot be expected"),
        ("client\n  expect end now", 2, "too many or too few"),
        ("client\n  expect update a colour=b", 2, "no option"),
        ("client\n  expect error x", 2, "not a whole number"),
    ],
)
def test_a_mistake_is_found_before_anything_is_played(text: str, line: int, why: str) -> None:
    with pytest.raises(ScriptError, match=why) as mistake:
        Script.parse(text)
    assert mistake.value.line == line


def test_the_first_rule_that_fits_is_picked_until_it_is_used_up() -> None:
    rules = ScriptRules(
        Script.parse(
            """
            on prompt "a*" times=1
            on prompt {"sessionId": "$session"}
            on new
            """
        ).rules
    )
    prompt = {"sessionId": "s", "prompt": [{"type": "text", "text": "abc"}]}
    names: dict[str, object] = {}
    picked = [rules.pick("session/prompt", prompt, names) for _ in range(2)]
    assert [rule.line for rule in picked if rule] == [2, 3]
    assert names == {"session": "s"}
    assert rules.pick("session/prompt", {"prompt": []}, {}) is None
    assert rules.pick("session/new", None, {}) is not None


@every("params", [None, [], {}, {"prompt": None}, {"prompt": ["x", {"text": 1}, {"type": "image"}]}])
def test_an_odd_prompt_has_no_text(params: object) -> None:
    assert prompt_text(params) == ""


def test_a_script_can_be_written_and_read_again() -> None:
    text = 'agent a\n  can load\non prompt "x *"\n  say "two words" b\n  ask c\n    allowed\n      stop x\n'
    assert Script.parse(text).text == text
