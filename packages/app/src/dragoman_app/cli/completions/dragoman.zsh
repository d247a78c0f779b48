#compdef dragoman
# Completion of dragoman for zsh. In ~/.zshrc, behind compinit:  eval "$(dragoman completions zsh)"
_dragoman() {
    local kind line
    local -a lines described
    lines=("${(@f)$(command dragoman complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    kind=$lines[1]
    shift lines
    for line in $lines; do
        described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done
    (( $#described )) && _describe -t values 'dragoman' described
    [[ $kind == files ]] && _files
    return 0
}
if [[ $funcstack[1] == _dragoman ]]; then
    _dragoman "$@"
else
    compdef _dragoman dragoman
fi
