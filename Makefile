# Every target sets up what it needs by itself. A second call does nothing twice: stamp files remember what is done.
# Plain python3 and pip are enough: they fetch uv, which is faster, where it is not on PATH.

# No rule here makes a file from its name: make need not look for one for each of thousands.
MAKEFLAGS += --no-builtin-rules

PYTHON  ?= python3
# More than half of a test's time is spent waiting for processes, browsers and leases: five workers for two processors.
WORKERS ?= $(shell expr \( 5 \* $$(nproc 2>/dev/null || echo 1) + 1 \) / 2)
# What is run beside the others instead of among them.
WAITING := packages/hub/tests/cluster/test_scl.py packages/hub/tests/cluster/test_storm.py
ARGS    ?=

VENV    := .venv
PY      := $(VENV)/bin/python
TS      := tests/interop/ts
CHECKED := $(wildcard packages tests examples tools bench)
# `make test` runs every test, which says more of its types than mypy does: mypy looks at what the tests share. `make
# test-all` looks at all of them, and `make quick` at those that changed.
TYPED := $(wildcard packages/*/src) $(filter-out tests packages,$(CHECKED)) \
    $(shell find tests packages/*/tests -name node_modules -prune -o -name '*.py' ! -name 'test_*' -print)

READY_PY := $(VENV)/.ready
READY_RUN := $(VENV)/.ready-run
READY_TS := $(if $(wildcard $(TS)/package.json),$(TS)/node_modules/.ready)
READY_SDK := $(VENV)/.sdk-examples
ACPX     := tests/interop/acpx
READY_BROWSER := build/ready/browser
WEB      := packages/hub/web
READY_WEB := $(if $(wildcard $(WEB)/package.json),$(WEB)/node_modules/.ready)
READY_ACPX := $(if $(wildcard $(ACPX)/package.json),build/ready/acpx)

.PHONY: setup run quick test test-all check-format check-lint check-types check-mypy check-examples check-tests check-cluster bytecode fix explore simulate lab-memory prove trace texts interop check-kit bench bench-cluster manual docs pictures sheet dist try-release image schema web clean vscode
.DEFAULT_GOAL := test

setup: $(READY_PY) $(READY_TS) $(READY_SDK) $(READY_ACPX) $(READY_BROWSER) $(READY_WEB)

# pip compiles on one core, and what it installed is compiled on all of them afterwards; some of it is no Python.
PIP_OPTIONS := --quiet --disable-pip-version-check --no-compile

# uv takes a sixth of the time that pip takes. Where it is not on PATH, pip fetches it into build. Where that fails, or where
# packages come from a place that only pip has been told of, pip installs everything. Tests want a pip in the environment.
UV := 0.13.8
fetch_uv = $(PYTHON) -m pip install $(PIP_OPTIONS) --target build/uv uv==$(UV) >/dev/null 2>&1
uv_install = \
	uv=$$(command -v uv || echo build/uv/bin/uv) && \
	    { test -x $$uv || $(fetch_uv); } && \
	    { test -x $(PY) || $$uv venv --quiet --seed --python $(PYTHON) $(VENV); } && \
	    $$uv pip install --quiet --python $(PY) -e '.$(1)'

# Debian without python3-venv has no ensurepip: then the pip outside fills the environment.
install = \
	if $(uv_install); then \
	    true; \
	elif $(PY) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv $(VENV) >/dev/null 2>&1; then \
	    $(PY) -m pip install $(PIP_OPTIONS) -e '.$(1)'; \
	else \
	    $(PYTHON) -m venv --clear --without-pip $(VENV) && \
	    $(PYTHON) -m pip --python $(PY) install $(PIP_OPTIONS) -e '.$(1)'; \
	fi

# What no test imports, and mypy, whose modules are machine code.
UNUSED := /(pip|setuptools|pkg_resources|mypyc?|pydantic/v1|pydantic_ai/(realtime|ui|durable_exec/.*)|playwright/async_api|openai/(types|resources)/(beta|admin|realtime|live|evals))/|/pygments/lexers/_(?!mapping)

$(READY_PY): pyproject.toml
	@echo "installing what development needs, which can take minutes"
	@$(call install,[dev])
	@$(PY) -m compileall -q -j 0 -x '$(UNUSED)' $(VENV)/lib >/dev/null 2>&1 || true
	@touch $@ $(READY_RUN)

