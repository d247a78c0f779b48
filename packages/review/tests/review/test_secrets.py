"""Secrets are reported by one rule, and masked in whatever is shown to a model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman_review import FindingPlace, ReviewRule, Severity, own_rules
from dragoman_review.inspection import inspect
from dragoman_review.secrets import HARDCODED, mask_secrets, secret_findings
from dragoman_review.text_edits import TextLines
from tests.every import every
from tests.review.samples import NAMES
from tests.review.secret_examples import EXAMPLES, noise

TOKEN = "ghp_" + "9fQ2xLrT7vKpW3sZ8dYb1nHc6mJg4aEuRoIq"
BODY = "MIIEowIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gun"


FILES = {"configured": NAMES["ini"], "variable-default": NAMES["hcl"]}


def reported(text: str, path: str = "a.py") -> list[tuple[Severity, str]]:
    """How bad each finding is, and what it covers."""
    lines = TextLines(text)
    findings = list(secret_findings(path, lines))
    assert all(finding.is_secret and finding.rule == HARDCODED.id for finding in findings)
    return [(finding.severity, _covered(lines, finding.place)) for finding in findings]


def _covered(lines: TextLines, place: FindingPlace) -> str:
    start, end = (place.line, place.column), (place.end_line, place.end_column)
    return lines.text[lines.offset(*start) : lines.offset(*end)]


@every("kind", EXAMPLES)
def test_a_secret_of_each_kind_is_reported(kind: str) -> None:
    path = FILES.get(kind, NAMES["python"])
    for text in EXAMPLES[kind][0]:
        found = inspect(path, f"{text}\n", own_rules(), has_ruff=True).findings
        assert HARDCODED.id in {finding.rule for finding in found}, text
        for finding in found:
            assert _covered(TextLines(text), finding.place) not in finding.title + finding.why


@every("kind", EXAMPLES)
def test_what_only_looks_like_a_secret_is_not_reported(kind: str) -> None:
    path = FILES.get(kind, NAMES["python"])
    assert [text for text in EXAMPLES[kind][1] if reported(f"{text}\n", path)] == []


def test_a_key_of_a_service_is_named_and_is_the_worst() -> None:
    (finding,) = secret_findings("a.py", TextLines(f'token = "{TOKEN}"\n'))
    assert (finding.title, finding.severity) == ("Hardcoded secret: github", Severity.CRITICAL)
    password = noise(20) + "7k"
    assert reported(f"password = '{password}'\n") == [(Severity.HIGH, password)]


@every("path", ["tests/a.py", "src/test/java/A.java", "pkg/test_a.py", "a_test.go", "web/a.spec.ts"])
def test_in_a_test_only_keys_of_services_are_reported(path: str) -> None:
    assert reported(f"password = '{noise(20)}7k'\n", path) == []
    assert reported(f"token = '{TOKEN}'\n", path) == [(Severity.CRITICAL, TOKEN)]


@every(
    "text",
    [
        'SIGNING = ("x-amz-content-sha256", "x-amz-security-token", "x-amz-content-sha256")',
        "_SK_START = b'-----BEGIN OPENSSH PRIVATE KEY-----'\n_SK_END = b'-----END OPENSSH PRIVATE KEY-----'",
        "L2CAP_LM_AUTH as L2CAP_LM_AUTH,",
        "decode_dss_signature = asn1.decode_dss_signature",
        "password = 'correct horse battery'",
    ],
)
def test_code_is_not_accused(text: str) -> None:
    assert reported(f"{text}\n") == []


def test_a_secret_in_a_line_of_a_machine_is_not_reported() -> None:
    assert reported(f"{'x' * 5000} token = '{TOKEN}'\n") == []


@given(st.text(alphabet="ab =\n", max_size=40), st.text(alphabet="cd #\n", max_size=40))
def test_a_mask_keeps_every_line_and_column(before: str, after: str) -> None:
    text = f'{before}\ntoken = "{TOKEN}"\n{after}'
    assert mask_secrets(text, path="a.py") == text.replace(TOKEN, "*" * len(TOKEN))


@pytest.mark.parametrize("end", ["-----END RSA PRIVATE KEY-----\nx = 1", "", '""")'])
def test_a_private_key_is_masked_to_its_last_line(end: str) -> None:
    text = f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n{BODY[::-1]}\n{end}"
    masked = mask_secrets(text)
    assert BODY not in masked
    assert BODY[::-1] not in masked
    assert masked.count("\n") == text.count("\n")
    assert masked.endswith(end[-1:])


def test_comments_that_silence_a_rule_and_long_lines_do_not_keep_a_secret_readable() -> None:
    silenced = f'token = "{TOKEN}"  # dragoman: ignore[secrets/hardcoded] it is known'
    text = f'{silenced}\n{"x" * 5000} token = "{TOKEN}"\n'
    assert TOKEN not in mask_secrets(text, path="a.py")


def test_a_password_that_no_rule_reports_is_masked() -> None:
    assert (
        mask_secrets('DEBUG_PASSWORD = "hunter2secret"\n', path="a.py") == f'DEBUG_PASSWORD = "{"*" * 13}"\n'
    )


def test_a_rule_of_a_repository_adds_to_what_is_masked() -> None:
    rule = ReviewRule(
        id=HARDCODED.id,
        title="t",
        why="w",
        severity=Severity.LOW,
        pattern=r"(?P<secret>badge:\w+)",
        entropy=1.0,
    )
    text = f"it is badge:q8z1 and {TOKEN}\n"
    assert mask_secrets(text, rules=[rule]) == f"it is {'*' * 10} and {'*' * len(TOKEN)}\n"
