"""The coder's login: which variables to set before its first use.

Nothing is sent anywhere to find that out. A server that somebody named by its address may do without a key,
as local ones do; the vendors' own never do.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from dragoman.errors import ErrorAnswer
from dragoman.schema.v1 import AuthMethod, AuthMethodAgent
from dragoman_app.agents.code.config import KEY, KEYS, BadConfig, CoderConfig, ModelEndpoint, endpoint

AUTH_REQUIRED = -32000
INVALID_PARAMS = -32602

_METHODS = {
    "openai": (
        "OpenAI",
        "Start the agent with OPENAI_API_KEY and DRAGOMAN_MODEL (such as openai:gpt-6.1-sol) in its "
        "environment",
        ["OPENAI_API_KEY", "DRAGOMAN_MODEL"],
    ),
    "anthropic": (
        "Anthropic",
        "Start the agent with ANTHROPIC_API_KEY and DRAGOMAN_MODEL (such as anthropic:claude-sonnet-5-5) in "
        "its environment",
        ["ANTHROPIC_API_KEY", "DRAGOMAN_MODEL"],
    ),
    "server": (
        "Another server",
        "Start the agent with DRAGOMAN_BASE_URL (such as http://localhost:11434/v1), DRAGOMAN_MODEL and, if "
        "the server wants one, DRAGOMAN_API_KEY in its environment",
        ["DRAGOMAN_BASE_URL", "DRAGOMAN_MODEL", "DRAGOMAN_API_KEY"],
    ),
}


def auth_methods() -> list[AuthMethod]:
    """Return one login method for each way to a model. Version 1 has no kind for variables: the text and
    `_meta` name them.
    """
    return [
        AuthMethodAgent(
            id=method,
            name=name,
            description=words,
            meta={"dragoman": {"kind": "env", "variables": variables}},
        )
        for method, (name, words, variables) in _METHODS.items()
    ]


def auth_required(why: str) -> ErrorAnswer:
    """Return the protocol's login error, which names the possible logins."""
    ways = [
        {"id": method, "name": name, "description": words} for method, (name, words, _) in _METHODS.items()
    ]
    return ErrorAnswer(AUTH_REQUIRED, f"Authentication required: {why}", {"authMethods": ways})


def reach(config: CoderConfig, model: str | None, environ: Mapping[str, str] = os.environ) -> ModelEndpoint:
    """Return how to reach the model; raises the protocol's login error, which says exactly
    what is missing.
    """
    if model is None:
        raise auth_required(
            "no model is configured. Set DRAGOMAN_MODEL, for example to openai:gpt-6.1-sol or "
            "anthropic:claude-sonnet-5-5, and the key of that vendor, OPENAI_API_KEY or "
            "ANTHROPIC_API_KEY; or DRAGOMAN_BASE_URL for a server of your own. The options --model, "
            "--key-file and --base-url do the same"
        )
    try:
        model_endpoint = endpoint(config, model, environ)
    except BadConfig as error:
        raise auth_required(str(error)) from None
    if model_endpoint.key is None and model_endpoint.base_url is None:
        variable = config.key_env or KEYS[model_endpoint.api]
        raise auth_required(f"there is no key for {model}. Set {variable} or {KEY}, or give --key-file")
    return model_endpoint


def log_in(config: CoderConfig, method: str, environ: Mapping[str, str] = os.environ) -> None:
    """Handle `authenticate`: no variable can be set from here, so only check whether all are set."""
    if method not in _METHODS:
        raise ErrorAnswer(INVALID_PARAMS, "Invalid params: there is no such login method")
    reach(config, config.model, environ)
