"""The language of a text, from its file name or its first line.

Unknown is an answer: such a text still gets the rules that hold for every text. The names are ours; they are
what rules say under `languages`.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

_SUFFIXES: dict[str, str] = {
    "bash": "sh bash zsh ksh bats",
    "c": "c h",
    "clojure": "clj cljs cljc edn",
    "cpp": "cc cpp cxx hh hpp hxx ipp cu",
    "csharp": "cs csx",
    "css": "css scss less",
    "dart": "dart",
    "elixir": "ex exs",
    "erlang": "erl hrl",
    "go": "go",
    "graphql": "graphql gql",
    "haskell": "hs",
    "hcl": "tf tfvars hcl",
    "html": "html htm xhtml vue svelte",
    "ini": "ini cfg conf properties env",
    "java": "java",
    "javascript": "js jsx mjs cjs",
    "json": "json jsonc json5 webmanifest",
    "kotlin": "kt kts",
    "latex": "tex sty",
    "lua": "lua",
    "make": "mk",
    "markdown": "md markdown rst adoc",
    "nix": "nix",
    "perl": "pl pm t",
    "php": "php phtml",
    "powershell": "ps1 psm1 psd1",
    "python": "py pyi pyw",
    "r": "r",
    "ruby": "rb rake gemspec",
    "rust": "rs",
    "scala": "scala sc",
    "sql": "sql ddl dml",
    "swift": "swift",
    "text": "txt log csv tsv",
    "toml": "toml",
    "tsx": "tsx",
    "typescript": "ts mts cts",
    "xml": "xml xsd xsl svg plist csproj",
    "yaml": "yaml yml",
    "zig": "zig",
}

_NAMES: dict[str, str] = {
    "dockerfile": "dockerfile",
    "containerfile": "dockerfile",
    "makefile": "make",
    "gnumakefile": "make",
    "gemfile": "ruby",
    "rakefile": "ruby",
    "jenkinsfile": "groovy",
    ".bashrc": "bash",
    ".bash_profile": "bash",
    ".profile": "bash",
    ".zshrc": "bash",
    ".env": "ini",
    ".npmrc": "ini",
    ".pypirc": "ini",
    ".netrc": "ini",
    ".gitconfig": "ini",
}

_BY_SUFFIX = {suffix: language for language, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}

LANGUAGES = frozenset({*_SUFFIXES, *_NAMES.values()})

_SHEBANG = re.compile(
    r"#![^\n]*?\b(?P<program>bash|dash|zsh|ksh|sh|python|node|deno|ruby|perl|php|lua)[\d.]*\b"
)
_PROGRAMS = {
    **dict.fromkeys(("bash", "dash", "zsh", "ksh", "sh"), "bash"),
    **dict.fromkeys(("node", "deno"), "javascript"),
}


def example_name(language: str) -> str:
    """Return a possible file name for this language."""
    file_name = next((name for name, entry_language in _NAMES.items() if entry_language == language), None)
    return f"example.{_SUFFIXES[language].split()[0]}" if language in _SUFFIXES else file_name or language


def language_of(path: str, text: str = "") -> str | None:
    """Return the language of a text, or None."""
    name = PurePosixPath(path.replace("\\", "/")).name.lower()
    if name in _NAMES:
        return _NAMES[name]
    if name.startswith((".env.", "dockerfile.")) or name.endswith((".dockerfile", ".containerfile")):
        return "ini" if name.startswith(".env") else "dockerfile"
    stem, _, suffix = PurePosixPath(path).name.lower().rpartition(".")  # a backslash may be part of a name
    if stem and suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    match = _SHEBANG.match(text, 0, 200)
    return _PROGRAMS.get(match["program"], match["program"]) if match else None
