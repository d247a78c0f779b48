"""Makes known secrets in a frame unreadable before it is stored.

What is made unreadable: values of the environment and headers that are given to MCP servers and terminals;
values under names such as `password` or `apiKey`, at any depth; what looks like a key, a token or a private
key, wherever it stands; passwords in addresses; `--token …` and `API_KEY=…` in commands. The names stay, so
that a reader sees what was there.

It errs on the side of storing too little. It does not know a secret that looks like any other word, nor one
that was cut in two by a stream of chunks. A frame that holds nothing of this is returned as it is, unparsed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import islice, repeat

import msgspec

from dragoman.journal.entry_runs import EntryBatch, FrameRun

REDACTED = "[redacted]"
_MARK = REDACTED.encode()

NAMED = frozenset(
    {
        *("apikey", "xapikey", "authkey", "secret", "clientsecret", "secretkey", "secretaccesskey"),
        *("password", "passwd", "passphrase", "privatekey", "credential", "credentials", "bearer"),
        *("token", "accesstoken", "refreshtoken", "idtoken", "authtoken", "bearertoken", "sessiontoken"),
        *("authorization", "proxyauthorization", "cookie", "setcookie"),
    }
)
"""Names of secrets, without case and punctuation."""

PAIRS = frozenset({"env", "headers", "environment", "httpheaders", "dragomancredentials"})
"""Names of lists or tables whose values are never stored, whatever they are called."""

# Looking for a word is much faster than for a shape, so each shape comes with one that must be there.
# Repetitions that something must follow are bounded, lest odd text take forever.
SHAPES = tuple(
    (word, re.compile(shape))
    for word, shape in (
        ("sk-", rb"\bsk-[A-Za-z0-9_-]{16,}"),
        ("k_live_", rb"\b[rs]k_live_[A-Za-z0-9]{16,}"),
        *((f"gh{kind}_", rf"\bgh{kind}_[A-Za-z0-9]{{20,}}".encode()) for kind in "pousr"),
        ("github_pat_", rb"\bgithub_pat_[A-Za-z0-9_]{20,}"),
        ("glpat-", rb"\bglpat-[A-Za-z0-9_-]{16,}"),
        ("xox", rb"\bxox[abeprs]-[A-Za-z0-9-]{10,}"),
        ("akia", rb"\bAKIA[A-Z0-9]{16}\b"),
        ("asia", rb"\bASIA[A-Z0-9]{16}\b"),
        ("aiza", rb"\bAIza[A-Za-z0-9_-]{30,}"),
        ("ya29.", rb"\bya29\.[A-Za-z0-9_-]{20,}"),
        ("hf_", rb"\bhf_[A-Za-z0-9]{20,}"),
        ("npm_", rb"\bnpm_[A-Za-z0-9]{30,}"),
        ("pypi-", rb"\bpypi-[A-Za-z0-9_-]{30,}"),
        ("eyj", rb"\beyJ[A-Za-z0-9_-]{8,300}\.[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]*"),
        (
            "private key-----",
            rb"-----BEGIN [A-Z ]*PRIVATE KEY-----[^\"]*?(?:-----END [A-Z ]*PRIVATE KEY-----|(?=\")|$)",
        ),
    )
)
"""What keys look like."""

AFTER = tuple(
    (word, re.compile(shape))
    for word, shape in (
        ("bearer", rb"(?i)(\bbearer\s+)[A-Za-z0-9._~+/=-]{8,}"),
        ("basic", rb"(?i)(authorization\W{1,6}basic\s+)[A-Za-z0-9+/=]{8,}"),
        ("@", rb"(\b[a-z][a-z0-9+.-]{0,15}://[^\s/\"\\:@]{0,200}:)[^\s/\"\\@]{1,500}(?=@)"),
        ("=", rb"(?i)([?&](?:access_token|api_?key|token|secret|password)=)[^\s&\"\\#]+"),
        (
            "=",
            rb"(\b[A-Z][A-Z0-9_]*?(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)(?:_[A-Z0-9]+)?=\\?[\"']?)"
            rb"[^\s\"'\\;&|]+",
        ),
        (
            "--",
            rb"(--(?:[a-z]+-)*(?:api-?key|token|secret|password|passwd)(?:=|\s+|\"\s*,\s*\"))[^\s\"\\]+",
        ),
    )
)
"""What stands before a secret; it stays, and the secret goes."""

_HINTS = (
    *("key", "token", "secret", "pass", "authoriz", "bearer", "cookie", "credential", '"env', "headers", "@"),
    '"authenticate"',
    *(word for word, _ in SHAPES if "key" not in word),
)
"""Every secret that is known here comes with one of these. In text they are found faster than in bytes."""


_RARE = "_-zjx9k"
"""Letters that text mostly has none of. One letter is looked for many times as fast as a word."""

_BY_LETTER = tuple(
    (letter, tuple(hint for hint in _HINTS if letter in hint and not set(hint) & set(_RARE[:place])))
    for place, letter in enumerate(_RARE)
)
_OTHERS = tuple(hint for hint in _HINTS if not set(hint) & set(_RARE))


def _is_hinted(low: str) -> bool:
    """Whether one of the hints is in a text without capitals."""
    for hint in _OTHERS:
        if hint in low:
            return True
    for letter, hints in _BY_LETTER:
        if letter in low:
            for hint in hints:
                if hint in low:
                    return True
    return False


def redact(frame: bytes) -> bytes:
    """The frame without what is known to be secret; the same object if there is nothing."""
    low = _low(frame)
    return _shapes(_structure(frame), low) if _is_hinted(low) else frame


TOGETHER = 32
"""Frames that are looked at in one go. A hint in one of them makes all of them be looked at again."""


LONGEST_HEAD = 1024
"""Bytes of what frames begin with that are compared: beyond the protocol's own words, little is alike."""

