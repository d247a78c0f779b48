"""What SARIF 2.1.0 says about the objects that we write, as a table, and a check against it.

No package that is kept well ships the official JSON schema, so the facts of the standard stand here: which
properties an object may have (it may have no others), of what kind each is, which it must have, and what
numbers begin with. Section numbers are those of the standard.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

Kind = str | Callable[[Any], bool]
"""An object of the table by its name, `[name]` for a list of such, or a test of a value."""

_URI = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?#\[\]-]|%[0-9A-Fa-f]{2})+")
LEVELS = ("none", "note", "warning", "error")


def text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def any_text(value: Any) -> bool:
    return isinstance(value, str)


def flag(value: Any) -> bool:
    return isinstance(value, bool)


def level(value: Any) -> bool:
    return value in LEVELS


def index(value: Any) -> bool:
    return type(value) is int and value >= 0


def position(value: Any) -> bool:
    return type(value) is int and value >= 1


def uri(value: Any) -> bool:
    return isinstance(value, str) and _URI.fullmatch(value) is not None


def absolute_uri(value: Any) -> bool:
    return uri(value) and urlsplit(value).scheme != ""


def texts_by_name(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())


def bag(value: Any) -> bool:
    return isinstance(value, dict)


class SarifObject(NamedTuple):
    """One object of the standard."""

    properties: Mapping[str, Kind]
    required: tuple[str, ...] = ()


OBJECTS = {
    "sarifLog": SarifObject(  # 3.13
        {"$schema": absolute_uri, "version": lambda value: value == "2.1.0", "runs": "[run]"},
        ("version", "runs"),
    ),
    "run": SarifObject(  # 3.14
        {
            "tool": "tool",
            "columnKind": lambda value: value in ("utf16CodeUnits", "unicodeCodePoints"),
            "results": "[result]",
            "invocations": "[invocation]",
        },
        ("tool",),
    ),
    "tool": SarifObject({"driver": "toolComponent"}, ("driver",)),  # 3.18
    "toolComponent": SarifObject(  # 3.19
        {"name": text, "version": text, "rules": "[reportingDescriptor]"}, ("name",)
    ),
    "reportingDescriptor": SarifObject(  # 3.49
        {
            "id": text,
            "shortDescription": "message",
            "fullDescription": "message",
            "defaultConfiguration": "reportingConfiguration",
            "helpUri": absolute_uri,
        },
        ("id",),
    ),
    "reportingConfiguration": SarifObject({"level": level}),  # 3.50
    "result": SarifObject(  # 3.27
        {
            "ruleId": text,
            "ruleIndex": index,
            "level": level,
            "message": "message",
            "locations": "[location]",
            "partialFingerprints": texts_by_name,
            "fixes": "[fix]",
            "properties": bag,
        },
        ("message",),
    ),
    "location": SarifObject({"physicalLocation": "physicalLocation"}),  # 3.28
    "physicalLocation": SarifObject(  # 3.29
        {"artifactLocation": "artifactLocation", "region": "region"}, ("artifactLocation",)
    ),
    "artifactLocation": SarifObject({"uri": uri}),  # 3.4
    "region": SarifObject(  # 3.30
        {
            "startLine": position,
            "startColumn": position,
            "endLine": position,
            "endColumn": position,
            "charOffset": index,
            "charLength": index,
        }
    ),
    "fix": SarifObject(  # 3.55
        {"description": "message", "artifactChanges": "[artifactChange]"}, ("artifactChanges",)
    ),
    "artifactChange": SarifObject(  # 3.56
        {"artifactLocation": "artifactLocation", "replacements": "[replacement]"},
        ("artifactLocation", "replacements"),
    ),
    "replacement": SarifObject(  # 3.57
        {"deletedRegion": "region", "insertedContent": "artifactContent"}, ("deletedRegion",)
    ),
    "artifactContent": SarifObject({"text": any_text}),  # 3.3
    "invocation": SarifObject(  # 3.20
        {"executionSuccessful": flag, "toolExecutionNotifications": "[notification]"},
        ("executionSuccessful",),
    ),
    "notification": SarifObject({"level": level, "message": "message"}, ("message",)),  # 3.58
    "message": SarifObject({"text": text}, ("text",)),  # 3.11, 3.12
}


def problems(value: Any, kind: Kind = "sarifLog", at: str = "$") -> list[str]:
    """What is wrong with a value of this kind; empty if nothing is."""
    if not isinstance(kind, str):
        return [] if kind(value) else [f"{at}: {value!r} is not allowed"]
    if kind.startswith("["):
        if not isinstance(value, list):
            return [f"{at}: no list"]
        return [found for n, item in enumerate(value) for found in problems(item, kind[1:-1], f"{at}[{n}]")]
    if not isinstance(value, dict):
        return [f"{at}: no object"]
    known = OBJECTS[kind]
    found = [f"{at}: {name} is missing" for name in known.required if name not in value]
    for name, item in value.items():
        if name not in known.properties:
            found.append(f"{at}: {kind} has no {name}")
        else:
            found += problems(item, known.properties[name], f"{at}.{name}")
    return found + _relations(kind, value, at)


def _relations(kind: str, value: dict[str, Any], at: str) -> list[str]:
    """What the standard says about several properties at once."""
    if kind == "region":
        if "startLine" not in value and "charOffset" not in value:
            return [f"{at}: a region begins nowhere"]
        start = (value.get("startLine", 0), value.get("startColumn", 0))
        end = (value.get("endLine", start[0]), value.get("endColumn", start[1]))
        return [] if end >= start else [f"{at}: a region ends before it begins"]
    if kind in ("fix", "artifactChange"):
        inner = value.get("artifactChanges" if kind == "fix" else "replacements")
        return [] if inner else [f"{at}: nothing is changed"]
    if kind == "run":
        ids = [rule.get("id") for rule in value.get("tool", {}).get("driver", {}).get("rules", [])]
        wrong = [
            result
            for result in value.get("results", [])
            if result.get("ruleIndex", 0) >= len(ids) or ids[result["ruleIndex"]] != result["ruleId"]
        ]
        twice = [f"{at}: a rule is there twice"] if len(ids) != len(set(ids)) else []
        return twice + [f"{at}: ruleIndex and ruleId name two rules" for _ in wrong]
    return []
