# Completion of dragoman for fish. In ~/.config/fish/config.fish:  dragoman completions fish | source
function __dragoman_complete
    set -l before (commandline --cut-at-cursor --tokenize)
    set -l current (commandline --cut-at-cursor --current-token)
    set -l lines (command dragoman complete -- $before[2..-1] "$current" 2>/dev/null)
    test (count $lines) -gt 0; or return
    if test (count $lines) -gt 1
        printf '%s\n' $lines[2..-1]
    end
    if test "$lines[1]" = files
        __fish_complete_path "$current"
    end
end
complete --command dragoman --no-files --arguments '(__dragoman_complete)'
