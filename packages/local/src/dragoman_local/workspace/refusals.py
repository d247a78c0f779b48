"""The errors that an agent can get from the workspace's files, each with its reason.

Each has a code, a sentence for people and, in `data.reason`, a word for programs. None tells what a file
holds, nor whether something exists outside the roots. Codes below zero are the protocol's own; the others
lie outside the range that JSON-RPC reserves, and mean what they mean on the web.
"""

from __future__ import annotations

import errno

from dragoman.errors import ErrorAnswer

INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
NOT_FOUND = -32002
FORBIDDEN = 403
CONFLICT = 409
TOO_LARGE = 413
NOT_TEXT = 415

_SYSTEM_ERRORS: dict[int, tuple[int, str, str]] = {
    errno.ENOENT: (NOT_FOUND, "missing", "there is no such file"),
    errno.ENOTDIR: (INVALID_PARAMS, "not_a_folder", "part of the path is not a folder"),
    errno.EISDIR: (INVALID_PARAMS, "not_a_file", "the path names a folder, not a file"),
    errno.ENAMETOOLONG: (INVALID_PARAMS, "bad_path", "the path, or a name in it, is too long"),
    errno.ELOOP: (FORBIDDEN, "changed", "the path was changed while it was being opened"),
    errno.EACCES: (FORBIDDEN, "no_permission", "the system does not permit it"),
    errno.EPERM: (FORBIDDEN, "no_permission", "the system does not permit it"),
    errno.EROFS: (FORBIDDEN, "no_permission", "the file system is read-only"),
    errno.ETXTBSY: (FORBIDDEN, "busy", "the file is a program that is running"),
    errno.EBUSY: (FORBIDDEN, "busy", "the file is in use by the system"),
    errno.ENOSPC: (INTERNAL_ERROR, "no_space", "there is no space left on the disk"),
    errno.EDQUOT: (INTERNAL_ERROR, "no_space", "the disk quota is used up"),
    errno.EFBIG: (TOO_LARGE, "too_large", "the file would be larger than the system allows"),
    errno.EMFILE: (INTERNAL_ERROR, "busy", "too many files are open; try again"),
    errno.ENFILE: (INTERNAL_ERROR, "busy", "too many files are open; try again"),
}


def refusal(code: int, reason: str, why: str, **more: object) -> ErrorAnswer:
    return ErrorAnswer(code, why, {"reason": reason, **more})


def reason_of(error: ErrorAnswer) -> str:
    """Return the reason word of an error of the workspace, for programs; empty for others."""
    return str(error.data.get("reason", "")) if isinstance(error.data, dict) else ""


def policy_refusal(remedy: str = "") -> ErrorAnswer:
    """Return the error for an agent when an access is not permitted; `remedy` is a command for its user."""
    text = "the policy of this client does not permit it"
    return refusal(FORBIDDEN, "policy", f"{text}; your user can allow it with: {remedy}" if remedy else text)


def bad_path(why: str) -> ErrorAnswer:
    return refusal(INVALID_PARAMS, "bad_path", f"Invalid params: {why}")


def path_outside() -> ErrorAnswer:
    return refusal(FORBIDDEN, "outside", "the path leads outside the folders of this session")


def path_missing() -> ErrorAnswer:
    return refusal(NOT_FOUND, "missing", "there is no such file")


def path_changed() -> ErrorAnswer:
    return refusal(FORBIDDEN, "changed", "the path was changed while it was being opened")


def not_a_file() -> ErrorAnswer:
    return refusal(INVALID_PARAMS, "not_a_file", "the path names a folder, not a file")


def special_file(what: str) -> ErrorAnswer:
    return refusal(FORBIDDEN, "special", f"the path names {what}, which agents can't use here")


def root_gone(how: str) -> ErrorAnswer:
    return refusal(FORBIDDEN, "root_gone", f"a folder of this session was {how} since the session was opened")


def too_large(why: str) -> ErrorAnswer:
    return refusal(TOO_LARGE, "too_large", why)


def not_text(why: str) -> ErrorAnswer:
    return refusal(NOT_TEXT, "not_text", why)


def from_system(error: OSError) -> ErrorAnswer:
    """Return the error for a system error, without the system's text, which contains paths."""
    entry = _SYSTEM_ERRORS.get(error.errno or 0)
    if entry is None:
        name = errno.errorcode.get(error.errno or 0, "an unknown error")
        return refusal(INTERNAL_ERROR, "system", f"the system reported {name}")
    return refusal(*entry)


def session_unknown(session_id: str) -> ErrorAnswer:
    return ErrorAnswer(NOT_FOUND, "Session not found", {"sessionId": session_id})
