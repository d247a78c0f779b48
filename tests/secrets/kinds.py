"""Credentials of strangers: how each kind looks, and a name that people give it.

A pattern is text with draws in it: `{an:36}` draws 36 characters of an alphabet, `{bytes:64}` the base64 of
64 bytes, `{uuid:1}` and `{word:1}` what they say, `{crc62:30}` 30 characters and their checksum, as GitHub
and npm end their tokens. `b64(…)` and `b64u(…)` encode what they hold. Every value is drawn; none was ever
issued.
"""

from __future__ import annotations

import base64
import random
import re
import string
import zlib
from collections.abc import Callable

BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
ALPHABETS = {
    "an": BASE62,
    "lo": string.ascii_lowercase + string.digits,
    "up": string.ascii_uppercase + string.digits,
    "w": string.ascii_lowercase,
    "d": string.digits,
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "b64": BASE62 + "+/",
    "u": BASE62 + "-_",
    "b32": string.ascii_uppercase + "234567",
    "bech": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "b58": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "strong": BASE62 + "!#%*+-._~",
}
WORDS = """
amber anchor basil bishop candle canyon cobalt copper dagger ember falcon fennel gable garnet harbor
hazel indigo ivory jasper juniper kettle lantern lemon maple marble nectar nutmeg orchid otter
pebble pepper quartz quiver raven rocket saddle saffron tango thistle umber urchin velvet violet
walnut willow yonder zephyr
""".split()  # noqa: SIM905 - as a list it would be a page

