"""Reports: every format tells the same verdicts, shows frames without secrets, and praises nothing unseen."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from xml.etree import ElementTree as xml

from dragoman_check.report import (
    FORMATS,
    CheckReport,
    PackItem,
    PackResult,
    ReportPart,
    block,
    peer_name,
    render,
)
from dragoman_check.report.model import shorten
from dragoman_check.report.text import as_text
from dragoman_check.verdict import Verdict, Violation
from tests.check.conversations import agent, client, make_recording
from tests.every import every

EVIL = '<script>alert("x")</script>\x1b[31m&'
RECORDING = make_recording(
    client("initialize", {"protocolVersion": 1, "clientInfo": {"name": "ed"}}, id=1),
    agent(result={"protocolVersion": 1, "agentInfo": {"name": "a", "version": "2"}}, id=1),
    client("session/prompt", {"sessionId": "s", "text": f"SECRET {EVIL}"}, id=2),
    agent(result={"stopReason": EVIL}, id=2),
)


def finding(why: str = "wrong", *frames: int) -> Violation:
    return Violation(rule="a_rule", why=why, fix="Do better.", connection=1, frames=frames or (4, 3))


def verdicts() -> list[Verdict]:
    return [
        Verdict(requirement="TURN-04", status="failed", level="SCHEMA", text="is <one>", places=9, broken=5,
                findings=[finding(f"no reason {EVIL}")] * 5),
        Verdict(requirement="TURN-06", status="warned", level="DECL", text="order", places=1, broken=1,
                findings=[finding("late")]),
        Verdict(requirement="TURN-16", status="recorded", level="PROBE", text="second", places=1, broken=1,
                findings=[finding("both ran", 999)]),
        Verdict(requirement="TURN-23", status="waived", level="DECL", text="errors", places=1, broken=1,
                reason="known", findings=[finding()]),
        Verdict(requirement="TURN-07", status="passed", level="SCHEMA", text="session", places=3),
        Verdict(requirement="TURN-15", status="not exercised", level="DECL", text="memory"),
        Verdict(requirement="LOAD-03", status="not applicable", level="MUST", text="replay", reason="no"),
        Verdict(requirement="TURN-17", status="blocked", level="DECL", text="two", reason="a login"),
    ]  # fmt: skip


def report() -> CheckReport:
    return CheckReport(
        title=f"session {EVIL}",
        parts=[ReportPart(side="agent", peer="a 2", verdicts=verdicts())],
        recordings=[RECORDING],
        names=["recordings/one of.ndjson"],
        lines=[[2, 3, 4, 6]],
        packs=[
            PackResult(
                name="pack", about="advice", side="agent", items=[PackItem(says="be", status="passed")]
            )
        ],
        complaints=["a waiver is not needed"],
        tool="dragoman 1.0",
        hide=lambda raw: raw.replace(b"SECRET", b"[hidden]"),
    )


@every("name", FORMATS)
def test_no_format_shows_a_secret_or_what_a_terminal_obeys(name: str) -> None:
    text = render(report(), name)
    assert "SECRET" not in text
    assert "\x1b" not in text


@every("name", FORMATS)
def test_every_format_can_show_a_report_of_nothing(name: str) -> None:
    assert render(CheckReport(title="nothing", parts=[]), name)
    assert render(CheckReport(title="nothing", parts=[ReportPart(side="agent", verdicts=[])]), name)


def test_a_text_tells_the_worst_first_with_its_frames_and_what_to_change() -> None:
    lines = as_text(report()).splitlines()
    assert lines[0] == "FAILED TURN-04 SCHEMA (agent): is <one>"
    assert lines[1] == "  official kit: ACP-PROMPT-001"
    assert "recordings/one of.ndjson:4 frame 3 → agent" in lines[3]
    assert '"text":"[hidden] ' in lines[3]
    assert "  … broken in 5 of 9 places" in lines
    assert "  change: Do better." in lines
    statuses = [line.split()[0] for line in lines if line[:1].isupper() and line.split()[0].isupper()]
    assert statuses == ["FAILED", "WARNED", "RECORDED", "WAIVED"]


def test_a_text_counts_every_status_and_says_what_the_unseen_is_worth() -> None:
    text = as_text(report())
    counts = (
        "1 failed, 1 warned, 1 recorded, 1 waived, 1 blocked, 1 passed, 1 not exercised, 1 not applicable"
    )
    assert f"agent a 2: {counts}" in text
    assert "untested and may still be broken" in text
    assert "TURN-15" not in text
    assert "not exercised: TURN-15 DECL: memory" in as_text(report(), details=True)


def test_json_keeps_its_shape() -> None:
    told = json.loads(render(report(), "json"))
    assert told["report"] == 1
    assert told["outcome"] == "failed"
    assert sum(told["counts"].values()) == 8
    (part,) = told["parts"]
    first = part["verdicts"][0]
    assert list(first) == [
        *("requirement", "area", "level", "text", "source", "kit"),
        *("status", "seen", "broken", "reason", "evidence", "findings"),
    ]
    assert list(first["findings"][0]) == ["rule", "why", "fix", "recording", "frames"]
    assert first["findings"][0]["frames"][1] == {
        "number": 4,
        "direction": "to_client",
        "at": 3.0,
        "text": RECORDING.frames[3].raw.decode(),
        "line": 6,
    }
    assert told["packs"][0]["items"][0]["status"] == "passed"


@every(
    ("statuses", "blocked", "outcome"),
    [
        ({"failed", "blocked"}, "a login", "failed"),
        ({"warned"}, "a login", "blocked"),
        ({"warned"}, "", "warned"),
        ({"recorded", "waived", "passed"}, "", "clean"),
    ],
)
def test_one_word_tells_the_outcome(statuses: set[str], blocked: str, outcome: str) -> None:
    some = report()
    some.parts[0].verdicts = [one for one in verdicts() if one.status in statuses]
    some.blocked_by = blocked
    assert json.loads(render(some, "json"))["outcome"] == outcome


def test_junit_has_a_case_for_each_requirement_and_skips_what_was_not_judged() -> None:
    root = xml.fromstring(render(report(), "junit"))
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("8", "1", "4")
    cases = {case.get("name", "").split()[0]: case for case in root.iter("testcase")}
    (failure,) = cases["TURN-04"].findall("failure")
    assert "Do better." in (failure.text or "")
    assert cases["TURN-04"].get("classname") == "acp.agent.TURN"
    skipped = {name for name, case in cases.items() if case.find("skipped") is not None}
    assert skipped == {"TURN-15", "TURN-17", "TURN-23", "LOAD-03"}
    assert (cases["TURN-06"].findtext("system-out") or "").startswith("warned\nlate")
    assert len(cases["TURN-07"]) == 0


def test_sarif_points_at_the_lines_of_the_recording() -> None:
    log = json.loads(render(report(), "sarif"))
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [
        "TURN-04",
        "TURN-06",
        "TURN-16",
        "TURN-23",
    ]
    assert [one["level"] for one in run["results"]] == ["error"] * 5 + ["warning", "note", "note"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "recordings/one%20of.ndjson"}, "region": {"startLine": 6}}
    assert "suppressions" in run["results"][-1]
    for one in run["results"]:
        assert run["tool"]["driver"]["rules"][one["ruleIndex"]]["id"] == one["ruleId"]


class _Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.linked: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.linked += [str(value) for name, value in attrs if name in ("src", "href")]


def test_html_is_one_file_in_which_nothing_of_a_peer_is_markup() -> None:
    page = render(report(), "html")
    found = _Tags(page)
    assert "script" not in found.tags
    assert found.linked == []
    assert found.tags.count("article") == 4
    assert "Content-Security-Policy" in page


def test_a_badge_says_what_was_kept_and_what_was_broken() -> None:
    assert json.loads(render(report(), "badge-json")) == {
        "schemaVersion": 1,
        "label": "ACP",
        "message": "1 kept, 1 warned, 1 broken",
        "color": "red",
    }
    picture = xml.fromstring(render(report(), "badge"))
    assert picture.get("aria-label") == "ACP: 1 kept, 1 warned, 1 broken"
    blocked = CheckReport(title="", parts=[ReportPart(side="agent", verdicts=[])], blocked_by="a login")
    assert json.loads(render(blocked, "badge-json"))["message"] == "blocked"


def test_what_was_not_exercised_behind_a_login_is_blocked() -> None:
    some = verdicts()
    block(some, "a login")
    assert [one.status for one in some].count("not exercised") == 0
    assert next(one for one in some if one.requirement == "TURN-15").reason == "a login"
    assert next(one for one in some if one.requirement == "TURN-07").status == "passed"


def test_a_peer_is_called_what_it_calls_itself() -> None:
    assert peer_name([make_recording(), RECORDING], "agent") == "a 2"
    assert peer_name([RECORDING], "client") == "ed"
    assert peer_name([make_recording()], "agent") == ""


def test_a_long_frame_is_cut_where_it_is_long() -> None:
    raw = json.dumps(
        {"method": "m", "params": {"text": "x" * 5000, "list": [1] * 50, "last": "here"}}
    ).encode()
    text = shorten(raw, length=400)
    assert len(text) <= 400
    assert '"last":"here"' in text
    assert "(4928 more)" in text
    assert shorten(b'{ "as": "it is" }', length=400) == '{ "as": "it is" }'


@every("raw", [b"no json " * 200, b"\xff\xfe" * 400, b"[" * 3000, b'{"a":' * 500 + b"1" + b"}" * 500])
def test_any_line_can_be_shown(raw: bytes) -> None:
    text = shorten(raw, length=300)
    assert len(text) < 330
    assert text.isprintable()


def test_a_finding_of_many_frames_shows_the_first_and_the_last() -> None:
    some = report()
    some.recordings = [make_recording(*[client("m", id=number) for number in range(1, 11)])]
    assert [one.number for one in some.evidence(finding("w", *range(1, 11)))] == [1, 2, 3, 10]
    assert some.evidence(Violation(rule="r", why="", fix="", connection=7, frames=(1,))) == []
