"""Well-known agents of other vendors: names, commands, and the variables that they log in with.

Facts, gathered from the makers' own pages. An agent is offered when one of its commands is on PATH; the
first that is there wins, so the present name of a program stands before its former ones. Nothing is
downloaded from here: an agent that is not installed gets a hint how to install it.
"""

from __future__ import annotations

from msgspec import Struct


class WellKnown(Struct, frozen=True, kw_only=True):
    """An agent that is known by name, with its commands."""

    name: str
    title: str
    commands: tuple[tuple[str, ...], ...]
    aliases: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    """Its documented variables for keys. They are passed on if we have them."""

    install: str = ""
    """How to install it, as a command or as the name of the product."""

    state: tuple[str, ...] = ()
    """Its own files and folders below the home folder: it writes to them, and finds its login there."""

    tried: str = ""
    """The version that was tested in the sandbox profile `workspace` with all its features."""

    registry: str = ""
    """Its id in the list for `dragoman agents install`; empty if it is not in it."""


GOOGLE = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION")
OPENAI = ("OPENAI_API_KEY", "OPENAI_BASE_URL")
ANTHROPIC = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN")

WELL_KNOWN: tuple[WellKnown, ...] = (
    WellKnown(
        name="claude",
        title="Claude Code",
        aliases=("claude-code", "claude-agent"),
        commands=(("claude-agent-acp",), ("claude-code-acp",)),
        state=(".claude", ".claude.json"),
        tried="0.99.1",
        allow=ANTHROPIC,
        install="npm install -g @agentclientprotocol/claude-agent-acp",
        registry="claude-acp",
    ),
    WellKnown(
        name="codex",
        title="Codex",
        aliases=("codex-cli",),
        commands=(("codex-acp",),),
        state=(".codex",),
        tried="2.6.0",
        allow=(*OPENAI, "CODEX_API_KEY"),
        install="npm install -g @agentclientprotocol/codex-acp",
        registry="codex-acp",
    ),
    WellKnown(
        name="gemini",
        title="Gemini CLI",
        aliases=("gemini-cli",),
        # Newer versions call it --acp, and still take the former name; older ones know no other.
        commands=(("gemini", "--experimental-acp"),),
        state=(".gemini",),
        tried="0.61.0",
        allow=GOOGLE,
        install="npm install -g @google/gemini-cli",
        registry="gemini",
    ),
    WellKnown(
        name="opencode",
        title="OpenCode",
        commands=(("opencode", "acp"),),
        state=(".local/share/opencode", ".local/state/opencode", ".config/opencode", ".cache/opencode"),
        tried="1.18.33",
        allow=(*ANTHROPIC[:1], *OPENAI[:1], *GOOGLE[:1]),
        install="npm install -g opencode-ai",
        registry="opencode",
    ),
    WellKnown(
        name="qwen",
        title="Qwen Code",
        aliases=("qwen-code",),
        commands=(("qwen", "--acp"),),
        state=(".qwen",),
        tried="0.24.4",
        allow=(*OPENAI, "DASHSCOPE_API_KEY"),
        install="npm install -g @qwen-code/qwen-code",
        registry="qwen-code",
    ),
    WellKnown(
        name="goose",
        title="Goose",
        commands=(("goose", "acp"),),
        state=(".local/share/goose", ".local/state/goose", ".config/goose"),
        allow=(*ANTHROPIC[:1], *OPENAI[:1], *GOOGLE[:2], "GOOSE_PROVIDER", "GOOSE_MODEL"),
        install="Goose CLI",
        registry="goose",
    ),
    WellKnown(
        name="cursor",
        title="Cursor CLI",
        aliases=("cursor-agent",),
        commands=(("cursor-agent", "acp"),),
        state=(".cursor", ".config/cursor", ".local/share/cursor-agent"),
        allow=("CURSOR_API_KEY",),
        install="Cursor CLI",
    ),
    WellKnown(
        name="copilot",
        title="GitHub Copilot CLI",
        aliases=("github-copilot",),
        commands=(("copilot", "--acp", "--stdio"),),
        state=(".copilot", ".config/github-copilot", ".cache/copilot"),
        tried="1.0.102",
        allow=("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"),
        install="npm install -g @github/copilot",
        registry="github-copilot-cli",
    ),
    WellKnown(
        name="droid",
        title="Factory Droid",
        aliases=("factory-droid",),
        commands=(("droid", "exec", "--output-format", "acp"),),
        state=(".factory",),
        allow=("FACTORY_API_KEY",),
        install="npm install -g @factory/cli",
        registry="factory-droid",
    ),
    WellKnown(
        name="kimi",
        title="Kimi Code",
        aliases=("kimi-cli", "kimi-code"),
        commands=(("kimi", "acp"),),
        state=(".kimi", ".kimi-code", ".local/share/kimi"),
        tried="2.1.0",
        allow=("KIMI_API_KEY", "KIMI_MODEL_API_KEY", "MOONSHOT_API_KEY"),
        install="npm install -g @moonshot-ai/kimi-code",
        registry="kimi",
    ),
    WellKnown(
        name="kiro",
        title="Kiro CLI",
        commands=(("kiro-cli", "acp"), ("kiro-cli-chat", "acp")),
        state=(".kiro", ".local/share/kiro-cli"),
        install="Kiro CLI",
    ),
    WellKnown(
        name="vibe",
        title="Mistral Vibe",
        aliases=("mistral-vibe", "mistral"),
        commands=(("vibe-acp",),),
        state=(".vibe",),
        tried="3.0.2",
        allow=("MISTRAL_API_KEY",),
        install="uv tool install mistral-vibe",
        registry="mistral-vibe",
    ),
    WellKnown(
        name="auggie",
        title="Auggie CLI",
        aliases=("augment",),
        commands=(("auggie", "--acp"),),
        state=(".augment",),
        allow=("AUGMENT_SESSION_AUTH",),
        install="npm install -g @augmentcode/auggie",
        registry="auggie",
    ),
    WellKnown(
        name="openhands",
        title="OpenHands",
        commands=(("openhands", "acp"),),
        state=(".openhands",),
        allow=("LLM_API_KEY", "LLM_MODEL", "LLM_BASE_URL"),
        install="uv tool install openhands",
    ),
    WellKnown(
        name="cline",
        title="Cline",
        commands=(("cline", "--acp"),),
        state=(".cline",),
        allow=(*ANTHROPIC[:1], *OPENAI[:1]),
        install="npm install -g cline",
        registry="cline",
    ),
    WellKnown(
        name="kilocode",
        title="Kilo Code",
        aliases=("kilo",),
        commands=(("kilo", "acp"), ("kilocode", "acp")),
        state=(".local/share/kilo", ".local/state/kilo", ".config/kilo", ".cache/kilo", ".kilocode"),
        install="npm install -g @kilocode/cli",
        registry="kilo",
    ),
    WellKnown(
        name="iflow",
        title="iFlow CLI",
        commands=(("iflow", "--experimental-acp"),),
        state=(".iflow",),
        install="iFlow CLI",
    ),
    WellKnown(
        name="qoder",
        title="Qoder CLI",
        commands=(("qodercli", "--acp"),),
        state=(".qoder",),
        allow=("QODER_PERSONAL_ACCESS_TOKEN",),
        install="npm install -g @qoder-ai/qodercli",
        registry="qoder",
    ),
    WellKnown(
        name="crow",
        title="Crow",
        aliases=("crow-cli",),
        commands=(("crow-cli", "acp"),),
        state=(".agents/crow",),
        install="uv tool install crow-cli",
    ),
    WellKnown(name="trae", title="Trae CLI", commands=(("traecli", "acp", "serve"),), install="Trae CLI"),
    WellKnown(
        name="pi",
        title="Pi",
        commands=(("pi-acp",),),
        state=(".pi",),
        tried="0.0.34",
        install="npm install -g pi-acp",
        registry="pi-acp",
    ),
    WellKnown(
        name="openclaw",
        title="OpenClaw",
        commands=(("openclaw", "acp"),),
        state=(".openclaw",),
        install="npm install -g openclaw",
    ),
)
