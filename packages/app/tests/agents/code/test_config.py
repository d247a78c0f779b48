"""Where the coder's configuration comes from, and to whom a key is sent."""

from pathlib import Path

import pytest

from dragoman.errors import ErrorAnswer
from dragoman_app.agents.code.config import (
    BadConfig,
    CoderConfig,
    config_path,
    endpoint,
    load_config,
    split_model,
)
from dragoman_app.agents.code.login import log_in, reach
from tests.every import every


def written(folder: Path, text: str) -> dict[str, str]:
    """An environment whose file for the coder has this text."""
    (folder / "dragoman").mkdir()
    (folder / "dragoman" / "code.toml").write_text(text)
    return {"XDG_CONFIG_HOME": str(folder)}


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    environ = written(tmp_path, 'model = "file"\nbase_url = "http://file"\nmax_tokens = 7')
    environ |= {"DRAGOMAN_MODEL": "environment", "DRAGOMAN_BASE_URL": "http://environment"}
    config = load_config({"model": "line", "base_url": None}, environ=environ)
    assert (config.model, config.base_url, config.max_tokens) == ("line", "http://environment", 7)


def test_without_anything_there_is_no_model(tmp_path: Path) -> None:
    assert load_config(environ={"XDG_CONFIG_HOME": str(tmp_path)}).model is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("model = 3", "Expected `str"),
        ("modle = 'x'", "unknown field `modle`"),
        ("model = ", "Invalid value"),
        ("api = 'other'", "Invalid enum value 'other'"),
    ],
)
def test_a_file_that_makes_no_sense_is_named_with_the_reason(text: str, why: str, tmp_path: Path) -> None:
    environ = written(tmp_path, text)
    with pytest.raises(BadConfig) as caught:
        load_config(environ=environ)
    assert str(config_path(environ)) in str(caught.value)
    assert why in str(caught.value)


def test_a_file_that_was_named_must_exist(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="no such file"):
        load_config(file=str(tmp_path / "none.toml"))


@every(
    ("name", "api", "expected"),
    [
        ("openai:gpt-5", None, ("openai", "gpt-5")),
        ("anthropic:claude-x", "openai", ("anthropic", "claude-x")),
        ("claude-x", None, ("anthropic", "claude-x")),
        ("claude-x", "openai", ("openai", "claude-x")),
        ("qwen3:8b", None, ("openai", "qwen3:8b")),
        ("openai:gpt-5", "responses", ("responses", "gpt-5")),
        ("gpt-5", "responses", ("responses", "gpt-5")),
    ],
)
def test_a_name_says_whose_model_it_is(name: str, api: str | None, expected: tuple[str, str]) -> None:
    assert split_model(name, api) == expected  # type: ignore[arg-type]


def test_a_vendors_key_is_not_sent_to_a_server_that_somebody_named() -> None:
    environ = {"OPENAI_API_KEY": "sk-vendor"}
    config = CoderConfig(model="m", base_url="http://elsewhere/v1")
    assert endpoint(config, "m", environ).key is None
    assert endpoint(config, "m", {**environ, "DRAGOMAN_API_KEY": "mine"}).key == "mine"
    assert endpoint(CoderConfig(model="m"), "m", environ).key == "sk-vendor"
    # The vendor's own variable for the address goes with the vendor's key.
    proxied = endpoint(CoderConfig(model="m"), "m", {**environ, "OPENAI_BASE_URL": "http://proxy/v1"})
    assert (proxied.base_url, proxied.key) == ("http://proxy/v1", "sk-vendor")


def test_a_key_is_read_from_a_file_beside_the_configuration(tmp_path: Path) -> None:
    environ = written(tmp_path, 'model = "m"\nkey_file = "key"')
    (tmp_path / "dragoman" / "key").write_text("sk-file\n")
    assert endpoint(load_config(environ=environ), "m", environ).key == "sk-file"


def test_a_key_is_not_shown() -> None:
    assert "sk-1" not in repr(endpoint(CoderConfig(model="m"), "m", {"OPENAI_API_KEY": "sk-1"}))


def test_what_is_missing_is_said_exactly(tmp_path: Path) -> None:
    with pytest.raises(ErrorAnswer, match="Set DRAGOMAN_MODEL") as caught:
        reach(CoderConfig(), None, {})
    assert caught.value.code == -32000
    assert [way["id"] for way in caught.value.data["authMethods"]] == ["openai", "anthropic", "server"]
    with pytest.raises(ErrorAnswer, match="Set ANTHROPIC_API_KEY or DRAGOMAN_API_KEY"):
        reach(CoderConfig(), "anthropic:claude-x", {})
    with pytest.raises(ErrorAnswer, match=r"the key cannot be read from .*no-key: No such file"):
        reach(CoderConfig(key_file=str(tmp_path / "no-key")), "gpt", {})
    assert reach(CoderConfig(base_url="http://localhost:1/v1"), "qwen", {}).key is None


def test_a_login_says_whether_all_is_set() -> None:
    with pytest.raises(ErrorAnswer, match="no such login method"):
        log_in(CoderConfig(), "magic", {})
    with pytest.raises(ErrorAnswer, match="no model is configured"):
        log_in(CoderConfig(), "openai", {"OPENAI_API_KEY": "k"})
    log_in(CoderConfig(model="gpt"), "openai", {"OPENAI_API_KEY": "k"})
