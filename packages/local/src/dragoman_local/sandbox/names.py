"""File names that the sandbox treats specially: secrets, settings of agents and editors, start-up files,
caches.

A row is a path below the home folder, or below a folder of the session. What is not listed here is seen.
"""

from __future__ import annotations

SECRETS = (
    *(".ssh", ".gnupg", ".password-store", ".local/share/keyrings", ".local/share/kwalletd", ".pki"),
    *(
        ".aws",
        ".azure",
        ".config/gcloud",
        ".kube",
        ".oci",
        ".config/doctl",
        ".config/hcloud",
        ".fly",
        ".s3cfg",
    ),
    *(".boto", ".config/rclone", ".vault-token", ".terraform.d/credentials.tfrc.json", ".config/sops"),
    *(".netrc", "_netrc", ".git-credentials", ".config/git/credentials", ".config/gh", ".config/hub"),
    *(".docker/config.json", ".config/containers/auth.json", ".pypirc", ".gem/credentials"),
    *(".cargo/credentials", ".cargo/credentials.toml", ".pgpass", ".my.cnf", ".mylogin.cnf"),
    *(".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware"),
    *(".config/microsoft-edge", ".config/vivaldi", ".config/opera", "snap/firefox", "snap/chromium"),
    *(".var/app/org.mozilla.firefox", ".config/op", ".config/1Password", ".config/Bitwarden"),
    *(".bitcoin", ".electrum", ".ethereum", ".config/age", ".Xauthority", ".ICEauthority"),
    *(".bash_history", ".zsh_history", ".python_history", ".psql_history", ".mysql_history"),
    *(".local/share/fish/fish_history", ".config/github-copilot", ".claude/.credentials.json"),
    *(".codex/auth.json", ".gemini/oauth_creds.json", ".qwen/oauth_creds.json", ".config/goose/secrets.yaml"),
    *(".docker/run", ".docker/desktop", ".colima", ".lima", ".orbstack", ".rd", ".config/argocd"),
    *(".1password", ".bitwarden-ssh-agent.sock", ".snowflake", ".snowsql", ".config/ngrok", ".ngrok2"),
    *(".config/stripe", ".config/solana", ".config/io.datasette.llm", ".config/configstore"),
    *(".config/scw", ".config/rancher", ".rancher", ".config/helm/registry", ".tsh", ".config/teleport"),
    *(".config/syncthing", ".local/state/syncthing", ".local/share/atuin", ".config/borg", ".config/restic"),
    *(".config/wireguard", ".config/openvpn", ".cert", ".config/weechat", ".weechat", ".config/Element"),
    *(".subversion/auth", ".config/pypoetry/auth.toml", ".local/share/uv/credentials", ".mongodb"),
    *(f".config/{name}/User/globalStorage" for name in ("Code", "VSCodium", "Cursor", "Windsurf")),
    *(".local/share/com.vercel.cli", ".local/share/DBeaverData", ".local/share/remmina", ".hex/hex.config"),
    *(".config/dart/pub-credentials.json", ".anthropic", ".openai", ".config/anthropic", ".config/openai"),
    *(".kimi/credentials", ".factory/auth.json", ".local/share/amp/secrets.json"),
    *(".android/adbkey", ".local/share/containers/podman", ".local/share/evolution", ".config/evolution"),
    *(".config/nushell/history.txt", ".ipython/profile_default/history.sqlite"),
    *(".local/share/opencode/auth.json", ".augment/session.json", ".cursor/auth.json"),
    *(".config/glab-cli", ".config/composer/auth.json", ".composer/auth.json", ".config/heroku"),
    *(".config/netlify", ".wrangler", ".config/.wrangler", ".databrickscfg", ".kaggle", ".step", ".minikube"),
    *(".huggingface/token", ".cache/huggingface/token", ".ansible/vault", ".vnc", ".config/remmina"),
    *(".config/filezilla", ".config/Signal", ".config/Slack", ".config/discord", ".config/keepassxc"),
    *(".local/share/TelegramDesktop", ".local/share/containers/auth.json", ".config/pulse"),
    *(".putty", ".irssi", ".config/msmtp", ".msmtprc", ".fetchmailrc", ".lesshst", ".node_repl_history"),
)
"""Keys, passwords, tokens, cookies, and shell histories; also those of agents, except the agent whose state
it is. Sockets of Docker are as powerful as a password of root, those of a keyring as its keys.
"""

