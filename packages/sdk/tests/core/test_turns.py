from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dragoman.core import STOP_REASONS, RunningTurn, TurnQueue
from dragoman.core.turns import TurnState
from tests.every import every


def asked(turns: TurnQueue, session: str = "s", *, may_wait: bool = True) -> RunningTurn:
    turn = turns.ask(session, may_wait=may_wait)
    assert turn is not None
    return turn


def test_the_first_prompt_of_a_session_runs_at_once() -> None:
    turns = TurnQueue()
    turn = asked(turns)
    assert (turn.state, turn.session_id, turn.is_cancelled) == (TurnState.RUNNING, "s", False)
    assert turns.running("s") is turn
    assert turns.running("other") is None


def test_a_second_prompt_waits_for_the_first() -> None:  # LIF-11
    turns = TurnQueue()
    first, second = asked(turns), asked(turns)
    assert (first.state, second.state) == (TurnState.RUNNING, TurnState.WAITING)
    assert turns.end(first, "end_turn") is second
    assert (first.state, second.state) == (TurnState.OVER, TurnState.RUNNING)
    assert first.stop_reason == "end_turn"


def test_waiting_prompts_run_in_the_order_they_were_asked_in() -> None:
    turns = TurnQueue()
    current, *waiting = [asked(turns) for _ in range(5)]
    for following in waiting:
        assert turns.end(current, "end_turn") is following
        current = following
    assert turns.end(current, "end_turn") is None
    assert turns.running("s") is None


def test_sessions_do_not_wait_for_each_other() -> None:  # LIF-16
    turns = TurnQueue()
    a, b = asked(turns, "a"), asked(turns, "b")
    assert (a.state, b.state) == (TurnState.RUNNING, TurnState.RUNNING)
    assert turns.cancel("a") == [a]
    assert not b.is_cancelled


def test_a_cancel_hits_what_runs_and_what_waits() -> None:  # CAN-01
    turns = TurnQueue()
    first, second = asked(turns), asked(turns)
    assert turns.cancel("s") == [first, second]
    assert first.is_cancelled
    assert second.is_cancelled


def test_a_cancel_hits_nothing_that_is_asked_later() -> None:  # CAN-07
    turns = TurnQueue()
    first = asked(turns)
    turns.cancel("s")
    second = asked(turns)
    assert not second.is_cancelled
    assert turns.end(first, "cancelled") is second
    assert not second.is_cancelled


def test_a_cancel_with_no_turn_poisons_nothing() -> None:  # CAN-02, CAN-05
    turns = TurnQueue()
    assert turns.cancel("s") == []
    assert turns.cancel("unknown") == []
    assert not asked(turns).is_cancelled


def test_a_cancel_after_the_turn_hits_nothing() -> None:
    turns = TurnQueue()
    turns.end(asked(turns), "end_turn")
    assert turns.cancel("s") == []
    assert not asked(turns).is_cancelled


def test_a_hundred_cancels_hit_once() -> None:  # CAN-04
    turns = TurnQueue()
    turn = asked(turns)
    assert [turns.cancel("s") for _ in range(100)] == [[turn], *[[]] * 99]


def test_a_later_cancel_hits_only_what_the_earlier_did_not() -> None:
    turns = TurnQueue()
    asked(turns)
    turns.cancel("s")
    second = asked(turns)
    assert turns.cancel("s") == [second]


def test_a_turn_ends_once() -> None:
    turns = TurnQueue()
    first, second = asked(turns), asked(turns)
    assert turns.end(first, "end_turn") is second
    assert turns.end(first, "refusal") is None
    assert first.stop_reason == "end_turn"
    assert turns.running("s") is second


def test_a_turn_may_end_while_it_waits() -> None:
    turns = TurnQueue()
    first, second, third = asked(turns), asked(turns), asked(turns)
    assert turns.end(second, "cancelled") is None
    assert second.state is TurnState.OVER
    assert turns.cancel("s") == [first, third]
    assert turns.end(first, "cancelled") is third


def test_a_waiting_turn_that_was_cancelled_still_gets_its_turn_to_answer() -> None:
    turns = TurnQueue()
    first, second = asked(turns), asked(turns)
    turns.cancel("s")
    assert turns.end(first, "cancelled") is second
    assert second.is_cancelled


def test_no_more_wait_than_the_limit_allows() -> None:
    turns = TurnQueue(waiting_limit=2)
    first, _, _ = asked(turns), asked(turns), asked(turns)
    assert turns.ask("s") is None
    assert turns.ask("other") is not None
    turns.end(first, "end_turn")
    assert turns.ask("s") is not None
    assert turns.ask("s") is None


def test_a_turn_that_ended_while_it_waited_makes_room() -> None:
    turns = TurnQueue(waiting_limit=1)
    asked(turns)
    turns.end(asked(turns), "cancelled")
    assert turns.ask("s") is not None


