from pathlib import Path
from typing import Any

import pytest

from dragoman import Agent, Turn
from dragoman.schema import v1
from dragoman_app.tui.ports import ChatRequest
from tests.tui.stage import StageBackend, on_stage

pytestmark = pytest.mark.bound(60)

SCHEMA = v1.ElicitationSchema(
    properties={
        "branch": v1.StringPropertySchema(title="Branch [b]", min_length=3),
        "count": v1.IntegerPropertySchema(title="How many", minimum=1, maximum=5),
        "sure": v1.BooleanPropertySchema(title="Sure?"),
        "colour": v1.StringPropertySchema(title="Colour", enum=["red", "green"]),
        "parts": v1.MultiSelectPropertySchema(
            title="Parts", items=v1.StringMultiSelectItems(enum=["one", "two", "three"])
        ),
        "token": v1.StringPropertySchema(title="Token"),
    },
    required=["branch"],
)


def curious() -> Agent:
    agent = Agent("curious")

    @agent.prompt
    async def ask(turn: Turn) -> None:
        if turn.text == "url":
            request: v1.CreateElicitationRequest = v1.ElicitationUrlMode(
                message="Log in",
                elicitation_id="e",
                url="http://user@xn--e1afmkfd.example/\x1b",
                session_id=turn.session.id,
            )
        else:
            request = v1.ElicitationFormMode(
                message="A few\nthings", requested_schema=SCHEMA, session_id=turn.session.id
            )
        result: Any = v1.CreateElicitationResponse  # a union, which a type checker takes for no type
        answer = await turn.client.ask("elicitation/create", request, result)
        await turn.say(f"got {type(answer).__name__} {getattr(answer, 'content', None)}")

    return agent


async def test_a_form_is_filled_in_checked_and_sent(project: Path) -> None:
    backend = StageBackend(project, curious=curious())
    async with on_stage(backend, ChatRequest(agent="curious", cwd=str(project)), size=(80, 40)) as eyes:
        await eyes.see("● ready")
        await eyes.say("form")
        await eyes.see(
            "curious asks:", "things", "Branch [b]", "How many", "Colour", "seems to ask for a secret"
        )
        await eyes.press("ctrl+s")
        await eyes.see("Branch [b]: this one is needed")
        await eyes.press(*"ma", "tab", "7", "ctrl+s")
        await eyes.see("at least 3 characters")
        await eyes.press("n", "ctrl+s")
        await eyes.see("How many: it must be at most 5")
        await eyes.press("backspace", "3", "tab", "enter", "down", "enter")
        await eyes.press("tab", "tab", "down", "space", "down", "down", "space")
        await eyes.see("☐ two", "☑ three")
        await eyes.press("ctrl+s")
        await eyes.see("got ElicitationAcceptAction", "'branch': 'man', 'count': 3, 'sure': True", "'parts':")
        await eyes.lose("Question")

        await eyes.say("form")
        await eyes.see("curious asks:")
        await eyes.press("f4")
        await eyes.see("got ElicitationDeclineAction")
        await eyes.lose("Question")

        await eyes.say("url")
        await eyes.see(
            "Address: http://user@xn--e1afmkfd.example/␛",
            "not https but http",
            "letters that look",
            "a login",
        )
        await eyes.press("escape")
        await eyes.see("got ElicitationCancelAction")
