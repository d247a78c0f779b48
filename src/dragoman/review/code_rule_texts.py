"""The words of the rules that follow values and branches through code. The rules are in `code_rules`.

Apart from them, because whoever shows findings needs the words alone, and the rules compile many patterns.
"""

from __future__ import annotations

from typing import NamedTuple

from dragoman.review.finding import Severity


class CodeRule(NamedTuple):
    """The words of a rule."""

    id: str
    severity: Severity
    title: str
    why: str


CODE_RULES = (
    CodeRule(
        "flow/resource-leak",
        Severity.MEDIUM,
        "Resource leak: opened and never closed",
        "Files, sockets and connections are few. Close this one on every way out of the function: "
        "with `with`, `defer`, "
        "`try (…)`, `use` or `finally`.",
    ),
    CodeRule(
        "flow/lock-not-released",
        Severity.HIGH,
        "Lock is not released on every path: possible deadlock",
        "A return or an error between lock and unlock leaves it locked, and the next who asks waits "
        "for ever. Release it with "
        "`with`, `defer` or `finally`.",
    ),
    CodeRule(
        "flow/missing-await",
        Severity.HIGH,
        "Missing await: the coroutine or promise is never awaited",
        "The call gives back a promise of the result and nobody waits for it: the work may never "
        "run, its errors are lost, and "
        "as a condition it is always true.",
    ),
    CodeRule(
        "flow/floating-promise",
        Severity.MEDIUM,
        "Floating promise: rejections are not handled",
        "If it fails, nobody hears of it; Node ends the process. Await it, return it, or add a catch.",
    ),
    CodeRule(
        "flow/async-callback",
        Severity.HIGH,
        "Async callback where a plain value is expected",
        "An async function returns a promise, which is always true as a condition and never a "
        "number. Await the results with "
        "Promise.all first.",
    ),
    CodeRule(
        "flow/blocking-in-async",
        Severity.MEDIUM,
        "Blocking call in an async function",
        "While it blocks, nothing else on this thread runs. Use the asynchronous call, or a thread "
        "for blocking work.",
    ),
    CodeRule(
        "flow/weak-random",
        Severity.HIGH,
        "Insecure random number for a token or secret",
        "The numbers of this generator can be computed from a few of them. Use the system's: "
        "secrets, crypto.randomBytes, "
        "crypto/rand, SecureRandom, OsRng.",
    ),
    CodeRule(
        "flow/unused-result",
        Severity.HIGH,
        "Result of the call is not used",
        "The call returns a new value and leaves the old one as it was. Assign the result, or remove "
        "the line.",
    ),
    CodeRule(
        "flow/panic-instead-of-error",
        Severity.LOW,
        "unwrap or expect in a function that returns Result or Option",
        "The program panics where the caller could be told. Use ? or ok_or.",
    ),
    CodeRule(
        "logic/contradiction",
        Severity.HIGH,
        "Condition is always false: no number is in this range",
        "The bounds are the wrong way round, or and was meant to be or.",
    ),
    CodeRule(
        "logic/accidental-tuple",
        Severity.MEDIUM,
        "A comma at the end makes a tuple",
        "The value is a tuple of one element. Remove the comma, or write parentheses around it.",
    ),
    CodeRule(
        "logic/placeholder-in-quotes",
        Severity.MEDIUM,
        "Template placeholder in plain quotes is not replaced",
        "${…} works within backticks alone; here the reader sees it as it stands.",
    ),
    CodeRule(
        "logic/equals-without-hash",
        Severity.MEDIUM,
        "equals without hashCode",
        "Two equal objects land in different places of a HashMap and are not found. Define both.",
    ),
    CodeRule(
        "logic/repeated-condition",
        Severity.HIGH,
        "Duplicate condition in an if-else chain: the branch never runs",
        "An earlier branch asks the same, so this one is never reached. One of the two conditions is "
        "a mistake.",
    ),
    CodeRule(
        "logic/same-branches",
        Severity.MEDIUM,
        "Both branches of the if do the same",
        "The condition decides nothing: one of the branches was copied and not changed.",
    ),
    CodeRule(
        "logic/unreachable",
        Severity.MEDIUM,
        "Unreachable code",
        "The line before leaves the block, so this is never run.",
    ),
    CodeRule(
        "logic/fallthrough",
        Severity.MEDIUM,
        "Switch case falls through: missing break",
        "The next case runs too, and what this one set may be overwritten. Add break, or a comment "
        "that says it is meant.",
    ),
    CodeRule(
        "logic/changed-while-iterating",
        Severity.HIGH,
        "Collection is modified while iterating over it",
        "Elements are skipped, or the loop fails with an error. Iterate over a copy, or collect what "
        "shall go first.",
    ),
    CodeRule(
        "logic/off-by-one",
        Severity.HIGH,
        "Off-by-one: the loop reads past the end",
        "The last turn reads an element that is not there. Stop one earlier.",
    ),
    CodeRule(
        "logic/null-dereference",
        Severity.HIGH,
        "Null dereference: used where it was found to be null",
        "This branch runs when the value is absent, and then uses it. The condition is the wrong way round.",
    ),
    CodeRule(
        "flow/unchecked-absence",
        Severity.MEDIUM,
        "Null dereference: the value may be absent and is not checked",
        "The call gives nothing if there is no such thing, and the next step fails. Check first, or say "
        "what happens otherwise.",
    ),
    CodeRule(
        "flow/data-race",
        Severity.HIGH,
        "Data race: a shared variable is changed without a lock",
        "Two threads read the old value and each writes its own: changes are lost. Use a lock, an atomic "
        "number or a channel.",
    ),
    CodeRule(
        "flow/timing-attack",
        Severity.MEDIUM,
        "Timing attack: a secret compared with an ordinary comparison",
        "The comparison ends at the first difference, so that its time tells how much was right. Use a "
        "comparison of constant time.",
    ),
    CodeRule(
        "flow/logged-secret",
        Severity.MEDIUM,
        "Secret is written to the log",
        "Logs are kept, copied and read by many. Leave the value out, or write a part of it that helps "
        "nobody.",
    ),
    CodeRule(
        "flow/fast-password-hash",
        Severity.MEDIUM,
        "Password is hashed with a fast hash",
        "Billions of these a second can be tried. Use a hash made for passwords: argon2, scrypt, bcrypt or "
        "PBKDF2 with many rounds.",
    ),
    CodeRule(
        "flow/built-command",
        Severity.HIGH,
        "Command text built from a variable runs in a shell: possible command injection",
        "Blanks, quotes and semicolons in the value become part of the command. Give the program and its "
        "arguments one by one.",
    ),
    CodeRule(
        "logic/crossed-field",
        Severity.HIGH,
        "Field is set from the wrong parameter",
        "The parameter of the same name is never used: the line was copied and not changed.",
    ),
    CodeRule(
        "logic/exhausted-iterator",
        Severity.HIGH,
        "Iterator is used twice: the second time it is empty",
        "An iterator gives its elements once. Make a list of it first.",
    ),
    CodeRule(
        "logic/wrong-loop",
        Severity.HIGH,
        "Loop counts the wrong way, or the wrong variable",
        "What is asked at the end of a round is not what the round changed, so the loop never ends or runs "
        "over what is not there.",
    ),
    CodeRule(
        "logic/boxed-identity",
        Severity.HIGH,
        "Objects compared with == instead of equals",
        "Numbers in objects are equal and still two objects, above 127 always. Compare with equals.",
    ),
    CodeRule(
        "logic/lost-shift",
        Severity.HIGH,
        "Shift by as many bits as the number has: integer overflow",
        "The bits fall out, or the count is taken modulo the width. Make the number wider before the shift.",
    ),
    CodeRule(
        "logic/cut-quotient",
        Severity.MEDIUM,
        "Integer division: the fraction is lost before the value becomes a double",
        "Both sides are whole numbers, and so is the quotient. Make one of them a double first.",
    ),
    CodeRule(
        "logic/cut-product",
        Severity.MEDIUM,
        "Integer overflow: the product is computed as an int before it becomes a long",
        "All factors are ints, and so is the product, which wraps around. Make one of them a long first.",
    ),
    CodeRule(
        "logic/numbers-sorted-as-texts",
        Severity.MEDIUM,
        "sort without a comparison sorts numbers as texts",
        "As texts 10 comes before 9. Give sort a function that subtracts.",
    ),
    CodeRule(
        "logic/compared-sum",
        Severity.MEDIUM,
        "Sum of fractions compared with ==",
        "Each addition is rounded in binary, so that the sum is off by a little. Compare with a tolerance, "
        "or add up whole cents.",
    ),
    CodeRule(
        "logic/text-as-number",
        Severity.HIGH,
        "Text compared with a number: never equal",
        "Settings, arguments and what somebody typed are texts, and the text 3 is not the number 3. Make "
        "a number of it first.",
    ),
    CodeRule(
        "flow/unguarded-promise",
        Severity.MEDIUM,
        "Promise is returned out of try without await: catch never sees it fail",
        "The try is left before the promise is settled, and whoever called has to handle the failure. "
        "Write return await.",
    ),
    CodeRule(
        "flow/nil-error",
        Severity.HIGH,
        "Error is always nil here: the failure is reported as success",
        "It was found to be nil above and nothing has set it since, and wrapping nil gives nil. Make a new "
        "error.",
    ),
    CodeRule(
        "flow/unheard-failure",
        Severity.MEDIUM,
        "Error is never read: the failure goes unnoticed",
        "The call keeps its error in what it gives back, or sends it as an event that nobody takes. Read the "
        "error, or use pipeline.",
    ),
    CodeRule(
        "flow/reflected-origin",
        Severity.HIGH,
        "CORS allows any origin with credentials",
        "Every site can send requests with the cookies of whoever visits it, and read the answers. Compare "
        "the origin with a list.",
    ),
    CodeRule(
        "flow/open-secret",
        Severity.MEDIUM,
        "File with a secret is readable by everyone",
        "Every user of the machine can read what is in it, and perhaps change it. Make it with mode 600.",
    ),
    CodeRule(
        "flow/lock-order",
        Severity.HIGH,
        "Locks are taken in opposite order: deadlock",
        "Each of two threads holds the lock that the other one waits for. Take them in the same order "
        "everywhere.",
    ),
    CodeRule(
        "flow/locked-twice",
        Severity.HIGH,
        "Lock is taken twice: deadlock",
        "The method that is called asks for the lock that the caller holds, and waits for ever. Call a "
        "method that expects the lock to be held.",
    ),
    CodeRule(
        "flow/copied-lock",
        Severity.HIGH,
        "Lock is copied with its object: it guards nothing",
        "A method with a value as its receiver works on a copy, and every copy has a lock of its own. Take a "
        "pointer.",
    ),
    CodeRule(
        "flow/unmade-map",
        Severity.HIGH,
        "Map is never made: an entry for it panics",
        "A field that is a map is nil until somebody makes it, and nil takes no entries. Make it where the "
        "object is made.",
    ),
    CodeRule(
        "logic/value-identity",
        Severity.HIGH,
        "Objects compared by identity: equal ones count as different",
        "Two objects with the same content are still two. Compare what they hold: getTime() of dates, == in "
        "Kotlin.",
    ),
)