TOKENS: dict[str, tuple[str, str]] = {
    # Clouds
    "alibaba_secret": ("{an:30}", "ALIBABA_CLOUD_ACCESS_KEY_SECRET"),
    "aws_bedrock_key": ("ABSKb64(BedrockAPIKey-{lo:4}-at-{d:12}:{bytes:32})", "AWS_BEARER_TOKEN_BEDROCK"),
    "aws_secret_key": ("{b64:40}", "AWS_SECRET_ACCESS_KEY"),
    "aws_session_token": ("IQoJb3JpZ2luX2VjE{b64:300}{bytes:43}", "AWS_SESSION_TOKEN"),
    "azure_client_secret": ("{an:3}8Q~{an:34}", "AZURE_CLIENT_SECRET"),
    "azure_function_key": ("{u:44}AzFu{u:6}==", "functionsKey"),
    "azure_sas": ("{an:40}%2B{b64:1}%3D", "SAS_SIGNATURE"),
    "azure_service_bus_key": ("{bytes:32}", "SharedAccessKey"),
    "azure_storage_key": ("{bytes:64}", "AZURE_STORAGE_KEY"),
    "cloudflare_api_token": ("{u:40}", "CLOUDFLARE_API_TOKEN"),
    "cloudflare_global_key": ("{hex:37}", "CF_API_KEY"),
    "databricks_token": ("dapi{hex:32}-2", "DATABRICKS_TOKEN"),
    "digitalocean_token": ("dop_v1_{hex:64}", "DIGITALOCEAN_ACCESS_TOKEN"),
    "fly_token": ("fm2_lJPECAAAAAAA{b64:140}{bytes:20}", "FLY_API_TOKEN"),
    "gcp_api_key": ("AIza{u:35}", "GOOGLE_API_KEY"),
    "gcp_oauth_client_secret": ("GOCSPX-{u:28}", "GOOGLE_CLIENT_SECRET"),
    "gcp_oauth_token": ("ya29.a0A{u:180}", "GOOGLE_OAUTH_ACCESS_TOKEN"),
    "google_refresh_token": ("1//0{u:100}", "GOOGLE_REFRESH_TOKEN"),
    "heroku_key": ("HRKU-AA{u:58}", "HEROKU_API_KEY"),
    "hetzner_token": ("{an:64}", "HCLOUD_TOKEN"),
    "ibm_cloud_key": ("{u:44}", "IBMCLOUD_API_KEY"),
    "linode_token": ("{hex:64}", "LINODE_TOKEN"),
    "netlify_token": ("nfp_{an:36}", "NETLIFY_AUTH_TOKEN"),
    "ovh_secret": ("{hex:32}", "OVH_APPLICATION_SECRET"),
    "render_key": ("rnd_{an:32}", "RENDER_API_KEY"),
    "scaleway_secret": ("{uuid:1}", "SCW_SECRET_KEY"),
    "supabase_token": ("sbp_{hex:40}", "SUPABASE_ACCESS_TOKEN"),
    "supabase_secret": ("sb_secret_{u:22}_{u:8}", "SUPABASE_SECRET_KEY"),
    "vercel_blob_token": ("vercel_blob_rw_{an:16}_{an:30}", "BLOB_READ_WRITE_TOKEN"),
    "vercel_token": ("{an:24}", "VERCEL_TOKEN"),
    "vultr_key": ("{up:36}", "VULTR_API_KEY"),
    # Stores of secrets, clusters and tunnels
    "doppler_token": ("dp.pt.{an:43}", "DOPPLER_TOKEN"),
    "kubeadm_token": ("{lo:6}.{lo:16}", "bootstrapToken"),
    "ngrok_token": ("2{an:26}_{an:21}", "NGROK_AUTHTOKEN"),
    "onepassword_token": (
        'ops_b64u({"signInAddress":"acme.1password.eu","secretKey":"A3-{b32:6}-{b32:6}","throttle":"{hex:24}"})',
        "OP_SERVICE_ACCOUNT_TOKEN",
    ),
    "pulumi_token": ("pul-{hex:40}", "PULUMI_ACCESS_TOKEN"),
    "tailscale_key": ("tskey-auth-k{an:11}CNTRL-{an:32}", "TS_AUTHKEY"),
    "terraform_token": ("{an:14}.atlasv1.{u:67}", "TF_TOKEN_app_terraform_io"),
    "vault_token": ("hvs.CAESI{u:86}", "VAULT_TOKEN"),
    "wireguard_key": ("{bytes:32}", "PrivateKey"),
    # Hosts of git
    "atlassian_token": ("ATATT3xFfGF0{u:172}={HEX:8}", "JIRA_API_TOKEN"),
    "bitbucket_password": ("ATBB{an:24}{HEX:8}", "BITBUCKET_APP_PASSWORD"),
    "gitea_token": ("{hex:40}", "GITEA_TOKEN"),
    "github_app_token": ("ghs_{crc62:30}", "GH_TOKEN"),
    "github_fine_grained": ("github_pat_11A{up:8}0{an:10}_{an:59}", "GITHUB_PAT"),
    "github_oauth": ("gho_{crc62:30}", "GITHUB_OAUTH_TOKEN"),
    "github_token": ("ghp_{crc62:30}", "GITHUB_TOKEN"),
    "gitlab_deploy_token": ("gldt-{u:20}", "CI_DEPLOY_PASSWORD"),
    "gitlab_runner_token": ("glrt-{u:20}", "RUNNER_AUTHENTICATION_TOKEN"),
    "gitlab_token": ("glpat-{u:20}", "GITLAB_TOKEN"),
    "gitlab_routable_token": ("glpat-{u:27}.01.12{lo:7}", "GL_PRIVATE_TOKEN"),
    # Registries of packages
    "artifactory_key": ("AKCp8{an:68}", "ARTIFACTORY_API_KEY"),
    "clojars_token": ("CLOJARS_{hex:60}", "CLOJARS_PASSWORD"),
    "crates_token": ("cio{an:32}", "CARGO_REGISTRY_TOKEN"),
    "dockerhub_token": ("dckr_pat_{u:27}", "DOCKERHUB_TOKEN"),
    "npm_token": ("npm_{crc62:30}", "NPM_TOKEN"),
    "nuget_key": ("oy2{lo:43}", "NUGET_API_KEY"),
    "pypi_token": ("pypi-AgEIcHlwaS5vcmcC{u:155}", "TWINE_PASSWORD"),
    "rubygems_key": ("rubygems_{hex:48}", "GEM_HOST_API_KEY"),
    # Builds
    "buildkite_token": ("bkua_{hex:40}", "BUILDKITE_API_TOKEN"),
    "circleci_token": ("CCIPAT_{an:22}_{hex:40}", "CIRCLE_TOKEN"),
    "codecov_token": ("{uuid:1}", "CODECOV_TOKEN"),
    "jenkins_token": ("11{hex:32}", "JENKINS_API_TOKEN"),
    "octopus_key": ("API-{up:26}", "OCTOPUS_API_KEY"),
    "snyk_token": ("{uuid:1}", "SNYK_TOKEN"),
    "sonar_token": ("sqp_{hex:40}", "SONAR_TOKEN"),
    "teamcity_token": ("eyJ0eXAiOiAiVENWMiJ9.{an:36}.{an:48}", "TEAMCITY_TOKEN"),
    "travis_token": ("{u:22}", "TRAVIS_API_TOKEN"),
    # Chat
    "discord_token": ("b64u({d:18}).G{u:5}.{u:38}", "DISCORD_BOT_TOKEN"),
    "matrix_token": ("syt_b64u({word:1}bot)_{an:20}_{an:6}", "MATRIX_ACCESS_TOKEN"),
    "mattermost_token": ("{lo:26}", "MM_BOT_TOKEN"),
    "slack_app_token": ("xapp-1-A{up:10}-{d:13}-{hex:64}", "SLACK_APP_TOKEN"),
    "slack_bot_token": ("xoxb-{d:12}-{d:13}-{an:24}", "SLACK_BOT_TOKEN"),
    "slack_user_token": ("xoxp-{d:12}-{d:12}-{d:13}-{hex:32}", "SLACK_USER_TOKEN"),
    "telegram_token": ("{d:10}:AA{u:33}", "TELEGRAM_BOT_TOKEN"),
    "twilio_token": ("{hex:32}", "TWILIO_AUTH_TOKEN"),
    "zulip_key": ("{an:32}", "ZULIP_API_KEY"),
    # Payment and shops
    "adyen_key": ("AQE{an:60}-{bytes:32}-{an:16}", "ADYEN_API_KEY"),
    "braintree_token": ("access_token$production${lo:16}${hex:32}", "BRAINTREE_ACCESS_TOKEN"),
    "paypal_secret": ("E{u:79}", "PAYPAL_CLIENT_SECRET"),
    "plaid_secret": ("{hex:30}", "PLAID_SECRET"),
    "razorpay_secret": ("{an:24}", "RAZORPAY_KEY_SECRET"),
    "shopify_token": ("shpat_{hex:32}", "SHOPIFY_ADMIN_TOKEN"),
    "square_token": ("EAAA{u:60}", "SQUARE_ACCESS_TOKEN"),
    "stripe_key": ("sk_live_51{an:97}", "STRIPE_SECRET_KEY"),
    "stripe_restricted_key": ("rk_live_51{an:97}", "STRIPE_RESTRICTED_KEY"),
    "stripe_webhook_secret": ("whsec_{an:32}", "STRIPE_WEBHOOK_SECRET"),
    # Mail
    "brevo_key": ("xkeysib-{hex:64}-{an:16}", "BREVO_API_KEY"),
    "mailchimp_key": ("{hex:32}-us14", "MAILCHIMP_API_KEY"),
    "mailgun_key": ("{hex:32}-{hex:8}-{hex:8}", "MAILGUN_API_KEY"),
    "postmark_token": ("{uuid:1}", "POSTMARK_SERVER_TOKEN"),
    "resend_key": ("re_{an:8}_{an:24}", "RESEND_API_KEY"),
    "sendgrid_key": ("SG.{u:22}.{u:43}", "SENDGRID_API_KEY"),
    "ses_smtp_password": ("B{b64:43}", "SES_SMTP_PASSWORD"),
    # Makers of models
    "anthropic_key": ("sk-ant-api03-{u:93}AA", "ANTHROPIC_API_KEY"),
    "anthropic_oauth": ("sk-ant-oat01-{u:93}AA", "CLAUDE_CODE_OAUTH_TOKEN"),
    "azure_openai_key": ("{an:52}JQQJ99B{an:5}AAAB{an:4}COG{an:9}", "AZURE_OPENAI_API_KEY"),
    "cohere_key": ("{an:40}", "CO_API_KEY"),
    "deepseek_key": ("sk-{hex:32}", "DEEPSEEK_API_KEY"),
    "elevenlabs_key": ("sk_{hex:48}", "ELEVENLABS_API_KEY"),
    "fireworks_key": ("fw_{an:24}", "FIREWORKS_API_KEY"),
    "groq_key": ("gsk_{an:52}", "GROQ_API_KEY"),
    "huggingface_token": ("hf_{an:34}", "HF_TOKEN"),
    "langsmith_key": ("lsv2_pt_{hex:32}_{hex:10}", "LANGSMITH_API_KEY"),
    "mistral_key": ("{an:32}", "MISTRAL_API_KEY"),
    "nvidia_key": ("nvapi-{u:64}", "NVIDIA_API_KEY"),
    "openai_key": ("sk-proj-{u:74}T3BlbkFJ{u:74}", "OPENAI_API_KEY"),
    "openai_legacy_key": ("sk-{an:20}T3BlbkFJ{an:20}", "OPENAI_KEY"),
    "openai_service_key": ("sk-svcacct-{u:74}T3BlbkFJ{u:74}", "OPENAI_SVC_KEY"),
    "openrouter_key": ("sk-or-v1-{hex:64}", "OPENROUTER_API_KEY"),
    "perplexity_key": ("pplx-{an:48}", "PERPLEXITY_API_KEY"),
    "pinecone_key": ("pcsk_{an:6}_{an:63}", "PINECONE_API_KEY"),
    "replicate_token": ("r8_{an:37}", "REPLICATE_API_TOKEN"),
    "wandb_key": ("{hex:40}", "WANDB_API_KEY"),
    "xai_key": ("xai-{an:80}", "XAI_API_KEY"),
    # Monitoring
    "datadog_api_key": ("{hex:32}", "DD_API_KEY"),
    "datadog_app_key": ("{hex:40}", "DD_APP_KEY"),
    "dynatrace_token": ("dt0c01.{b32:24}.{b32:64}", "DT_API_TOKEN"),
    "grafana_cloud_token": (
        'glc_b64({"o":"{d:6}","n":"push-{word:1}","k":"{an:24}","m":{"r":"eu"}})',
        "GC_TOKEN",
    ),
    "grafana_token": ("glsa_{an:32}_{hex:8}", "GRAFANA_SA_TOKEN"),
    "honeycomb_key": ("hcaik_{lo:58}", "HONEYCOMB_API_KEY"),
    "newrelic_key": ("NRAK-{up:27}", "NEW_RELIC_API_KEY"),
    "newrelic_license": ("{hex:36}NRAL", "NEW_RELIC_LICENSE_KEY"),
    "pagerduty_key": ("u+{an:18}", "PAGERDUTY_TOKEN"),
    "posthog_key": ("phx_{an:43}", "POSTHOG_PERSONAL_API_KEY"),
    "rollbar_token": ("{hex:32}", "ROLLBAR_ACCESS_TOKEN"),
    "sentry_token": ("sntryu_{hex:64}", "SENTRY_AUTH_TOKEN"),
    "splunk_hec_token": ("{uuid:1}", "SPLUNK_HEC_TOKEN"),
    # Tools of teams
    "airtable_token": ("pat{an:14}.{hex:64}", "AIRTABLE_PAT"),
    "algolia_admin_key": ("{hex:32}", "ALGOLIA_ADMIN_KEY"),
    "asana_token": ("2/{d:16}/{d:16}:{hex:32}", "ASANA_TOKEN"),
    "contentful_token": ("CFPAT-{u:43}", "CONTENTFUL_MANAGEMENT_TOKEN"),
    "dropbox_token": ("sl.u.A{u:134}", "DROPBOX_TOKEN"),
    "facebook_token": ("EAA{an:180}", "FB_PAGE_TOKEN"),
    "figma_token": ("figd_{u:40}", "FIGMA_TOKEN"),
    "firebase_key": ("AAAA{u:7}:APA91b{u:134}", "FCM_SERVER_KEY"),
    "launchdarkly_key": ("sdk-{uuid:1}", "LD_SDK_KEY"),
    "linear_key": ("lin_api_{an:40}", "LINEAR_API_KEY"),
    "mapbox_secret": ('sk.b64u({"u":"{word:1}maps","a":"cl{lo:23}"}).{u:22}', "MAPBOX_SECRET_TOKEN"),
    "notion_token": ("ntn_{d:11}{an:35}", "NOTION_TOKEN"),
    "okta_token": ("00{u:40}", "OKTA_API_TOKEN"),
    "planetscale_token": ("pscale_tkn_{u:43}", "PLANETSCALE_SERVICE_TOKEN"),
    "postman_key": ("PMAK-{hex:24}-{hex:34}", "POSTMAN_API_KEY"),
    "twitter_bearer": ("AAAAAAAAAAAAAAAAAAAAA{an:30}%2F{an:20}%3D{an:40}", "TWITTER_BEARER_TOKEN"),
    # Keys, tokens and passwords of no maker
    "age_key": ("AGE-SECRET-KEY-1{bech:58}", "SOPS_AGE_KEY"),
    "bearer_opaque": ("{u:43}", "ACCESS_TOKEN"),
    "ethereum_key": ("0x{hex:64}", "DEPLOYER_PRIVATE_KEY"),
    "generic_api_key": ("{an:32}", "apiKeyV2"),
    "hex_secret": ("{hex:64}", "SECRET_KEY_BASE"),
    "influx_token": ("{u:86}==", "INFLUX_TOKEN"),
    "jwt": (
        'b64u({"alg":"HS256","typ":"JWT"}).b64u({"sub":"{d:8}","role":"admin","iat":17{d:8},"exp":18{d:8}}).{u:43}',
        "SERVICE_JWT",
    ),
    "jwt_rs256": (
        'b64u({"alg":"RS256","kid":"{hex:16}"}).b64u({"iss":"kubernetes/serviceaccount","sub":"{uuid:1}"}).{u:342}',
        "KUBE_TOKEN",
    ),
    "password_long": ("{strong:24}", "ADMIN_PASSWORD"),
    "password_plain": ("{an:14}", "PROD_DB_PWD"),
    "password_words": ("{word:1}-{word:1}-{word:1}-{d:2}", "smtpPass"),
    "totp_seed": ("{b32:32}", "TOTP_SEED"),
}
"""A pattern and a usual name for each kind that stands on one line and has no blanks."""

