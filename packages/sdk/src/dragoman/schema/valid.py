"""Fast checks of messages made in Python: for each type, a function that returns true only for surely valid
values.

msgspec does not look at the values that a struct is made with. To read back what was written finds every
mistake, and costs many times what writing does. So for each type a function is made from its fields, when the
first messages of it are written: it compares exact types, bounds and lists of values, and nothing else. True
means that the message is what the schema says. False means that somebody has to look closer, not that
anything is wrong: `strict` reads it back then.

A call takes as long as four comparisons. So what a message holds at that moment is checked in the same
function: whoever sends chunks of text will mostly send chunks of text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import UNSET
from msgspec import inspect as types

from .base import Bare

__all__ = ["checks", "is_surely_valid", "is_valid_at_first_sight"]

Check = Callable[[Any], bool]

_DEEPEST = 8
_LARGEST_INT = 2**63 - 1
_LARGEST_FLOAT = 1.7976931348623157e308


WORTHWHILE = 16
"""The number of messages of a type after which its check is built: building takes as long as reading back
hundreds.
"""


def is_surely_valid(message: object, kind: object) -> bool:
    """Whether `message` is a struct of exactly this type, with only allowed values."""
    return type(message) is kind and (checks.get(kind) or _check_of_frequent(message))(message)


def is_valid_at_first_sight(message: object, kind: object) -> bool:
    """The same for a large message: its check is built at once."""
    if type(message) is not kind:
        return False
    _counts[kind] = WORTHWHILE
    return is_surely_valid(message, kind)


checks: dict[Any, Check] = {}
"""The checks of frequent types."""

_counts: dict[Any, int] = {}  # messages of each type


def _check_of_frequent(message: object) -> Check:
    """The check of a message's type, once that is worth while."""
    kind: Any = type(message)
    count = _counts[kind] = _counts.get(kind, 0) + 1
    if count < WORTHWHILE:
        return _never
    check = checks[kind] = _make_check(kind, message) if _can_be_checked(kind) else _never
    return check


class _NestedChecks(dict[Any, Check]):
    """Checks of types inside others; made when first asked for, because a type may contain itself."""

    def __missing__(self, kind: Any) -> Check:
        check = self[kind] = _make_check(kind) if _can_be_checked(kind) else _never
        return check


_nested = _NestedChecks()


def _never(message: object) -> bool:
    return False


def _can_be_checked(kind: Any) -> bool:
    """A type with rules of its own, which run when it is made or read, is left to the reader."""
    return isinstance(kind, type) and issubclass(kind, Bare) and not hasattr(kind, "__post_init__")


def _make_check(kind: type[Bare], sample: object = None) -> Check:
    """A check of this type. Structs that `sample` holds are checked in the same function."""
    names: dict[str, Any] = {"UNSET": UNSET, "checks": _nested, "is_plain": _is_plain}
    lines = _lines(kind, "message", names, sample)
    return _never if lines is None else _function("message", lines, names)


def _function(parameter: str, lines: list[str], names: dict[str, Any]) -> Check:
    # What is looked up most is a local name, which is faster.
    text = "\n".join(
        [f"def check({parameter}, UNSET=UNSET):", *(f"    {line}" for line in lines), "    return True"]
    )
    # The names of fields are those of generated types; nothing of a message is ever part of this text.
    exec(text, names)  # noqa: S102
    check: Check = names["check"]
    return check


def _lines(kind: type[Bare], owner: str, names: dict[str, Any], sample: object) -> list[str] | None:
    """Statements that return False unless every field of the struct called `owner` is surely valid; None if
    there are none.
    """
    info = types.type_info(kind)
    assert isinstance(info, types.StructType)
    lines: list[str] = []
    for field in info.fields:
        value = getattr(sample, field.name, None)
        allowed = kind._checked.get(field.name, ())
        condition = _condition(field.type, allowed, names)
        inner = _sample_lines(field.type, allowed, names, value)
        test = [f"value = {owner}.{field.name}"]
        if condition is None and field.required:
            return None
        if condition is None:
            test.append("return False")
        elif inner is None:
            test += [f"if not ({condition}):", "    return False"]
        else:
            test += [*inner, f"elif not ({condition}):", "    return False"]
        if field.required:
            lines += test
        else:  # then it is left out if it is not set, which most of them are not
            lines += [f"if {owner}.{field.name} is not UNSET:", *(f"    {line}" for line in test)]
    return lines


def _sample_lines(
    kind: types.Type, allowed: tuple[str, ...], names: dict[str, Any], sample: object
) -> list[str] | None:
    """An `if` for a `value` that is the same struct as the sample, or a list like it; None if the sample is
    neither.
    """
    members = kind.types if isinstance(kind, types.UnionType) else (kind,)
    if isinstance(sample, list):
        lists = [member for member in members if isinstance(member, types.ListType)]
        return _loop_lines(lists[0], allowed, names, sample) if lists and sample else None
    struct: Any = type(sample)
    is_member = any(isinstance(member, types.StructType) and member.cls is struct for member in members)
    if not is_member or not _can_be_checked(struct):
        return None
    owner = f"inner_{len(names)}"
    names[owner] = None  # taken
    lines = _lines(struct, owner, names, sample)
    if lines is None:
        return None
    known = _name(struct, names)
    return [f"if type(value) is {known}:", f"    {owner} = value", *(f"    {line}" for line in lines)]


