"""Which model the coder uses, and how to reach it: from the command line, the environment and a file.

Whatever is said more closely wins: the command line over the environment over the file. A key that belongs
to one vendor (`OPENAI_API_KEY`) is sent to that vendor only, never to a server that somebody else named.
Nothing here speaks to anyone. The key's file is read anew for each turn, so that a new key needs no restart.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from dragoman.decoders import convert

Api = Literal["openai", "responses", "anthropic"]
"""The wire format: OpenAI's chat completions, which most servers support, OpenAI's newer format, or
Anthropic's.
"""

KEYS: dict[Api, str] = {
    "openai": "OPENAI_API_KEY",
    "responses": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
}
ADDRESSES: dict[Api, str] = {
    "openai": "OPENAI_BASE_URL",
    "responses": "OPENAI_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
}
KEY = "DRAGOMAN_API_KEY"

ENVIRONMENT = {
    "DRAGOMAN_MODEL": "model",
    "DRAGOMAN_BASE_URL": "base_url",
    "DRAGOMAN_API": "api",
    "DRAGOMAN_KEY_FILE": "key_file",
    "DRAGOMAN_SYSTEM": "system",
}
"""The environment variables for settings of the file."""


class BadConfig(Exception):
    """The configuration is invalid; the text names the place."""


class Price(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The price of a million tokens, for models that are in no price list."""

    input: float
    output: float
    currency: str = "USD"


class CoderConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings. The names are those in the file."""

    model: str | None = None
    """The name of the model, with `openai:` or `anthropic:` before it if the name alone does not show the
    vendor.
    """
    models: list[str] = field(default_factory=list)
    """Further models for the option `model` of every session."""
    api: Api | None = None
    """The wire format of the server, if the model's name does not say it."""
    base_url: str | None = None
    key_env: str | None = None
    """The variable with the key, if it has an unusual name."""
    key_file: str | None = None
    system: str | None = None
    """A file that replaces the system prompt."""
    max_tokens: int | None = None
    """The most tokens of one answer; None leaves it to the model."""
    max_turn_requests: int = 100
    """The most requests to the model in one turn. A turn that needs more is stuck in a loop."""
    context_size: int | None = None
    """The model's context in tokens; None uses the known size."""
    compact_at: float = 0.8
    """The share of the context above which the conversation is compacted."""
    retries: int = 4
    """How often a request is repeated after a temporary failure."""
    retry_seconds: float = 1.0
    """The first wait before a repetition; each further one is twice as long."""
    patience: float = 60.0
    """The longest wait that a server may request before the turn is given up."""
    price: Price | None = None
    sessions: str | None = None
    """The journal of the sessions, if it is not in the usual place."""
    config_dir: str | None = None
    """The folder of the file, for its relative paths."""

    @property
    def offered_models(self) -> list[str]:
        """The models of the option, the default model first."""
        default = [] if self.model is None else [self.model]
        return list(dict.fromkeys([*default, *self.models]))

    def path(self, name: str) -> Path:
        """Resolve a path of the file: `~` is the home folder, a relative path starts at the file's folder."""
        path = Path(name).expanduser()
        return path if path.is_absolute() or self.config_dir is None else Path(self.config_dir) / path


NO_KEY = "none"
"""The placeholder for servers without keys: the vendors' clients always send a key."""


class ModelEndpoint(Struct, frozen=True, kw_only=True):
    """A model, and how to reach it."""

    api: Api
    model: str
    base_url: str | None
    """None is the vendor's own address."""
    key: str | None

    def __repr__(self) -> str:  # the key must not slip into a log
        return f"ModelEndpoint(api={self.api!r}, model={self.model!r}, base_url={self.base_url!r})"


def config_path(environ: Mapping[str, str]) -> Path:
    """`dragoman/code.toml` in the configuration folder."""
    if os.name == "nt":
        folder = Path(environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    else:
        config_home = environ.get("XDG_CONFIG_HOME", "")
        folder = Path(config_home) if config_home.startswith("/") else Path.home() / ".config"
    return folder / "dragoman" / "code.toml"


def load_config(
    options: Mapping[str, Any] | None = None,
    *,
    file: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> CoderConfig:
    """Load the configuration; `options` are from the command line. Raises `BadConfig`."""
    path = config_path(environ) if file is None else Path(file)
    fields: dict[str, Any] = _read(path, must_exist=file is not None)
    if fields:
        fields["config_dir"] = str(path.parent.absolute())
    here = {
        name: os.path.abspath(environ[variable]) if name in _PATHS else environ[variable]
        for variable, name in ENVIRONMENT.items()
        if environ.get(variable)
    }
    overrides = {
        name: os.path.abspath(value) if name in _PATHS else value
        for name, value in (options or {}).items()
        if value is not None
    }
    try:
        return convert({**fields, **here, **overrides}, CoderConfig)
    except msgspec.ValidationError as error:
        raise BadConfig(f"{path if fields else 'the environment'}: {error}") from None


_PATHS = ("key_file", "system")


def _read(path: Path, *, must_exist: bool) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        if must_exist:
            raise BadConfig(f"{path}: there is no such file") from None
        return {}
    except OSError as error:
        raise BadConfig(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path}: {error}") from None


def split_model(name: str, api: Api | None) -> tuple[Api, str]:
    """Split a model's name into the wire format and the bare name."""
    vendor, colon, rest = name.partition(":")
    if colon and vendor == "anthropic":
        return "anthropic", rest
    if colon and vendor == "openai":  # the vendor has two formats
        return ("responses" if api == "responses" else "openai"), rest
    return api or ("anthropic" if name.startswith("claude") else "openai"), name


def endpoint(config: CoderConfig, model: str, environ: Mapping[str, str] = os.environ) -> ModelEndpoint:
    """Return the endpoint of this model. Raises `BadConfig` if the key's file can't be read."""
    api, name = split_model(model, config.api)
    base_url = config.base_url or environ.get(ADDRESSES[api]) or None
    return ModelEndpoint(api=api, model=name, base_url=base_url, key=_key(config, api, environ))


def _key(config: CoderConfig, api: Api, environ: Mapping[str, str]) -> str | None:
    if config.key_file is not None:
        path = config.path(config.key_file)
        try:
            return path.read_text("utf-8").strip() or None
        except (OSError, UnicodeDecodeError) as error:
            raise BadConfig(f"the key cannot be read from {path}: {_why(error)}") from None
    names = [config.key_env] if config.key_env else [KEY]
    if config.base_url is None:  # a vendor's key is for that vendor, or for whom its own variable names
        names.append(KEYS[api])
    return next((value for name in names if (value := environ.get(name, "").strip())), None)


def _why(error: Exception) -> str:
    return (error.strerror or "it cannot be opened") if isinstance(error, OSError) else "it is not UTF-8"
