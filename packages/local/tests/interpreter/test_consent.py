"""A policy consents where a dialect cannot ask; what it would ask a person, it refuses."""

from pathlib import Path
from typing import Any

import pytest

from dragoman.dialect import Consent
from dragoman.errors import LocalMistake
from dragoman_local.interpreter.consent import consent_of
from dragoman_local.workspace.policy.audit import AuditLog, read_entries

RULES = """
[[rule]]
decision = "deny"
command = "git push"
[[rule]]
decision = "ask"
command = "git fetch"
[[rule]]
decision = "allow"
command = ["git **", "ls **"]
"""

OPTIONS = [
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


@pytest.fixture
def audit(tmp_path: Path) -> AuditLog:
    return AuditLog(str(tmp_path / "audit.ndjson"))


@pytest.fixture
def consent(tmp_path: Path, audit: AuditLog, monkeypatch: pytest.MonkeyPatch) -> Consent:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "nobody"))
    (tmp_path / "rules.toml").write_text(RULES)
    return consent_of(str(tmp_path / "rules.toml"), cwd=str(tmp_path), audit=audit)


def question(command: Any, options: Any = OPTIONS) -> dict[str, Any]:
    call = {"toolCallId": "c", "kind": "execute", "title": "Run", "rawInput": {"command": command}}
    return {"sessionId": "s", "toolCall": call, "options": options}


def test_what_a_rule_allows_is_allowed_once(consent: Consent) -> None:
    assert consent(question("git status")) == "yes"


@pytest.mark.parametrize("command", ["git push", "git fetch", "make", "git status && git push", "sudo ls"])
def test_what_is_denied_asked_or_unknown_is_refused(consent: Consent, command: str) -> None:
    assert consent(question(command)) == "no"


def test_without_an_option_that_says_so_nothing_is_chosen(consent: Consent) -> None:
    assert consent(question("git status", OPTIONS[:1])) is None
    assert consent(question("git push", OPTIONS[:2])) is None
    assert consent(question("git status", [])) is None


@pytest.mark.parametrize("params", [{}, {"sessionId": "s"}, question(7, options="yes"), {"toolCall": []}])
def test_what_cannot_be_read_is_not_permitted(consent: Consent, params: dict[str, Any]) -> None:
    assert consent(params) is None


def test_every_decision_is_in_the_log(consent: Consent, audit: AuditLog) -> None:
    consent(question("git status"))
    consent(question("git fetch"))
    entries = list(read_entries(Path(audit.path).read_text()))
    assert [(entry["outcome"], entry["option"]) for entry in entries] == [("allow", "yes"), ("deny", "no")]
    assert entries[0]["command"] == "git status"


def test_what_cannot_be_written_down_is_not_permitted(
    consent: Consent, audit: AuditLog, tmp_path: Path
) -> None:
    Path(audit.path).mkdir()
    assert consent(question("git status")) == "no"


def test_a_policy_that_cannot_be_read_is_said_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(LocalMistake):
        consent_of(str(tmp_path / "missing.toml"), cwd=str(tmp_path))
