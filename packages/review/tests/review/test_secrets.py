"""Secrets are masked in whatever is shown to a model; everything else stays as it is."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman_review.rules import own_rules
from dragoman_review.secrets import mask_secrets

TOKEN = "ghp_" + "9fQ2xLrT7vKpW3sZ8dYb1nHc6mJg4aEuRoIq"
BODY = "MIIEowIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gun"


@given(st.text(alphabet="ab =\n", max_size=40), st.text(alphabet="cd #\n", max_size=40))
def test_a_mask_keeps_every_line_and_column(before: str, after: str) -> None:
    text = f'{before}\ntoken = "{TOKEN}"\n{after}'
    assert mask_secrets(text, path="a.py", rules=own_rules()) == text.replace(TOKEN, "*" * len(TOKEN))


@pytest.mark.parametrize("end", ["-----END RSA PRIVATE KEY-----\nx = 1", "", '""")'])
def test_a_private_key_is_masked_to_its_last_line(end: str) -> None:
    text = f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n{BODY[::-1]}\n{end}"
    masked = mask_secrets(text, rules=own_rules())
    assert BODY not in masked
    assert BODY[::-1] not in masked
    assert masked.count("\n") == text.count("\n")
    assert masked.endswith(end[-1:])


def test_comments_that_silence_a_rule_and_long_lines_do_not_keep_a_secret_readable() -> None:
    silenced = f'token = "{TOKEN}"  # dragoman: ignore[secrets/github-token, secrets/assigned] it is known'
    text = f'{silenced}\n{"x" * 5000} token = "{TOKEN}"\n'
    assert TOKEN not in mask_secrets(text, path="a.py", rules=own_rules())


def test_a_password_that_no_rule_reports_is_masked() -> None:
    assert (
        mask_secrets('DEBUG_PASSWORD = "hunter2secret"\n', path="a.py") == f'DEBUG_PASSWORD = "{"*" * 13}"\n'
    )


def test_a_rule_with_the_name_of_ours_does_not_make_a_secret_readable() -> None:
    ours = [rule for rule in own_rules() if rule.entropy > 0]
    never = [msgspec.structs.replace(rule, pattern="(?P<secret>never)", keywords=()) for rule in ours]
    text = f'token = "{TOKEN}"\n'
    assert mask_secrets(text, path="a.py", rules=never) == text.replace(TOKEN, "*" * len(TOKEN))


def test_a_rule_of_a_repository_adds_to_what_is_masked() -> None:
    rule = next(rule for rule in own_rules() if rule.entropy > 0)
    more = msgspec.structs.replace(
        rule, id="house/badge", pattern=r"(?P<secret>badge:\w+)", keywords=(), entropy=1.0
    )
    assert mask_secrets("it is badge:q8z1\n", rules=[more]) == f"it is {'*' * 10}\n"
