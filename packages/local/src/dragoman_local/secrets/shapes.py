"""Secrets with a recognisable shape: one row each, for all packages that hide secrets.

A row is the kind, a word that stands in every such secret, and what stands around it. A row is searched for
as soon as it stands here. The facts are those that the services publish: prefix, alphabet, length. No pattern
repeats a repetition, so the time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

BEGIN = r"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4}))"
"""The beginning of a word, also after a character that JSON escapes with letters, such as `\\n`."""


class KnownShape:
    """One row. Its pattern is compiled when a text first has its word: compiling all takes longer than the
    start of most commands.
    """

    __slots__ = ("_compiled", "kind", "pattern", "word")

    def __init__(self, kind: str, word: str, rest: str, *, before: str = BEGIN) -> None:
        self.kind, self.word = kind, word
        self.pattern = before + re.escape(word) + rest
        self._compiled: re.Pattern[str] | None = None

    def spans(self, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Return its places in a part of a text: the group `secret`, if the pattern has one, otherwise all of
        it.
        """
        if self._compiled is None:
            self._compiled = re.compile(self.pattern, re.ASCII)
        group = "secret" if self._compiled.groups else 0
        for match in self._compiled.finditer(text, start, end):
            # Keys of documentation.
            low = match[0].lower()
            if not match[0].endswith("EXAMPLE") and "xxxxxxxx" not in low and "-your-" not in low:
                yield match.span(group)


_W, _H, _D, _B = "[A-Za-z0-9]", "[a-fA-F0-9]", "[A-Za-z0-9_-]", "[A-Za-z0-9+/]"
"""Alphabets of keys: any letter, hexadecimal digits, with dashes, base64."""
_END = "(?![A-Za-z0-9])"

