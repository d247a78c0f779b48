"""The options of programs other than git, in the form that `program_table` explains. Data alone."""

from __future__ import annotations

from typing import Final

PROGRAM_OPTIONS: Final = """
rm       (below-r) -r,-R,--recursive -f,--force -i -I --interactive=? -d,--dir -v,--verbose
        --one-file-system --preserve-root=? --no-preserve-root --help --version
rmdir    -p,--parents -v,--verbose --ignore-fail-on-non-empty
unlink
shred    -f,--force -n,--iterations= --random-source@ -s,--size= -u,--remove=? -v,--verbose -x,--exact
        -z,--zero
mv       (below) -f,--force -i,--interactive -n,--no-clobber -t,--target-directory@
        -T,--no-target-directory -u,--update -v,--verbose -b --backup=? -S,--suffix= -Z,--context
        --strip-trailing-slashes
cp       (below-r) -r,-R,--recursive -a,--archive -f,--force -i,--interactive -n,--no-clobber -p
        --preserve=? --no-preserve= -t,--target-directory@ -T,--no-target-directory -u,--update
        -v,--verbose -l,--link -s,--symbolic-link -L,--dereference -P,--no-dereference -H -d
        -x,--one-file-system -b --backup=? -S,--suffix= --parents --reflink=? --sparse= --attributes-only
        --remove-destination
ln       -s,--symbolic -f,--force -n,--no-dereference -r,--relative -v,--verbose -t,--target-directory@
        -T,--no-target-directory -b --backup=? -S,--suffix= -i,--interactive -L,--logical -P,--physical
mkdir    -p,--parents -m,--mode= -v,--verbose -Z --context=?
touch    -a -c,--no-create -d,--date= -h,--no-dereference -m -r,--reference@ -t= --time=
chmod    (below-r) -R,--recursive -c,--changes -f,--silent,--quiet -v,--verbose --reference@
        --preserve-root --no-preserve-root
chown    (below-r) -R,--recursive -c,--changes -f,--silent,--quiet -v,--verbose --reference@ --from=
        -h,--no-dereference --dereference -H -L -P --preserve-root --no-preserve-root
chgrp    (below-r) -R,--recursive -c,--changes -f,--silent,--quiet -v,--verbose --reference@
        -h,--no-dereference --dereference -H -L -P --preserve-root --no-preserve-root
dd       --help --version
truncate  -c,--no-create -o,--io-blocks -r,--reference@ -s,--size=
install  -D -d,--directory -g,--group= -m,--mode= -o,--owner= -p,--preserve-timestamps -s,--strip
        --strip-program! -t,--target-directory@ -T,--no-target-directory -v,--verbose -b --backup=?
        -S,--suffix=
tee      -a,--append -i,--ignore-interrupts -p --output-error=?
cat      -A,--show-all -b,--number-nonblank -e -E,--show-ends -n,--number -s,--squeeze-blank -t
        -T,--show-tabs -u -v,--show-nonprinting
head     -c,--bytes= -n,--lines= -q,--quiet,--silent -v,--verbose -z,--zero-terminated
tail     -c,--bytes= -f --follow=? -F -n,--lines= -q,--quiet,--silent -v,--verbose -z,--zero-terminated
        --pid= --retry -s,--sleep-interval= --max-unchanged-stats=
wc       -c,--bytes -m,--chars -l,--lines -L,--max-line-length -w,--words --files0-from@ --total=
ls       -a,--all -A,--almost-all -l -h,--human-readable -R,--recursive -t -S -r,--reverse -1
        -d,--directory -F --classify=? -G,--no-group -i,--inode -n,--numeric-uid-gid -s,--size --color=?
        --time= --sort= --time-style= --group-directories-first -I,--ignore= --full-time -g -o -p
        -Q,--quote-name
sort     -b,--ignore-leading-blanks -d,--dictionary-order -f,--ignore-case -g,--general-numeric-sort
        -h,--human-numeric-sort -i,--ignore-nonprinting -M,--month-sort -n,--numeric-sort -R,--random-sort
        -r,--reverse -V,--version-sort -u,--unique -k,--key= -t,--field-separator= -o,--output@ -c -C
        -m,--merge -s,--stable -S,--buffer-size= -T,--temporary-directory@ -z,--zero-terminated
        --parallel= --files0-from@ --random-source@ --compress-program! --batch-size= --sort= --debug
        --check=?
uniq     -c,--count -d,--repeated -D -f,--skip-fields= -i,--ignore-case -s,--skip-chars= -u,--unique -w=
split    -a,--suffix-length= -b,--bytes= -C,--line-bytes= -d --numeric-suffixes=? -l,--lines= -n,--number=
        --filter! --additional-suffix= -e -u -t,--separator= -x --hex-suffixes=? --verbose
diff     -r,--recursive -u -U,--unified=? -q,--brief -N,--new-file -a,--text -w -b -B -i -y,--side-by-side
        --color=? -x,--exclude= -X,--exclude-from@ --label= -s -c -W= --no-dereference --strip-trailing-cr
grep     -r,--recursive -R,--dereference-recursive -i,--ignore-case -n,--line-number
        -l,--files-with-matches -L,--files-without-match -c,--count -v,--invert-match -w,--word-regexp
        -x,--line-regexp -E,--extended-regexp -F,--fixed-strings -P,--perl-regexp -G,--basic-regexp
        -o,--only-matching -q,--quiet,--silent -s,--no-messages -H,--with-filename -h,--no-filename
        -A,--after-context= -B,--before-context= -C,--context= -e,--regexp= -f,--file@ -m,--max-count=
        --include= --exclude= --exclude-dir= --exclude-from@ --color=? --colour=? -z,--null-data -Z,--null
        -a,--text -I -U,--binary -b,--byte-offset --label= --line-buffered -T,--initial-tab
        --binary-files= -d,--directories= -D,--devices=
rg       -A,--after-context= -B,--before-context= -C,--context= -e,--regexp= -f,--file@ -g,--glob=
        --iglob= -t,--type= -T,--type-not= --type-add= --type-clear= -m,--max-count= -M,--max-columns=
        -d,--max-depth= -j,--threads= --sort= --sortr= --color= --colors= --ignore-file@ -i,--ignore-case
        -S,--smart-case -s,--case-sensitive -n,--line-number -N,--no-line-number -l,--files-with-matches
        --files-without-match -c,--count --count-matches -v,--invert-match -w,--word-regexp
        -x,--line-regexp -F,--fixed-strings -P,--pcre2 -o,--only-matching -q,--quiet -H,--with-filename
        -I,--no-filename -r,--replace= --hidden -u,--unrestricted --no-ignore --no-ignore-vcs -L,--follow
        -U,--multiline --multiline-dotall --files --json --heading --no-heading --vimgrep --stats --column
        --trim -a,--text -z,--search-zip -0,--null -p,--pretty -E,--encoding= --max-filesize= --engine=
        --pre! --pre-glob= --hostname-bin! -. --debug --no-messages --no-config --type-list --passthru
        --context-separator= --path-separator= --crlf
fd       -H,--hidden -I,--no-ignore -e,--extension= -t,--type= -d,--max-depth= -E,--exclude= -x,--exec!
        -X,--exec-batch! -g,--glob -F,--fixed-strings -i,--ignore-case -s,--case-sensitive
        -a,--absolute-path -L,--follow -p,--full-path -0,--print0 -l,--list-details --min-depth=
        -S,--size= -u,--unrestricted --changed-within= --changed-before= -o,--owner= -C,--base-directory@
        --search-path@ -c,--color= -1 -q
find     (onedash) -name= -iname= -path= -ipath= -wholename= -iwholename= -regex= -iregex= -type= -xtype=
        -size= -mtime= -mmin= -atime= -amin= -ctime= -cmin= -newer@ -anewer@ -cnewer@ -perm= -user=
        -group= -uid= -gid= -maxdepth= -mindepth= -depth -mount -xdev -print -print0 -printf= -ls -prune
        -quit -empty -not -o -or -a -and -H -L -P -follow -executable -readable -writable -true -false
        -daystart -lname= -ilname= -links= -inum= -samefile@ -fstype= -regextype= -noleaf -nouser -nogroup
        -used= -d -D= -O= -exec! -execdir! -ok! -okdir! -delete!! -fprint! -fprint0! -fprintf! -fls!
        -files0-from@
tar      (below) -c,--create -x,--extract,--get -t,--list -r,--append -u,--update
        -A,--catenate,--concatenate -f,--file@ -C,--directory@ -z,--gzip,--gunzip -j,--bzip2 -J,--xz
        -v,--verbose -p,--preserve-permissions -k,--keep-old-files -O,--to-stdout -T,--files-from@
        -X,--exclude-from@ --exclude= --strip-components= -h,--dereference -P,--absolute-names
        -a,--auto-compress --zstd --lzma --lzip -W,--verify -w,--interactive -g,--listed-incremental@
        -m,--touch -S,--sparse --overwrite --delete -d -I,--use-compress-program! --to-command!
        --checkpoint-action! --checkpoint=? --rsh-command! --rmt-command!
        -F,--info-script!,--new-volume-script! -M,--multi-volume -V,--label= -b,--blocking-factor=
        --transform= --xform= --owner= --group= --mode= --mtime= --wildcards --no-wildcards --remove-files
        --one-file-system --numeric-owner --same-owner --no-same-owner --sort= --format= -H= --totals
        --index-file@
zip      (below-r) -r,--recurse-paths -q,--quiet -9 -j,--junk-paths -d,--delete -u,--update -x= -i= -@ -e
        -m,--move -T,--test -TT,--unzip-command! -y,--symlinks -b@ -P= -v -FS -X -D
unzip    -l -o -n -q -d@ -j -p -t -u -v -x= -P= -Z -a -c -f
7z       (below) -o@ -p= -y
gzip     -d,--decompress -k,--keep -f,--force -c,--stdout -l,--list -r,--recursive -t,--test -v,--verbose
        -1 -9 -n -N -q -S=
rsync    (below) -a,--archive -v,--verbose -r,--recursive -z,--compress -n,--dry-run -u,--update -e,--rsh!
        --rsync-path! --delete --exclude= --include= --exclude-from@ --include-from@ --files-from@ -P
        --progress --partial -l -p -t -g -o -D -h,--human-readable -i -q,--quiet --stats -L -H -x
        -c,--checksum -b --backup --backup-dir@ --log-file@ --password-file@ -M,--remote-option!
        --daemon!! --config! --existing --ignore-existing --remove-source-files -R,--relative -S -W
        --bwlimit= --port= --timeout= --size-only
scp      (below) -r -p -q -v -C -3 -4 -6 -P= -i@ -l= -c= -F! -J! -S! -o! -D! -O -T -B -X!
sftp     -b! -D! -S! -o! -F! -J! -i@ -P= -R= -s! -l= -c= -B= -r -p -q -v -C -4 -6 -a -f -N
curl     -d,--data@ --data-binary@ --data-raw= --data-urlencode@ --data-ascii@ --json@ -F,--form@
        --form-string= -T,--upload-file@ -o,--output@ -O,--remote-name --remote-name-all --output-dir@
        -K,--config! -X,--request= -H,--header@ -A,--user-agent= -e,--referer= -b,--cookie@
        -c,--cookie-jar@ -u,--user= -k,--insecure -L,--location --location-trusted -s,--silent
        -S,--show-error -f,--fail --fail-with-body -i,--include -I,--head -v,--verbose -g,--globoff
        -G,--get -m,--max-time= --connect-timeout= --retry= --retry-delay= --retry-max-time=
        --retry-connrefused --retry-all-errors -x,--proxy= -U,--proxy-user= -E,--cert@ --key@ --cacert@
        --capath@ --resolve= --compressed -w,--write-out@ -D,--dump-header@ -C,--continue-at=
        -z,--time-cond= -r,--range= -n,--netrc --netrc-file@ --trace@ --trace-ascii@ --stderr@
        -#,--progress-bar -Z,--parallel --url= -N,--no-buffer -4,--ipv4 -6,--ipv6 --http1.1 --http2
        --unix-socket@ --abstract-unix-socket@ --engine! --create-dirs -R,--remote-time -q,--disable
        --etag-save@ --etag-compare@ --libcurl@ --max-filesize= --proto= --proto-redir= --interface= -B
        -a,--append -l -M -p -J,--remote-header-name -j -t= -Q= -P= -Y= -y= -1 -2 -3 -0
wget     -O,--output-document@ -q,--quiet -c,--continue -r,--recursive -l,--level= -P,--directory-prefix@
        -i,--input-file@ -e,--execute! --use-askpass! --config! --post-file@ --body-file@ --post-data=
        -o,--output-file@ -a,--append-output@ -N,--timestamping -S,--server-response -nv,--no-verbose -np
        -nc -nd -nH --no-check-certificate -t,--tries= -T,--timeout= -U,--user-agent= --header=
        -k,--convert-links -m,--mirror -p,--page-requisites -A= -R= -D= -I= -X= -H -L -E -K
        -b,--background --load-cookies@ --save-cookies@ --certificate@ --private-key@ --ca-certificate@
        --spider -w,--wait= --limit-rate= -4 -6
sed      -n,--quiet,--silent -E,-r,--regexp-extended -i,--in-place=? -e,--expression= -f,--file!
        -s,--separate -u,--unbuffered -z,--null-data -l,--line-length= --posix --debug --sandbox
        --follow-symlinks -b,--binary
awk      -F,--field-separator= -v,--assign= -f,--file! -e,--source! -i,--include! -l,--load! -E,--exec!
        -D,--debug!! -o,--pretty-print@ -p,--profile@ -d,--dump-variables@ --posix --traditional -c -P -n
        -S,--sandbox -b -t -O -h -V -W!
jq       -r,--raw-output -c,--compact-output -n,--null-input -e,--exit-status -s,--slurp -S,--sort-keys
        -R,--raw-input -a,--ascii-output -C,--color-output -M,--monochrome-output -j,--join-output --tab
        --indent= -f,--from-file@ -L@ --arg= --argjson= --slurpfile= --rawfile= --args --jsonargs --stream
xxd      -p -r -l= -s= -c= -g= -u -i -b -e -E -o= -ps
less     (runs)
more     (runs)
man      -P,--pager! -H,--html!? -k,--apropos -f,--whatis -a,--all -w,--where,--path -M@ -C,--config-file!
        -l -X!? -T!? -p,--preprocessor!
vi       (runs)
vim      (runs)
view     (runs)
nvim     (runs)
ex       (runs)
ed       (runs)
emacs    (runs)
emacsclient  (runs)
nano     (runs)
joe      (runs)
mc       (runs)
ranger   (runs)
python   (first) -B -b -E -I -O -OO -s -S -u -v -q -x -d -P -V,--version -h,--help -W= -X= -c!! -i!! -m=
        --check-hash-based-pycs=
pypy     (first) -B -b -E -I -O -OO -s -S -u -v -q -V,--version -h,--help -W= -X= -c!! -i!! -m=
node     (first) -e,--eval!! -p,--print!! -r,--require! --import! --loader!,--experimental-loader!
        -i,--interactive!! -c,--check --test --test-reporter! --test-reporter-destination@ --watch
        --watch-path@ --env-file! -v,--version -h,--help --max-old-space-size= --stack-trace-limit=
        --trace-warnings --no-warnings --enable-source-maps --inspect!? --inspect-brk!? --inspect-port!
        -C,--conditions= --openssl-config! --icu-data-dir@ --experimental-vm-modules --test-name-pattern=
        --test-only --unhandled-rejections= --trace-uncaught --run! --experimental-config-file!
        --snapshot-blob! --build-snapshot!!
deno     -A,--allow-all -q,--quiet -r,--reload=? --preload! --import-map! -c,--config!
deno eval  (runs)
bun      (first) -e,--eval!! -p,--print!! -r,--preload! --require! --import! -c,--config! --cwd@
        --env-file! --shell!
bun x    (first) (carries)
perl     (first) -e!! -E!! -n -p -i=? -I! -M! -m! -w -W -X -c -v -V -t -T -u -U -a -F= -l=? -0=? -x=? -s
        -S -d!? -D= -C=?
ruby     (first) -e!! -r! -I! -n -p -i=? -w -W=? -c -v,--version -a -F= -l -x=? -s -S -d,--debug -C@ -E=
        -K= -T=? -U -h --disable= --enable= --yjit --jit
php      (first) -r! -B! -R! -E! -d! -c! -F! -z! -f@ -l -v -i -m -n -s -w -a!! -S! -t@ -h -q -H -e
lua      (first) -e! -l! -i!! -v -E -W -
R        -e! -f@ --args -q,--quiet --no-save --vanilla --slave --no-restore -g= -d!
Rscript  (first) -e! --vanilla --default-packages!
java     (first) (onedash) -cp@ -classpath@ -jar@ -javaagent!? -agentlib!? -agentpath!? -version -ea -da
        -server -showversion --class-path@ -p@ --module-path@ -m= --module= --add-modules= --add-opens=
        --add-exports= --enable-preview
javac    (onedash) -d@ -cp@ -classpath@ -processor! -processorpath! --processor-path! -source= -target= -g
        -nowarn -Xplugin!? -J!? -sourcepath@ -encoding= -proc= -s@ -h@ -verbose -deprecation -implicit=
        --release= -Werror
gcc      (onedash) -wrapper! -B! -specs!? -fplugin!? -o@ -I@ -L@ -l= -D= -U= -c -S -E -g -Wall -Wextra
        -Werror -O2 -Wl= -Xlinker! -Xassembler! -Xpreprocessor= -x= -std= -include@ -isystem@ -MF@ -MT=
        -MQ= -pthread -shared
clang    (onedash) -B! -fplugin!? -fpass-plugin!? -Xclang! -mllvm! -o@ -I@ -L@ -l= -D= -U= -c -S -E -g
        -Wall -Wextra -Werror -O2 -x= -std= -include@ -isystem@ --config! -MF@ -MT= -pthread -shared
        -Xlinker!
make     -f,--file!,--makefile! -C,--directory@ -j,--jobs=? -k,--keep-going
        -n,--just-print,--dry-run,--recon -B,--always-make -s,--silent,--quiet -i,--ignore-errors
        -q,--question -r,--no-builtin-rules -p,--print-data-base -t,--touch -w,--print-directory
        --no-print-directory -l,--load-average=? -o,--old-file@ -W,--what-if@,--new-file@,--assume-new@ -d
        --debug=? -e,--environment-overrides -E,--eval! -I,--include-dir! -R,--no-builtin-variables
        -S,--no-keep-going --trace -O --output-sync=? -v,--version -h,--help -L,--check-symlink-times
        --warn-undefined-variables --jobserver-auth! -m -b
cmake    -S@ -B@ -G= -D= -U= -C! -P! -E!! -T= -A= --build@ --install@ --preset= --target= -j,--parallel=?
        --config= --toolchain! -L -LA --fresh --open!! --workflow! --prefix@ -v,--verbose --trace -W=
        --debug-output --find-package!!
ctest    -S!? -SP!? --build-and-test!! -R= -E= -L= -j= -V,--verbose -VV --output-on-failure --test-dir@ -N
        -I= --preset=
ninja    -C@ -f! -j= -k= -l= -n -v -t= -d= -w= -q,--quiet --version
meson    --wrap-mode= --cross-file! --native-file! -D= --prefix@ --buildtype=
go       (onedash)
go build  (onedash) -o@ -v -x -race -tags= -ldflags= -gcflags= -asmflags= -mod= -trimpath -toolexec!
        -exec! -overlay! -C@ -a -n -p= -work -buildmode= -compiler! -modfile@ -pkgdir@ -cover -msan -json
        -buildvcs= -gccgoflags!
go test  (onedash) -v -x -race -run= -bench= -count= -cover -coverprofile@ -coverpkg= -timeout= -tags=
        -short -json -parallel= -failfast -list= -exec! -toolexec! -vet= -o@ -c -cpuprofile@ -memprofile@
        -mod= -ldflags= -gcflags= -overlay! -C@ -benchmem -benchtime= -shuffle= -skip= -fuzz= -fuzztime=
        -trimpath -p= -compiler! -modfile@
go vet   (onedash) -vettool! -toolexec! -exec! -tags= -json -c= -v -mod= -overlay! -C@
go run   (onedash) -exec! -toolexec! -race -tags= -mod= -ldflags= -C@ -overlay!
go generate  (onedash) -run= -skip= -v -n -x -tags=
go tool  (first) (carries)
go env   (onedash) -w!! -u!! -json -changed
cargo    --config! -C@ -v,--verbose -q,--quiet --offline --locked --frozen --color= --manifest-path@
        --target-dir@ --release -p,--package= --workspace --all --features= --all-features
        --no-default-features --lib --bin= --bins --test= --tests --example= --examples --bench= --benches
        --all-targets -j,--jobs= --target= --profile= --message-format= --no-run --no-fail-fast --doc -Z!
        --fix --allow-dirty --allow-staged --check --list -V,--version -h,--help --keep-going --timings=?
        --open
npm      -g,--global -D,--save-dev -S,--save -E,--save-exact -P,--save-prod -O,--save-optional --prefix@
        -C@ -w,--workspace= --workspaces,-ws -s,--silent --loglevel= --registry= -f,--force
        --legacy-peer-deps --ignore-scripts --no-audit --no-fund --omit= --include= --prefer-offline
        --offline --json -y,--yes --if-present --script-shell! --node-options! --shell! --git! --editor!
        --viewer! --browser! --userconfig! --globalconfig! -c,--call! --onload-script! --init-module!
        --cafile@ --cache@ --dry-run --production --tag= --otp= --access= --verbose -d -dd -q -h,--help
        -v,--version --long --depth= --parseable --package-lock-only
npm exec  (first) (carries) -c,--call! --package! -y,--yes
npm x    (first) (carries) -c,--call! --package! -y,--yes
npm explore  (first) (carries)
npm config  (runs)
npm set  (runs)
npm edit  (runs)
npx      (first) (carries) -c,--call! -p,--package= -y,--yes -n,--no,--no-install -q,--quiet --node-arg!
        --shell! -w,--workspace= --ignore-existing --node-options! --script-shell!
bunx     (first) (carries) --bun -p,--package=
yarn     --cwd@ -s,--silent --frozen-lockfile --immutable -D,--dev --use-yarnrc! --script-shell! --json -W
        --offline
yarn exec  (first) (carries)
yarn dlx  (first) (carries)
yarn node  (first) (carries)
yarn config  (runs)
pnpm     -C,--dir@ -r,--recursive -F,--filter= -w,--workspace-root -D,--save-dev --frozen-lockfile
        --script-shell! -s,--silent -g,--global --offline --shell-emulator -c,--shell-mode!!
        --use-node-version! --no-bail
pnpm exec  (first) (carries) -c,--shell-mode!! -r,--recursive --parallel
pnpm dlx  (first) (carries) -c,--shell-mode!! --package=
pnpm config  (runs)
pip      -q,--quiet -v,--verbose --python! --config-settings= --global-option! --build-option!
        --install-option! -r,--requirement@ -e,--editable@ -U,--upgrade -t,--target@ -c,--constraint@
        -i,--index-url= --extra-index-url= --no-deps --user --prefix@ --root@ --no-cache-dir --cache-dir@
        --pre --dry-run -f,--find-links= -y,--yes --proxy= --cert@ --client-cert@ --log@ --trusted-host=
        --require-virtualenv --no-input --isolated -h -V --force-reinstall --no-build-isolation
        --only-binary= --no-binary= --format= -o,--outdated --report@
pipx     (first) (carries) --spec= --python! --pip-args! --suffix= --include-deps -f,--force -q -v
uv       -q,--quiet -v,--verbose --directory@ --project@ --config-file! -p,--python= --offline --no-cache
        -n --color=
uv run   (first) (carries) --with= --with-editable@ --with-requirements@ -m,--module= --frozen --locked
        --no-sync --extra= --group= --all-extras --isolated -p,--python= --env-file! -s,--script
        --package= --no-project --dev --active -q
uv tool  (first) (carries) --with= --from= -p,--python=
uvx      (first) (carries) --with= --from= -p,--python= -q
poetry   -C,--directory@ -P,--project@ -q -v -n,--no-interaction --no-ansi
poetry run  (first) (carries)
pipenv   --python! -q -v
pipenv run  (first) (carries)
pdm      -q -v -c,--config!
pdm run  (first) (carries) -s,--site-packages -p,--project@ --venv=
hatch    -e,--env= -q -v --config! --data-dir@ --cache-dir@ -p,--project=
hatch run  (first) (carries)
rye run  (first) (carries)
conda run  (first) (carries) -n,--name= -p,--prefix@ --no-capture-output --live-stream -v --cwd@
mamba run  (first) (carries) -n,--name= -p,--prefix@
bundle exec  (first) (carries) --keep-file-descriptors
rbenv exec  (first) (carries)
pyenv exec  (first) (carries)
asdf exec  (first) (carries)
mise exec  (first) (carries)
mise x   (first) (carries)
direnv exec  (first) (carries)
nix      (runs)
nix-shell  (runs)
docker   -H,--host! -c,--context! --config! -D,--debug -l,--log-level= --tls --tlscacert@ --tlscert@
        --tlskey@ --tlsverify
docker run  (first) (carries) (runs)
docker exec  (first) (carries) (runs)
docker create  (first) (carries) (runs)
docker compose  (first) (carries) -f,--file! --env-file! -p,--project-name= --project-directory@
        --profile= --ansi= --progress=
docker build  -f,--file@ -t,--tag= --build-arg= --target= --no-cache --pull -q,--quiet -o,--output@
        --progress= --secret@ --ssh@ --platform= --load --push --network= --label= --cache-from=
        --cache-to= --iidfile@
podman   (first) (carries) --url! --connection!
podman run  (first) (carries) (runs)
podman exec  (first) (carries) (runs)
kubectl  --kubeconfig! -n,--namespace= --context= --cluster= --user= -A,--all-namespaces -o,--output=
        -f,--filename@ -l,--selector= -w,--watch -s,--server= --token= --as= -R,--recursive --force
        --grace-period= --now --all --field-selector= --dry-run=? -k,--kustomize@ -c,--container= --tail=
        --since= --previous -p -v=
kubectl exec  (first) (carries) (runs)
kubectl run  (first) (carries) (runs)
kubectl debug  (first) (carries) (runs)
kubectl edit  (runs)
terraform  (onedash) -chdir@ -var= -var-file@ -auto-approve -target= -input= -out@ -lock= -no-color -json
        -destroy
psql     -c,--command!! -f,--file! -d,--dbname= -h,--host= -U,--username= -p,--port= -l,--list -t -A -q
        -v! --set! --variable! -o,--output@ -L@ -x -X,--no-psqlrc -w -W -1 -E -e -a -b -s -S -F= -R= -T=
        -P= -H -z -0 -n -V --csv
mysql    -e,--execute!! -h,--host= -u,--user= -p,--password=? -P,--port= -D,--database= --defaults-file!
        --init-command! --pager!? --plugin-dir! --tee@ -N -B -s -t -r -v
sqlite3  -cmd! -init! -readonly -json -csv -line -list -header -column -batch -html -separator= -newline=
        -bail -echo
gh       -R,--repo= -h,--help --json= -q,--jq= -t,--template=
gh alias  (runs)
gh extension  (runs)
gh config  (runs)
gh codespace  (runs)
gh cs    (runs)
gh api   -X,--method= -F,--field@ -f,--raw-field= -H,--header= --input@ -q,--jq= -t,--template= --paginate
        --hostname= -i,--include --silent --cache= --slurp -p,--preview= --verbose
pytest   -q,--quiet -v,--verbose -x,--exitfirst -k= -m= -s -l,--showlocals -n,--numprocesses= --maxfail=
        --lf,--last-failed --ff,--failed-first --nf --sw,--stepwise --tb= --durations= --cov=?
        --cov-report= --cov-config! --cov-branch --junitxml@,--junit-xml@ -r= -p! -c,--config-file!
        -o,--override-ini! --rootdir! --confcutdir@ --pdb --pdbcls! --trace --collect-only,--co
        --basetemp@ --import-mode= --ignore@ --ignore-glob= --deselect= --color= -W,--pythonwarnings=
        --capture= --no-header --no-summary -rA -ra --strict-markers --cache-clear --fixtures --markers
        --setup-show --setup-only --setup-plan --log-cli-level= --log-level= --log-file@ --timeout=
        --dist= --tx! --rsyncdir! --pyargs --doctest-modules --asyncio-mode= --reruns= --full-trace
        -V,--version -h,--help
mypy     --python-executable! --config-file! --strict --no-error-summary --ignore-missing-imports
        -p,--package= -m,--module= -c!! --cache-dir@ --python-version= --exclude= --install-types!!
        --show-error-codes --pretty --junit-xml@ --follow-imports= --warn-unused-ignores --no-incremental
        -v,--verbose -V,--version --custom-typing-module= --shadow-file@ --html-report@ --txt-report@
        --xml-report@ --any-exprs-report@ --linecount-report@
ruff     --config! -q,--quiet -s,--silent -v,--verbose --isolated
ruff check  --fix --unsafe-fixes --diff -w,--watch --select= --ignore= --extend-select= --output-format=
        --preview -n,--no-cache --cache-dir@ -o,--output-file@ --exclude= --statistics --add-noqa
        --config! --show-files -e --exit-zero --target-version= --fixable= --isolated --stdin-filename@
        -q,--quiet
ruff format  --check --diff --config! --line-length= --exclude= -n,--no-cache --isolated --target-version=
        -q,--quiet --preview
eslint   -c,--config! --rulesdir! --plugin! --parser! --resolve-plugins-relative-to! -f,--format! --fix
        --fix-dry-run --ext= --quiet --max-warnings= --cache --cache-location@ --ignore-path@
        --ignore-pattern= --no-eslintrc --rule= --env= --global= -o,--output-file@ --color --no-color
        --stdin --stdin-filename@ --debug -v -h --no-ignore --report-unused-disable-directives
        --no-inline-config --fix-type= --print-config@ --no-config-lookup
prettier  --plugin! --config! --write,-w --check,-c --list-different,-l --ignore-path@ --log-level=
        --parser! --no-config --config-path@ --cache --stdin-filepath@ -u,--ignore-unknown --tab-width=
        --single-quote --print-width=
jest     -c,--config! --globalSetup! --globalTeardown! --setupFiles! --setupFilesAfterEnv! --testRunner!
        --runner! --reporters! --resolver! --transform! --preset! --testEnvironment! --filter!
        -t,--testNamePattern= --watch --watchAll --ci --coverage -i,--runInBand -w,--maxWorkers=
        -u,--updateSnapshot --verbose --silent -b,--bail=? --passWithNoTests --env! --snapshotSerializers!
        --moduleNameMapper! --rootDir! --testPathPattern= -o,--onlyChanged --json --outputFile@
tsc      -p,--project@ --noEmit -w,--watch -b,--build --outDir@ --pretty --strict --target= --module=
        --lib= --init -v --skipLibCheck --incremental --tsBuildInfoFile@ --declaration
        --emitDeclarationOnly --listFiles --version
printf   -v!
env      (runs)
"""
