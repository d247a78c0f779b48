"""A short soak, and what its judgement notices."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.soak import Sample, SoakPlan, growth, secrets_in, soak

pytestmark = pytest.mark.bound(200)


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_hub_with_everything_at_once_loses_nothing_and_does_not_grow(tmp_path: Path) -> None:
    result = await soak(tmp_path, SoakPlan(seconds=30, slow_start=5, longest_lock=3))
    assert result.findings == [], result.summary()
    assert result.counts["turns of dialects"] > 8, result.summary()


def test_what_grows_is_found() -> None:
    samples = [Sample(at=n, memory=2**26, descriptors=40, processes=2, files=1) for n in range(60)]
    assert growth(samples) == []
    leaking = [Sample(at=n, memory=2**26, descriptors=40 + n, processes=2, files=1) for n in range(60)]
    assert growth(leaking) == ["descriptors have grown from 64 to 94"]


def test_a_secret_on_the_disk_is_found(tmp_path: Path) -> None:
    (tmp_path / "hub.db").write_bytes(b"... soak12ab ...")
    assert secrets_in(tmp_path, ["soak12ab", "soak34cd"]) == ["hub.db holds a secret"]
    assert secrets_in(tmp_path, ["soak34cd"]) == []