# What running needs and no more: the hub with its page, the reviewer, and agents on the network.
$(READY_RUN): pyproject.toml
	@echo "installing what the hub needs"
	@$(call install,)
	@touch $@

# The official TypeScript SDK, for interoperability tests and for its JSON schemas. Without npm those tests skip.
$(TS)/node_modules/.ready: $(wildcard $(TS)/package.json $(TS)/package-lock.json)
	@if ! command -v npm >/dev/null 2>&1; then \
	    echo "npm not found: tests against the TypeScript SDK will be skipped"; \
	elif test -f $(TS)/package-lock.json; then \
	    cd $(TS) && npm ci --silent --no-audit --no-fund && touch node_modules/.ready; \
	else \
	    cd $(TS) && npm install --silent --no-audit --no-fund && touch node_modules/.ready; \
	fi

# The official Python SDK's own examples are in its source archive only. Without them those tests skip.
$(READY_SDK): $(READY_PY) tests/interop/python/fetch.py
	@$(PY) tests/interop/python/fetch.py || echo "no source archive: tests on the SDK's own examples will be skipped"
	@touch $@

# A client of other people. Some of its parts are not in the registry, so there is no lock file that holds.
build/ready/acpx: $(wildcard $(ACPX)/package.json)
	@(cd $(ACPX) && npm install --silent --no-audit --no-fund --no-package-lock) \
	    || echo "acpx cannot be installed: its tests will be skipped"
	@mkdir -p $(@D) && touch $@

# What the page is built and examined with. The built page is part of the repository, so that nobody needs this to run it.
$(WEB)/node_modules/.ready: $(wildcard $(WEB)/package.json $(WEB)/package-lock.json)
	@(cd $(WEB) && npm ci --silent --no-audit --no-fund && touch node_modules/.ready) \
	    || echo "the page's tools cannot be installed: it cannot be built, and some of its tests will be skipped"

# A browser and a terminal for the tests of faces, a server of ssh, and what examples and tests of failing disks use: those that are there, or
# Debian's. Without them those tests skip.
# They can be installed again: dpkg need not wait for the disk after each file.
APT := DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends -o Dpkg::Options::=--force-unsafe-io
$(READY_BROWSER):
	@wanted=; for tool in tmux jq strace; do command -v $$tool >/dev/null 2>&1 || wanted="$$wanted $$tool"; done; \
	test -x /usr/sbin/sshd || command -v sshd >/dev/null 2>&1 || wanted="$$wanted openssh-server openssh-client"; \
	command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 || wanted="$$wanted chromium"; \
	command -v chromium-headless-shell >/dev/null 2>&1 || wanted="$$wanted chromium-headless-shell"; \
	test -z "$$wanted" || { test "$$(id -u)" = 0 && apt-get update -qq && \
	    { $(APT) $$wanted || $(APT) chromium; }; } >/dev/null 2>&1 \
	    || echo "cannot be installed:$$wanted; tests of pages and of terminals are skipped or slower"
	@mkdir -p $(@D) && touch $@

# The hub with its page and the built-in reviewer.
run: $(READY_RUN)
	@$(PY) -m dragoman hub --link $(ARGS)

# The loop while you work: format, lint and types of what changed since main, and the tests nearest to it.
quick: $(READY_PY) bytecode
	@$(PY) tools/quick.py

# Everything at once: what is installed comes over the network, and meanwhile the types are checked, which takes a
# processor. They give way to the tests, which leave some of it while they wait for their processes.
# `make test BOX=check` tests one box.
test:
	@$(MAKE) --no-print-directory -j 6 check-format check-lint $(if $(BOX),,check-types check-cluster) check-tests \
	    || { echo "what failed is named above, between the tests, behind ***"; exit 1; }

# The same with the tests that are marked `slow`, and with long schedules: for releases, and by hand after a change of
# the hub or the cluster.
test-all:
	@export PYTEST_ADDOPTS='-m ""' HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-thorough} DRAGOMAN_STORM_SECONDS=$${DRAGOMAN_STORM_SECONDS:-300} \
	    DRAGOMAN_DROPS=$${DRAGOMAN_DROPS:-100} DRAGOMAN_CUTS=$${DRAGOMAN_CUTS:-100} DRAGOMAN_KILLS=$${DRAGOMAN_KILLS:-40} \
	    DRAGOMAN_WALL_KILLS=$${DRAGOMAN_WALL_KILLS:-500} DRAGOMAN_HISTORY=$${DRAGOMAN_HISTORY:-500} \
	    DRAGOMAN_RECOVERY_KILLS=$${DRAGOMAN_RECOVERY_KILLS:-200} \
	    DRAGOMAN_MUTATIONS=$${DRAGOMAN_MUTATIONS:-20000} DRAGOMAN_COMPANY=$${DRAGOMAN_COMPANY:-1200} DRAGOMAN_CONSENT=$${DRAGOMAN_CONSENT:-1000} \
	    DRAGOMAN_LINES=$${DRAGOMAN_LINES:-20000} DRAGOMAN_SEEDS=$${DRAGOMAN_SEEDS:-2000} DRAGOMAN_PLANTED_SEEDS=$${DRAGOMAN_PLANTED_SEEDS:-200}; \
	    $(MAKE) --no-print-directory test TYPED='$(CHECKED)'

