from collections.abc import Callable

import pytest

from dragoman.errors import ErrorAnswer
from dragoman.wire import codes


def test_every_code_has_one_name_and_every_name_one_code() -> None:
    constants = {value for name, value in vars(codes).items() if name.isupper() and isinstance(value, int)}
    assert constants == set(codes.NAMES)
    assert len(set(codes.NAMES.values())) == len(codes.NAMES)


def test_the_codes_are_those_of_the_protocol() -> None:
    assert (codes.PARSE_ERROR, codes.INVALID_REQUEST, codes.METHOD_NOT_FOUND) == (-32700, -32600, -32601)
    assert (codes.INVALID_PARAMS, codes.INTERNAL_ERROR, codes.CANCELLED) == (-32602, -32603, -32800)
    assert (codes.AUTH_REQUIRED, codes.NOT_FOUND, codes.VERSION_UNSUPPORTED) == (-32000, -32002, -32022)


def test_a_name_is_one_short_line() -> None:
    assert all(name and len(name) < 60 and "\n" not in name for name in codes.NAMES.values())


@pytest.mark.parametrize(
    ("make", "code"),
    [(codes.invalid_request, codes.INVALID_REQUEST), (codes.invalid_params, codes.INVALID_PARAMS)],
)
def test_a_refusal_says_its_name_and_why(make: Callable[[str], ErrorAnswer], code: int) -> None:
    error = make("cwd must be absolute")
    assert error.code == code
    assert error.message == f"{codes.NAMES[code]}: cwd must be absolute"
    assert error.data is None


def test_an_unknown_method_is_named_but_not_at_any_length() -> None:
    assert codes.method_not_found("nope/nope").data == {"method": "nope/nope"}
    error = codes.method_not_found("😀" * 1_000_000)
    assert error.code == codes.METHOD_NOT_FOUND
    assert error.data == {"method": "😀" * 200}


def test_a_session_that_is_not_there_is_named() -> None:
    error = codes.session_not_found("s-1")
    assert (error.code, error.data) == (codes.NOT_FOUND, {"sessionId": "s-1"})


def test_a_login_is_asked_for_with_or_without_a_reason() -> None:
    assert codes.auth_required().message == codes.NAMES[codes.AUTH_REQUIRED]
    error = codes.auth_required("the key has expired")
    assert (error.code, error.message) == (codes.AUTH_REQUIRED, "the key has expired")
