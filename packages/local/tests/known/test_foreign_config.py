"""What other products' files bring."""

import pytest

from dragoman.errors import LocalMistake
from dragoman_local.known.foreign_config import PRODUCTS, our_name, parse_acpx, parse_jetbrains, parse_zed
from tests.every import every

ZED = b"""
// settings of an editor
{
  "theme": "dark",
  "agent_servers": {
    "Night Owl": { "type": "custom", "command": "owl", "args": ["--acp"], "env": { "OWL_KEY": "hoo-hoo" } },
    "plain": { "command": "/opt/plain/run" },
    "older": { "command": { "path": "old", "args": ["serve"], "env": { "A": "b" } } },
    "from-registry": { "type": "registry" },
    "settings-only": { "default_mode": "plan" },
    "broken": { "command": 3 },
    "bad args": { "command": "x", "args": "--acp" },
    "bad env": { "command": "x", "env": { "A": 1 } },
    "???": { "command": "x" },
    "night owl": { "command": "second" },
    "text": "x",
  },
}
"""

JETBRAINS = b"""
{
  "default_mcp_settings": {},
  "agent_servers": {
    "Reviewer": {
      "command": "/srv/review", "args": [], "env": { "TOKEN": "t0ken" }, "use_idea_mcp": true
    },
    "empty": { "command": "" },
    "listed env": { "command": "x", "env": [ { "name": "A", "value": "1" } ] }
  }
}
"""

ACPX = b"""
{
  "defaultAgent": "one",
  "agents": {
    "one": { "argv": ["./bin/one", "acp", "two words"] },
    "two": { "command": "two", "args": ["--profile", "ci"] },
    "line": { "command": "node 'my script.mjs' --acp" },
    "open": { "command": "node 'my script" },
    "none": {},
    "empty": { "argv": [] },
    "mixed": { "argv": ["a", 1] }
  },
  "auth": { "some_key": "s3cret-value" }
}
"""


def test_zed_brings_its_custom_agents() -> None:
    imported = parse_zed(ZED, "settings.json")
    taken = {agent.name: (agent.command, dict(agent.env), agent.title) for agent in imported.agents}
    assert taken == {
        "night-owl": (("owl", "--acp"), {"OWL_KEY": "hoo-hoo"}, "Night Owl"),
        "plain": (("/opt/plain/run",), {}, ""),
        "older": (("old", "serve"), {"A": "b"}, ""),
    }


def test_what_zed_has_and_we_cannot_use_is_told_with_the_reason() -> None:
    skipped = dict(parse_zed(ZED, "settings.json").skipped)
    assert skipped == {
        "from-registry": "Zed installs this agent itself; to use it here, install it on PATH",
        "settings-only": "it only has settings of Zed, no command",
        "broken": "its command is not text",
        "bad args": "its args are not a list",
        "bad env": "its env has an entry that is not a name with a text",
        "???": "no name can be made of this one; add it with `dragoman agents add`",
        "night owl": "another one would be called night-owl as well",
        "text": "it is not an object",
    }


def test_jetbrains_brings_its_agents() -> None:
    imported = parse_jetbrains(JETBRAINS, "acp.json")
    taken = {agent.name: (agent.command, dict(agent.env)) for agent in imported.agents}
    assert taken == {"reviewer": (("/srv/review",), {"TOKEN": "t0ken"}), "listed-env": (("x",), {"A": "1"})}
    assert dict(imported.skipped) == {"empty": "its command is not text"}


def test_acpx_brings_its_agents_in_all_three_forms() -> None:
    imported = parse_acpx(ACPX, "config.json")
    assert {agent.name: agent.command for agent in imported.agents} == {
        "one": ("./bin/one", "acp", "two words"),
        "two": ("two", "--profile", "ci"),
        "line": ("node", "my script.mjs", "--acp"),
    }
    assert dict(imported.skipped) == {
        "open": "its command is not a command line: a quote is not closed",
        "none": "it has no command",
        "empty": "its command is empty",
        "mixed": "its argv are not a list of words",
    }


def test_acpx_keeps_its_credentials() -> None:
    imported = parse_acpx(ACPX, "config.json")
    assert "auth" in imported.notes[0]
    assert "s3cret" not in repr(imported)


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_file_without_agents_brings_nothing(product: str) -> None:
    imported = PRODUCTS[product].parse(b"{}", "x")
    assert (imported.agents, imported.skipped) == ((), ())


@every("product", PRODUCTS)
@every("text", [b"[1]", b'{"agent_servers": 3, "agents": 3}', b"{"])
def test_a_file_that_is_something_else_is_refused(product: str, text: bytes) -> None:
    with pytest.raises(LocalMistake, match="x:"):
        PRODUCTS[product].parse(text, "x")


def test_no_secret_is_in_any_text_about_an_import() -> None:
    told = repr([parse_zed(ZED, "x"), parse_jetbrains(JETBRAINS, "x"), parse_acpx(ACPX, "x")])
    assert not any(secret in told for secret in ("hoo-hoo", "t0ken", "s3cret"))


@every(
    ("title", "name"),
    [("My Agent (beta)", "my-agent-beta"), ("x", "x"), ("--x", "x"), ("A.B_c", "a.b_c"), ("日本", "")],
)
def test_a_title_becomes_a_name(title: str, name: str) -> None:
    assert our_name(title) == name