check-format: $(READY_PY)
	@$(PY) -m ruff format --check --quiet $(CHECKED) || { echo "not formatted: make fix"; exit 1; }

check-lint: $(READY_PY)
	@$(PY) -m ruff check --quiet $(CHECKED)

check-types: check-mypy check-examples

check-mypy: $(READY_PY)
	@nice -n 10 $(PY) -m mypy --no-error-summary $(TYPED)

# What was found good stays so until a source changes.
SOURCES := $(shell find packages tests examples -name node_modules -prune -o -name '*.py' -print)
PAGE := $(shell find $(WEB)/src $(WEB)/test $(WEB)/tsconfig.json -type f 2>/dev/null)

check-examples: build/ready/examples

build/ready/examples: $(READY_PY) $(READY_TS) $(READY_WEB) $(filter-out tests/%,$(SOURCES)) $(PAGE)
	@if test -x $(TS)/node_modules/.bin/pyright; then \
	    nice -n 10 $(TS)/node_modules/.bin/pyright --pythonpath $(PY) examples; fi
	@if test -x $(WEB)/node_modules/.bin/tsc; then cd $(WEB) && node_modules/.bin/tsc --noEmit; fi
	@mkdir -p $(@D) && touch $@

# Tests start thousands of processes; where Python may not write bytecode, each would compile everything anew.
# Nobody starts the tests themselves: pytest keeps them in a form of its own.
bytecode: build/ready/bytecode

build/ready/bytecode: $(READY_PY) build/ready/compiled $(filter-out examples/%,$(SOURCES))
	@$(PY) tools/rewrite_tests.py || true
	@mkdir -p $(@D) && touch $@

# Needs nothing that is installed: meanwhile packages come over the network.
build/ready/compiled: $(filter-out examples/%,$(SOURCES))
	@$(PYTHON) -m compileall -q -j 0 -x '/(test_[^/]*|node_modules/.*)$$' packages tests
	@mkdir -p $(@D) && touch $@

check-tests: setup bytecode
	@HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-ci} $(PY) tools/run_tests.py --workers $(WORKERS) \
	    $(WAITING:%=--ignore=%) $(if $(BOX),packages/$(BOX)/tests) $(ARGS)

# The cluster's tests mostly wait, beside everything else; what little they need they get at once, where that is
# permitted, so that they see the delays of the cluster and not those of the machine.
check-cluster: bytecode
	@first=$$(test -z "$$(nice -n -5 true 2>&1)" && echo nice -n -5); \
	    $$first $(PY) tools/run_tests.py --cache build/cluster-tests $(WAITING)

fix: setup
	@$(PY) -m ruff check --fix --quiet $(CHECKED); $(PY) -m ruff format --quiet $(CHECKED)

# Every world of the hub's session within larger scopes than `make test` has time for: ten million states and more.
explore: $(READY_PY)
	@$(PY) -m tests.hub.explore $(ARGS)

# Hubs, clusters, agents and clients in virtual time, with every fault: 10,000 seeds. See CONTRIBUTING.md.
simulate: $(READY_PY)
	@$(PY) -m tests.hub.simulate.run $(ARGS)

# Small mistakes, drawn by SEED, that some test must notice: 300 take about an hour on two processors.
SEED ?= 1
prove: $(READY_PY) bytecode
	@PYTHONPATH=tools $(PY) -m prove --seed $(SEED) $(ARGS)

# Who wrote each line, asked before and after the history is turned upside down: 300 real turns, some ten minutes.
lab-memory: $(READY_PY)
	@$(PY) -m tests.lab_memory.run $(ARGS)

# The way of one update through the hub that users start, file by file.
trace: $(READY_PY)
	@$(PY) tools/trace_update.py

