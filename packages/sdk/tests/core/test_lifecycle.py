import pytest

from dragoman.core import Lifecycle
from dragoman.core.lifecycle import INITIALIZE, RequestAdmission
from tests.every import every


def initialized() -> Lifecycle:
    lifecycle = Lifecycle()
    lifecycle.ask("initialize")
    lifecycle.settle_initialize(is_accepted=True)
    return lifecycle


@every("method", ["session/new", "authenticate", "$/foo", "_ext", "", "Initialize"])
def test_before_initialize_everything_else_is_refused(method: str) -> None:  # LIF-01
    lifecycle = Lifecycle()
    assert lifecycle.ask(method) is RequestAdmission.REFUSE
    assert lifecycle.ask("initialize") is RequestAdmission.GO


@pytest.mark.parametrize("method", sorted(INITIALIZE))
def test_both_ways_to_initialize_count(method: str) -> None:
    lifecycle = Lifecycle()
    assert lifecycle.ask(method) is RequestAdmission.GO
    assert lifecycle.settle_initialize(is_accepted=True)
    assert lifecycle.ready
    assert lifecycle.ask("session/new") is RequestAdmission.GO


def test_while_initialize_is_answered_others_wait() -> None:
    lifecycle = Lifecycle()
    lifecycle.ask("initialize")
    assert not lifecycle.ready
    assert lifecycle.ask("session/new") is RequestAdmission.HOLD
    lifecycle.settle_initialize(is_accepted=True)
    assert lifecycle.ask("session/new") is RequestAdmission.GO


def test_a_failed_initialize_leads_back_to_the_start() -> None:
    lifecycle = Lifecycle()
    lifecycle.ask("initialize")
    assert lifecycle.settle_initialize(is_accepted=False)
    assert not lifecycle.ready
    assert lifecycle.ask("session/new") is RequestAdmission.REFUSE
    assert lifecycle.ask("initialize") is RequestAdmission.GO
    lifecycle.settle_initialize(is_accepted=True)
    assert lifecycle.ready


def test_initialize_may_be_repeated_until_something_else_was_asked() -> None:
    lifecycle = initialized()
    assert lifecycle.ask("initialize") is RequestAdmission.GO
    assert lifecycle.ask("session/new") is RequestAdmission.HOLD
    lifecycle.settle_initialize(is_accepted=True)
    assert lifecycle.ask("session/new") is RequestAdmission.GO
    assert lifecycle.ask("initialize") is RequestAdmission.REFUSE
    assert lifecycle.ask("proxy/initialize") is RequestAdmission.REFUSE


def test_a_repeated_initialize_that_fails_leaves_what_was_agreed() -> None:
    lifecycle = initialized()
    lifecycle.ask("initialize")
    lifecycle.settle_initialize(is_accepted=False)
    assert lifecycle.ready
    assert lifecycle.ask("session/new") is RequestAdmission.GO


def test_of_two_at_once_the_last_answer_lets_the_others_go() -> None:
    lifecycle = Lifecycle()
    lifecycle.ask("initialize")
    lifecycle.ask("initialize")
    assert not lifecycle.settle_initialize(is_accepted=True)
    assert lifecycle.ready
    assert lifecycle.ask("session/new") is RequestAdmission.HOLD
    assert lifecycle.settle_initialize(is_accepted=False)
    assert lifecycle.ask("session/new") is RequestAdmission.GO


def test_the_side_that_is_never_initialized_is_ready_and_refuses_to_be() -> None:
    lifecycle = Lifecycle(ready=True)
    assert lifecycle.ready
    assert lifecycle.ask("fs/read_text_file") is RequestAdmission.GO
    assert lifecycle.ask("initialize") is RequestAdmission.REFUSE
