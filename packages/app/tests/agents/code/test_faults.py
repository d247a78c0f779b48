"""When a server can be asked again: all the ways in which servers say it."""

from datetime import UTC, datetime

from dragoman_app.agents.code.faults import ModelFault, seconds_until
from tests.every import every

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@every(
    ("text", "seconds"),
    [
        ("12", 12.0),
        ("0.5", 0.5),
        ("-5", 0.0),
        ("1m30s", 90.0),
        ("20ms", 0.02),
        ("6h0m5s", 21_605.0),
        ("2026-01-01T00:01:00Z", 60.0),
        ("2026-01-01T00:01:00", 60.0),
        ("2025-01-01T00:00:00Z", 0.0),
        (str(int(NOW.timestamp()) + 30), 30.0),
        (str(1000 * (int(NOW.timestamp()) + 30)), 30.0),
        ("soon", None),
        ("1m30", None),
        ("nan", None),
        ("inf", None),
        ("2999-01-01T00:00:00Z", None),
        ("", None),
    ],
)
def test_a_reset_is_read_in_every_form(text: str, seconds: float | None) -> None:
    assert seconds_until(text, now=NOW) == seconds


def test_an_error_says_when_to_come_back() -> None:
    answer = ModelFault("quota", "The quota is used up.", 90.0).answer(now=NOW)
    assert answer.message == "The quota is used up. It can be asked again at 2026-01-01 00:01:30 UTC."
    assert answer.data == {"kind": "quota", "retryAfter": 90.0, "resetsAt": "2026-01-01T00:01:30+00:00"}


def test_a_refused_key_is_the_protocols_login_error() -> None:
    answer = ModelFault("auth", "the server refuses the key.").answer()
    assert answer.code == -32000
    assert answer.data["authMethods"]
