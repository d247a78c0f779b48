"""Bytes of a queue, counted by runs, are those that counting every item would give."""

from __future__ import annotations

from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from dragoman.sdk.client.late_updates import Sizes

steps = st.one_of(
    st.tuples(st.just("add"), st.integers(0, 5), st.integers(0, 100)),
    st.tuples(st.just("oldest"), st.integers(0, 9), st.just(0)),
    st.tuples(st.just("newest"), st.integers(0, 9), st.just(0)),
)


@given(st.lists(steps))
def test_the_sum_is_that_of_what_is_left(taken: list[tuple[str, int, int]]) -> None:
    sizes, queue = Sizes(), deque[int]()
    for what, count, each in taken:
        if what == "add":
            queue.extend([each] * count)
            sizes.add(count, each)
        else:
            for _ in range(min(count, len(queue))):
                queue.popleft() if what == "oldest" else queue.pop()
            sizes.forget_all_but(len(queue), newest=what == "newest")
        assert sizes.total == sum(queue)