_PREFIXES: tuple[tuple[str, str, str], ...] = (
    # language models
    ("anthropic", "sk-ant-", _D + "{16,}"),
    ("openai", "sk-", rf"(?!ssh|ecdsa)(?:(?=[A-Za-z_-]{{0,99}}\d){_D}{{16,}}|{_W}{{20,}})"),
    ("openai", "sess-", _W + "{40}"),
    ("huggingface", "hf_", _W + "{20,}"),
    ("huggingface", "api_org_", _W + "{30,}"),
    ("groq", "gsk_", _W + "{30,}"),
    ("replicate", "r8_", _W + "{30,}"),
    ("xai", "xai-", _D + "{40,}"),
    ("perplexity", "pplx-", _W + "{32,}"),
    ("fireworks", "fw_", _W + "{22,}"),
    ("nvidia", "nvapi-", _D + "{40,}"),
    ("pinecone", "pcsk_", _D + "{40,}"),
    ("langsmith", "lsv2_", "(?:pt|sk)_[A-Za-z0-9_]{20,}"),
    ("tavily", "tvly-", _D + "{20,}"),
    ("elevenlabs", "sk_", _H + "{48}" + _END),
    ("jina", "jina_", _D + "{50,}"),
    ("voyage", "pa-", _D + "{43}" + _END),
    ("firecrawl", "fc-", _H + "{32}" + _END),
    ("e2b", "e2b_", _H + "{40}"),
    ("weightsandbiases", "wandb_v1_", "[A-Za-z0-9_]{40,}"),
    ("kaggle", "KGAT_", _H + "{32}"),
    ("runpod", "rpa_", "[A-Z0-9]{40,}"),
    # code hosts
    *(("github", f"gh{kind}_", _W + "{20,}") for kind in "pousr"),
    ("github", "github_pat_", "[A-Za-z0-9_]{20,}"),
    ("gitlab", "glpat-", "[A-Za-z0-9_.-]{16,}"),
    *(
        ("gitlab", f"gl{kind}-", "[A-Za-z0-9_.-]{20,}")
        for kind in ("dt", "rt", "ptt", "ft", "soat", "cbt", "oas", "imt", "agent", "ffct")
    ),
    ("gitlab", "GR1348941", _D + "{20,}"),
    ("bitbucket", "ATBB", _W + "{28,}"),
    ("atlassian", "ATCTT3", "[A-Za-z0-9_=-]{50,}"),
    ("atlassian", "ATATT3", "[A-Za-z0-9_=-]{50,}"),
    ("sourcegraph", "sgp_", f"(?:{_H}{{16}}_|local_)?{_H}{{40}}"),
    ("gitea", "gto_", _W + "{36,}"),
    ("snyk", "snyk_", "(?:uat|sat)" + r"[.][A-Za-z0-9_.-]{40,}"),
    ("trello", "ATTA", _H + "{64}" + _H + "{8}" + _END),
    ("harness", "pat.", _D + r"{22}\." + _H + r"{24}\." + _W + "{20}"),
    ("harness", "sat.", _D + r"{22}\." + _H + r"{24}\." + _W + "{20}"),
    ("octopus", "API-", "(?=[A-Z]{0,24}\\d)[A-Z0-9]{26,32}" + _END),
    # clouds
    *(("aws", prefix, "[A-Z0-9]{16}" + _END) for prefix in ("AKIA", "ASIA", "ABIA", "ACCA")),
    ("aws", "ABSK", _B + "{100,}={0,2}"),
    ("aws", "bedrock-api-key-", _B + "{30,}={0,2}"),
    ("aws", "IQoJb3JpZ2lu", _B + "{100,}={0,2}"),
    ("openshift", "sha256~", _D + "{43}" + _END),
    ("neon", "napi_", _W + "{60,}"),
    ("aiven", "AVNS_", _D + "{15,}"),
    ("mongodb", "mdb_sa_sk_", _D + "{30,}"),
    ("confluent", "cflt", _B + "{60}" + _END),
    ("yandex", "AQVN", _D + "{35,38}" + _END),
    ("yandex", "t1.", r"[A-Za-z0-9_-]+={0,2}\.[A-Za-z0-9_-]{86}={0,2}"),
    ("yandex", "y0_", _D + "{50,}"),
    ("vault", "s.", rf"(?=[A-Za-z]{{0,20}}\d){_W}{{24}}(?![A-Za-z0-9_.-])"),
    ("intercom", "dG9rO", _B + "{40,}={0,2}"),
    ("bitwarden", "0.", f"{_H}{{8}}-{_H}{{4}}-{_H}{{4}}-{_H}{{4}}-{_H}{{12}}[.]{_W}{{30}}[:]{_B}{{22}}=="),
    ("ory", "ory_", f"(?:at|rt|pat|ac|st|apikey|wak)_{_D}{{30,}}"),
    ("stytch", "secret-live-", _D + "{36}={0,2}"),
    ("stytch", "secret-test-", _D + "{36}={0,2}"),
    ("google", "AIza", _D + "{30,}"),
    ("google", "ya29.", "[A-Za-z0-9_.-]{20,}"),
    ("google", "GOCSPX-", _D + "{20,}"),
    ("google", "1//0", _D + "{30,}"),
    ("google", "GOOG1E", "[A-Z0-9]{50,}"),
    ("alibaba", "LTAI", _W + "{16,24}" + _END),
    ("tencent", "AKID", _W + "{32}" + _END),
    *(("digitalocean", f"do{kind}_v1_", _H + "{64}") for kind in "opr"),
    ("heroku", "HRKU-", _D + "{36,}"),
    ("fly", "fm2_", "[A-Za-z0-9_=/+-]{60,}"),
    ("fly", "fm1r_", "[A-Za-z0-9_=/+-]{60,}"),
    ("fly", "fo1_", _D + "{43}" + _END),
    ("render", "rnd_", _W + "{24,}"),
    *(("netlify", f"nf{kind}_", _W + "{32,}") for kind in "pco"),
    *(("vercel", f"vc{kind}_", _W + "{24,}") for kind in "paikr"),
    ("vercel", "vercel_blob_rw_", "[A-Za-z0-9_]{30,}"),
    ("supabase", "sbp_", _H + "{40}"),
    ("supabase", "sb_secret_", _D + "{20,}"),
    ("planetscale", "pscale_tkn_", "[A-Za-z0-9_.=-]{30,}"),
    ("planetscale", "pscale_pw_", "[A-Za-z0-9_.=-]{30,}"),
    ("planetscale", "pscale_oauth_", "[A-Za-z0-9_.=-]{30,}"),
    ("databricks", "dapi", _H + r"{32}(?:-\d)?" + _END),
    ("scaleway", "SCW", "[A-Z0-9]{17}" + _END),
    ("ibm", "p-2+", "[A-Za-z0-9+/=]{30,}"),
    ("tailscale", "tskey-", f"(?:[a-z]+-)?{_D}{{16,}}"),
    ("cloudflare", "eyJhIjo", _B + "{80,}={0,2}"),
    ("cloudflare", "v1.0-", f"{_H}{{24}}-{_H}{{140,}}"),
    ("vault", "hvs.", _D + "{20,}"),
    ("vault", "hvb.", _D + "{20,}"),
    ("vault", "hvr.", _D + "{20,}"),
    ("doppler", "dp.pt.", _W + "{40,}"),
    ("doppler", "dp.st.", "[A-Za-z0-9_.-]{40,}"),
    ("doppler", "dp.ct.", _W + "{40,}"),
    *(("doppler", f"dp.{kind}.", _W + "{40,}") for kind in ("sa", "scim", "audit")),
    ("infisical", "st.", f"{_H}{{8}}-{_H}{{4}}-[A-Za-z0-9.-]{{40,}}"),
    ("infisical", "st.", rf"{_H}{{24}}\.{_H}{{32}}\.{_H}{{32}}"),
    ("1password", "ops_", "eyJ" + _D + "{100,}={0,2}"),
    ("1password", "A3-", "[A-Z0-9]{6}-[A-Z0-9-]{20,}"),
    ("age", "AGE-SECRET-KEY-1", "[A-Z0-9]{30,}"),
    ("pulumi", "pul-", _H + "{40}"),
    # packages and builds
    ("npm", "npm_", _W + "{30,}"),
    ("pypi", "pypi-", _D + "{30,}"),
    ("rubygems", "rubygems_", _H + "{48}"),
    ("crates", "cio", _W + "{32}" + _END),
    ("docker", "dckr_pat_", _D + "{20,}"),
    ("docker", "dckr_oat_", _D + "{20,}"),
    ("nuget", "oy2", "[a-z0-9]{43}" + _END),
    ("clojars", "CLOJARS_", "[a-z0-9]{60}"),
    ("artifactory", "AKCp", _W + "{60,}"),
    ("artifactory", "cmVmd", "[A-Za-z0-9=]{50,}"),
    ("circleci", "CCIPAT_", "[A-Za-z0-9_]{40,}"),
    ("circleci", "CCIPRJ_", "[A-Za-z0-9_]{40,}"),
    *(("buildkite", f"bk{kind}_", _W + "{40,}") for kind in ("ua", "at", "ct", "aj", "pt")),
    ("expo", "expo_", _W + "{40}" + _END),
    ("scalingo", "tk-us-", _D + "{48}"),
    ("settlemint", "sm_", f"(?:aat|pat|sat)_{_W}{{16}}" + _END),
    ("infracost", "ico-", _W + "{32}" + _END),
    ("axiom", "xaat-", _H + "{8}-[a-fA-F0-9-]{27}"),
    ("axiom", "xapt-", _H + "{8}-[a-fA-F0-9-]{27}"),
    ("coralogix", "cxtp_", _W + "{30}" + _END),
    ("clickup", "pk_", r"\d{6,10}_[A-Z0-9]{32}" + _END),
    ("klaviyo", "pk_", "[a-f0-9]{34}" + _END),
    ("sanity", "sk", _W + "{150,}"),
    ("xata", "xau_", _W + "{30,}"),
    *(("bitcoin", f"5{second}", "[1-9A-HJ-NP-Za-km-z]{49}" + _END) for second in "HJK"),
    *(("minisign", word, _B + "{100,}={0,2}") for word in ("RWRTY0Iy", "RWRCS")),
    ("sonar", "sqp_", _H + "{40}"),
    ("sonar", "squ_", _H + "{40}"),
    ("sonar", "sqa_", _H + "{40}"),
    ("codeclimate", "qltcw_", _W + "{10,}"),
    ("postman", "PMAK-", f"{_H}{{24}}-{_H}{{34}}"),
    ("prefect", "pnu_", _W + "{36}"),
    ("prefect", "pnb_", _W + "{36}"),
    ("grafana", "glc_", "[A-Za-z0-9+/=]{32,}"),
    ("grafana", "eyJrIjoi", _B + "{60,}={0,2}"),
    ("grafana", "glsa_", _W + "{32}_" + _H + "{8}"),
    ("newrelic", "NRAK-", "[A-Z0-9]{27}"),
    ("newrelic", "NRJS-", _H + "{19}"),
    ("newrelic", "NRBR-", _H + "{19}"),
    ("newrelic", "NRII-", _D + "{32}"),
    ("sentry", "sntrys_", "[A-Za-z0-9_+/=-]{40,}"),
    ("sentry", "sntryu_", _H + "{64}"),
    ("dynatrace", "dt0c01.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    ("honeycomb", "hcaik_", "[a-z0-9]{58}"),
    ("launchdarkly", "sdk-", f"{_H}{{8}}-{_H}{{4}}-{_H}{{4}}-{_H}{{4}}-{_H}{{12}}"),
    ("launchdarkly", "api-", f"{_H}{{8}}-{_H}{{4}}-{_H}{{4}}-{_H}{{4}}-{_H}{{12}}"),
    ("posthog", "phx_", _W + "{40,}"),
    ("linear", "lin_api_", _W + "{32,}"),
    ("linear", "lin_oauth_", _W + "{32,}"),
    ("notion", "ntn_", _W + "{40,}"),
    ("notion", "secret_", _W + "{43}" + _END),
    ("airtable", "pat", _W + r"{14}\." + _H + "{64}"),
    ("figma", "figd_", _D + "{30,}"),
    ("figma", "figu_", _D + "{30,}"),
    *(("asana", f"{first}/", r"\d{16}(?:/\d{16})?:" + _H + "{32}") for first in "12"),
    ("dropbox", "sl.", r"(?:u\.)?" + _D + "{60,}"),
    ("contentful", "CFPAT-", _D + "{40,}"),
    ("readme", "rdme_", "[a-z0-9]{60,}"),
    ("typeform", "tfp_", "[A-Za-z0-9_.=-]{40,}"),
    ("duffel", "duffel_live_", _D + "{40,}"),
    ("easypost", "EZAK", _W + "{54}"),
    ("easypost", "EZTK", _W + "{54}"),
    ("frameio", "fio-u-", "[A-Za-z0-9_=-]{60,}"),
    ("hubspot", "pat-", r"(?:na|eu|ap)\d-" + _H + r"{8}-[a-fA-F0-9-]{27}"),
    ("intra42", "s-s4t2ud-", _H + "{60,}"),
    ("adafruit", "aio_", _W + "{28}" + _END),
    ("shippo", "shippo_live_", _H + "{40}"),
    ("shippo", "shippo_test_", _H + "{40}"),
    *(("mollie", f"{mode}_", rf"(?=[A-Za-z]{{0,25}}\d){_W}{{30}}" + _END) for mode in ("live", "test")),
    *(("lob", f"{mode}_", _H + "{35}" + _END) for mode in ("live", "test")),
    ("defined", "dnkey-", "[A-Za-z0-9=_-]{26}-[A-Za-z0-9=_-]{52}"),
    ("adobe", "p8e-", _W + "{32}" + _END),
    ("wakatime", "waka_", f"{_H}{{8}}-{_H}{{4}}-{_H}{{4}}-{_H}{{4}}-{_H}{{12}}"),
    ("polar", "polar_", f"(?:oat|pat|at)_{_W}{{30,}}"),
    ("trigger", "tr_", f"(?:dev|prod|stg|pat|preview)_{_W}{{20,}}"),
    ("inngest", "signkey-", f"(?:prod|test|branch|dev)-{_H}{{32,}}"),
    ("gocardless", "live_", "(?=[A-Za-z_=-]{0,30}\\d)[A-Za-z0-9_=-]{40}" + _END),
    ("paddle", "pdl_", "(?:live|sdbx)_apikey_[A-Za-z0-9_]{30,}"),
    ("telnyx", "KEY0", _D + "{40,}"),
    ("cerebras", "csk-", "[a-z0-9]{40,}"),
    ("zuplo", "zpka_", "[a-z0-9_]{30,}"),
    ("apify", "apify_api_", _W + "{30,}"),
    ("netlify", "nfp_", _W + "{36,}"),
    ("vercel", "vck_", _W + "{40,}"),
    ("cursor", "crsr_", _H + "{60,}"),
    ("cockroach", "CCDB1_", _W + "{20,}_" + _W + "{30,}"),
    *(("dbt", f"dbt{kind}_", _D + "{30,}") for kind in "cu"),
    ("packagist", "packagist_", "[a-z]{3}_[a-f0-9]{60,}"),
    ("pinterest", "pina_", "[A-Z0-9]{60,}"),
    ("backblaze", "K00", r"\d[A-Za-z0-9/+]{27}" + _END),
    ("akamai", "akab-", _W + "{16}-" + _W + "{16}" + _END),
    ("anyscale", "esecret_", _W + "{24,}"),
    ("together", "tgp_v1_", _D + "{40,}"),
    ("jetbrains", "perm:", r"[A-Za-z0-9+/=]{4,}\.[A-Za-z0-9+/=]{4,}\.[A-Za-z0-9+/=]{20,}"),
    ("jetbrains", "perm-", r"[A-Za-z0-9+/=]{4,}\.[A-Za-z0-9+/=]{4,}\.[A-Za-z0-9+/=]{20,}"),
    ("clickhouse", "4b1d", _W + "{38}" + _END),
    (
        "authress",
        "authress_",
        r"[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,120}",
    ),
    ("endor", "endr+", _D + "{16}" + _END),
    ("instagram", "IGQV", _D + "{80,}"),
    ("duffel", "duffel_test_", _D + "{40,}"),
    ("razorpay", "rzp_test_", _W + "{14,}"),
    ("plaid", "access-development-", _H + "{8}-[a-fA-F0-9-]{27}"),
    ("netbird", "nbp_", _W + "{30,}"),
    ("postman", "PMAT-", "[A-Z0-9]{26}"),
    ("deno", "ddp_", _W + "{36}"),
    *(
        ("modal", f"a{kind}-", r"(?=[A-Za-z]{0,20}\d)(?=[a-z0-9]{0,20}[A-Z])[A-Za-z0-9]{22}" + _END)
        for kind in "ks"
    ),
    # payment and messages
    *(
        ("stripe", f"{kind}k_{mode}_", _W + "{16,}")
        for kind in "sr"
        for mode in ("live", "test", "prod", "dev")
    ),
    ("stripe", "whsec_", "[A-Za-z0-9+/=]{24,}"),
    ("square", "EAAA", _D + "{56,}"),
    ("square", "sq0atp-", _D + "{22,}"),
    ("square", "sq0csp-", _D + "{40,}"),
    ("facebook", "EAA", _W + "{100,}"),
    *(("nats", f"S{kind}", "[A-Z2-7]{56}" + _END) for kind in "UAON"),
    ("braintree", "access_token$production$", "[a-z0-9]{16}[$]" + _H + "{32}"),
    ("plaid", "access-production-", _H + "{8}-[a-fA-F0-9-]{27}"),
    ("plaid", "access-sandbox-", _H + "{8}-[a-fA-F0-9-]{27}"),
    ("flutterwave", "FLWSECK-", f"{_H}{{12,}}-X"),
    ("flutterwave", "FLWSECK_TEST-", f"{_H}{{12,}}-X"),
    ("razorpay", "rzp_live_", _W + "{14,}"),
    *(("shopify", f"shp{kind}_", _H + "{32}") for kind in ("at", "ca", "pa", "ss")),
    ("sendgrid", "SG.", f"{_D}{{16,32}}\\.{_D}{{16,64}}"),
    ("mailgun", "key-", _H + "{32}" + _END),
    ("mailjet", "xkeysib-", _H + "{64}-" + _W + "{16}"),
    ("mailjet", "xsmtpsib-", _H + "{64}-" + _W + "{16}"),
    ("resend", "re_", r"(?=[A-Za-z_]{0,30}\d)[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}"),
    ("twilio", "SK", "[a-f0-9]{32}" + _END),
    *(("slack", f"xox{kind}-", "[A-Za-z0-9-]{10,}") for kind in "abceoprs"),
    ("slack", "xoxd-", "[A-Za-z0-9%/+=-]{10,}"),
    *(("slack", f"xoxe.xox{kind}-", "[A-Za-z0-9-]{20,}") for kind in "bp"),
    ("slack", "xapp-", r"\d-[A-Z0-9]+-\d+-[a-z0-9]{20,}"),
    ("slack", "hooks.slack.com/", r"(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/_-]{20,})"),
    ("infura", ".infura.io/v3/", "(?P<secret>[a-f0-9]{32})"),
    ("alchemy", ".alchemy.com/v2/", "(?P<secret>[A-Za-z0-9_-]{32})"),
    ("ifttt", "/with/key/", "(?P<secret>[A-Za-z0-9_-]{20,})"),
    ("google", "/private-", "(?P<secret>[a-f0-9]{32})/basic"),
    ("discord", "/api/webhooks/", r"\d{17,20}/(?P<secret>[A-Za-z0-9_-]{50,80})"),
    ("teams", ".webhook.office.com/", r"(?P<secret>webhookb2/[A-Za-z0-9@/-]{60,})"),
    ("mapbox", "sk.eyJ", _D + r"{20,}\.[A-Za-z0-9_-]{20,}"),
    ("twitter", "AAAAAAAAAAAAAAAAAAAAA", "(?![A-Za-z0-9%]{0,60}A{6})[A-Za-z0-9%]{50,}"),
    # standards
    ("jwt", "eyJ", rf"{_D}{{13,4000}}\.{_D}{{8,8000}}(?:\.{_D}{{0,8000}}){{0,3}}"),
    ("bcrypt", "$2", r"[aby]\$\d\d\$[./A-Za-z0-9]{53}"),
    ("crypt", "$apr1$", r"\$?[./A-Za-z0-9]{1,16}\${1,2}[./A-Za-z0-9]{22}"),
    ("crypt", "$argon2", r"(?:id|i|d)\$v=\d+\$[a-z0-9=,]{5,40}\$[A-Za-z0-9+/]{8,}\$[A-Za-z0-9+/]{16,}"),
    *(
        ("crypt", f"${kind}$", r"(?:rounds=\d+\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{22,90}")
        for kind in "156"
    ),
    ("crypt", "$pbkdf2", r"[\w-]{0,12}\$[\w=,]{3,40}\$[./A-Za-z0-9]{8,}\$[./A-Za-z0-9]{16,}"),
    ("crypt", "$scrypt$", r"[\w=,]{5,40}\$[./+A-Za-z0-9]{8,}\$[./+A-Za-z0-9]{16,}"),
    ("crypt", "pbkdf2_sha256$", r"\d+\$[./A-Za-z0-9]{8,}\$[./+A-Za-z0-9]{40,}=?"),
    *(("crypt", f"${kind}$", r"[./A-Za-z0-9$-]{12,}") for kind in "89"),
    ("crypt", "{SSHA}", r"[./+A-Za-z0-9]{28,}={0,2}"),
    ("crypt", "{SHA}", r"[./+A-Za-z0-9]{27}="),
    ("crypt", "md5", "[a-f0-9]{32}" + _END),
    ("crypt", "SCRAM-SHA-256$", r"\d+:[A-Za-z0-9+/=]+\$[A-Za-z0-9+/=]+:[A-Za-z0-9+/=]+"),
    ("crypt", "$y$", r"[./A-Za-z0-9]{2,10}\$[./A-Za-z0-9]{8,40}\$[./A-Za-z0-9]{43}"),
)

SHAPES: tuple[KnownShape, ...] = (
    *(
        KnownShape(kind, word, rest, before="" if word[0] in "./-${" else BEGIN)
        for kind, word, rest in _PREFIXES
    ),
    # Their word stands in the middle or at the end.
    KnownShape("mailchimp", "-us", r"\d{1,2}" + _END, before=BEGIN + "[a-f0-9]{32}"),
    KnownShape("terraform", ".atlasv1.", _D + "{60,}", before=BEGIN + _W + "{14}"),
    KnownShape("azure", "Q~", "[A-Za-z0-9_~.-]{31,34}", before=r"(?<![A-Za-z0-9_.~-])[A-Za-z0-9_~.-]{3}\d"),
    KnownShape("newrelic", "NRAL", _END, before=BEGIN + "[a-f0-9]{36}"),
    KnownShape("maxmind", "_mmk", _END, before=BEGIN + "[A-Za-z0-9]{6}_[A-Za-z0-9]{29}"),
    KnownShape("azure", "AZDO", _W + "{4}" + _END, before=BEGIN + _W + "{76}"),
    KnownShape("azure", "+ASt", _B + "{4,10}={0,2}", before=BEGIN + _B + "{60,76}"),
    KnownShape("azure", "AzCa", _B + "{4,10}={0,2}", before=BEGIN + _B + "{32,48}"),
    KnownShape("telegram", ":AA", _D + "{32,35}" + _END, before=r"(?<!\d)\d{8,10}"),
    # hashes of Windows
    KnownShape("crypt", ":::", "", before=f":{_H}{{32}}:(?P<secret>{_H}{{32}})"),
    KnownShape("crypt", "X:", f"(?P<secret>{_H}{{32}}):", before="(?<=X{31})"),
    KnownShape("firebase", ":APA91b", _D + "{100,}", before=BEGIN + _D + "{11,22}"),
    *(  # the number of a user in base64
        KnownShape("discord", word, _W + r"{21,25}\." + _D + r"{6}\." + _D + "{27,38}")
        for word in ("MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT")
    ),
)
"""All rows. For most, the word is the prefix."""
