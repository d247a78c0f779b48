"""Pairwise covers: few combinations of many parameters in which every pair of values occurs.

`pairwise` is greedy and draws nothing at random: the same parameters give the same rows. A pair that no valid
row can hold is left out; every other pair is in a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any, TypeAlias

Values: TypeAlias = dict[str, Any]
Pair: TypeAlias = tuple[tuple[str, Any], tuple[str, Any]]


def pairwise(
    parameters: Mapping[str, Sequence[Any]], is_valid: Callable[[Values], bool] = lambda values: True
) -> list[Values]:
    """Rows with every pair of values. `is_valid` is asked about whole rows."""
    missing = dict.fromkeys(pairs_of(parameters))
    rows: list[Values] = []
    while missing:
        pair = next(iter(missing))
        row = _fill(dict(pair), parameters, missing, is_valid)
        if row is None:
            del missing[pair]
            continue
        rows.append(row)
        for covered in pairs_in(row):
            missing.pop(covered, None)
    return rows


def pairs_of(parameters: Mapping[str, Sequence[Any]]) -> Iterator[Pair]:
    for first, second in combinations(parameters, 2):
        for one, other in product(parameters[first], parameters[second]):
            yield (first, one), (second, other)


def pairs_in(row: Values) -> Iterator[Pair]:
    return combinations(row.items(), 2)


def _fill(
    chosen: Values,
    parameters: Mapping[str, Sequence[Any]],
    missing: Mapping[Pair, None],
    is_valid: Callable[[Values], bool],
) -> Values | None:
    """A valid row with the chosen values and as many missing pairs as a greedy choice finds."""
    name = next((name for name in parameters if name not in chosen), None)
    if name is None:
        row = {each: chosen[each] for each in parameters}
        return row if is_valid(row) else None

    def gain(value: Any) -> int:
        row = {**chosen, name: value}
        ordered = [(each, row[each]) for each in parameters if each in row]
        return sum(pair in missing for pair in combinations(ordered, 2) if (name, value) in pair)

    for value in sorted(parameters[name], key=gain, reverse=True):
        filled = _fill({**chosen, name: value}, parameters, missing, is_valid)
        if filled is not None:
            return filled
    return None