FEW = 8
"""Below it, finding out what frames share costs more than it saves."""


def redact_all(frames: Sequence[bytes], how: Callable[[bytes], bytes] = redact) -> Sequence[bytes]:
    """Each frame as `how` makes it. With ours, frames of one stream cost a tenth of what each would alone:
    nearly all of them begin alike, and what is alike is looked at once.
    """
    if how is not redact or len(frames) < FEW:
        return [how(frame) for frame in frames]
    # Two neighbours may be of different kinds; of three pairs, one is of the kind that most are.
    pairs = (0, len(frames) // 2 - 1, len(frames) // 2)
    heads = {_shared_head(frames[n], frames[min(n + 1, len(frames) - 1)]) for n in pairs}
    plain = (head for head in sorted(heads, key=len, reverse=True) if not _is_hinted(_low(head)))
    head = next(plain, b"")
    found: list[bytes] = []
    for first in range(0, len(frames), TOGETHER):
        found += _in_parts(frames[first : first + TOGETHER], head)
    return found


def is_redacted(frame: bytes) -> bool:
    """Whether it holds the mark of something that was taken out, or of somebody who wrote that mark."""
    return _MARK in frame


def redact_runs(entries: EntryBatch, how: Callable[[bytes], bytes]) -> Sequence[FrameRun]:
    """All frames together, because that costs less."""
    frames = entries.frames
    kept = redact_all(frames, how)
    if kept == frames:
        return entries.runs
    rest = iter(kept)
    return [FrameRun(run.direction, list(islice(rest, len(run.frames))), run.time) for run in entries.runs]


def _in_parts(frames: Sequence[bytes], head: bytes) -> Sequence[bytes]:
    # The quote with which the head ends stays, so that no hint is cut in two.
    rest = b'\n"'.join((b"", *map(bytes.removeprefix, frames, repeat(head))))
    if not _is_hinted(_low(rest)):
        return frames
    if len(frames) == 1:
        return [redact(frames[0])]
    half = len(frames) // 2
    return [*_in_parts(frames[:half], head), *_in_parts(frames[half:], head)]


def _shared_head(one: bytes, other: bytes) -> bytes:
    """How both begin, up to a quote."""
    size = min(len(one), len(other), LONGEST_HEAD)
    apart = int.from_bytes(one[:size], "big") ^ int.from_bytes(other[:size], "big")
    alike = (
        size - (apart.bit_length() + 7) // 8
    )  # the first byte that differs is the highest that is not zero
    return one[: one.rfind(b'"', 0, alike) + 1]


def _low(text: bytes) -> str:
    return text.lower().decode("latin-1")


def _shapes(frame: bytes, low: str) -> bytes:
    for word, shape in SHAPES:
        if word in low:
            frame = shape.sub(_MARK, frame)
    for word, shape in AFTER:
        if word in low:
            frame = shape.sub(rb"\g<1>" + _MARK, frame)
    return frame


def _structure(frame: bytes) -> bytes:
    """Values that are secret by their name. What is no JSON has no names."""
    try:
        message = msgspec.json.decode(frame)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return frame
    hidden = _hide_login(_hide(message))
    return frame if hidden is message else msgspec.json.encode(hidden)


def _hide(value: object) -> object:
    """The value with secrets hidden; the same object where there are none."""
    if isinstance(value, dict):
        changed = {name: _hide_named(name, held) for name, held in value.items()}
        return changed if any(changed[name] is not value[name] for name in value) else value
    if isinstance(value, list):
        items = [_hide(item) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value


def _hide_login(message: object) -> object:
    """Some dialects log in with `data` in `authenticate`, under any names."""
    if not isinstance(message, dict) or message.get("method") != "authenticate":
        return message
    params = message.get("params")
    if not isinstance(params, dict) or not params.get("data"):
        return message
    return {**message, "params": {**params, "data": REDACTED}}


def _hide_named(name: str, value: object) -> object:
    bare = "".join(filter(str.isalnum, name)).lower()
    if bare in NAMED and isinstance(value, str) and value:
        return REDACTED
    if bare in PAIRS:
        return _hide_pairs(value)
    return _hide(value)


def _hide_pairs(value: object) -> object:
    if isinstance(value, dict):
        return {name: REDACTED if isinstance(held, str) else _hide(held) for name, held in value.items()}
    if isinstance(value, list):
        return [
            {**item, "value": REDACTED} if isinstance(item, dict) and "value" in item else _hide(item)
            for item in value
        ]
    return value
