"""Pages of trusted origins can read our answers; others learn nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman_hub.api.endpoint import AcpEndpoint
from dragoman_hub.api.pairing import PairingDoor
from dragoman_hub.gate.admission import Admission, Grant, hash_token, new_token
from dragoman_hub.gate.grants_store import TokenStore
from dragoman_hub.gate.pairing import Pairings

TOKEN = new_token()
TRUSTED = "https://pages.example"


App = Callable[[Any, Any, Any], Awaitable[None]]


def admission() -> Admission:
    return Admission({hash_token(TOKEN): Grant("page")}, hosts=["hub.example"], origins=[TRUSTED])


async def ask(
    method: str, path: str, app: App | None = None, body: bytes = b"", /, **headers: str
) -> tuple[int, dict[str, str]]:
    """The status and the headers of an answer."""
    app = app or AcpEndpoint(admission(), lambda transport, grant: None)
    given = {"host": "hub.example", **{name.replace("_", "-"): value for name, value in headers.items()}}
    pairs = [(name.encode(), value.encode()) for name, value in given.items()]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(event: dict[str, Any]) -> None:
        sent.append(event)

    await app({"type": "http", "method": method, "path": path, "headers": pairs}, receive, send)
    return sent[0]["status"], {name.decode(): value.decode() for name, value in sent[0]["headers"]}


async def test_a_browser_is_told_what_a_trusted_page_may_send() -> None:
    wanted = {"access_control_request_method": "POST", "access_control_request_headers": "authorization"}
    status, headers = await ask("OPTIONS", "/ticket", origin=TRUSTED, **wanted)
    assert (status, headers["access-control-allow-origin"]) == (204, TRUSTED)
    assert "authorization" in headers["access-control-allow-headers"]
    status, headers = await ask("OPTIONS", "/ticket", origin="https://evil.example", **wanted)
    assert (status, "access-control-allow-origin" in headers) == (403, False)


@pytest.mark.parametrize(("path", "status"), [("/ticket", 200), ("/acp", 415)])
async def test_a_trusted_page_can_read_the_answer(path: str, status: int) -> None:
    found, headers = await ask("POST", path, origin=TRUSTED, authorization=f"Bearer {TOKEN}")
    assert found == status
    assert headers["access-control-allow-origin"] == TRUSTED
    assert headers["vary"] == "origin"


async def test_without_an_origin_nothing_is_said_about_any() -> None:
    _, headers = await ask("POST", "/ticket", authorization=f"Bearer {TOKEN}")
    assert "access-control-allow-origin" not in headers


async def test_a_question_that_is_none_needs_a_token() -> None:
    assert (await ask("OPTIONS", "/acp"))[0] == 401
    assert (await ask("OPTIONS", "/acp", origin=TRUSTED))[0] == 401


async def test_a_trusted_page_learns_that_its_token_is_good_no_more_and_others_learn_nothing() -> None:
    status, headers = await ask("POST", "/ticket", origin=TRUSTED, authorization="Bearer old")
    assert (status, headers["access-control-allow-origin"]) == (401, TRUSTED)
    status, headers = await ask("POST", "/ticket", origin="https://evil.example", authorization="Bearer old")
    assert (status, "access-control-allow-origin" in headers) == (403, False)


async def test_a_trusted_page_can_pair_and_read_why_it_cannot(tmp_path: Path) -> None:
    gate = admission()
    door = PairingDoor(gate, Pairings(gate, TokenStore(tmp_path / "tokens.json")))
    wanted = {"access_control_request_method": "POST", "access_control_request_headers": "content-type"}
    status, headers = await ask("OPTIONS", "/pair", door, origin=TRUSTED, **wanted)
    assert (status, headers["access-control-allow-origin"]) == (204, TRUSTED)
    code, sent = msgspec.json.encode({"code": "no.such"}), {"content_type": "application/json"}
    status, headers = await ask("POST", "/pair", door, code, origin=TRUSTED, **sent)
    assert (status, headers["access-control-allow-origin"]) == (401, TRUSTED)
    stranger = {"origin": "https://evil.example", **wanted, **sent}
    for method in ("OPTIONS", "POST"):
        status, headers = await ask(method, "/pair", door, code, **stranger)
        assert (status, "access-control-allow-origin" in headers) == (403, False)
