"""Names that the wall treats apart: secrets, settings of agents and editors, start-up files, caches.

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
    *(".docker/run", ".docker/desktop", ".colima", ".lima", ".orbstack"),
    *(".local/share/opencode/auth.json", ".augment/session.json", ".cursor/auth.json"),
)
"""Keys, passwords, tokens, cookies, and what was typed into shells; also those of agents, but for the agent
whose state it is. Sockets of Docker are as good as a password of root.
"""

SECRET_IF = {".npmrc": (b"_auth", b"_password")}
"""Files that many need and that hold a secret only if one of these words is in them."""

SYSTEM_SECRETS = ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh")
"""For root alone: nobody else can read them."""

SYSTEM_SOCKETS = ("/var/lib/lxd", "/var/lib/incus", "/var/snap/lxd/common/lxd", "/var/lib/docker")

PROJECT = (
    *(".dragoman", ".mcp.json", ".claude/settings.json", ".claude/settings.local.json", ".claude/hooks"),
    *(".claude/commands", ".claude/agents", ".codex", ".gemini/settings.json", ".qwen/settings.json"),
    *(".cursor/mcp.json", ".opencode", "opencode.json", "opencode.jsonc", ".vscode", ".idea", ".envrc"),
    *(".zed/settings.json", ".zed/tasks.json", ".factory"),
)
"""Below a folder of the session: our policy, and what agents, editors and shells obey when they open it."""

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
    *(".cursor/mcp.json", ".factory/settings.json"),
)
"""Below the home folder, where a session or an agent may write there at all."""

CACHES = {
    "npm_config_cache": "/tmp/.cache/npm",
    "PIP_CACHE_DIR": "/tmp/.cache/pip",
    "UV_CACHE_DIR": "/tmp/.cache/uv",
    "GOCACHE": "/tmp/.cache/go-build",
    "GOMODCACHE": "/tmp/.cache/go-mod",
    "YARN_CACHE_FOLDER": "/tmp/.cache/yarn",
}
"""What is in a cache is run in other projects, so the caches of the home folder are not writable. These tools
fail without one, and get one that ends with the session.
"""
