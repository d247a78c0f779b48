"""Weak random numbers that are used where nobody may guess. Pure.

What a number is for is told by names: of what it is given to, of the function, of the class around it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from dragoman.review.code_patterns import family, flow_patterns, lazy_pattern, patterns_for
from dragoman.review.code_text import CodeHit, CodeText, Function, Statement, find_name

_STRONG_RANDOM = lazy_pattern(r"\bsecrets\.|SystemRandom|SecureRandom|\bcrypto\.|\bcrand\.|OsRng|randomBytes")
_PYTHON_IMPORT = lazy_pattern(r"^\s*(?:import|from)\s+(?:random|numpy)\b", re.MULTILINE)
_GIVEN_NAME = lazy_pattern(
    r"(?:(?:const|let|var|val|final)\s+)?(?:(?:int|long|[A-Z]\w*)\s+)?(?:\w+\.)*(?P<name>\w+)(?:\s*:\s*\w+)?\s*:?=(?!=)"
)
# Bytes of chance that are shown as a text: nobody does that but for a name that cannot be guessed.
_IS_BYTE = lazy_pattern(r"\bbyte\(\s*rand\.|\brand\.Read\(")
_AS_TEXT = lazy_pattern(r"\b(?:hex|base64\.\w+|base32\.\w+)\.EncodeToString\(")

# A class that hands out codes by which somebody is known.
_CODE_CLASS = lazy_pattern(
    r"\bclass\s+\w*(?:[lL]ogin|Otp|OTP|OneTime|Pairing|Invit|Verification|TwoFactor|Mfa|PasswordReset"
    r"|Activation|SignIn|Passcode)"
)
_CODE = lazy_pattern(r"(?:\w*_)?(?:code|pin|digits|passcode|otp)|\w+(?:Code|Pin|Otp)")
_GENERATOR = lazy_pattern(
    r"\b(?P<name>\w+)\s*(?::\s*Random\s*)?=\s*(?:new\s+)?(?:java\.util\.)?Random\(\s*\)"
)


@functools.cache
def _secret_name() -> re.Pattern[str]:
    return re.compile(flow_patterns().secret_name)


def weak_random(code: CodeText) -> Iterator[CodeHit]:
    """Weak random numbers that are used as secrets."""
    language = family(code.language)
    if not code.has_any(("rand", "Rand", "Rng")):
        return
    weak = patterns_for(code.language).weak_random
    if weak is None or not weak.search(code.code):
        return
    if language == "python" and not _PYTHON_IMPORT.search(code.code):
        return
    if language == "go" and re.search(r'^\s*(?:import\s+)?"crypto/rand"', code.text, re.MULTILINE):
        return
    generators = _generators(code) if _CODE_CLASS.search(code.code) else None
    for function in code.functions:
        yield from _by_names(function, weak)
        if generators is not None:
            yield from _codes(function, weak, generators)
        if language == "go" and _AS_TEXT.search(code.part(function)):
            yield from (_hit(step) for step in function.statements if _IS_BYTE.search(step.text))


def _by_names(function: Function, weak: re.Pattern[str]) -> Iterator[CodeHit]:
    """Numbers whose name, or the name of what is made of them, is one of a secret."""
    secret_name = _secret_name()
    is_secret = secret_name.search(function.head.text.split("{")[0])
    # Of a function that also makes good ones, only the names tell which is which.
    if is_secret and any(_STRONG_RANDOM.search(step.text) for step in function.statements):
        is_secret = None
    # Names of numbers that are no secrets yet, each with the statement that made it.
    numbers: dict[str, Statement] = {}
    for step in function.statements:
        match = weak.search(step.text)
        # Of a statement, what is before the call: the name that it is given to.
        if match and (is_secret or secret_name.search(step.text[: match.start()])):
            yield _hit(step)
            continue
        given = _GIVEN_NAME.match(step.text) if match or numbers else None
        if given is None:
            continue
        if match:
            numbers[given["name"]] = step
        elif secret_name.search(given["name"]):
            for name in [name for name in numbers if find_name(step.text[given.end() :], name) >= 0]:
                yield _hit(numbers.pop(name))


def _generators(code: CodeText) -> re.Pattern[str]:
    """Calls of the weak generators that a class keeps; of a name that no text has if there are none."""
    names = {re.escape(match["name"]) for match in _GENERATOR.finditer(code.code)}
    return re.compile(rf"(?<![\w.])(?:this\.)?(?:{'|'.join(sorted(names)) or '(?!)'})\.next\w*\(")


def _codes(function: Function, weak: re.Pattern[str], generators: re.Pattern[str]) -> Iterator[CodeHit]:
    """Codes that are made of weak numbers, in a text with a class whose name says what they are for."""
    for step in function.statements:
        if weak.search(step.text) or generators.search(step.text):
            given = _GIVEN_NAME.match(step.text)
            if given is not None and _CODE.fullmatch(given["name"]):
                yield _hit(step)


def _hit(statement: Statement) -> CodeHit:
    return CodeHit("flow/weak-random", statement.start, statement.start + len(statement.line.text))