# Every text that a person can see, with its place in the source.
texts: $(READY_PY)
	@$(PY) tools/list_texts.py $(ARGS)

# Real agents and clients of other makers on a scripted model; writes docs/compatibility.md. Needs npm, and an hour.
interop: $(READY_PY)
	@$(PY) -m tests.interop.matrix $(ARGS)

# Agents of ours and the hub against every requirement of the official test kit, in some minutes; writes docs/check-kit.md.
check-kit: $(READY_PY)
	@$(PY) -m tests.interop.check_kit $(ARGS)

bench: setup
	@$(PY) bench/run.py $(ARGS)

# Three hubs on three servers of NATS, beside a plain client of the same servers.
bench-cluster: $(READY_PY)
	@$(PY) bench/cluster.py $(ARGS)

# A manual page and completions for shells, for packagers.
manual: $(READY_PY)
	@$(PY) tools/generate_manual.py build/manual && echo "build/manual"

# The site, into build/site: pages of docs/, the reference from docstrings, the demo, llms.txt; every link is checked. What it
# needs is installed once; after that no network is needed. DOCS_ARGS="--repository URL" lets links to sources lead there.
DOCS_ENV := build/docs-tools
DOCS_ARGS ?=
$(DOCS_ENV)/.ready: tools/docsite/requirements.txt
	@$(PYTHON) -m venv $(DOCS_ENV) && $(DOCS_ENV)/bin/python -m pip install $(PIP_OPTIONS) -r $< && touch $@

docs: $(DOCS_ENV)/.ready $(READY_WEB)
	@PYTHONPATH=tools:$(subst $() ,:,$(wildcard packages/*/src)) $(DOCS_ENV)/bin/python -m docsite.build $(DOCS_ARGS)

# The demo's recording and the moving pictures, anew: a real hub, a real terminal and a real browser, for a minute.
pictures: $(READY_PY) $(READY_WEB) $(READY_BROWSER)
	@for name in record_demo terminal_picture page_picture; do $(PY) tools/docsite/$$name.py || exit 1; done

# Every state of the page and of the terminal client as a picture, on one page: build/pictures/index.html. To look at, not to commit.
sheet: $(READY_PY) $(READY_BROWSER)
	@$(PY) -m tests.web.contact_sheet $(ARGS)

# Everything that is published, into dist/: built twice and compared, inspected, with a list of its parts and of its hashes.
RELEASE := build/release
$(RELEASE)/.ready: tools/release/requirements.txt
	@$(PYTHON) -m venv $(RELEASE) && $(RELEASE)/bin/python -m pip install $(PIP_OPTIONS) -r $< && touch $@

dist: $(RELEASE)/.ready
	@PYTHONPATH=tools $(RELEASE)/bin/python -m release.build dist

# What was built, in empty environments: each Python at hand, each wheel and each extra alone, uvx, pipx and the zipapp.
try-release: dist
	@PATH="$(CURDIR)/$(RELEASE)/bin:$$PATH" tools/try_release.sh dist

# The image of the Containerfile, built and tried with podman or docker; tools/try_image.sh says how without a registry.
image:
	@tools/try_image.sh

schema: setup
	@$(PY) tools/generate_schema.py $(ARGS)
	@$(PY) tools/generate_path_fields.py

# Writes the table of characters for the page, checks its types and builds it into packages/hub/src/dragoman_hub/web/static.
web: $(READY_PY) $(READY_WEB)
	@$(PY) tools/generate_characters.py
	@cd $(WEB) && node_modules/.bin/tsc --noEmit && node build.mjs

# The extension for VS Code: its types are checked, and dist/dragoman-VERSION.vsix is built. `make test` needs none of its tools.
VSCODE := vscode
$(VSCODE)/node_modules/.ready: $(VSCODE)/package.json $(VSCODE)/package-lock.json
	@cd $(VSCODE) && npm ci --silent --no-audit --no-fund --ignore-scripts && touch node_modules/.ready

vscode: $(READY_WEB) $(VSCODE)/node_modules/.ready
	@cd $(VSCODE) && ../$(WEB)/node_modules/.bin/tsc --noEmit && node build.mjs --package

clean:
	rm -rf $(VENV) $(TS)/node_modules $(WEB)/node_modules $(VSCODE)/node_modules bench/.venvs bench/ts/node_modules dist build
	rm -rf .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find $(CHECKED) -name __pycache__ -type d -prune -exec rm -rf {} +
