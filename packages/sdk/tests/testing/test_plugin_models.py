from dragoman.testing.plugin import ModelFixture
from tests.testing.models.client import asked, post, said


async def test_the_plugin_has_models(scripted_model: ModelFixture) -> None:
    async with scripted_model(["Hello"]) as model:
        assert said(await post(model, asked(stream=True))) == "Hello"
