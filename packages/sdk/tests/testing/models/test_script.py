from pathlib import Path

import pytest

from dragoman.testing.models import ModelRequest, ModelScript, TokenUsage, scripted_model, turn
from dragoman.testing.models.turns import (
    GARBAGE,
    BeginStep,
    CallStep,
    CutStep,
    EndlessStep,
    FailStep,
    HoldStep,
    ModelTurn,
    RawStep,
    RefuseStep,
    TextStep,
    ThoughtStep,
    WaitStep,
)
from dragoman.testing.script.statements import ScriptError
from tests.every import every
from tests.testing.models.client import asked, post, said

WHOLE = """
    model small large
    key sk-test

    turn split=3
      begin
      think "Hm" "m" pace=0.5
      say "Hello, " world
      call read {"path": "a.py"} id=c1 pieces=4
      call read "{broken"
      call ping
      wait 1.5
      hold
      hold door
      garbage
      garbage "x"
      huge 3
      endless more pace=1
      usage input=9 output=2 cached=1
      stop max_tokens

    turn times=3
      cut

    turn
      cut quietly

    turn
      refuse 2

    turn
      fail 429 "Slow down" retry_after=2 reset=1.5 kind=tokens code=c headers={"a":"b"} body="x"
"""


def test_every_step_can_be_written() -> None:
    script = ModelScript.parse(WHOLE)
    assert (script.models, script.key) == (("small", "large"), "sk-test")
    first = script.turns[0]
    assert first.steps == (
        BeginStep(),
        ThoughtStep(("Hm", "m"), 0.5),
        TextStep(("Hello, ", "world")),
        CallStep("read", {"path": "a.py"}, "c1", 4),
        CallStep("read", "{broken"),
        CallStep("ping", {}),
        WaitStep(1.5),
        HoldStep("hold"),
        HoldStep("door"),
        RawStep(GARBAGE),
        RawStep(b"x"),
        TextStep(("xxx",)),
        EndlessStep("more", 1.0),
    )
    assert (first.stop, first.usage, first.split) == ("length", TokenUsage(9, 2, 1), 3)
    assert [(turn.steps, turn.times) for turn in script.turns[1:4]] == [
        ((CutStep("event"),), 3),
        ((CutStep("quietly"),), 1),
        ((RefuseStep(2.0),), 1),
    ]
    assert script.turns[4].steps == (FailStep(429, "Slow down", "tokens", "c", 2.0, 1.5, {"a": "b"}, "x"),)


@every(
    ("text", "why"),
    [
        ("begin", "line 1: 'begin' is not a verb. Choose from key, model, on, turn"),
        ("turn\n  shout", "line 2: 'shout' is not a step. Choose from begin, call,"),
        ("turn twice", "line 1: turn takes 0 words, not 1"),
        ("turn often=2", "line 1: turn has no option 'often'"),
        ("turn times=x", "line 1: 'x' is not a whole number"),
        ("on", "line 1: on what?"),
        ("turn\n  cut everywhere", "line 2: cut takes one of event, between, head, quietly"),
        ("turn\n  call read [1]", "line 2: call takes a name, and an object or text"),
        ("turn\n  fail soon", "line 2: 'soon' is not a whole number"),
        ("turn\n  wait long", "line 2: 'long' is not a number of seconds"),
        ("turn\n  usage tokens=3", "line 2: usage has no option 'tokens'"),
        ("turn\n  say", "line 2: say takes at least 1 words, not 0"),
    ],
)
def test_a_mistake_is_found_when_the_script_is_read(text: str, why: str) -> None:
    with pytest.raises(ScriptError) as caught:
        ModelScript.parse(text)
    assert why in str(caught.value)


def request(text: str, **body: object) -> ModelRequest:
    return ModelRequest("chat", "/", {}, asked(text, **body))


TOOLS = [{"type": "function", "function": {"name": "read"}}]


@every(
    ("line", "fits"),
    [
        ('on "delete *"', True),
        ('on "remove *"', False),
        ('on "*" model=m', True),
        ('on "delete *" model=other', False),
        ("on tool=re*", True),
        ("on tool=write", False),
        ("on has=delete*", True),
        ("on role=user", True),
        ("on system=*", True),
        ("on system=*brief*", False),
    ],
)
def test_a_turn_is_for_what_it_says(line: str, fits: bool) -> None:
    (made,) = ModelScript.parse(line).turns
    assert made.when is not None
    assert made.when(request("delete it", tools=TOOLS)) is fits
    assert made.times is None


def test_a_turn_stops_as_its_steps_do() -> None:
    script = ModelScript.parse('turn\n  say "x"\nturn\n  call read\nturn\n  call read\n  stop length')
    assert [made.stop for made in script.turns] == ["stop", "tool_calls", "length"]
    assert ModelTurn((), "tool_use").stop == "tool_calls"
    assert ModelTurn((), "pause_turn").stop == "pause_turn"


def test_a_script_can_be_had_from_whatever_a_test_has() -> None:
    parsed = ModelScript.parse('turn\n  say "x"')
    assert ModelScript.of(["x"]) == ModelScript.of([turn("x")]) == parsed == ModelScript.of(parsed)
    assert ModelScript.of(parsed, key="k").key == "k"


async def test_a_text_is_played(tmp_path: Path) -> None:
    path = tmp_path / "model.script"
    path.write_text('on "*hello*"\n  say "Hello, " you\nturn\n  say What?\n', encoding="utf-8")
    async with scripted_model(ModelScript.load(path)) as model:
        assert said(await post(model, asked("Well hello!", stream=True))) == "Hello, you"
        assert said(await post(model, asked("Bye", stream=True))) == "What?"