SECRET_IF = {
    ".npmrc": (b"_auth", b"_password"),
    ".m2/settings.xml": (b"<password>", b"<passphrase>"),
    ".gradle/gradle.properties": (b"assword", b"oken", b"ecret"),
    ".nuget/NuGet/NuGet.Config": (b"assword", b"apikeys"),
}
"""Files that many programs need and that hold a secret only if they contain one of these words."""

SHOWN = (".config", ".local", ".cache")
"""Folders that stay visible, in any mode, because they also contain other things."""

SYSTEM_SECRETS = (
    *("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh", "/sys/kernel/debug", "/sys/kernel/tracing"),
    *("/sys/fs/pstore", "/sys/firmware/efi/efivars"),
)
"""Files for root only."""

SYSTEM_SOCKETS = ("/var/lib/lxd", "/var/lib/incus", "/var/snap/lxd/common/lxd", "/var/lib/docker")

PROJECT = (
    *(".dragoman", ".mcp.json", ".claude/settings.json", ".claude/settings.local.json", ".claude/hooks"),
    *(".claude/commands", ".claude/agents", ".codex", ".gemini/settings.json", ".qwen/settings.json"),
    *(".cursor/mcp.json", ".opencode", "opencode.json", "opencode.jsonc", ".vscode", ".idea", ".envrc"),
    *(".zed/settings.json", ".zed/tasks.json", ".factory", ".devcontainer", ".nvim.lua", ".nvimrc", ".exrc"),
    *(".lvimrc", ".dir-locals.el", ".fleet", ".windsurf", ".kimi", ".roo", ".amp", ".mise.toml", ".autoenv"),
    *(".gdbinit", ".lldbinit", ".cursor/hooks.json", ".cursor/environment.json", ".claude/skills", ".vibe"),
    *(f".{agent}/{name}" for agent in ("gemini", "qwen") for name in ("commands", "extensions", "hooks")),
    *(".kiro", ".continue", "crush.json", ".crush.json", ".clinerules/hooks", ".github/hooks", ".pi"),
    *(".github/copilot", ".copilot", ".trae", ".augment", ".hermes", "fastagent.config.yaml", ".fast-agent"),
    *(".aider.conf.yml", ".zed/debug.json", ".helix", ".devcontainer.json", ".vimrc", ".dir-locals-2.el"),
    *("mise.toml", "mise.local.toml", ".mise.local.toml", ".mise", ".config/mise.toml", ".config/mise"),
    *(".autoenv.zsh", ".cline", ".junie"),
)
PROJECT_ENDINGS = (".code-workspace",)
"""Paths below a folder of the session: our policy, and files that agents, editors and shells obey when they
open it.
"""

HOME = (
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".bash_aliases", ".inputrc"),
    *(".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout", ".config/fish", ".config/environment.d"),
    *(".config/systemd", ".config/autostart", ".pam_environment", ".xprofile", ".xsession", ".xinitrc"),
    *(".gitconfig", ".config/git", ".vimrc", ".config/nvim", ".emacs", ".emacs.d", ".tmux.conf", ".gdbinit"),
    *(".npmrc", ".cargo/config.toml", ".config/pip", ".pythonrc", "bin", ".local/bin", ".config/dragoman"),
    *(".claude/settings.json", ".claude/settings.local.json", ".claude/hooks", ".codex/config.toml"),
    *(".gemini/settings.json", ".qwen/settings.json", ".config/goose/config.yaml"),
    *(f".config/opencode/{name}" for name in ("opencode.json", "opencode.jsonc", "config.json")),
    *(f".config/opencode/{name}{s}" for name in ("plugin", "command", "agent", "tool") for s in ("", "s")),
    *(".cursor/mcp.json", ".factory/settings.json", ".config/direnv", ".pydistutils.cfg", ".xsessionrc"),
    *(
        ".local/share/dbus-1",
        ".local/share/systemd",
        ".local/lib",
        ".config/Code/User/settings.json",
        ".config/Code/User/tasks.json",
        ".config/zed",
    ),
    *(".cache/pip", ".cache/uv", ".cache/yarn", ".cache/go-build", ".npm", "go/pkg/mod"),
)
"""Paths below the home folder, where a session or an agent may write there at all."""

CACHES = {
    "npm_config_cache": "/tmp/.cache/npm",
    "PIP_CACHE_DIR": "/tmp/.cache/pip",
    "UV_CACHE_DIR": "/tmp/.cache/uv",
    "GOCACHE": "/tmp/.cache/go-build",
    "GOMODCACHE": "/tmp/.cache/go-mod",
    "YARN_CACHE_FOLDER": "/tmp/.cache/yarn",
}
"""Variables for caches. Contents of a cache run in other projects, so the caches of the home folder are not
writable. These tools fail without one, and get one that ends with the session.
"""