def test_who_prefers_to_refuse_refuses_while_a_turn_runs() -> None:
    turns = TurnQueue()
    first = asked(turns, may_wait=False)
    assert turns.ask("s", may_wait=False) is None
    turns.end(first, "end_turn")
    assert asked(turns, may_wait=False).state is TurnState.RUNNING


def test_who_prefers_to_refuse_still_lets_one_wait_behind_a_cancelled_turn() -> None:
    turns = TurnQueue()
    first = asked(turns, may_wait=False)
    turns.cancel("s")
    second = asked(turns, may_wait=False)
    assert second.state is TurnState.WAITING
    # Whether the cancelled turn has ended by now makes no difference to a third.
    assert turns.ask("s", may_wait=False) is None
    turns.end(first, "cancelled")
    assert turns.ask("s", may_wait=False) is None


def test_who_prefers_to_refuse_lets_wait_again_when_all_ahead_are_cancelled() -> None:
    turns = TurnQueue()
    asked(turns, may_wait=False)
    turns.cancel("s")
    asked(turns, may_wait=False)
    turns.cancel("s")
    assert asked(turns, may_wait=False).state is TurnState.WAITING


def test_nothing_is_kept_of_a_session_whose_turns_are_over() -> None:
    turns = TurnQueue()
    for may_wait in (True, False):
        first, second = asked(turns), turns.ask("s", may_wait=may_wait)
        turns.end(first, "end_turn")
        if second is not None:
            turns.end(second, "end_turn")
    assert (turns._running, turns._waiting) == ({}, {})


@every("reason", ["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"])
def test_the_stop_reasons_are_those_of_the_protocol(reason: str) -> None:
    assert reason in STOP_REASONS
    assert len(STOP_REASONS) == 5


SESSIONS = ("a", "b")
LIMIT = 3


class TurnsMachine(RuleBasedStateMachine):
    """Against the simplest model there is: one list of open turns a session, the first of which runs."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = TurnQueue(waiting_limit=LIMIT)
        self.open: dict[str, list[RunningTurn]] = {session: [] for session in SESSIONS}
        self.hit: set[RunningTurn] = set()
        self.over: list[RunningTurn] = []

    @rule(session=st.sampled_from(SESSIONS), may_wait=st.booleans())
    def ask(self, session: str, may_wait: bool) -> None:
        ahead = self.open[session]
        waits = may_wait or all(turn in self.hit for turn in ahead)
        welcome = not ahead or (waits and len(ahead) <= LIMIT)
        turn = self.turns.ask(session, may_wait=may_wait)
        assert (turn is not None) == welcome
        if turn is not None:
            assert turn.session_id == session
            ahead.append(turn)

    @rule(session=st.sampled_from((*SESSIONS, "unknown")))
    def cancel(self, session: str) -> None:
        expected = [turn for turn in self.open.get(session, []) if turn not in self.hit]
        assert self.turns.cancel(session) == expected
        self.hit.update(expected)

    @precondition(lambda self: any(self.open.values()))
    @rule(data=st.data(), reason=st.sampled_from(sorted(STOP_REASONS)))
    def end(self, data: st.DataObject, reason: str) -> None:
        session = data.draw(st.sampled_from([session for session, ahead in self.open.items() if ahead]))
        ahead = self.open[session]
        at = data.draw(st.integers(0, len(ahead) - 1))
        turn = ahead.pop(at)
        following = self.turns.end(turn, reason)
        assert following is (ahead[0] if at == 0 and ahead else None)
        assert turn.stop_reason == reason
        self.over.append(turn)

    @precondition(lambda self: self.over)
    @rule(data=st.data())
    def end_again(self, data: st.DataObject) -> None:
        turn = data.draw(st.sampled_from(self.over))
        before = turn.stop_reason
        assert self.turns.end(turn, "refusal") is None
        assert turn.stop_reason == before

    @invariant()
    def the_first_of_each_session_runs_and_no_other(self) -> None:
        for session, ahead in self.open.items():
            assert self.turns.running(session) is (ahead[0] if ahead else None)
            states = [turn.state for turn in ahead]
            assert states == [TurnState.RUNNING, *[TurnState.WAITING] * (len(ahead) - 1)][: len(ahead)]
        assert all(turn.state is TurnState.OVER for turn in self.over)

    @invariant()
    def exactly_those_are_cancelled_that_a_cancel_found(self) -> None:
        for turn in (*self.over, *(turn for ahead in self.open.values() for turn in ahead)):
            assert turn.is_cancelled == (turn in self.hit)


TestTurnsMachine = TurnsMachine.TestCase
TestTurnsMachine.settings = settings(max_examples=max(30, settings().max_examples), stateful_step_count=30)
