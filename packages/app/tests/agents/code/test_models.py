"""The models of a server of one's own are offered in the session."""

from pathlib import Path
from typing import Any

import pytest

from dragoman.schema.v1 import (
    ConfigOptionUpdate,
    SessionConfigOption,
    SessionConfigSelect,
    SessionConfigSelectOption,
)
from dragoman.testing.models import turn
from dragoman_app.agents.code import models
from dragoman_app.agents.code.config import ModelEndpoint
from tests.agents.code.coder_runs import coding

pytestmark = pytest.mark.bound(30)

SCRIPT = """
model tiny huge
turn
  say "A."
"""


def offered(options: list[SessionConfigOption]) -> list[str]:
    selects = [option for option in options if isinstance(option, SessionConfigSelect)]
    (found,) = [option for option in selects if option.id == "model"]
    return [choice.value for choice in found.options if isinstance(choice, SessionConfigSelectOption)]


@pytest.mark.parametrize("api", ["openai", "anthropic"])
async def test_what_the_server_lists_can_be_chosen(api: str, tmp_path: Path) -> None:
    async with coding(SCRIPT, tmp_path, api=api, model="tiny") as coder:
        async for update in coder.session.listen():
            if isinstance(update, ConfigOptionUpdate):
                assert offered(update.config_options) == ["tiny", "huge"]
                break
        await coder.session.set_config_option("model", "huge")
        await coder.prompt("Hi")
    assert [request.model for request in coder.model.requests] == ["huge"]


async def test_a_server_that_was_named_without_a_model_uses_its_first(tmp_path: Path) -> None:
    async with coding(SCRIPT, tmp_path, model=None) as coder:
        assert (await coder.prompt("Hi"))[0] == "end_turn"
    assert [request.model for request in coder.model.requests] == ["tiny"]


async def test_what_somebody_has_listed_is_all_that_is_offered(tmp_path: Path) -> None:
    async with coding(SCRIPT, tmp_path, models=["large"]) as coder:
        _, updates = await coder.prompt("Hi")
        assert offered(list(coder.session.config_options)) == ["small", "large"]
    assert not [update for update in updates if isinstance(update, ConfigOptionUpdate)]


@pytest.mark.parametrize("api", ["openai", "anthropic"])
async def test_the_turns_of_a_session_share_a_client_which_ends_with_it(
    api: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    make = models.make_model

    def make_and_keep(endpoint: ModelEndpoint) -> Any:
        made.append(make(endpoint))
        return made[-1]

    monkeypatch.setattr(models, "make_model", make_and_keep)

    def closed() -> list[bool]:
        return [model.provider.client.is_closed() for model in made]

    script = [turn("A."), turn("B."), turn("C.")]
    async with coding(script, tmp_path, api=api, model="tiny", models=["huge"]) as coder:
        for _ in range(2):
            assert (await coder.prompt("Hi"))[0] == "end_turn"
        assert closed() == [False]
        await coder.session.set_config_option("model", "huge")
        await coder.prompt("Hi")
        assert closed() == [True, False]
    assert closed() == [True, True]
