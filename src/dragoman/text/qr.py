"""QR codes for terminals: a short text as a square of dark and light modules (ISO/IEC 18004).

Byte mode, error correction level L, versions 1 to 10: up to 271 bytes, which every address that is meant to
be scanned fits into. `qr_code` makes the modules, `qr_lines` draws two rows of them in one line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from dragoman.errors import LocalMistake

CodeSquare = list[list[bool]]
"""Rows of modules; True is dark."""

_BLOCKS = (
    (7, (19,)),
    (10, (34,)),
    (15, (55,)),
    (20, (80,)),
    (26, (108,)),
    (18, (68, 68)),
    (20, (78, 78)),
    (24, (97, 97)),
    (30, (116, 116)),
    (18, (68, 68, 69, 69)),
)
"""For each version: correction bytes in a block, and data bytes of each block."""

_ALIGNMENT = ((), (18,), (22,), (26,), (30,), (34,), (22, 38), (24, 42), (26, 46), (28, 50))
"""For each version: centres of alignment patterns besides 6."""

_MASKS: tuple[Callable[[int, int], bool], ...] = (
    lambda row, column: (row + column) % 2 == 0,
    lambda row, column: row % 2 == 0,
    lambda row, column: column % 3 == 0,
    lambda row, column: (row + column) % 3 == 0,
    lambda row, column: (row // 2 + column // 3) % 2 == 0,
    lambda row, column: row * column % 2 + row * column % 3 == 0,
    lambda row, column: (row * column % 2 + row * column % 3) % 2 == 0,
    lambda row, column: ((row + column) % 2 + row * column % 3) % 2 == 0,
)

_FINDER_LIKE = ((True, False, True, True, True, False, True), (False,) * 4)

QUIET = 2
"""Light modules around the code. The standard wants four; readers are content with two."""


def qr_code(text: str) -> CodeSquare:
    """The code of a text. Raises `LocalMistake` for one that is too long."""
    data = text.encode()
    version = _version(len(data))
    correction, blocks = _BLOCKS[version - 1]
    bits = _bits(_interleave(_codewords(data, version, sum(blocks)), correction, blocks))
    square, is_free = _patterns(version)
    places = [place for place in _zigzag(len(square)) if is_free(*place)]
    for (row, column), bit in zip(places, bits + [False] * 7, strict=False):
        square[row][column] = bit
    candidates = [_apply_mask(square, places, mask) for mask in range(8)]
    return min(candidates, key=_penalty)


def qr_lines(square: CodeSquare) -> Iterator[str]:
    """Two rows in a line, dark modules as spaces: for light characters on a dark ground."""
    width = len(square) + 2 * QUIET
    blank = [[False] * width] * QUIET
    rows = [*blank, *([False] * QUIET + row + [False] * QUIET for row in square), *blank]
    if len(rows) % 2:
        rows.append([True] * width)  # no module of the code: nothing is drawn there
    for upper, lower in zip(rows[::2], rows[1::2], strict=True):
        yield "".join(" ▀▄█"[(not top) + 2 * (not bottom)] for top, bottom in zip(upper, lower, strict=True))


# Data.


def _version(size: int) -> int:
    """The smallest one that holds so many bytes; the kind of data and the count come before them."""
    for version, (_, blocks) in enumerate(_BLOCKS, start=1):
        if size + (2 if version < 10 else 3) <= sum(blocks):
            return version
    raise LocalMistake(f"a text of {size} bytes is too long for a QR code")


def _codewords(data: bytes, version: int, room: int) -> bytes:
    count_bits = 8 if version < 10 else 16
    value = 0b0100 << count_bits | len(data)
    value = value << 8 * len(data) | int.from_bytes(data, "big")
    used = 4 + count_bits + 8 * len(data)
    # Both kinds of count leave four bits, which the terminator fills.
    words = (value << 4).to_bytes((used + 4) // 8, "big")
    padding = b"\xec\x11" * room
    return words + padding[: room - len(words)]


def _interleave(words: bytes, correction: int, blocks: tuple[int, ...]) -> bytes:
    parts, start = [], 0
    for size in blocks:
        parts.append(words[start : start + size])
        start += size
    corrections = [_correction(part, correction) for part in parts]
    data = bytes(part[at] for at in range(max(blocks)) for part in parts if at < len(part))
    return data + bytes(part[at] for at in range(correction) for part in corrections)


def _multiply(left: int, right: int) -> int:
    """In the field of 256 elements that the standard names."""
    product = 0
    for shift in range(7, -1, -1):
        product = product << 1 ^ (product >> 7) * 0x11D
        product ^= (right >> shift & 1) * left
    return product


def _correction(data: bytes, count: int) -> bytes:
    """The remainder of Reed and Solomon."""
    generator, root = [0] * (count - 1) + [1], 1
    for _ in range(count):
        for at in range(count):
            generator[at] = _multiply(generator[at], root)
            if at + 1 < count:
                generator[at] ^= generator[at + 1]
        root = _multiply(root, 2)
    rest = [0] * count
    for byte in data:
        factor = byte ^ rest[0]
        rest = [*rest[1:], 0]
        rest = [value ^ _multiply(weight, factor) for value, weight in zip(rest, generator, strict=True)]
    return bytes(rest)


def _bits(words: bytes) -> list[bool]:
    return [bool(byte >> shift & 1) for byte in words for shift in range(7, -1, -1)]


# Modules.


def _patterns(version: int) -> tuple[CodeSquare, Callable[[int, int], bool]]:
    """A square with everything but data and format, and which modules are free for data."""
    size = 17 + 4 * version
    square = [[False] * size for _ in range(size)]
    has_pattern = [[False] * size for _ in range(size)]

    def put(row: int, column: int, is_dark: bool) -> None:
        if 0 <= row < size and 0 <= column < size:
            square[row][column], has_pattern[row][column] = is_dark, True

    for at in range(size):
        put(6, at, at % 2 == 0)
        put(at, 6, at % 2 == 0)
    for top, left in ((3, 3), (3, size - 4), (size - 4, 3)):
        for down, right, ring in _rings(4):
            put(top + down, left + right, ring not in (2, 4))
    centres = (6, *_ALIGNMENT[version - 1]) if version > 1 else ()
    corners = {(6, 6), (6, size - 7), (size - 7, 6)}
    for top, left in ((row, column) for row in centres for column in centres):
        if (top, left) not in corners:
            for down, right, ring in _rings(2):
                put(top + down, left + right, ring != 1)
    for row, column in (*_format_places(size)[0], *_format_places(size)[1], (size - 8, 8)):
        put(row, column, True)
    if version >= 7:
        value = version << 12 | _remainder(version, 12, 0x1F25)
        for at in range(18):
            put(at // 3, size - 11 + at % 3, bool(value >> at & 1))
            put(size - 11 + at % 3, at // 3, bool(value >> at & 1))
    return square, lambda row, column: not has_pattern[row][column]


def _rings(reach: int) -> Iterator[tuple[int, int, int]]:
    """Steps down and right from a centre, and how far out that is."""
    for down in range(-reach, reach + 1):
        for right in range(-reach, reach + 1):
            yield down, right, max(abs(down), abs(right))


def _format_places(size: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Where the fifteen bits of the format stand, the lowest one first: twice."""
    near = [(row, 8) for row in (0, 1, 2, 3, 4, 5, 7, 8)] + [(8, column) for column in (7, 5, 4, 3, 2, 1, 0)]
    far = [(8, size - 1 - at) for at in range(8)] + [(size - 15 + at, 8) for at in range(8, 15)]
    return near, far


