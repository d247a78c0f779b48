"""The table of invisible characters, and of the places where ordinary text needs them.

Terminals follow it through `sanitize`, and the hub's page through `web/src/text/characters.json`, which
`tools/generate_characters.py` writes from here. Each constant is a part of a regular expression: what stands
between the brackets of a character class, except for `NEEDED`, which is a whole expression.
"""

from __future__ import annotations

from typing import Final

# Printable for Python, invisible for a reader: grapheme joiner, Hangul fillers, inherent vowels of Khmer,
# variation selectors, the filler of Khitan, the null notehead.
INVISIBLE: Final = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0"
    "\U00016fe4\U0001d159\U000e0100-\U000e01ef"
)
# Not printable for Python, and still seen by every reader: signs that enclose Arabic, Syriac and Kaithi
# digits, and the code points that Unicode keeps for emoji which this Python does not know yet.
VISIBLE: Final = "\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd\U0001f000-\U0001faff"
BLANKS: Final = "\xa0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000"

_SYMBOLS: Final = (
    "\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u24ff\u25a0-\u27ff\u2900-\u2bff\u3030\u303d\u3297\u3299"
    "\U0001f000-\U0001faff"
)
_IDEOGRAPHS: Final = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# Blocks of the scripts whose letters change their form with a joiner.
_JOINING: Final = (
    "\u0600-\u109f\u1780-\u18af\u1a00-\u1cff\ua800-\uabff\ufb50-\ufdff\ufe70-\ufefc\U00010a00-\U00011fff"
)
_FLAGS: Final = "|".join(
    "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f"
    for region in ("gbeng", "gbsct", "gbwls")
)

# An invisible character where it must stand.
NEEDED: Final = (
    rf"(?<=[{_JOINING}])[\u200c\u200d](?![\u200c\u200d])"
    rf"|(?:(?<=[{_SYMBOLS}])|(?<=[{_SYMBOLS}]\ufe0f))\u200d(?=[{_SYMBOLS}])"
    rf"|(?<=[{_SYMBOLS}])[\ufe0e\ufe0f]"
    r"|(?<=[0-9#*])\ufe0f(?=\u20e3)"
    rf"|(?<=[{_IDEOGRAPHS}])[\ufe00-\ufe02\U000e0100-\U000e01ef]"
    r"|(?<=[\u1820-\u18aa])[\u180b-\u180d\u180f]"
    rf"|(?<=\U0001f3f4)(?:{_FLAGS})"
)
# Letters that need no second look; the rest is judged one by one.
PLAIN: Final = r" -~\xa1-\xac\xae-\u02ff\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3"
# Of these, only the next character says whether they are needed: a text is not cut behind them.
HELD: Final = r"\u200c\u200d\ufe00-\ufe0f\u180b-\u180f\U000e0000-\U000e01ef"
