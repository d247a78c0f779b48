"""Git's options and those of its subcommands, in the form that `program_table` explains. Data alone.

What stands before the subcommand is git's own; after it git no longer takes these.
"""

from __future__ import annotations

from typing import Final

GIT_OPTIONS: Final = """
git      -C@ -c! --exec-path!? --config-env! --git-dir! --work-tree! --namespace= --super-prefix=
        -p,--paginate -P,--no-pager --bare --no-replace-objects --literal-pathspecs --glob-pathspecs
        --noglob-pathspecs --icase-pathspecs --no-optional-locks --attr-source= --list-cmds= -v,--version
        -h,--help --html-path --man-path --info-path --no-lazy-fetch --no-advice
git push  -f,--force --force-with-lease=? --force-if-includes --no-force-with-lease -u,--set-upstream
        --all --branches --mirror -d,--delete --tags --follow-tags --no-follow-tags -n,--dry-run
        --porcelain --prune -v,--verbose -q,--quiet --progress --no-progress --verify --no-verify
        --signed=? --atomic --no-atomic -o,--push-option= --receive-pack! --exec! --repo= --thin --no-thin
        --recurse-submodules= -4,--ipv4 -6,--ipv6 --no-signed
git fetch  --all -a,--append --atomic --depth= --deepen= --shallow-since= --shallow-exclude= --unshallow
        -f,--force -k,--keep -p,--prune -P,--prune-tags -n,--no-tags -t,--tags -u,--update-head-ok
        -j,--jobs= --upload-pack! -q,--quiet -v,--verbose --progress -o,--server-option= --dry-run
        --multiple --recurse-submodules=? --refmap= --no-recurse-submodules -4,--ipv4 -6,--ipv6
        --set-upstream --no-auto-maintenance --filter= --write-fetch-head
git pull  --rebase=?,-r --no-rebase --ff --no-ff --ff-only -q,--quiet -v,--verbose --all --depth=
        -f,--force -p,--prune -t,--tags --no-tags -j,--jobs= --upload-pack! --autostash --no-autostash
        -s,--strategy! -X,--strategy-option= --squash --commit --no-commit -e,--edit --no-edit
        -S,--gpg-sign=? --no-verify --recurse-submodules=? --progress -o,--server-option= --unshallow
        --allow-unrelated-histories --stat -n --log=? --dry-run --set-upstream --no-stat
git clone  -u,--upload-pack! -c,--config! --template! -l,--local --no-hardlinks -s,--shared --reference@
        -q,--quiet -v,--verbose --progress -n,--no-checkout --bare --mirror -o,--origin= -b,--branch=
        --depth= --single-branch --no-single-branch --no-tags --tags --recurse-submodules!? --recursive!!
        --shallow-submodules -j,--jobs= --separate-git-dir@ --filter= --sparse --shallow-since=
        --shallow-exclude= --server-option= --dissociate --reference-if-able@ --bundle-uri=
git init  --template! -q,--quiet --bare -b,--initial-branch= --separate-git-dir@ --shared=?
        --object-format=
git ls-remote  --upload-pack! --exec! -h,--heads --branches -t,--tags --refs -q,--quiet --exit-code
        --get-url --symref -o,--server-option= --sort=
git archive  --exec! --remote= -o,--output@ --format= --prefix= -l,--list -v,--verbose --add-file@
        --worktree-attributes
git fetch-pack  --upload-pack! --exec!
git send-pack  --receive-pack! --exec!
git rebase  -x,--exec! -i,--interactive!! --edit-todo!! --onto= --continue --abort --skip --quit
        -s,--strategy! -X,--strategy-option= --autostash --no-autostash -f,--force-rebase --no-ff --root
        --autosquash --no-autosquash -q,--quiet -v,--verbose --keep-base --stat --no-stat -n -r
        --rebase-merges=? --fork-point -S,--gpg-sign=? --no-verify -m,--merge --apply --update-refs
        --committer-date-is-author-date --signoff --empty= --reapply-cherry-picks
git merge  --no-ff --ff --ff-only --squash --commit --no-commit -m= -F@ -s,--strategy!
        -X,--strategy-option= --abort --continue --quit -e,--edit --no-edit -q,--quiet -v,--verbose
        -S,--gpg-sign=? --stat -n --no-stat --log=? --no-verify --signoff --allow-unrelated-histories
        --autostash --no-autostash --into-name= --progress
git bisect  (runs-run)
git submodule  (runs-foreach) -q,--quiet --init --recursive --remote -f,--force --depth= --cached -b=
        --name= --reference@
git filter-branch  (runs)
git difftool  (runs)
git mergetool  (runs)
git gui  (runs)
git citool  (runs)
git gitk  (runs)
git instaweb  (runs)
git help  -a -g -c -w!! -i!! -m
git web--browse  (runs)
git send-email  (runs)
git imap-send  (runs)
git svn  (runs)
git p4   (runs)
git cvsserver  (runs)
git daemon  (runs)
git shell  (runs)
git hook  (runs)
git for-each-repo  (runs)
git credential  (runs)
git maintenance  (runs)
git config  (runs-config) -l,--list --get --get-all --get-regexp --get-urlmatch --name-only --show-origin
        --show-scope -z,--null --global --local --system --worktree -f,--file! --blob= --type= --bool
        --int --path -e,--edit!! --add --unset --unset-all --replace-all --rename-section --remove-section
        --default= --fixed-value --includes --no-includes --all --value= --url= --regexp --bool-or-int
        --bool-or-str --expiry-date --no-type
git grep  -O,--open-files-in-pager!? -i,--ignore-case -n,--line-number -l,--files-with-matches,--name-only
        -c,--count -v,--invert-match -w,--word-regexp -E,--extended-regexp -F,--fixed-strings
        -P,--perl-regexp -G,--basic-regexp -e= -f@ -A,--after-context= -B,--before-context= -C,--context=
        --cached --untracked --no-index --and --or --not -q,--quiet -o,--only-matching -h -H
        -L,--files-without-match --heading --break --color=? --no-color -p,--show-function
        -W,--function-context -m,--max-count= --max-depth= -r,--recursive --no-recursive --threads=
        --textconv!! -a,--text -I --all-match --recurse-submodules --exclude-standard
        --no-exclude-standard --full-name --column -z,--null
git diff  --ext-diff!! --no-ext-diff --textconv!! --no-textconv --output@ --stat=? --name-only
        --name-status --cached --staged --color=? --no-color --word-diff=? -w -b -U,--unified=
        -p,-u,--patch -s,--no-patch --raw --numstat --shortstat --summary -M,--find-renames=?
        -C,--find-copies=? --diff-filter= -S= -G= --no-renames --check --exit-code --quiet --minimal
        --patience --histogram --diff-algorithm= -z --binary --no-index --submodule=?
        --ignore-submodules=? --merge-base -R --relative=? -a,--text --function-context,-W
        --compact-summary --dirstat=? --inter-hunk-context= --src-prefix= --dst-prefix= --no-prefix
        --abbrev=? --full-index --color-moved=? -O@
git log  --ext-diff!! --no-ext-diff --textconv!! --no-textconv --output@ --oneline -n,--max-count=
        -p,-u,--patch --stat=? --format=,--pretty=? --graph --all --decorate=? --no-decorate
        --since=,--after= --until=,--before= --author= --grep= --name-only --name-status --follow -S= -G=
        -L= --reverse --merges --no-merges --first-parent --abbrev-commit --date= --color=? --no-color
        --show-signature -i --no-patch,-s --numstat --shortstat --cherry-pick --left-right --diff-filter=
        -M -C -w -z --branches=? --tags=? --remotes=? --skip= --topo-order --date-order --no-walk=? --raw
        --full-history --simplify-by-decoration --ancestry-path=? -g,--walk-reflogs --source --committer=
        -E -F -P --summary -1 -2 -3 -4 -5 -6 -7 -8 -9 -m -c --cc --boundary --use-mailmap --notes=?
        --no-notes --abbrev=? -U= --word-diff=?
git show  --ext-diff!! --no-ext-diff --textconv!! --no-textconv --output@ --oneline --stat=?
        --format=,--pretty=? --name-only --name-status -s,--no-patch -p,-u --color=? --no-color -w
        -U,--unified= -M -C --numstat --raw --summary --abbrev-commit --show-signature --notes=?
        -q,--quiet --date= --decorate=? -m -c --cc --word-diff=? -z -n= -W -b
git blame  -L= -w -M=? -C=? -e -l -s -t -f -n -p,--porcelain --line-porcelain --contents@ --ignore-rev=
        --ignore-revs-file@ --since= -S@ --reverse --date= --root --show-stats --abbrev= --color-lines
        --color-by-age --first-parent
git cat-file  --textconv!! --filters!! -p -t -s -e --batch=? --batch-check=? --batch-command=?
        --batch-all-objects --buffer --follow-symlinks --allow-unknown-type --unordered -Z -z --path@
git commit  -m,--message= -a,--all -F,--file@ --amend -C,--reuse-message= -c,--reedit-message! -e,--edit!!
        --no-edit -n,--no-verify --verify -q,--quiet -v,--verbose -s,--signoff --author= --date=
        --allow-empty --allow-empty-message -S,--gpg-sign=? --no-gpg-sign --fixup= --squash=
        --reset-author -t,--template@ -p,--patch -u,--untracked-files=? --dry-run --short --branch
        --porcelain --long -z -i,--include -o,--only --cleanup= --trailer= --pathspec-from-file@
        --no-post-rewrite --status --no-status --interactive
git add  -A,--all -u,--update -p,--patch -i,--interactive -n,--dry-run -v,--verbose -f,--force
        -N,--intent-to-add -e,--edit!! --refresh --ignore-errors --chmod= --renormalize --sparse
        --pathspec-from-file@ --no-all
git rm   -r -f,--force -n,--dry-run --cached -q,--quiet --ignore-unmatch --sparse --pathspec-from-file@
git mv   -f,--force -k -n,--dry-run -v,--verbose --sparse
git reset  --hard --soft --mixed --keep --merge -q,--quiet -p,--patch -N,--intent-to-add --no-refresh
        --refresh --pathspec-from-file@ --recurse-submodules=?
git clean  -f,--force -d -x -X -n,--dry-run -i,--interactive -q,--quiet -e,--exclude=
git checkout  -b= -B= -f,--force -q,--quiet -t,--track=? --no-track --detach -p,--patch -m,--merge --ours
        --theirs --orphan= -l --conflict= --progress --no-progress --ignore-other-worktrees
        --overwrite-ignore --recurse-submodules=? --guess --no-guess --pathspec-from-file@ --overlay
        --no-overlay
git switch  -c,--create= -C,--force-create= -d,--detach -f,--force,--discard-changes -q,--quiet
        -t,--track=? --no-track -m,--merge --orphan= --guess --no-guess --conflict= --progress
        --ignore-other-worktrees --recurse-submodules=?
git restore  -s,--source= -S,--staged -W,--worktree -p,--patch -q,--quiet --ours --theirs -m,--merge
        --conflict= --overlay --no-overlay --progress --ignore-unmerged --pathspec-from-file@
        --recurse-submodules=?
git branch  -d,--delete -D -m,--move -M -c,--copy -C -f,--force -a,--all -r,--remotes -l,--list
        -v,--verbose -vv -q,--quiet -t,--track=? --no-track -u,--set-upstream-to= --unset-upstream
        --merged=? --no-merged=? --contains=? --no-contains=? --sort= --format= --show-current --color=?
        --no-color --column=? --points-at= --edit-description!! -i --abbrev=?
git tag  -a,--annotate -s,--sign -u,--local-user= -d,--delete -f,--force -m,--message= -F,--file@
        -l,--list -n=? -v,--verify --sort= --contains=? --merged=? --no-merged=? --points-at= --format=
        -e,--edit!! --create-reflog --cleanup= --column=? -i
git stash  -u,--include-untracked -a,--all -k,--keep-index -p,--patch -q,--quiet -m,--message= -S,--staged
        --index --no-keep-index
git status  -s,--short -b,--branch --porcelain=? --long -v,--verbose -u,--untracked-files=? --ignored=? -z
        --column=? --ahead-behind --no-ahead-behind --renames --no-renames --find-renames=?
        --ignore-submodules=? --show-stash --no-column
git remote  -v,--verbose
git worktree  -f,--force -b= -B= -d,--detach --checkout --no-checkout --lock --reason= --orphan -q,--quiet
        --porcelain -z -v --track --guess-remote --expire= -n,--dry-run
git format-patch  --ext-diff!! --textconv!! -o,--output-directory@ --output@ --stdout -n -s,--signoff -M
        --root --cover-letter -v,--reroll-count= --base= --thread=? --attach=? --inline=? --start-number=
        --numbered -k --signature-file@
git am   -i,--interactive -s,--signoff -k -u -3,--3way --abort --continue,-r,--resolved --skip --quit
        -q,--quiet -c,--scissors
git apply  --check --stat --numstat --summary --index --cached -3,--3way -R,--reverse --reject -p=
        -v,--verbose --directory@ --include= --exclude= --whitespace= --unsafe-paths
        --build-fake-ancestor@ --recount -C= -z --apply --allow-empty
git cherry-pick  -e,--edit!! -x -r -n,--no-commit -s,--signoff -m,--mainline= --ff --continue --abort
        --skip --quit -S,--gpg-sign=? --strategy! -X,--strategy-option= --allow-empty
        --allow-empty-message --keep-redundant-commits --no-edit
git revert  -e,--edit!! --no-edit -n,--no-commit -m,--mainline= -s,--signoff --continue --abort --skip
        --quit -S,--gpg-sign=? --strategy! -X,--strategy-option=
git notes  --ref=
git interpret-trailers  (runs)
git var  (runs)
"""

