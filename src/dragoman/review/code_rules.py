"""Rules that follow values and branches through code, in every language that `code_text` knows. Pure.

Their words are in `code_rule_texts`, those of the rules about input of strangers in `data/flows.toml`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dragoman.review import (
    code_absent,
    code_archives,
    code_awaits,
    code_cors,
    code_errors,
    code_flow,
    code_guards,
    code_lock_order,
    code_locks,
    code_logic,
    code_loops,
    code_numbers,
    code_promises,
    code_races,
    code_random,
    code_secrecy,
)
from dragoman.review.code_patterns import lazy_pattern
from dragoman.review.code_rule_texts import CODE_RULES, CodeRule
from dragoman.review.code_text import CodeHit, CodeText
from dragoman.review.finding import Finding
from dragoman.review.flow_tables import tables
from dragoman.review.taint import taint_hits
from dragoman.review.text_edits import TextLines

_BY_ID: dict[str, CodeRule] = {
    rule.id: rule
    for rule in (
        *CODE_RULES,
        *(CodeRule(rule.id, rule.severity, rule.title, rule.why) for rule in tables().sink),
    )
}

_CHECKS: tuple[Callable[[CodeText], Iterator[CodeHit]], ...] = (
    code_flow.leaks,
    code_flow.locks,
    code_awaits.missing_awaits,
    code_awaits.dropped_library_calls,
    code_awaits.sometimes_awaited,
    code_awaits.opened_coroutines,
    code_promises.script_promises,
    code_promises.unguarded_promises,
    code_awaits.blocking_calls,
    code_random.weak_random,
    code_flow.unused_results,
    code_errors.panics,
    code_logic.chains,
    code_logic.unreachable,
    code_logic.unreachable_handlers,
    code_logic.fallthroughs,
    code_loops.changed_loops,
    code_loops.past_the_end,
    code_logic.used_though_null,
    code_logic.contradictions,
    code_logic.accidental_tuples,
    code_logic.placeholders_in_quotes,
    code_logic.equals_without_hash,
    code_logic.crossed_fields,
    code_logic.exhausted_iterators,
    code_logic.named_contradictions,
    code_loops.inclusive_bounds,
    code_absent.absent_values,
    code_absent.go_values,
    code_absent.unmade_maps,
    code_absent.opened_optionals,
    code_absent.forced_values,
    code_absent.unboxed_entries,
    code_races.races,
    code_races.stale_values,
    code_secrecy.early_comparisons,
    code_secrecy.logged_secrets,
    code_secrecy.fast_password_hashes,
    code_secrecy.built_commands,
    code_loops.wrong_ways,
    code_loops.lost_windows,
    code_archives.slipped_entries,
    code_numbers.boxed_identity,
    code_numbers.value_identity,
    code_numbers.lost_shifts,
    code_numbers.cut_quotients,
    code_numbers.cut_products,
    code_numbers.sorted_as_texts,
    code_numbers.compared_sums,
    code_numbers.texts_as_numbers,
    code_errors.nil_errors,
    code_errors.unheard_failures,
    code_errors.dropped_copies,
    code_errors.unread_callback_errors,
    code_errors.overwritten_errors,
    code_cors.reflected_origins,
    code_secrecy.open_secrets,
    code_locks.locked_twice,
    code_lock_order.lock_orders,
    code_lock_order.exclusive_blocks,
    code_guards.unguarded_fields,
    code_guards.copied_locks,
)


_TEST_PATH = lazy_pattern(
    r"(?:^|/)(?:tests?|__tests__|androidTest|testdata)/|(?:^|/)test_[^/]*\.py$|_test\.(?:go|py)$"
    r"|Test\.(?:kt|java)$|\.(?:test|spec)\.[jt]sx?$"
)
# What tests do on purpose, or until the process ends.
_NOT_IN_TESTS = frozenset(
    {
        "flow/resource-leak",
        "flow/panic-instead-of-error",
        "flow/weak-random",
        "flow/floating-promise",
        "flow/unchecked-absence",
        "flow/logged-secret",
        "flow/timing-attack",
        "flow/data-race",
    }
)


def code_findings(path: str, lines: TextLines, code: CodeText) -> Iterator[Finding]:
    """What these rules find in one text."""
    is_test = _TEST_PATH.search(path.replace("\\", "/")) is not None
    for check in _CHECKS:
        for hit in check(code):
            if is_test and hit.rule in _NOT_IN_TESTS:
                continue
            yield _finding(_BY_ID[hit.rule], hit.start, hit.end, path, lines)
    # A server that a test makes for itself has no strangers for callers.
    for flow in () if is_test else taint_hits(code):
        yield _finding(_BY_ID[flow.rule.id], flow.start, flow.end, path, lines)


def _finding(rule: CodeRule, start: int, end: int, path: str, lines: TextLines) -> Finding:
    return Finding(
        rule=rule.id,
        severity=rule.severity,
        place=lines.place(path, start, end),
        title=rule.title,
        why=rule.why,
    )
