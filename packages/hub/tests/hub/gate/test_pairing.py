"""Pairing: one code, one device, in time, and nothing beyond what its giver may do."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dragoman.errors import LocalMistake
from dragoman_hub.gate.admission import Admission, AdmissionRefusal, Grant, hash_token
from dragoman_hub.gate.grants import LiveGrants
from dragoman_hub.gate.grants_store import TokenStore
from dragoman_hub.gate.pairing import PAIRINGS, WRONG_SECRETS, DeviceToken, Pairings

HEADERS = {b"host": b"127.0.0.1:1"}


class HubClock:
    """Seconds that pass when a test says so."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


class PairingStage:
    """Pairings on a real file of tokens."""

    def __init__(self, folder: Path) -> None:
        self.clock = HubClock()
        self.store = TokenStore(folder / "tokens.json")
        self.owner_token = self.store.add("owner", agents=["review*"], roots=[str(folder)])
        self.admission = Admission({}, hosts=["127.0.0.1:1"], clock=self.clock)
        self.live = LiveGrants(self.store, self.admission)
        self.live.refresh()
        self.pairings = Pairings(self.admission, self.store, clock=self.clock)
        owner = self.admit(self.owner_token)
        assert isinstance(owner, Grant)
        self.owner = owner

    def admit(self, token: str) -> Grant | AdmissionRefusal:
        return self.admission.admit({**HEADERS, b"authorization": f"Bearer {token}".encode()})

    async def exchange(self, code: str, *, address: str = "10.0.0.7") -> DeviceToken | AdmissionRefusal:
        return await self.pairings.exchange(code, device="Safari on iPhone", address=address)


@pytest.fixture
def stage(tmp_path: Path) -> PairingStage:
    return PairingStage(tmp_path)


async def test_a_device_gets_a_token_that_is_good_at_once_with_the_rights_of_its_giver(
    stage: PairingStage,
) -> None:
    pairing, code = stage.pairings.begin(stage.owner, name="phone", scopes=["observe", "approve"])
    device = await stage.exchange(code)
    assert isinstance(device, DeviceToken)
    grant = stage.admit(device.token)
    assert isinstance(grant, Grant)
    assert (grant.name, grant.scopes) == ("phone", frozenset({"observe", "approve"}))
    assert (grant.agents, grant.roots) == (stage.owner.agents, stage.owner.roots)
    assert (pairing.state, pairing.device) == ("used", "Safari on iPhone")
    stored = next(token for token in stage.store.read() if token.name == "phone")
    assert stored.device == "Safari on iPhone"


async def test_of_two_devices_that_bring_one_code_exactly_one_gets_a_token(stage: PairingStage) -> None:
    _, code = stage.pairings.begin(stage.owner)
    verdicts = await asyncio.gather(*(stage.exchange(code) for _ in range(8)))
    assert sum(isinstance(verdict, DeviceToken) for verdict in verdicts) == 1
    refusals = [verdict for verdict in verdicts if isinstance(verdict, AdmissionRefusal)]
    assert {refusal.status for refusal in refusals} == {410}
    assert all("already used" in refusal.reason for refusal in refusals)
    assert len(stage.store.read()) == 2


async def test_a_pairing_expires_by_the_clock_of_the_hub(stage: PairingStage) -> None:
    pairing, code = stage.pairings.begin(stage.owner, seconds=60)
    stage.clock.now += 59.9
    assert stage.pairings.find(pairing.id) is pairing
    assert pairing.state == "open"
    stage.clock.now += 0.1
    refusal = await stage.exchange(code)
    assert isinstance(refusal, AdmissionRefusal)
    assert (refusal.status, refusal.reason) == (
        410,
        "This pairing code has expired. Create a new one: dragoman hub pair",
    )
    assert len(stage.store.read()) == 1


