"""Ways to log in, and what is missing for them."""

from dragoman_local.known.doctor.logins import advice_for, read_logins, state_of
from tests.every import every

METHODS = [
    {"id": "web", "name": "Log in with a browser"},
    {"id": "tty", "name": "Terminal", "type": "terminal", "args": ["login", "two words"]},
    {"id": "env", "name": "Variables", "type": "env_var", "vars": [{"name": "A_TOKEN"}, {"name": "B_URL"}]},
    {"id": "once", "name": "Variable", "type": "env_var", "varName": "C_KEY"},
    {"id": "told", "name": "Key", "description": "Requires setting `SOME_API_KEY` first."},
    {"id": "odd", "name": "Odd", "type": "oauth9"},
    {"name": "without an id"},
    3,
]


def states(given: dict[str, str], ours: dict[str, str]) -> list[str]:
    return [
        state_of(one, environment=given, ours=ours, command=["agent", "--acp"])
        for one in read_logins(METHODS)
    ]


def test_each_way_says_what_it_wants() -> None:
    assert states({"A_TOKEN": "x"}, {"C_KEY": "y"}) == [
        "web (Log in with a browser): the agent does it itself",
        "tty (Terminal): in a terminal, agent --acp login 'two words'",
        "env (Variables): A_TOKEN is set, B_URL is not set",
        "once (Variable): C_KEY is set here but not handed on",
        "told (Key): SOME_API_KEY is not set",
        "odd (Odd): of the unknown kind 'oauth9'",
    ]


@every("methods", [None, {}, "x", 3, []])
def test_what_is_no_list_offers_nothing(methods: object) -> None:
    assert read_logins(methods) == []


def advice(ids: str, *, given: dict[str, str] | None = None, ours: dict[str, str] | None = None) -> str:
    chosen = [one for one in read_logins(METHODS) if one.id in ids.split()]
    return advice_for(chosen, name="agent", environment=given or {}, ours=ours or {}, command=["agent"])


def test_the_easiest_way_is_advised() -> None:
    assert advice("web env tty", ours={"A_TOKEN": "x"}).startswith("A_TOKEN is set here but not handed on")
    assert advice("web env tty") == "log in once in a terminal: agent login 'two words'"
    assert advice("web told").startswith("set SOME_API_KEY and name it in `allow`")
    assert advice("web") == "log in: dragoman agents login agent web"
    assert advice("").startswith("the agent offers no way to log in")


def test_no_value_is_ever_shown() -> None:
    assert "hunter2" not in " ".join(states({"A_TOKEN": "hunter2"}, {"C_KEY": "hunter2"}))
