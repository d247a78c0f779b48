# Completion of dragoman for bash. In ~/.bashrc:  eval "$(dragoman completions bash)"
_dragoman() {
    local kind= word lines
    COMPREPLY=()
    lines=$(command dragoman complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null) || return 0
    while IFS=$'\t' read -r word _; do
        if [ -z "$kind" ]; then
            kind=$word
        else
            COMPREPLY+=("$word")
        fi
    done <<<"$lines"
    if [ "$kind" = files ]; then
        compopt -o default 2>/dev/null
    fi
}
complete -F _dragoman dragoman