def _remainder(value: int, degree: int, polynomial: int) -> int:
    rest = value
    for _ in range(degree):
        rest = rest << 1 ^ (rest >> degree - 1) * polynomial
    return rest


def _zigzag(size: int) -> Iterator[tuple[int, int]]:
    """Modules in the order of the data: two columns at a time, up and down, from the right."""
    is_upward = True
    for right in (*range(size - 1, 6, -2), 5, 3, 1):
        for row in range(size - 1, -1, -1) if is_upward else range(size):
            yield row, right
            yield row, right - 1
        is_upward = not is_upward


def _apply_mask(square: CodeSquare, places: list[tuple[int, int]], mask: int) -> CodeSquare:
    result = [list(row) for row in square]
    for row, column in places:
        result[row][column] ^= _MASKS[mask](row, column)
    level = 0b01 << 3 | mask  # 01 is level L
    value = (level << 10 | _remainder(level, 10, 0x537)) ^ 0x5412
    for part in _format_places(len(square)):
        for at, (row, column) in enumerate(part):
            result[row][column] = bool(value >> at & 1)
    return result


def _penalty(square: CodeSquare) -> int:
    """How hard a code is to read."""
    size = len(square)
    lines = [tuple(row) for row in square] + [tuple(column) for column in zip(*square, strict=True)]
    total = sum(_run_penalty(line) for line in lines)
    for above, below in pairwise(square):
        total += 3 * sum(above[at] == above[at + 1] == below[at] == below[at + 1] for at in range(size - 1))
    dark = sum(map(sum, square))
    return total + 10 * (abs(20 * dark - 10 * size * size) // (size * size))


def _run_penalty(line: tuple[bool, ...]) -> int:
    total, length = 0, 1
    for before, module in zip(line, (*line[1:], None), strict=True):
        if before == module:
            length += 1
            continue
        total += length - 2 if length >= 5 else 0
        length = 1
    finder, light = _FINDER_LIKE
    for at in range(len(line) - 10):
        window = line[at : at + 11]
        total += 40 * (window in (finder + light, light + finder))
    return total
