"""Harmless options of programs: with them a program does no more than its rule allows. `program_calls`
explains the format.

Data alone. An option is left out if it runs or loads something, writes to a file that it names, goes to
another folder, or takes its settings or its list of files from one; so is an option that nobody has looked
at. A program or a subcommand is left out if its operands can do such a thing.
"""

from __future__ import annotations

from typing import Final

PROGRAM_OPTIONS: Final = """
ls (reads) -a,--all -A,--almost-all -l -h,--human-readable -R,--recursive -t -S -r,--reverse -1
    -d,--directory -F,--classify -G,--no-group -i,--inode -n,--numeric-uid-gid -s,--size --color=? --time=
    --sort= --time-style= --group-directories-first -I,--ignore= --full-time -g -o -p -Q,--quote-name
cat (reads) -A,--show-all -b,--number-nonblank -e -E,--show-ends -n,--number -s,--squeeze-blank -t
    -T,--show-tabs -u -v,--show-nonprinting
head (reads) (digits) -c,--bytes= -n,--lines= -q,--quiet -v,--verbose
tail (reads) (digits) -c,--bytes= -f,--follow -F -n,--lines= -q,--quiet -v,--verbose
wc (reads) -c,--bytes -m,--chars -l,--lines -L,--max-line-length -w,--words
grep (reads) (digits) -r,--recursive -R,--dereference-recursive -i,--ignore-case -n,--line-number
    -l,--files-with-matches -L,--files-without-match -c,--count -v,--invert-match -w,--word-regexp
    -x,--line-regexp -E,--extended-regexp -F,--fixed-strings -P,--perl-regexp -G,--basic-regexp
    -o,--only-matching -q,--quiet,--silent -s,--no-messages -H,--with-filename -h,--no-filename
    -A,--after-context= -B,--before-context= -C,--context= -e,--regexp= -m,--max-count= --include=
    --exclude= --exclude-dir= --color=? -z,--null-data -Z,--null -a,--text -I -b,--byte-offset
rg (reads) -A,--after-context= -B,--before-context= -C,--context= -e,--regexp= -g,--glob= --iglob=
    -t,--type= -T,--type-not= -m,--max-count= -M,--max-columns= -d,--max-depth= -j,--threads= --sort=
    --sortr= --color= -i,--ignore-case -S,--smart-case -s,--case-sensitive -n,--line-number
    -N,--no-line-number -l,--files-with-matches --files-without-match -c,--count --count-matches
    -v,--invert-match -w,--word-regexp -x,--line-regexp -F,--fixed-strings -P,--pcre2 -o,--only-matching
    -q,--quiet -H,--with-filename -I,--no-filename -r,--replace= --hidden -u,--unrestricted --no-ignore
    --no-ignore-vcs -L,--follow -U,--multiline --multiline-dotall --files --json --heading --no-heading
    --vimgrep --stats --column --trim -a,--text -0,--null -p,--pretty -. --no-messages --type-list
fd (reads) -H,--hidden -I,--no-ignore -e,--extension= -t,--type= -d,--max-depth= -E,--exclude= -g,--glob
    -F,--fixed-strings -i,--ignore-case -s,--case-sensitive -a,--absolute-path -L,--follow -p,--full-path
    -0,--print0 --min-depth= -S,--size= -u,--unrestricted --changed-within= --changed-before= -c,--color= -1
find (reads) (onedash) -name= -iname= -path= -ipath= -wholename= -iwholename= -regex= -iregex= -type=
    -xtype= -size= -mtime= -mmin= -atime= -amin= -ctime= -cmin= -newer= -perm= -user= -group= -maxdepth=
    -mindepth= -depth -mount -xdev -print -print0 -printf= -ls -prune -quit -empty -not -o -or -a -and -H -L
    -P -follow -executable -readable -writable -true -false -daystart -links= -regextype=
sed (sed) -n,--quiet,--silent -E,-r,--regexp-extended -i,--in-place -e,--expression= -s,--separate
    -u,--unbuffered -z,--null-data --posix
sort (reads) -b,--ignore-leading-blanks -d,--dictionary-order -f,--ignore-case -g,--general-numeric-sort
    -h,--human-numeric-sort -i,--ignore-nonprinting -M,--month-sort -n,--numeric-sort -R,--random-sort
    -r,--reverse -V,--version-sort -u,--unique -k,--key= -t,--field-separator= -c -C -m,--merge -s,--stable
    -z,--zero-terminated
uniq (reads) (1) -c,--count -d,--repeated -D -f,--skip-fields= -i,--ignore-case -s,--skip-chars= -u,--unique
cut (reads) -b,--bytes= -c,--characters= -d,--delimiter= -f,--fields= -s,--only-delimited --complement
    --output-delimiter=
tr (reads) -c,-C,--complement -d,--delete -s,--squeeze-repeats -t,--truncate-set1
diff (reads) -r,--recursive -u -U,--unified= -q,--brief -N,--new-file -a,--text -w -b -B -i
    -y,--side-by-side --color=? -x,--exclude= --label= -s -c -W=
cmp (reads) -l,--verbose -s,--quiet,--silent -b,--print-bytes -n,--bytes=
jq (reads) -r,--raw-output -c,--compact-output -n,--null-input -e,--exit-status -s,--slurp -S,--sort-keys
    -R,--raw-input -a,--ascii-output -C,--color-output -M,--monochrome-output -j,--join-output --tab
    --indent= --arg= --argjson=
xxd (reads) (1) -p -l= -s= -c= -g= -u -b -e
stat (reads) -c,--format= --printf= -L,--dereference -f,--file-system -t,--terse
file (reads) -b,--brief -i,--mime --mime-type --mime-encoding -L,--dereference -h,--no-dereference
tree (reads) -a -d -f -h -s -i -L= -I= -P= --dirsfirst --noreport --gitignore -C -n -F
du (reads) -s,--summarize -h,--human-readable -a,--all -c,--total -d,--max-depth= -k -m -b,--bytes
    -x,--one-file-system --exclude= --apparent-size
df (reads) -h,--human-readable -T,--print-type -i,--inodes -k -a,--all
ps (reads) -e -f -A -a -u= -x -p= -o= -l --sort= --forest
date (reads) -u,--utc -R,--rfc-email -I=? -d,--date= -r,--reference=
sha256sum (reads) -c,--check -b,--binary -t,--text --status -q,--quiet
md5sum (reads) -c,--check -b,--binary -t,--text --status -q,--quiet
which (reads) -a
basename (reads) -a,--multiple -s,--suffix= -z,--zero
dirname (reads) -z,--zero
realpath (reads) -e -m -s,--no-symlinks --relative-to= --relative-base= -z,--zero -q,--quiet
readlink (reads) -f,--canonicalize -e -m -n -z,--zero -q,--quiet
test (reads) (onedash) -f -d -e -s -r -w -x -z -n -L -h -a -o -eq -ne -lt -le -gt -ge -nt -ot
printf (reads)
echo (reads) (any)
pwd (reads) (0) -P -L
true (reads)
false (reads)
sleep (reads)
cd (reads) (1)
pushd (reads) (1)
mkdir -p,--parents -v,--verbose -m,--mode=
touch -a -c,--no-create -m -d,--date= -t=
rm -r,-R,--recursive -f,--force -i -I -d,--dir -v,--verbose
rmdir -p,--parents -v,--verbose
cp -r,-R,--recursive -a,--archive -f,--force -i,--interactive -n,--no-clobber -p -u,--update -v,--verbose
    -L,--dereference -P,--no-dereference -d -T,--no-target-directory --parents
mv -f,--force -i,--interactive -n,--no-clobber -u,--update -v,--verbose -T,--no-target-directory
ln -s,--symbolic -f,--force -n,--no-dereference -r,--relative -v,--verbose
chmod -R,--recursive -c,--changes -f,--silent,--quiet -v,--verbose
tee -a,--append -i,--ignore-interrupts
curl -s,--silent -S,--show-error -L,--location -f,--fail -i,--include -I,--head -v,--verbose -X,--request=
    -H,--header= -d,--data= --data-raw= --json= -G,--get -m,--max-time= --connect-timeout= --retry=
    -A,--user-agent= -u,--user= -k,--insecure --compressed -4,--ipv4 -6,--ipv6 -N,--no-buffer
bash (script)
python (script) -V,--version -B -E -I -O -s -S -u -W= -m>
node (script) -v,--version --enable-source-maps --no-warnings --trace-warnings
npx (carries) -y,--yes --no --no-install
uv run (carries) -q,--quiet --frozen --locked --no-sync --dev
poetry run (carries)
pipenv run (carries)
bundle exec (carries)
pnpm exec (carries)
npm -h,--help -v,--version
npm test (project) (0) -s,--silent
npm run (project) (1) -s,--silent --if-present
npm ci (project) (0) --ignore-scripts --no-audit --no-fund --prefer-offline --offline
npm install (project) (0) --ignore-scripts --no-audit --no-fund --prefer-offline --offline
npm ls (reads) --json -a,--all --depth= --long --parseable
yarn -v,--version
yarn test (project) (0) -s,--silent
yarn run (project) (1) -s,--silent
yarn install (project) (0) --frozen-lockfile --immutable --offline
pnpm -v,--version
pnpm test (project) (0) -s,--silent
pnpm run (project) (1) -s,--silent
pnpm install (project) (0) --frozen-lockfile --offline
make (project) (plain) -j,--jobs=? -k,--keep-going -n,--just-print,--dry-run,--recon -B,--always-make
    -s,--silent,--quiet -q,--question -w,--print-directory --no-print-directory -v,--version
pytest (project) -q,--quiet -v,--verbose -x,--exitfirst -k= -m= -s -l,--showlocals -n,--numprocesses=
    --maxfail= --lf,--last-failed --ff,--failed-first --nf --sw,--stepwise --tb= --durations= -r=
    --collect-only,--co --deselect= --color= --capture= --no-header --no-summary --strict-markers --timeout=
    --full-trace -V,--version --cov=? --cov-report=term-missing
mypy (project) --strict --no-error-summary --ignore-missing-imports --show-error-codes --pretty
    --python-version= --exclude= --no-incremental -v,--verbose -V,--version
ruff check (project) --fix --unsafe-fixes --diff --select= --ignore= --extend-select= --output-format=
    --preview -n,--no-cache --exclude= --statistics --exit-zero --target-version= -q,--quiet
ruff format (project) --check --diff --line-length= --exclude= -n,--no-cache --target-version= --preview
    -q,--quiet
tsc (project) (0) -p,--project= --noEmit -w,--watch --pretty --strict --skipLibCheck -v,--version
eslint (project) --fix --ext= --quiet --max-warnings= --cache --ignore-pattern= --color --no-color
prettier (project) --check,-c --write,-w --list-different,-l -u,--ignore-unknown
jest (project) -t,--testNamePattern= --watch --ci --coverage -i,--runInBand -w,--maxWorkers=
    -u,--updateSnapshot --verbose --silent --passWithNoTests -o,--onlyChanged
go test (project) (onedash) -v -race -run= -bench= -count= -cover -timeout= -short -json -parallel=
    -failfast -list= -benchmem -benchtime= -shuffle= -skip=
go build (project) (onedash) -v -race -trimpath
go vet (project) (onedash) -v -json
go version (reads)
cargo -V,--version
cargo build (project) (0) -v,--verbose -q,--quiet --offline --locked --frozen --release -p,--package=
    --workspace --all --features= --all-features --no-default-features --lib --bins --bin= --tests
    --examples --all-targets -j,--jobs= --keep-going
cargo check (project) (0) -v,--verbose -q,--quiet --offline --locked --release -p,--package= --workspace
    --all --features= --all-features --no-default-features --lib --bins --bin= --tests --all-targets
    -j,--jobs=
cargo clippy (project) (0) -v,--verbose -q,--quiet --offline --locked --release -p,--package= --workspace
    --all --features= --all-features --all-targets
cargo test (project) (1) -v,--verbose -q,--quiet --offline --locked --release -p,--package= --workspace
    --all --features= --all-features --lib --bins --bin= --test= --tests --doc --no-run --no-fail-fast
    -j,--jobs=
cargo fmt (project) (0) --check --all -v,--verbose
pip list (reads) (0) -o,--outdated --format= -q,--quiet -v,--verbose
pip show (reads) -q,--quiet -v,--verbose -f,--files
pip freeze (reads) (0)
git -C= -P,--no-pager --no-optional-locks -v,--version
git status (reads) -s,--short -b,--branch --porcelain=? --long -v,--verbose -u,--untracked-files=?
    --ignored=? -z --ahead-behind --no-ahead-behind --renames --no-renames --show-stash
git diff (reads) --stat=? --name-only --name-status --cached --staged --color=? --no-color --word-diff=? -w
    -b -U,--unified= -p,-u,--patch -s,--no-patch --raw --numstat --shortstat --summary -M,--find-renames=?
    --diff-filter= -S= -G= --no-renames --check --exit-code --quiet --minimal --patience --histogram -z
    --merge-base -R -a,--text -W,--function-context --compact-summary --abbrev=? --no-ext-diff --no-textconv
git log (reads) (digits) --oneline -n,--max-count= -p,-u,--patch --stat=? --format=,--pretty=? --graph --all
    --decorate=? --no-decorate --since=,--after= --until=,--before= --author= --grep= --name-only
    --name-status --follow -S= -G= -L= --reverse --merges --no-merges --first-parent --abbrev-commit --date=
    --color=? --no-color -i -s,--no-patch --numstat --shortstat --diff-filter= -M -w -z --branches=?
    --tags=? --remotes=? --skip= --topo-order --date-order --raw -g,--walk-reflogs --source -U=
    --word-diff=? --no-ext-diff --no-textconv
git show (reads) --oneline --stat=? --format=,--pretty=? --name-only --name-status -s,--no-patch -p,-u
    --color=? --no-color -w -U,--unified= -M --numstat --raw --summary --abbrev-commit -q,--quiet --date=
    --decorate=? --word-diff=? -z -b --no-ext-diff --no-textconv
git blame (reads) -L= -w -M=? -C=? -e -l -s -t -f -n -p,--porcelain --line-porcelain --since= --date=
git grep (reads) -i,--ignore-case -n,--line-number -l,--files-with-matches,--name-only -c,--count
    -v,--invert-match -w,--word-regexp -E,--extended-regexp -F,--fixed-strings -P,--perl-regexp
    -G,--basic-regexp -e= -A,--after-context= -B,--before-context= -C,--context= --cached --untracked
    -q,--quiet -o,--only-matching -h -H -L,--files-without-match --heading --break --color=? --no-color
    -p,--show-function -a,--text -I --full-name --column
git ls-files (reads) -c,--cached -d,--deleted -m,--modified -o,--others -i,--ignored -s,--stage
    -u,--unmerged --exclude-standard -x,--exclude= --full-name -t -v -z --error-unmatch
git rev-parse (reads) --show-toplevel --abbrev-ref=? --short=? --verify -q,--quiet --git-dir --show-prefix
    --is-inside-work-tree --symbolic-full-name
git describe (reads) --tags --always --all --long --dirty=? --abbrev= --match= --exact-match --contains
git merge-base (reads) -a,--all --is-ancestor --fork-point --octopus
git cat-file (reads) -p -t -s -e
git shortlog (reads) -s,--summary -n,--numbered -e,--email
git reflog (reads) (digits) -n,--max-count= --oneline --date=
git config (reads) (1) -l,--list --get --get-all --get-regexp --name-only --show-origin --show-scope
    -z,--null --global --local --system
git remote (reads) (0) -v,--verbose
git worktree (reads) (1) --porcelain -v
git branch -d,--delete -D -m,--move -M -c,--copy -f,--force -a,--all -r,--remotes -l,--list -v,--verbose -vv
    -q,--quiet -t,--track=? --no-track -u,--set-upstream-to= --unset-upstream --merged=? --no-merged=?
    --contains=? --no-contains=? --sort= --format= --show-current --color=? --no-color --points-at=
git tag -a,--annotate -d,--delete -f,--force -m,--message= -l,--list -n=? --sort= --contains=? --merged=?
    --points-at= --format=
git add -A,--all -u,--update -n,--dry-run -v,--verbose -f,--force -N,--intent-to-add --ignore-errors
git commit -m,--message= -a,--all -F,--file= --amend --no-edit -n,--no-verify -q,--quiet -v,--verbose
    -s,--signoff --author= --date= --allow-empty --allow-empty-message --fixup= --dry-run --short
    --porcelain
git rm -r -f,--force -n,--dry-run --cached -q,--quiet --ignore-unmatch
git mv -f,--force -k -n,--dry-run -v,--verbose
git reset --hard --soft --mixed --keep -q,--quiet
git clean -f,--force -d -x -X -n,--dry-run -q,--quiet -e,--exclude=
git checkout -b= -B= -f,--force -q,--quiet -t,--track=? --no-track --detach --ours --theirs --orphan=
git switch -c,--create= -C,--force-create= -d,--detach -f,--force,--discard-changes -q,--quiet -t,--track=?
    --no-track --orphan=
git restore -s,--source= -S,--staged -W,--worktree -q,--quiet --ours --theirs
git stash -u,--include-untracked -a,--all -k,--keep-index -q,--quiet -m,--message= -S,--staged --index
git fetch --all -a,--append --depth= --unshallow -f,--force -p,--prune -n,--no-tags -t,--tags -q,--quiet
    -v,--verbose --progress --dry-run -j,--jobs=
git pull --rebase=?,-r --no-rebase --ff --no-ff --ff-only -q,--quiet -v,--verbose --all --autostash
    -p,--prune -t,--tags --no-edit
git push -f,--force --force-with-lease=? --force-if-includes -u,--set-upstream --all --mirror -d,--delete
    --tags --follow-tags -n,--dry-run --porcelain --prune -v,--verbose -q,--quiet --progress --no-verify
    --atomic
git merge --no-ff --ff --ff-only --squash --no-commit -m= --abort --continue --quit --no-edit -q,--quiet
    -v,--verbose --stat -n --no-verify --autostash
git rebase --onto= --continue --abort --skip --quit --autostash -q,--quiet -v,--verbose --root
git cherry-pick -x -n,--no-commit -s,--signoff -m,--mainline= --ff --continue --abort --skip --quit
git revert --no-edit -n,--no-commit -m,--mainline= -s,--signoff --continue --abort --skip --quit
"""
