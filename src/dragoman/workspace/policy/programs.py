"""What is known about programs by their names: which run others, which are shells, which change the shell.

Lists, no rules. A program that is missing here is judged by the words it is called with; one that is here
makes a command harder to allow, never easier.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Final


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


SHELLS: Final = _names(
    "sh bash dash zsh ksh mksh ash fish csh tcsh rbash pwsh powershell cmd elvish nu xonsh yash"
)

POSIX_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash"})
"""Whose `-c` takes a line that we can read."""

RUNNERS: Final = _names("""
    sudo doas su pkexec runuser gosu setpriv capsh sudoedit run0 chroot unshare nsenter fakeroot
    systemd-run at batch crontab bwrap firejail env nice ionice chrt taskset stdbuf setsid setarch
    linux64 linux32 flock xargs parallel watch watchexec entr strace ltrace gdb lldb valgrind perf
    script expect unbuffer rlwrap busybox toybox ssh autossh mosh rsh nc ncat netcat socat telnet screen
    tmux zellij disown dtach caffeinate arch xvfb-run dbus-run-session systemd-inhibit proxychains
    proxychains4 torsocks tsocks proot chronic sem fakechroot ld.so ld-linux.so.2 ld-linux-x86-64.so.2
    make-jobserver sg newgrp daemonize start-stop-daemon reptyr nsjail minijail0 uwsgi cpulimit prlimit
    choom numactl chpst setuidgid s6-setuidgid softlimit
    """)
"""They run what their arguments or their input say: with other rights, elsewhere, again, or watched."""

BUILTINS: Final = _names("""
    eval exec source . alias unalias trap set shopt enable hash builtin
    export readonly declare typeset local unset read mapfile readarray let
    getopts bind complete compgen coproc function return fc history setopt
    unsetopt zmodload autoload noglob nocorrect emulate bg fg jobs zcompile
    """)
"""They change what the words after them mean."""

LOOKED_THROUGH: Final = frozenset({"nohup", "time", "command", "timeout"})
"""They do no more than run another command, and are read together with it."""

RESERVED: Final = _names(
    "if then else elif fi do done case esac while until for in select foreach repeat end { } ! [[ ]] (("
)

CODE_MODULES: Final = _names("timeit pdb trace profile cProfile code runpy bdb doctest idlelib")
"""Modules of Python that run what stands behind them, or what a person types."""

SAFE_GIT_SETTINGS: Final = _names("""
    user.name user.email init.defaultbranch pull.rebase pull.ff push.default push.autosetupremote
    core.autocrlf core.filemode core.quotepath core.ignorecase core.eol color.* advice.* fetch.prune
    rerere.enabled commit.gpgsign tag.gpgsign merge.conflictstyle rebase.autostash branch.*.merge
    branch.*.remote
    """)
"""Settings of git that run nothing, by their names in lower case."""

HARMLESS_VARIABLES: Final = _names("""
    CI NO_COLOR FORCE_COLOR CLICOLOR COLUMNS LINES LANG LANGUAGE TZ TERM
    DEBIAN_FRONTEND CLAUDECODE PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED GIT_TERMINAL_PROMPT
    """)
"""They change how things look; any other variable may change what a program does."""

CODE_VARIABLES: Final = _names("""
    LD_* DYLD_* GCONV_PATH MALLOC_* PATH CDPATH IFS PS4 PROMPT_COMMAND SHELL ENV BASH_ENV BASH_FUNC_*
    SHELLOPTS BASHOPTS ZDOTDIR FPATH HOME XDG_CONFIG_HOME XDG_CONFIG_DIRS XDG_DATA_DIRS EDITOR VISUAL
    PAGER MANPAGER *_PAGER *_EDITOR BROWSER LESS LESSOPEN LESSCLOSE MANOPT SUDO_ASKPASS SSH_ASKPASS
    GIT_* SSH_* SVN_SSH CVS_RSH HGEDITOR HGRCPATH HG RSYNC_RSH RSYNC_* SCP_* CVSROOT PYTHON* PIP_* UV_*
    POETRY_* PIPENV_* VIRTUAL_ENV CONDA_* PYTEST_* COVERAGE_* MYPYPATH MYPY_* TOX_* NOX_* NODE_OPTIONS
    NODE_PATH NODE_EXTRA_CA_CERTS NODE_REPL_* npm_* NPM_* YARN_* PNPM_* COREPACK_* BUN_* DENO_*
    TS_NODE_* PERL5OPT PERL5LIB PERLLIB PERL5DB PERL_* RUBYOPT RUBYLIB GEM_* BUNDLE_* BUNDLER_* RBENV_*
    LUA_* LUA_INIT* PHP_INI_SCAN_DIR PHPRC COMPOSER_* R_* RENV_* JULIA_* ERL_* ELIXIR_* MIX_* GUILE_*
    EMACS* VIMINIT EXINIT VIM* MAKEFLAGS MFLAGS GNUMAKEFLAGS MAKEFILES MAKE CC CXX CPP LD AR AS RANLIB
    NM STRIP OBJCOPY CFLAGS CXXFLAGS CPPFLAGS LDFLAGS LIBS COMPILER_PATH LIBRARY_PATH GCC_EXEC_PREFIX
    CPATH C_INCLUDE_PATH CMAKE_* CTEST_* MESON* NINJA* PKG_CONFIG* CCACHE_* DISTCC_* ACLOCAL* AUTOMAKE
    AUTOCONF CONFIG_SHELL CONFIG_SITE INSTALL GO* CGO_* CARGO_* RUSTC RUSTC_* RUSTDOC* RUSTFLAGS
    RUSTUP_* CLIPPY_* DOTNET_* COMPlus_* CORECLR_* NUGET_* JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS
    _JAVA_OPTIONS JAVA_OPTS JAVA_HOME CLASSPATH MAVEN_* M2_HOME GRADLE_* ANT_* SBT_* KOTLIN_* SCALA_*
    DOCKER_* COMPOSE_* KUBECONFIG KUBE_* HELM_* TF_* ANSIBLE_* VAGRANT_* AWS_CONFIG_FILE TAR_OPTIONS
    TAPE ZIPOPT UNZIP GZIP GREP_OPTIONS RIPGREP_CONFIG_PATH FZF_* BAT_* POSIXLY_CORRECT AWKPATH
    AWKLIBPATH SED LS_OPTIONS CURL_HOME WGETRC SYSTEM_WGETRC OPENSSL_CONF OPENSSL_ENGINES
    OPENSSL_MODULES SSLKEYLOGFILE PSQLRC PGSERVICEFILE PGSYSCONFDIR MYSQL_* SQLITE_* GTK_* QT_* PULSE_*
    LIBGL_* GIO_* DBUS_* TERMINFO TERMCAP http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
    all_proxy DEBUGINFOD_URLS QEMU_* WINE* FAKEROOT*
    """)
"""With these a program runs or loads something else, or takes it from elsewhere. Patterns of names."""

_INTERPRETER = re.compile(
    r"(python|pypy|perl|ruby|node|nodejs|deno|bun|php|lua|luajit|tclsh|wish|osascript|Rscript|R|ghci|irb|groovy)"
    r"[\d.]*"
)


def is_interpreter(name: str) -> bool:
    """Whether a program runs what it reads when it is called without arguments."""
    return _INTERPRETER.fullmatch(name) is not None


def runs_code(variable: str) -> bool:
    """Whether a variable makes programs run or load something."""
    if is_harmless(variable):
        return False
    return any(fnmatchcase(variable, pattern) for pattern in CODE_VARIABLES)


def is_harmless(variable: str) -> bool:
    return variable in HARMLESS_VARIABLES or variable.startswith("LC_")


def name_of(program: str) -> str:
    """The last part of a program's path, without the ending that Windows gives it."""
    name = program.replace("\\", "/").rpartition("/")[2]
    return name[:-4] if name.lower().endswith(".exe") else name