async def test_a_pairing_that_is_tried_with_wrong_secrets_too_often_is_blocked(stage: PairingStage) -> None:
    pairing, code = stage.pairings.begin(stage.owner)
    for number in range(WRONG_SECRETS):
        refusal = await stage.exchange(f"{pairing.id}.wrong", address=f"10.0.0.{number}")
        assert isinstance(refusal, AdmissionRefusal)
        assert refusal.status == 401
    refusal = await stage.exchange(code)
    assert isinstance(refusal, AdmissionRefusal)
    assert (refusal.status, pairing.state) == (410, "blocked")


async def test_whoever_guesses_codes_has_to_wait_and_the_right_device_does_not(stage: PairingStage) -> None:
    _, code = stage.pairings.begin(stage.owner)
    refusals = [await stage.exchange(f"{number:08x}.guess") for number in range(20)]
    statuses = [refusal.status for refusal in refusals if isinstance(refusal, AdmissionRefusal)]
    assert statuses == [401] * 10 + [429] * 10
    assert isinstance(await stage.exchange(code), DeviceToken)


async def test_a_pairing_ends_with_the_token_that_began_it(stage: PairingStage) -> None:
    pairing, code = stage.pairings.begin(stage.owner)
    stage.store.revoke("owner")
    stage.live.refresh()
    assert isinstance(await stage.exchange(code), AdmissionRefusal)
    assert pairing.state == "withdrawn"


async def test_a_withdrawn_pairing_is_refused_and_a_used_one_stays_used(stage: PairingStage) -> None:
    first, code = stage.pairings.begin(stage.owner)
    stage.pairings.withdraw(first)
    assert isinstance(await stage.exchange(code), AdmissionRefusal)
    second, code = stage.pairings.begin(stage.owner)
    await stage.exchange(code)
    stage.pairings.withdraw(second)
    assert (first.state, second.state) == ("withdrawn", "used")


async def test_devices_of_one_name_get_numbers(stage: PairingStage) -> None:
    names = []
    for _ in range(3):
        device = await stage.exchange(stage.pairings.begin(stage.owner, name="phone")[1])
        assert isinstance(device, DeviceToken)
        names.append(device.name)
    assert names == ["phone", "phone-2", "phone-3"]


async def test_a_code_is_good_again_when_the_token_could_not_be_stored(
    stage: PairingStage, tmp_path: Path
) -> None:
    _, code = stage.pairings.begin(stage.owner)
    before = (tmp_path / "tokens.json").read_bytes()
    (tmp_path / "tokens.json").write_bytes(b"damaged")
    with pytest.raises(LocalMistake):
        await stage.exchange(code)
    (tmp_path / "tokens.json").write_bytes(before)
    assert isinstance(await stage.exchange(code), DeviceToken)


def test_a_token_gives_no_scope_that_it_lacks(stage: PairingStage) -> None:
    with pytest.raises(LocalMistake, match="without the scope approve"):
        stage.pairings.begin(Grant("poor", frozenset({"admin"})), scopes=["approve"])


@pytest.mark.parametrize("wrong", [{"name": "a b"}, {"scopes": ()}, {"seconds": 1.0}, {"seconds": 1e9}])
def test_a_pairing_that_makes_no_sense_is_refused(stage: PairingStage, wrong: dict[str, object]) -> None:
    with pytest.raises(LocalMistake):
        stage.pairings.begin(stage.owner, **wrong)  # type: ignore[arg-type]


def test_pairings_are_bounded_and_those_that_are_over_make_room_first(stage: PairingStage) -> None:
    pairings = [stage.pairings.begin(stage.owner)[0] for _ in range(PAIRINGS)]
    stage.pairings.withdraw(pairings[3])
    stage.pairings.begin(stage.owner)
    assert stage.pairings.find(pairings[3].id) is None
    stage.pairings.begin(stage.owner)
    assert stage.pairings.find(pairings[0].id) is None
    assert stage.pairings.find(pairings[1].id) is pairings[1]


def test_only_a_hash_of_the_secret_is_kept(stage: PairingStage) -> None:
    pairing, code = stage.pairings.begin(stage.owner)
    secret = code.partition(".")[2]
    assert len(secret) == 22
    assert pairing.digest == hash_token(secret)
    assert secret not in repr(pairing)
