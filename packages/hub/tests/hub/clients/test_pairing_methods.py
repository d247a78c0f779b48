"""A pairing from its start to its end, as the administrator who began it sees it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman_hub.gate.admission import Admission, AdmissionRefusal, Grant, hash_token
from dragoman_hub.gate.grants_store import TokenStore
from dragoman_hub.gate.pairing import Pairings
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import Stage, staged

PAIR = "_dragoman/hub/pair"
OWNER = Grant("owner")


def let_pair(stage: Stage, folder: Path) -> Pairings:
    admission = Admission({hash_token("t"): OWNER}, hosts=["hub.example:1"], origins=["https://page.example"])
    stage.hub.pairings = Pairings(admission, TokenStore(folder / "tokens.json"))
    return stage.hub.pairings


async def test_a_device_is_paired_by_what_was_asked_for(tmp_path: Path) -> None:
    async with staged({"one": obedient}) as stage:
        pairings = let_pair(stage, tmp_path)
        client = await stage.client(OWNER).begin()
        asked = {"name": "phone", "scopes": ["approve"], "seconds": 60, "tokenSeconds": 90}
        begun = await client.call(PAIR, asked)
        assert (begun["hosts"], begun["origins"]) == (["hub.example:1"], ["https://page.example"])
        assert begun["seconds"] == 60
        status = {"id": begun["id"], "state": "open", "name": "phone", "device": "", "scopes": ["approve"]}
        assert await client.call(f"{PAIR}/status", {"id": begun["id"]}) == status
        made = await pairings.exchange(begun["code"], device="My phone", address="")
        assert not isinstance(made, AdmissionRefusal)
        used = {**status, "state": "used", "device": "My phone"}
        for method in ("status", "withdraw"):  # what was used stays used
            assert await client.call(f"{PAIR}/{method}", {"id": begun["id"]}) == used
        (token,) = TokenStore(tmp_path / "tokens.json").read()
        assert (token.name, token.scopes, token.device) == ("phone", ("approve",), "My phone")
        assert token.expires is not None
        assert 60 < token.expires - token.created <= 90


async def test_a_pairing_that_is_withdrawn_is_for_nobody_and_an_unknown_one_is_unknown(
    tmp_path: Path,
) -> None:
    async with staged({"one": obedient}) as stage:
        pairings = let_pair(stage, tmp_path)
        client = await stage.client(OWNER).begin()
        begun = await client.call(PAIR, {})
        assert begun["seconds"] == 600
        withdrawn = await client.call(f"{PAIR}/withdraw", {"id": begun["id"]})
        assert (withdrawn["state"], withdrawn["name"]) == ("withdrawn", "device")
        assert withdrawn["scopes"] == ["approve", "observe", "prompt"]
        assert isinstance(await pairings.exchange(begun["code"], device="", address=""), AdmissionRefusal)
        for method in ("status", "withdraw"):
            assert await client.call(f"{PAIR}/{method}", {"id": "no"}) == {"id": "no", "state": "unknown"}


@pytest.mark.parametrize(
    "wrong", [{"seconds": "x"}, {"scopes": ["none"]}, {"name": "a b"}, {"seconds": 1}, {"tokenSeconds": []}]
)
async def test_what_cannot_be_paired_is_refused(wrong: dict[str, Any], tmp_path: Path) -> None:
    async with staged({"one": obedient}) as stage:
        let_pair(stage, tmp_path)
        client = await stage.client(OWNER).begin()
        assert (await client.refusal(PAIR, wrong))["code"] == -32602


async def test_a_hub_without_tokens_pairs_nobody() -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client(OWNER).begin()
        for method in (PAIR, f"{PAIR}/status", f"{PAIR}/withdraw"):
            refused = await client.refusal(method, {"id": "x"})
            assert (refused["code"], "no token file" in refused["message"]) == (-32603, True)