_GIT_SUBCOMMANDS: Final = """
    add am annotate apply archive bisect blame branch bugreport bundle cat-file check-attr check-ignore
    check-mailmap check-ref-format checkout checkout-index cherry cherry-pick citool clean clone column
    commit commit-graph commit-tree config count-objects credential cvsserver daemon describe diagnose
    diff diff-files diff-index diff-tree difftool fast-export fast-import fetch fetch-pack filter-branch
    fmt-merge-msg for-each-ref for-each-repo format-patch fsck gc get-tar-commit-id grep gui hash-object
    help hook index-pack init init-db instaweb interpret-trailers lfs log ls-files ls-remote ls-tree
    mailinfo mailsplit maintenance merge merge-base merge-file merge-index merge-tree mergetool mktag
    mktree multi-pack-index mv name-rev notes p4 pack-objects pack-redundant pack-refs patch-id prune
    prune-packed pull push range-diff read-tree rebase receive-pack reflog remote repack replace
    request-pull rerere reset restore rev-list rev-parse revert rm send-email send-pack shell shortlog
    show show-branch show-index show-ref sparse-checkout stage stash status stripspace submodule svn
    switch symbolic-ref tag unpack-file unpack-objects update-index update-ref update-server-info
    upload-archive upload-pack var verify-commit verify-pack verify-tag version whatchanged worktree
    write-tree
"""
GIT_SUBCOMMANDS: Final = frozenset(_GIT_SUBCOMMANDS.split())
"""Every other word in the place of a subcommand is an alias, or a program of somebody else."""
