"""Reads the environment variables of OpenTelemetry about spans. Imports nothing.

A program sends spans if a variable names a collector or the exporter; nothing of ours has to be set. What is
said about names, headers, sampling and batches, OpenTelemetry's own library reads.
"""

from __future__ import annotations

from collections.abc import Mapping

COLLECTORS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")

HUB = "dragoman-hub"
"""The name of the service, unless a variable sets it."""

EXPORT_SECONDS = 10.0
"""The most seconds for one batch with its retries; the next one waits in the SDK's bounded queue."""

HTTP = "http/protobuf"
"""Our protocol; a collector listens for it on port 4318."""


def are_spans_off(environ: Mapping[str, str]) -> bool:
    """Whether spans are switched off for every program."""
    return _value(environ, "OTEL_SDK_DISABLED") == "true" or _value(environ, "OTEL_TRACES_EXPORTER") == "none"


def are_spans_wanted(environ: Mapping[str, str]) -> bool:
    """Whether the environment variables enable spans without a setting of the hub."""
    if are_spans_off(environ):
        return False
    exporters = [name.strip() for name in _value(environ, "OTEL_TRACES_EXPORTER").split(",")]
    if exporters == [""]:
        return any(environ.get(name, "").strip() for name in COLLECTORS)
    return "otlp" in exporters


def other_protocol(environ: Mapping[str, str]) -> str:
    """The requested protocol if we do not support it; else empty."""
    name = next((value for value in (_value(environ, name) for name in PROTOCOLS) if value), HTTP)
    return "" if name == HTTP else name


def has_own_name(environ: Mapping[str, str]) -> bool:
    """Whether the service already has a name."""
    is_attribute = "service.name=" in environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return bool(environ.get("OTEL_SERVICE_NAME")) or is_attribute


def parent_of(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the trace context that our parent process set, in the form of a message's `_meta`."""
    names = {"traceparent": "TRACEPARENT", "tracestate": "TRACESTATE"}
    return {name: environ[variable] for name, variable in names.items() if environ.get(variable)}


def _value(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name, "").strip().lower()