PARTS: dict[str, str] = {
    "basic_auth": "b64({word:1}:{an:16})",
    "password_base64": "b64({word:1}{d:3}{an:6})",
    "session_cookie": "{lo:26}",
    "signed_cookie": "s%3A{u:32}.{an:42}%2B",
    "session_hex": "{HEX:32}",
    "slack_hook_path": "T{up:10}/B{up:10}/{an:24}",
    "slack_config_token": "xoxe.xoxp-1-{an:146}",
    "discord_hook_token": "{u:68}",
    "teams_hook_path": "{hex:32}/{uuid:1}",
    "flow_signature": "{u:43}",
    "otp_code": "{d:6}",
    "bitcoin_wif": "K{b58:51}",
    "shadow_hash": "$6${an:16}${an:86}",
    "bcrypt_hash": "$2y$10${an:53}",
    "htpasswd_hash": "$apr1${an:8}${an:22}",
    "scram_hash": "SCRAM-SHA-256$4096:{bytes:16}${bytes:32}:{bytes:32}",
    "jwk_private": "{u:43}",
    "sentry_dsn_key": "{hex:32}",
    "nats_seed": "SU{b32:56}",
    "presigned_signature": "{hex:64}",
    "csrf_token": "{u:64}",
    "device_code": "{b32:4}-{b32:4}",
    "oauth_code": "4/0A{u:70}",
    "pkce_verifier": "{u:64}",
    "license_key": "{up:5}-{up:5}-{up:5}-{up:5}-{up:5}",
    "uuid_key": "{uuid:1}",
}
"""Kinds that only make sense in a text that was written for them."""

