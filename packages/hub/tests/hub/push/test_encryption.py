"""The encryption of RFC 8291 and the signature of RFC 8292."""

from __future__ import annotations

from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from dragoman.errors import LocalMistake
from dragoman_hub.push.encryption import (
    PADDED,
    TOKEN_SECONDS,
    VapidKey,
    decode_base64,
    encode_base64,
)
from tests.hub.push.push_service import BrowserKeys, private_key

# The example of RFC 8291, section 5 and appendix A.
PLAIN = b"When I grow up, I want to be a watermelon"
SENDER = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
RECEIVER = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
P256DH = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
AUTH = "BTBZMqHH6r4Tts7J_aSIgg"
SALT = "DGv6ra1nlYgDCS1FRnbzlw"
BODY = (
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27ml"
    "mlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPT"
    "pK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
)


def test_the_example_of_the_rfc_is_encrypted_to_the_same_bytes() -> None:
    body = VapidKey.encrypt(
        PLAIN, p256dh=P256DH, auth=AUTH, salt=decode_base64(SALT), sender=private_key(SENDER), padded=0
    )
    assert encode_base64(body) == BODY


def test_the_browser_of_the_tests_reads_the_example_of_the_rfc() -> None:
    keys = BrowserKeys(private_key(RECEIVER), decode_base64(AUTH))
    assert keys.public == {"p256dh": P256DH, "auth": AUTH}
    assert keys.decrypt(decode_base64(BODY)) == PLAIN


def test_messages_of_all_lengths_have_one_size_and_no_two_are_alike() -> None:
    keys = BrowserKeys()
    p256dh, auth = keys.public["p256dh"], keys.public["auth"]
    bodies = [
        VapidKey.encrypt(text, p256dh=p256dh, auth=auth) for text in (b"", b"x", b"x", b"y" * (PADDED - 1))
    ]
    assert len(set(bodies)) == 4
    assert len({len(body) for body in bodies}) == 1
    assert keys.decrypt(bodies[3]) == b"y" * (PADDED - 1)


@pytest.mark.parametrize(
    ("p256dh", "auth"),
    [
        ("", AUTH),
        (P256DH[:-2], AUTH),
        (P256DH[:-3] + "AAA", AUTH),
        (P256DH, ""),
        (P256DH, "AAAA"),
        ("ä", AUTH),
    ],
)
def test_what_is_no_key_of_a_subscription_is_refused(p256dh: str, auth: str) -> None:
    VapidKey.check_keys(P256DH, AUTH)
    with pytest.raises(ValueError, match=r".*"):
        VapidKey.check_keys(p256dh, auth)


def test_another_library_trusts_the_signature_for_the_service_alone(tmp_path: Path) -> None:
    key = VapidKey.open(tmp_path / "vapid.pem", contact="mailto:ann@example.org")
    header = key.authorization("https://push.example:8443/a/b?c")
    scheme, _, rest = header.partition(" ")
    fields = dict(field.split("=", 1) for field in rest.split(", "))
    assert (scheme, fields["k"]) == ("vapid", key.public)
    point = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decode_base64(fields["k"]))
    claims = jwt.decode(fields["t"], point, algorithms=["ES256"], audience="https://push.example:8443")
    assert claims["sub"] == "mailto:ann@example.org"
    assert jwt.get_unverified_header(fields["t"]) == {"typ": "JWT", "alg": "ES256"}
    with pytest.raises(jwt.InvalidAudienceError):
        jwt.decode(fields["t"], point, algorithms=["ES256"], audience="https://other.example")
    assert TOKEN_SECONDS < 86400


def test_the_key_is_made_once_for_its_owners_eyes(tmp_path: Path) -> None:
    path = tmp_path / "vapid.pem"
    first = VapidKey.open(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert VapidKey.open(path).public == first.public
    path.chmod(0o644)
    with pytest.raises(LocalMistake, match="others may read it: chmod 600 it"):
        VapidKey.open(path)
    path.chmod(0o600)
    path.write_text("no key")
    with pytest.raises(LocalMistake, match="the file has no key"):
        VapidKey.open(path)
