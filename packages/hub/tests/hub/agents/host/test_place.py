import os
import stat
from pathlib import Path

import pytest

from dragoman.errors import LocalMistake
from dragoman_hub.agents.host import place


def test_the_folder_the_socket_and_the_secret_are_closed_to_others(tmp_path: Path) -> None:
    path = place.of(tmp_path / "new" / "a.sock")
    listener, secret = place.listen(path)
    with listener:
        modes = [stat.S_IMODE(one.stat().st_mode) for one in (path.parent, path, place.secret_of(path))]
        assert modes == [0o700, 0o600, 0o600]
        assert place.read_secret(path) == secret
        assert len(secret) == 32


def test_a_folder_that_others_may_enter_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with pytest.raises(LocalMistake, match="chmod 700"):
        place.of(tmp_path / "a.sock")


def test_nobody_listens_where_somebody_does(tmp_path: Path) -> None:
    path = tmp_path / "a.sock"
    listener, secret = place.listen(path)
    with listener:
        with pytest.raises(place.PlaceOccupied):
            place.listen(path)
        place.remove_stale(path)
        assert place.read_secret(path) == secret


def test_what_a_dead_agent_host_left_is_replaced_or_removed(tmp_path: Path) -> None:
    path = tmp_path / "a.sock"
    place.listen(path)[0].close()
    assert place.connect(path) is None
    listener, _ = place.listen(path)
    listener.close()
    place.remove_stale(path)
    assert list(tmp_path.iterdir()) == []
    assert place.connect(path) is None
    assert place.read_secret(path) == b""


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="long addresses need /proc")
def test_a_path_that_is_too_long_for_an_address_works_all_the_same(tmp_path: Path) -> None:
    path = place.of(tmp_path / ("long" * 20) / ("path" * 20) / "a.sock")
    listener, _ = place.listen(path)
    with listener:
        peer = place.connect(path)
        assert peer is not None
        with peer:
            assert place.is_ours(peer)
    place.remove_stale(path)
    assert list(path.parent.iterdir()) == []