def _loop_lines(
    kind: types.ListType, allowed: tuple[str, ...], names: dict[str, Any], sample: list[object]
) -> list[str] | None:
    """The same for a list of structs. Its items are looked at on the spot, and not each by a call."""
    condition = _condition(kind.item_type, allowed, names)
    inner = _sample_lines(kind.item_type, allowed, names, sample[0])
    if inner is None or condition is None or _condition(kind, allowed, names) is None:
        return None
    test = [*inner, f"elif not ({condition}):", "    return False"]
    return ["if type(value) is list:", "    for value in value:", *(f"        {line}" for line in test)]


def _condition(kind: types.Type, allowed: tuple[str, ...], names: dict[str, Any]) -> str | None:
    """An expression that is true of a `value` which is surely of this type; None if there is none."""
    match kind:
        case types.Metadata():
            return _condition(kind.type, allowed, names)
        case types.UnionType():
            return _of_union(kind, allowed, names)
        case types.StrType(min_length=None, max_length=None, pattern=None):
            in_list = f" and value in {_name(frozenset(allowed), names)}" if allowed else ""
            return f"type(value) is str{in_list}"
        case types.StrType(min_length=int(), max_length=None, pattern=None) if not allowed:
            return f"type(value) is str and len(value) >= {kind.min_length}"
        case types.IntType() | types.FloatType():
            return _of_number(kind)
        case types.BoolType():
            return "(value is True or value is False)"
        case types.NoneType():
            return "value is None"
        case types.LiteralType(values=values) if all(type(value) is str for value in values):
            return f"type(value) is str and value in {_name(frozenset(values), names)}"
        case types.StructType():
            return f"type(value) is {_name(kind.cls, names)} and checks[type(value)](value)"
        case types.ListType(min_length=None, max_length=None):
            return _of_list(kind, allowed, names)
        case types.AnyType() | types.DictType(key_type=types.StrType(), value_type=types.AnyType()):
            of_dict = "" if isinstance(kind, types.AnyType) else "type(value) is dict and "
            return f"{of_dict}is_plain(value)"
    return None


def _of_number(kind: types.IntType | types.FloatType) -> str | None:
    if (kind.gt, kind.lt, kind.multiple_of) != (None, None, None):
        return None
    # What is not a number is in no interval.
    name, low, high = (
        ("int", -_LARGEST_INT - 1, _LARGEST_INT)
        if isinstance(kind, types.IntType)
        else ("float", -_LARGEST_FLOAT, _LARGEST_FLOAT)
    )
    lowest = low if kind.ge is None else kind.ge
    highest = high if kind.le is None else kind.le
    return f"type(value) is {name} and {lowest!r} <= value <= {highest!r}"


def _of_union(kind: types.UnionType, allowed: tuple[str, ...], names: dict[str, Any]) -> str | None:
    """What no condition can be made for is left out: a value of that type is looked at more closely."""
    structs = frozenset(member.cls for member in kind.types if isinstance(member, types.StructType))
    others = [member for member in kind.types if not isinstance(member, types.StructType)]
    conditions = [_condition(member, allowed, names) for member in others]
    alternatives = [f"({condition})" for condition in conditions if condition is not None]
    if structs:
        alternatives.append(f"(type(value) in {_name(structs, names)} and checks[type(value)](value))")
    return " or ".join(alternatives) or None


def _of_list(kind: types.ListType, allowed: tuple[str, ...], names: dict[str, Any]) -> str | None:
    condition = _condition(kind.item_type, allowed, names)
    if condition is None:
        return None
    test = [f"if not ({condition}):", "    return False"]
    item = _name(_function("value", test, dict(names)), names)
    return f"type(value) is list and all(map({item}, value))"


def _name(value: object, names: dict[str, Any]) -> str:
    name = f"known_{len(names)}"
    names[name] = value
    return name


_SCALARS = frozenset({str, bool, type(None)})


def _is_plain(value: Any, depth: int = 0) -> bool:
    """Whether a value of any type is JSON already, and not nested too deeply for anybody to read."""
    kind = type(value)
    if kind in _SCALARS:
        return True
    if kind is int:
        return -_LARGEST_INT <= value <= _LARGEST_INT  # type: ignore[no-any-return]  # of two numbers
    if kind is float:
        is_finite: bool = -_LARGEST_FLOAT <= value <= _LARGEST_FLOAT
        return is_finite
    if depth == _DEEPEST or (kind is not list and kind is not dict):
        return False
    if kind is dict:
        for key in value:
            if type(key) is not str:
                return False
        value = value.values()
    for item in value:  # noqa: SIM110 -- faster
        if type(item) not in _SCALARS and not _is_plain(item, depth + 1):
            return False
    return True
