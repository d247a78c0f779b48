"""Numbers that are not what they seem: boxed, shifted out of their width, sorted as texts. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from dragoman.review.code_patterns import family, lazy_pattern
from dragoman.review.code_text import CodeHit, CodeLine, CodeText

_BOXED = lazy_pattern(
    r"\b(?:Integer|Long|Short|Byte|Double|Float|Character|BigDecimal|BigInteger)\s+(\w+)\s*(?=[;=,)(:])"
)
_SIDE = r"(?:\w+\.)?(\w+)(?:\(\))?"
_IDENTITY = lazy_pattern(rf"(?<![\w.)]){_SIDE}\s*[!=]=\s*{_SIDE}(?![\w.(])")


def boxed_identity(code: CodeText) -> Iterator[CodeHit]:
    """Objects of Java around numbers that == compares as objects."""
    if code.language != "java" or ("==" not in code.code and "!=" not in code.code):
        return
    names = {match[1] for match in _BOXED.finditer(code.code)}
    plain = set(re.findall(r"\b(?:int|long|short|byte|double|float|char)\s+(\w+)", code.code))
    for line in code.lines if names - plain else ():
        match = _IDENTITY.search(line.text)
        if match is not None and {match[1], match[2]} <= names - plain:
            yield CodeHit("logic/boxed-identity", line.start, line.start + len(line.text))


# Fields and parameters whose values are objects though they stand for a value.
_IS_DATE = lazy_pattern(r":\s*Date\b(?!\[)")
_DATES = lazy_pattern(r"\b(\w+)\??:\s*Date\b(?!\[)")
_OTHERS = lazy_pattern(r"\b(\w+)\??:\s*(?!Date\b)[\w\"'\[{(]")
_SAME_DATE = lazy_pattern(r"(?<![\w.])\w+\.(\w+)\s*[!=]==?\s*\w+\.(\w+)(?![\w.(\[])")
_DATA_CLASS = lazy_pattern(r"\bdata\s+class\s+(\w+)")
_SAME_OBJECT = lazy_pattern(r"(?<![\w.])(\w+)\s*[!=]==\s*(\w+)(?![\w.(\[])")


def value_identity(code: CodeText) -> Iterator[CodeHit]:
    """Dates of TypeScript and data of Kotlin that are compared as objects."""
    if code.language in ("typescript", "tsx") and "Date" in code.code and _IS_DATE.search(code.code):
        names = set(_DATES.findall(code.code))
        names -= set(_OTHERS.findall(code.code)) if names else set()
        compared = _SAME_DATE
    elif code.language == "kotlin" and "===" in code.code and "data class" in code.code:
        kinds = "|".join(_DATA_CLASS.findall(code.code))
        names = set(re.findall(rf"\b(\w+)\s*:\s*(?:{kinds})\b(?![?<.])", code.code))
        compared = _SAME_OBJECT
    else:
        return
    for line in code.lines if names else ():
        match = compared.search(line.text)
        if match is not None and {match[1], match[2]} <= names:
            yield CodeHit("logic/value-identity", line.start, line.start + len(line.text))


_SHIFT = lazy_pattern(r"(?P<left>[\w.)\]]+)\s*<<\s*(?P<count>\d+)(?![\w.])")
_WIDTHS = {"int32": 32, "uint32": 32, "int16": 16, "uint16": 16, "int8": 8, "uint8": 8, "byte": 8}


def lost_shifts(code: CodeText) -> Iterator[CodeHit]:
    """Shifts by as many bits as the number has, or more."""
    if "<<" not in code.code:
        return
    language = family(code.language)
    if language not in ("javascript", "java", "go"):
        return
    for line in code.lines:
        for match in _SHIFT.finditer(line.text):
            if int(match["count"]) >= _width(code, match["left"], language, line.text):
                yield CodeHit("logic/lost-shift", line.start, line.start + len(line.text))
                break


def _width(code: CodeText, left: str, language: str, text: str) -> int:
    """The bits of an operand, as far as its declaration tells; more than any shift where it tells nothing."""
    name = re.sub(r"^.*\.", "", left)
    if language == "javascript":
        return 1000 if "BigInt" in text or re.search(r"\dn\b", text) else 32
    if language == "java":
        is_int = re.search(rf"\b(?:int|Integer|short|byte|char)\s+{re.escape(name)}\b", code.code) is not None
        if re.fullmatch(r"\d+", name) or name.lower().startswith("int"):
            is_int = is_int or re.search(rf"\b[lL]ong\s+{re.escape(name)}\b", code.code) is None
        return 32 if is_int and not re.search(rf"\(\s*long\s*\)\s*\(?\s*{re.escape(name)}\b", text) else 1000
    declared = re.search(rf"\b{re.escape(name)}\s+(u?int(?:8|16|32)|byte)\b", code.code)
    return _WIDTHS[declared[1]] if declared is not None and name.isidentifier() else 1000


_NUMBERS_TYPE = lazy_pattern(
    r"(?<![\w.])(\w+)\s*\??:\s*(?:readonly\s+)?(?:number\[\]|(?:Readonly)?Array<number>)"
)
# Fields that hold numbers, by their names.
_NUMBER_FIELD = (
    r"(?:millis|[mM]s|[sS]econds|[mM]inutes|[dD]uration|age|[pP]rice|[cC]ents|[aA]mount|[tT]otal|[cC]ount|[sS]ize"
    r"|[lL]ength|[sS]core|[rR]ank|[yY]ear|[wW]idth|[hH]eight|[wW]eight|[lL]atency|[bB]ytes|[pP]oints|[tT]imestamp"
    r"|[qQ]uantity|[dD]istance)"
)
_FIELDS_SORTED = lazy_pattern(
    rf"\.map\(\s*\(?(\w+)\)?\s*=>\s*\1\.(?:\w+\.)*\w*{_NUMBER_FIELD}\s*\)\.sort\(\)"
)
_MADE_OF_NUMBERS = lazy_pattern(
    r"(?:const|let|var)\s+(\w+)\s*=\s*[^;]*\.map\(\s*(?:Number|parseFloat|\(?\w+\)?\s*=>\s*(?:Number|parseInt|parseFloat)\([^()]*\))"
)


def sorted_as_texts(code: CodeText) -> Iterator[CodeHit]:
    """Lists of numbers, or copies of them, sorted without a comparison."""
    if family(code.language) != "javascript" or ".sort()" not in code.code:
        return
    names = {
        match[1] for pattern in (_NUMBERS_TYPE, _MADE_OF_NUMBERS) for match in pattern.finditer(code.code)
    }
    for line in code.lines:
        if ".sort()" not in line.text:
            continue
        match = re.search(
            r"(?:\[\s*\.\.\.\s*(\w+)\s*\]|(?<![\w.])(\w+)(?:\.(?:slice|concat)\(\)|\.filter\(.*\))?|Array\.from\(\s*(\w+)\s*\))\.sort\(\)",
            line.text,
        )
        is_known = match is not None and (match[1] or match[2] or match[3]) in names
        if is_known or _FIELDS_SORTED.search(line.text):
            yield CodeHit("logic/numbers-sorted-as-texts", line.start, line.start + len(line.text))


_DIVIDED = lazy_pattern(
    r"(?:double|float|Double|Float)\s+\w+\s*=\s*(?P<left>\w+)\s*/\s*(?P<right>\w+(?:\.(?:size|length|count)\(\)|\.length)?)\s*;"
)


def cut_quotients(code: CodeText) -> Iterator[CodeHit]:
    """Whole numbers that are divided before they become fractions."""
    if "/" not in code.code:
        return
    if code.language == "go":
        yield from _cut_in_go(code)
    if code.language != "java":
        return
    for line in code.lines:
        if _is_cut(code, _DIVIDED.match(line.text)):
            yield CodeHit("logic/cut-quotient", line.start, line.start + len(line.text))
    for function in code.functions:
        if not _FRACTION.search(function.head.text):
            continue
        for line in function.body:
            if _is_cut(code, _DIVIDED_RETURN.match(line.text)):
                yield CodeHit("logic/cut-quotient", line.start, line.start + len(line.text))


_GO_QUOTIENT = lazy_pattern(r"(?P<name>\w+)\s*:=\s*[\w.]+(?:\(\w+\))?\s*/\s*[\w.]+(?:\(\w+\))?")
_GO_FRACTION = lazy_pattern(
    r"\bfloat(?:32|64)\(\s*(?:len\([\w.]+\)|[\w.]+)\s*/\s*(?:len\([\w.]+\)|[\w.]+)\s*\)"
)
_GO_EXACT = lazy_pattern(r"float|time\.|\d\.\d|\bmath\.")


def _cut_in_go(code: CodeText) -> Iterator[CodeHit]:
    """Quotients of Go that are made fractions: a fraction would need no conversion."""
    for function in code.functions_with(("float64(", "float32(")):
        quotients: dict[str, CodeLine] = {}
        for line in function.body:
            whole = _GO_FRACTION.search(line.text)
            if whole is not None and "time." not in whole[0]:
                yield CodeHit("logic/cut-quotient", line.start, line.start + len(line.text))
            for name in re.findall(r"\bfloat(?:32|64)\(\s*(\w+)\s*\)", line.text):
                if (cut := quotients.pop(name, None)) is not None:
                    yield CodeHit("logic/cut-quotient", cut.start, cut.start + len(cut.text))
            match = _GO_QUOTIENT.fullmatch(line.text)
            if match is not None and not _GO_EXACT.search(line.text):
                quotients[match["name"]] = line


_FRACTION = lazy_pattern(r"\b(?:double|float)\s+\w+\s*\(")
_DIVIDED_RETURN = lazy_pattern(
    r"return\s+(?:[^;?]*\?[^;:]*:\s*)?(?P<left>\w+)\s*/\s*(?P<right>\w+(?:\.(?:size|length|count)\(\)|\.length)?)\s*;"
)


def _is_cut(code: CodeText, match: re.Match[str] | None) -> bool:
    """Whether both sides of a division are whole numbers."""
    if match is None or not _is_whole(code, match["left"]):
        return False
    return "." in match["right"] or match["right"].isdigit() or _is_whole(code, match["right"])


def _is_whole(code: CodeText, name: str) -> bool:
    declared = re.findall(rf"\b(?!return\b)(\w+)\s+{re.escape(name)}\b\s*(?:=(?!=)|[;,):])", code.code)
    return bool(declared) and all(kind in ("int", "long", "short", "Integer", "Long") for kind in declared)


_PRODUCT = lazy_pattern(
    r"(?:return|(?:final\s+)?long\s+\w+\s*=|(?:this\.)?\w+\s*=)\s*(?P<product>[\w.]+(?:\s*\*\s*[\w.]+)+)\s*;"
)
_GIVES_LONG = lazy_pattern(r"\b[lL]ong\s+\w+\s*\(")
_SOME = 60
"""The same of the product of two."""
_LARGE = 10_000
"""What a number is multiplied by before a usual one overflows an int."""


def cut_products(code: CodeText) -> Iterator[CodeHit]:
    """Products of ints of Java that become long when it is too late."""
    if code.language != "java" or "*" not in code.code:
        return
    for function in code.functions:
        gives_long = _GIVES_LONG.search(function.head.text) is not None
        for line in function.body:
            match = _PRODUCT.match(line.text) if "*" in line.text else None
            is_long = match is not None and (
                "long " in match[0] or (gives_long and match[0].startswith("return"))
            )
            if match is not None and is_long and _is_cut_product(code, match["product"]):
                yield CodeHit("logic/cut-product", line.start, line.start + len(line.text))


def _is_cut_product(code: CodeText, product: str) -> bool:
    factors = re.split(r"\s*\*\s*", product)
    numbers = [int(factor.replace("_", "")) for factor in factors if re.fullmatch(r"[\d_]+", factor)]
    names = [factor for factor in factors if not factor[0].isdigit()]
    if len(numbers) + len(names) != len(factors) or not names:
        return False
    # Two that may be large, or one with a large number.
    return (math.prod(numbers) >= _LARGE or (len(names) > 1 and math.prod(numbers) >= _SOME)) and all(
        re.search(rf"\bint\s+{re.escape(name)}\b", code.code)
        and not re.search(rf"\b(?:long|double|float)\s+{re.escape(name)}\b", code.code)
        for name in names
    )


# A sum of fractions begins at nought.
_SUM = lazy_pattern(
    r"(?:(?:var|let|mut|val|double|float|final)\s+)*(?P<name>\w+)\s*(?::\s*\w+\s*)?:?=\s*0\.0[fFdD]?;?"
    r"|var\s+(?P<go>\w+)\s+float(?:32|64)|(?:double|float)\s+(?P<java>\w+)\s*=\s*0;"
)


# Whoever adds one to the other side counts.
_COUNTS = lazy_pattern(r"[+-]\s*\d+\b(?!\.)")


def compared_sums(code: CodeText) -> Iterator[CodeHit]:
    """Sums of fractions that are asked to be exactly some number."""
    if "+=" not in code.code:
        return
    for function in code.functions_with(("0.0", "float", "double ")):
        sums: dict[str, bool] = {}
        for line in function.body:
            if (begin := _SUM.fullmatch(line.text)) is not None:
                sums[begin["name"] or begin["go"] or begin["java"]] = False
                continue
            for name, is_grown in sums.items():
                if re.match(rf"{name}\s*\+=", line.text):
                    sums[name] = True
                elif (
                    is_grown
                    and not _COUNTS.search(line.text)
                    and re.search(
                        rf"(?<![\w.]){name}\s*[!=]==?\s*(?!0\b(?!\.\d*[1-9]))[\w(]|[\w)]\s*[!=]==?\s*{name}\b",
                        line.text,
                    )
                ):
                    yield CodeHit("logic/compared-sum", line.start, line.start + len(line.text))


# Texts that come from outside: settings, arguments, what somebody typed.
_OUTSIDE = lazy_pattern(
    r"(?:(?:const|let|var)\s+)?(?P<name>\w+)\s*(?::\s*str\s*)?=\s*(?:os\.environ\.get\((?![^()]*,\s*[-\d\w])[^()]*\)"
    r"|os\.getenv\((?![^()]*,\s*[-\d\w])[^()]*\)|os\.environ\[[^\[\]]*\]|sys\.argv\[\d+\]|input\([^()]*\)"
    r"|process\.env\.\w+(?:\s*(?:\?\?|\|\|)\s*[\"'`][^\"'`]*[\"'`])?);?"
)
_OUTSIDE_AT_ONCE = lazy_pattern(
    r"(?:os\.environ\.get\([^(),]*\)|os\.environ\[[^\[\]]*\]|os\.getenv\([^(),]*\)|sys\.argv\[\d+\])\s*[!=<>]=?\s*-?\d"
    r"|\bprocess\.env\.\w+\s*[!=]==\s*-?\d"
)


def texts_as_numbers(code: CodeText) -> Iterator[CodeHit]:
    """Texts from outside that are compared with numbers, which they never equal."""
    language = family(code.language)
    if language not in ("python", "javascript"):
        return
    # In a script == and < make a number of the text; === does not.
    sign = r"[!=]==" if language == "javascript" else r"(?:[!=]=|[<>]=?)"
    for function in code.functions_with(("os.environ", "os.getenv", "sys.argv", "input(", "process.env")):
        names: set[str] = set()
        for line in function.body:
            is_hit = _OUTSIDE_AT_ONCE.search(line.text) is not None
            for name in tuple(names):
                if (
                    re.search(rf"(?<![\w.]){name}\s*(?::[^=]*)?=(?!=)", line.text)
                    or "isinstance" in line.text
                ):
                    names.discard(name)
                elif re.search(
                    rf"(?<![\w.]){name}\s*{sign}\s*-?\d|(?<![\w.])\d+\s*{sign}\s*{name}\b", line.text
                ):
                    is_hit = True
            if (match := _OUTSIDE.fullmatch(line.text)) is not None:
                names.add(match["name"])
            if is_hit:
                yield CodeHit("logic/text-as-number", line.start, line.start + len(line.text))
