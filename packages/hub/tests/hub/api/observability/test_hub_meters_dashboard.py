"""The dashboard for Grafana names metrics and labels that the hub has; log lines are OpenTelemetry's."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path

from dragoman_app.apps.log_lines import JsonFormatter
from dragoman_hub.api.observability import hub_meters

ROOT = Path(__file__).parents[6]
DASHBOARD = json.loads((ROOT / "docs/grafana/dragoman-hub.json").read_text("utf-8"))
METERS = Path(hub_meters.__file__).read_text("utf-8")
HISTOGRAM = re.compile(r"_(bucket|sum|count)$")


def metrics() -> dict[str, set[str]]:
    """Every metric of the hub with its labels, as its source declares them."""
    declared = re.findall(
        r'(?:counter|gauge|histogram)\(\s*"(dragoman_\w+)",\s*"[^"]*"(?:,\s*\[([^\]]*)\])?', METERS
    )
    return {name: set(re.findall(r'"(\w+)"', labels)) for name, labels in declared}


def targets() -> list[dict[str, str]]:
    return [target for panel in DASHBOARD["panels"] for target in panel["targets"]]


def test_every_metric_of_the_dashboard_exists_with_its_labels() -> None:
    known = metrics()
    assert len(known) > 25
    for target in targets():
        names = {HISTOGRAM.sub("", name) for name in re.findall(r"dragoman_\w+", target["expr"])}
        assert names <= known.keys(), target["expr"]
        wanted = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
        grouped = set(re.findall(r"\w+", " ".join(re.findall(r"by \(([^)]*)\)", target["expr"])))) - {"le"}
        assert wanted | grouped <= set().union(*(known[name] for name in names)), target["expr"]


def test_panels_have_names_and_places_of_their_own() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len({panel["title"] for panel in panels}) == len(panels)
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}
    assert len(places) == len(panels)


def test_log_lines_are_json_with_the_names_of_opentelemetry() -> None:
    record = logging.LogRecord(
        "dragoman_hub", logging.WARNING, "x", 1, "agent %s ended\x1b[2J", ("a\n{",), None
    )
    text = JsonFormatter("dragoman-hub").format(record)
    assert "\n" not in text
    assert "\x1b" not in text
    line = json.loads(text)
    assert (line["severity_text"], line["severity_number"]) == ("WARNING", 13)
    assert line["body"] == "agent a\n{ ended\x1b[2J"
    assert (line["service.name"], line["logger.name"]) == ("dragoman-hub", "dragoman_hub")
