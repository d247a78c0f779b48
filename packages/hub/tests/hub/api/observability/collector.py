"""A collector of OpenTelemetry for tests: OTLP over HTTP on loopback, read with its own messages."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue


class Collector:
    """A collector that takes spans over HTTP, or refuses them with `status`."""

    def __init__(self) -> None:
        self.status = 200
        self.posted: list[tuple[str, str, ExportTraceServiceRequest]] = []
        self.address = ""

    @contextmanager
    def running(self) -> Iterator[Collector]:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                request = ExportTraceServiceRequest.FromString(body)
                collector.posted.append((self.path, self.headers.get("authorization", ""), request))
                self.send_response(collector.status)
                self.end_headers()

            def log_message(self, *args: object) -> None:
                pass

        with HTTPServer(("127.0.0.1", 0), Handler) as server:
            self.address = f"http://127.0.0.1:{server.server_port}"
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            try:
                yield self
            finally:
                server.shutdown()
                thread.join()

    @property
    def spans(self) -> dict[str, dict[str, Any]]:
        """Attributes of every span by its name."""
        return {
            span.name: attributes_of(span.attributes)
            for _, _, request in self.posted
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        }


def attributes_of(attributes: Iterable[KeyValue]) -> dict[str, Any]:
    """Strings, numbers and flags by their names."""
    return {
        pair.key: getattr(pair.value, pair.value.WhichOneof("value") or "string_value") for pair in attributes
    }