BODIES: dict[str, tuple[str, int, int]] = {
    "rsa_pem": ("MIIEpAIBAAKCAQEA", 25, 64),
    "pkcs8_pem": ("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC", 26, 64),
    "ec_pem": ("MHcCAQEEI", 3, 64),
    "encrypted_pem": ("MIIFLTBXBgkqhkiG9w0BBQ0wSjApBgkqhkiG9w0BBQwwHAQI", 28, 64),
    "openssh_key": ("b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW", 5, 70),
    "pgp_key": ("lQVYB", 16, 64),
    "ppk_key": ("AAAA", 4, 64),
}
"""Keys of several lines: how the first begins, how many lines, how long each is."""

DRAW = re.compile(r"\{(an|lo|up|w|d|hex|HEX|b64|u|b32|bech|b58|strong|bytes|uuid|word|crc62):(\d+)\}")
ENCODE = re.compile(r"b64(u?)\(([^()]*)\)")


def draw(pattern: str, rng: random.Random) -> str:
    """A value of this pattern. The same state of `rng` gives the same value in every version of Python."""

    def pick(letters: str, count: int) -> str:
        return "".join(letters[int(rng.random() * len(letters))] for _ in range(count))

    def drawn(found: re.Match[str]) -> str:
        name, count = found[1], int(found[2])
        if name == "bytes":
            return base64.b64encode(bytes(int(rng.random() * 256) for _ in range(count))).decode()
        if name == "uuid":
            tail = "-".join(pick(ALPHABETS["hex"], size) for size in (3, 3, 12))
            return f"{pick(ALPHABETS['hex'], 8)}-{pick(ALPHABETS['hex'], 4)}-4{tail[:3]}-a{tail[4:]}"
        if name == "word":
            return WORDS[int(rng.random() * len(WORDS))]
        if name == "crc62":
            return with_checksum(pick(BASE62, count))
        return pick(ALPHABETS[name], count)

    def encode(found: re.Match[str]) -> str:
        text = base64.b64encode(found[2].encode()).decode()
        return text.replace("+", "-").replace("/", "_").rstrip("=") if found[1] else text

    return ENCODE.sub(encode, DRAW.sub(drawn, pattern))


