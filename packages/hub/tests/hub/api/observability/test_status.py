"""How a hub stands, and the metrics made of it."""

from __future__ import annotations

import msgspec
import pytest

from dragoman_hub.api.observability.hub_meters import HubMeters
from dragoman_hub.api.observability.meters import Histogram
from dragoman_hub.api.observability.processes import TreeUse
from dragoman_hub.api.observability.status import (
    LISTED,
    Measured,
    SeenAgent,
    SeenConnection,
    SeenJournal,
    SeenSession,
    SessionState,
    Status,
    status_of,
)
from dragoman_hub.api.observability.usage import AgentUsage, Cost, Tokens, UsageTotals
from tests.hub.api.observability.fakes import ShownHub
from tests.hub.api.observability.strict import parse


def session(name: str, state: SessionState = "idle", **more: float) -> SeenSession:
    return msgspec.structs.replace(SeenSession(session_id=name, agent="review", state=state), **more)


HUB = ShownHub(
    agents=[
        SeenAgent(name="review", state="up", pid=42, sessions=3, restarts=2, started=1_010.0),
        SeenAgent(name="code"),
    ],
    sessions=[
        session("a"),
        session("b", "running", queue=2),
        session("c", "waiting", asking=1, asked=1_090.0),
        session("d", "waiting", asking=2, asked=1_050.0),
    ],
    connections=[
        SeenConnection(token="owner", transport="websocket", lag=10),
        SeenConnection(token="phone", transport="http", lag=5_000),
        SeenConnection(token="phone", transport="websocket"),
    ],
    journal=SeenJournal(address="/data/hub.db", size=4096),
)


def spending() -> UsageTotals:
    spent = UsageTotals()
    spent.saw("review", "a", AgentUsage(tokens=Tokens(total=30, input=10, output=20)))
    spent.saw("review", "a", AgentUsage(cost=Cost(0.5, "USD")))
    return spent


def full(hub: ShownHub = HUB) -> Status:
    appends = Histogram([0.001, 0.01])
    appends.observe(0.0005, times=100)
    uses = {
        "review": TreeUse(processes=2, rss=2048, cpu=1.5, descriptors=9),
        "": TreeUse(processes=1, rss=1024, cpu=9.0, descriptors=7),
    }
    return status_of(hub, Measured(uses, spending(), appends, 12), pid=7, clock=lambda: 1_100.0)


def test_agents_come_with_what_they_use_and_have_spent() -> None:
    up, down = full().agents
    assert (up.name, up.pid, up.restarts, up.processes, up.rss, up.cpu) == ("review", 42, 2, 2, 2048, 1.5)
    assert (up.tokens.input, up.costs) == (10, {"USD": 0.5})
    assert (down.state, down.pid, down.rss, down.costs) == ("stopped", None, None, {})


def test_what_waits_for_somebody_comes_first() -> None:
    assert [one.session_id for one in full().sessions] == ["d", "c", "b", "a"]
    assert [one.lag for one in full().connections] == [5_000, 10, 0]


def test_totals_count_everything_also_what_is_not_listed() -> None:
    status = full()
    assert status.totals.sessions == {"idle": 1, "running": 1, "waiting": 2}
    assert status.totals.connections == {"websocket": 2, "http": 1}
    assert (status.totals.queue, status.totals.asking, status.totals.lag) == (2, 3, 5_000)
    many = full(ShownHub(sessions=[session(str(n)) for n in range(LISTED + 10)]))
    assert len(many.sessions) == LISTED
    crowd = [SeenConnection(token="phone", transport="http") for _ in range(LISTED + 1)]
    assert len(full(ShownHub(connections=crowd)).connections) == LISTED
    assert many.totals.sessions == {"idle": LISTED + 10}


def test_the_journal_says_how_it_does() -> None:
    journal = full().journal
    assert (journal.address, journal.size, journal.entries) == ("/data/hub.db", 4096, 12)
    assert journal.append_p99 == pytest.approx(0.00099)
    assert status_of(HUB, Measured()).journal.append_p99 is None


def test_it_is_told_in_the_words_of_the_wire() -> None:
    told = msgspec.json.decode(msgspec.json.encode(full()))
    assert told["health"] == "ok"
    assert told["sessions"][3] == {
        "sessionId": "a",
        "agent": "review",
        "state": "idle",
        "title": "",
        "cwd": "",
        "queue": 0,
        "asking": 0,
        "asked": None,
        "clients": 0,
        "tokens": 30,
        "costs": {"USD": 0.5},
    }
    assert told["journal"]["appendP99"] is not None
    assert msgspec.convert(told, Status) == full()


def test_a_hub_that_drains_says_so() -> None:
    assert status_of(ShownHub(draining=True), Measured()).health == "draining"


def test_metrics_say_the_same() -> None:
    read = parse(HubMeters().text(full()))
    assert read["dragoman_info"].value(version="1.2.3") == 1
    assert read["dragoman_sessions"].value(state="waiting") == 2
    assert read["dragoman_connections"].value(transport="websocket") == 2
    assert read["dragoman_agent_up"].value(agent="review") == 1
    assert read["dragoman_agent_up"].value(agent="code") == 0
    assert read["dragoman_agent_restarts_total"].value(agent="review") == 2
    assert read["dragoman_agent_rss_bytes"].value(agent="review") == 2048
    assert read["dragoman_agent_cpu_seconds_total"].value(agent="review") == 1.5
    assert read["dragoman_agent_tokens_total"].value(agent="review", kind="output") == 20
    assert read["dragoman_agent_cost_total"].value(agent="review", currency="USD") == 0.5
    assert read["dragoman_queue_length"].value() == 2
    assert read["dragoman_approvals_open"].value() == 3
    assert read["dragoman_follower_lag_bytes"].value() == 5_000
    assert read["dragoman_journal_bytes"].value() == 4096
    assert read["dragoman_rss_bytes"].value() == 1024


def test_what_is_gone_goes_down_to_nothing() -> None:
    meters = HubMeters()
    meters.text(full())
    read = parse(meters.text(full(ShownHub())))
    assert read["dragoman_sessions"].value(state="waiting") == 0
    assert read["dragoman_connections"].value(transport="http") == 0
    assert read["dragoman_agent_up"].samples == {}


def test_the_time_of_an_agent_adds_up_over_its_processes() -> None:
    meters = HubMeters()
    text = b""
    for pid, cpu in ((1, 2.0), (1, 3.0), (1, 2.5), (2, 1.0), (2, 1.5)):
        hub = ShownHub(agents=[SeenAgent(name="review", state="up", pid=pid)])
        use = TreeUse(processes=1, rss=1, cpu=cpu, descriptors=None)
        text = meters.text(status_of(hub, Measured({"review": use})))
    assert parse(text)["dragoman_agent_cpu_seconds_total"].value(agent="review") == 4.5


def test_every_metric_has_our_name_and_a_meaning() -> None:
    for name, family in parse(HubMeters().text(full())).items():
        assert name.startswith("dragoman_")
        assert family.meaning.endswith(".")