def with_checksum(text: str) -> str:
    """The text and its CRC-32 in six digits of base 62, as GitHub's and npm's tokens have it."""
    value, digits = zlib.crc32(text.encode()), ""
    for _ in range(6):
        value, rest = divmod(value, 62)
        digits = BASE62[rest] + digits
    return text + digits


def body(kind: str, rng: random.Random) -> list[str]:
    """The lines between the header and the footer of a key."""
    start, count, width = BODIES[kind]
    text = start + draw(f"{{b64:{count * width - len(start) - 22}}}", rng) + "=="
    return [text[at : at + width] for at in range(0, len(text), width)]


def value(kind: str, rng: random.Random) -> str:
    """A value of a kind that stands on one line."""
    pattern = TOKENS[kind][0] if kind in TOKENS else PARTS[kind]
    return draw(pattern, rng)


NAMINGS: dict[str, Callable[[list[str]], str]] = {
    "NAME": lambda words: "_".join(words).upper(),
    "name": "_".join,
    "kebab": "-".join,
    "camel": lambda words: words[0] + "".join(word.capitalize() for word in words[1:]),
    "dotted": ".".join,
    "Header": lambda words: "-".join(["X", *(word.capitalize() for word in words)]),
}


def named(kind: str, naming: str) -> str:
    """The usual name of a kind in another spelling: `STRIPE_SECRET_KEY` as `stripeSecretKey`."""
    name = TOKENS[kind][1]
    spaced = name if name.isupper() else re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return NAMINGS[naming]([word.lower() for word in spaced.split("_") if word])
