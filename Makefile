# Flitwatch: `make up` starts the platform, `make test` is the gate. `make help` lists the rest.
SHELL := /bin/bash
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

SETUP := services/cli/setup.sh
UV := $(shell command -v uv 2>/dev/null || echo $(CURDIR)/.cache/uv/bin/uv)
export PATH := $(CURDIR)/.cache/node/bin:$(PATH)
PY := .venv/bin/python
# Bytecode is kept: a run of the tests starts hundreds of Python processes, and each would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE
# With ccache the extension and the C++ tests, which compile the same sources by the same flags, share the work.
ifneq ($(shell command -v ccache),)
export CMAKE_CXX_COMPILER_LAUNCHER := ccache
# A second checkout hits what the first one compiled.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
export CXX ?= g++
endif
STACK ?= embedded
PORT ?= 8765
CXX_BUILD := build/tests
SANITIZE_BUILD := build/sanitize

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  \1\t\2/' | expand -t 20

# --- build -----------------------------------------------------------------------------------------------------------

# Which PyTorch: the locked one, without the CUDA libraries that no CPU use loads; cpu, PyTorch's build for CPUs, from the index of uv's torch backend; cuda, with every CUDA library.
# .venv/.torch keeps the choice. Neither cpu nor cuda is in uv.lock, so they install PyTorch outside this project, whose settings would leave CUDA libraries out.
TORCH ?= $(or $(shell cat .venv/.torch 2>/dev/null),locked)
ifeq ($(filter locked cpu cuda,$(TORCH)),)
$(error TORCH is locked, cpu or cuda, not '$(TORCH)')
endif
TORCH_VERSION = $(shell sed -n '/^name = "torch"$$/{n;s/^version = "\(.*\)"/\1/p}' uv.lock)
CUDA_PACKAGES = $(shell sed -En 's/^name = "(nvidia-.*|cuda-toolkit)"$$/\1/p' uv.lock)
SYNC = $(UV) sync --frozen -q $(if $(filter cpu cuda,$(TORCH)),--inexact) $(if $(filter cpu,$(TORCH)),$(patsubst %,--no-install-package %,torch $(CUDA_PACKAGES)))
INSTALL_TORCH = $(UV) --directory / pip install -q --python $(CURDIR)/$(PY) torch==$(TORCH_VERSION)
SYNC_TORCH.cpu = UV_TORCH_BACKEND=$${UV_TORCH_BACKEND:-cpu} $(INSTALL_TORCH)+cpu && $(UV) pip uninstall -q --python $(PY) $(CUDA_PACKAGES)
SYNC_TORCH.cuda = $(INSTALL_TORCH)
SYNC_TORCH.locked = true
SYNC_TORCH = $(SYNC_TORCH.$(TORCH)) && echo $(TORCH) > .venv/.torch

.PHONY: python python-all web
python: ## the Python environment with the noise core, without the test tools (TORCH=cpu: PyTorch's CPU build; TORCH=cuda: all of CUDA; TORCH=locked: back)
	@$(SETUP) uv compiler
	@echo "building the Python environment and the C++ core" >&2
	@if [ -e .venv/.all-extras ]; then $(SYNC) --all-extras; else $(SYNC) --no-dev --group docs --extra sim --extra ml; fi
	@$(SYNC_TORCH)

python-all: ## the same with the test tools and every extra
	@$(SETUP) uv compiler
	@echo "building the Python environment with every extra, and the C++ core" >&2
	@$(SYNC) --all-extras && touch .venv/.all-extras
	@$(SYNC_TORCH)

WEB_SOURCES := $(shell find web/src web/public -type f 2>/dev/null) $(wildcard web/index.html web/vite.config.ts web/tsconfig*.json)

web/node_modules/.package-lock.json: web/package-lock.json
	@$(SETUP) node
	@echo "fetching the page's packages" >&2
	@cd web && npm ci --no-audit --no-fund --silent
	@touch $@

web/dist/index.html: web/node_modules/.package-lock.json $(WEB_SOURCES)
	@echo "building the page" >&2
	@cd web && npm run --silent build
	@touch $@

web: web/dist/index.html ## the page

.PHONY: client
client: web/node_modules/.package-lock.json ## the Python client and the page's types again from docs/contracts/openapi.json
	@$(PY) services/client/generate.py
	@cd web && npm run --silent generate

.PHONY: reference
reference: ## docs/commands.md, docs/settings.md, docs/metrics.md, docs/client.md and docs/sizing.md again from the program
	@$(PY) -m flitwatch.reference
	@$(PY) -m flitwatch_ops.sizing_page > docs/sizing.md

.PHONY: man
man: ## the manual pages into build/man, from the commands themselves; read one with: man -l build/man/flitwatch.1
	@$(PY) -m flitwatch.manuals build/man

DOCS_SOURCES := mkdocs.yml docs/site.py $(shell find docs -name '*.md' -o -name openapi.json)

build/docs/index.html: $(DOCS_SOURCES)
	@[ -x .venv/bin/mkdocs ] || $(MAKE) --no-print-directory python
	@echo "building the documentation" >&2
	@mkdir -p build; NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict 2>build/docs.log || { cat build/docs.log >&2; exit 1; }

.PHONY: docs
docs: build/docs/index.html ## the documentation's site into build/docs, with search and every link checked; the platform serves it at /docs

DIST ?= dist

.PHONY: dist wheels
dist: python-all web docs noise-bench ## wheels of the server, the agent, the client and the noise core into dist/, a bill of materials (CycloneDX) and checksums
	@$(MAKE) --no-print-directory wheels bill sums

.PHONY: bill sums
bill: # of dist
	@$(UV) export -q --frozen --no-dev --all-extras --format cyclonedx1.5 -o $(DIST)/flitwatch.cdx.json

sums: # of dist and packages
	@cd $(DIST) && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs sha256sum > SHA256SUMS

# zig and what checks its libraries are in an environment of their own.
DIST_TOOLS := build/dist/venv
wheels: build/docs/index.html # of dist
	@$(SETUP) java
	@mkdir -p $(DIST) && rm -f $(DIST)/*.whl
	@echo "building the wheels" >&2
	@for package in . packaging/agent services/client services/research; do $(UV) build -q --wheel --out-dir $(DIST) $$package; done
	@UV_PROJECT_ENVIRONMENT=$(DIST_TOOLS) $(UV) sync -q --frozen --only-group dist
	@$(DIST_TOOLS)/bin/python packaging/core.py $(DIST) $(PROCESSORS)
	@rm -f $(DIST)/.gitignore; ls -1 $(DIST)

# What the noise core's wheels are built for; it is built for the second one on the first.
PROCESSORS ?= x86_64 aarch64

# Of a cluster that has no checkout: the MPI microbenchmark's sources with their guide.
.PHONY: noise-bench
noise-bench: ## an archive of the MPI microbenchmark in dist/: its sources and its guide
	@mkdir -p $(DIST)
	@version=$$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml) && name=noise-bench-$$version && \
	  tar -C services/noise_core -czf $(DIST)/$$name.tar.gz --owner=0 --group=0 --sort=name --transform "s,^noise_bench,$$name," noise_bench && \
	  echo $(DIST)/$$name.tar.gz

.PHONY: packages
packages: dist ## a DEB and, with rpmbuild, an RPM of the server from the wheels, with a Python of their own (EXTRAS=sim,ml: with PyTorch)
	@$(SETUP) go
	@$(PY) packaging/build.py $(DIST) "$(if $(filter undefined,$(origin EXTRAS)),sim,$(EXTRAS))" deb,rpm
	@$(MAKE) --no-print-directory sums

.PHONY: pin-images check-security
pin-images: ## the digests of all images into packaging/images.lock, docker-compose.digests.yml and k8s/components/digests (needs the registries)
	@$(PY) packaging/images.py

# Without OSV= the services of OSV and of npm are asked, and what cannot be asked fails.
check-security: ## lists of all locked packages (CycloneDX) into build/, and which are known to be weak (OSV="PyPI.zip npm.zip": offline, from OSV's archives)
	@mkdir -p build && $(UV) export --frozen --all-extras --format cyclonedx1.5 -q > build/sbom-python.json && (cd web && npm sbom --package-lock-only --sbom-format cyclonedx) > build/sbom-page.json
	@$(if $(OSV),$(PY) packaging/audit.py $(OSV),$(UV) audit --frozen -q && cd web && npm audit --package-lock-only)

.PHONY: images
images: docs ## a container image of each service and of the agent, with the documentation, by docker compose
	@COMMIT=$$(git describe --always --exclude='*' --abbrev=12 --dirty=+changes) docker compose --profile agent build

# --- run -------------------------------------------------------------------------------------------------------------

.PHONY: up down status doctor
# The seconds are of a first start on a machine with two cores; from then on each stage says how long it took last time.
STAGES := services/cli/stages.sh
# By another name: a recipe that names $(MAKE) itself runs under `make -n` too.
AGAIN = $(MAKE) --no-print-directory
up: ## set everything up and start the platform (STACK=full: real Kafka and TimescaleDB; PORT=8765; TORCH=cpu or cuda: see python)
	@$(STAGES) up \
		python 150 "The Python environment and the C++ core" "$(AGAIN) python" "read the message above; a build that broke off is mended by: rm -rf .venv, then make up" \
		page 50 "The page and the documentation" "$(AGAIN) web docs" "read the message above; half-fetched packages are mended by: rm -rf web/node_modules, then make up" \
		$(if $(filter full,$(STACK)),tools 60 "Java and what unpacks TimescaleDB" "$(SETUP) java timescale" "install what is named above: then make up STACK=full") \
		platform 30 "The platform at port $(PORT)" ".venv/bin/flitwatch up --stack $(STACK) --port $(PORT)" "see .venv/bin/flitwatch status and doctor; another port: make up PORT=8766"

down: ## stop the platform
	@.venv/bin/flitwatch down

status: ## what runs
	@.venv/bin/flitwatch status

doctor: python ## check this site
	@.venv/bin/flitwatch doctor

# --- test ------------------------------------------------------------------------------------------------------------

.PHONY: test test-setup test-servers test-static test-python test-system lint types types-python types-web test-cxx test-sanitize test-web test-compose fuzz fuzz-importers
# Three workers on two cores: tests wait for their servers a third of the time.
WORKERS ?= $(shell echo $$(( $$(nproc) * 3 / 2 )))
test: test-setup test-static test-python ## the gate: set everything up, check the code, run the tests (test-system has the rest)

# A real server that is absent costs its smoke test only, which says that it was skipped.
test-setup:
	@$(SETUP) uv compiler cpp_tests node
	@$(MAKE) --no-print-directory -j2 python-all test-servers

test-servers: # of test-setup
	@for part in browser java timescale; do $(SETUP) $$part || echo "make test: without $$part; the tests that need it say that they were skipped" >&2; done

test-static:
	@$(MAKE) --no-print-directory -k -j2 -Otarget test-compiled lint types web test-web test-cxx

# Each worker of pytest imports every test file. Compiled here once, that takes each of them ten seconds instead of thirty.
test-compiled: # of test-static
	@mkdir -p build; .venv/bin/pytest -q --suite gate --collect-only >build/collected.log 2>&1 || { cat build/collected.log >&2; exit 1; }

# One computation a worker: libraries that start a thread for each core would slow each other down. Files start in their order, so that the platform's test, which waits
# for minutes, is not the last one.
test-python: # of test
	OMP_NUM_THREADS=1 .venv/bin/pytest -q --suite gate -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations 25 --durations-min 5

test-system: test-setup web ## everything that the gate leaves out, in shards (SHARD=c; FRESH=1: also what passed before), into docs/system-tests.md
	@cd tests && OMP_NUM_THREADS=1 ../$(PY) -m system.run $(SHARD) $(if $(FRESH),--fresh)

.PHONY: check format
format: ## lay out Python, TypeScript and C++ as CI wants them
	.venv/bin/ruff format -q .
	cd web && npm run --silent format
	git ls-files "*.cpp" "*.h" | xargs .venv/bin/clang-format -i

# Servers are left to `make test`: what is marked as an integration test is not run.
check: ## before a commit: format, lint, types, and the unit tests of what changed since BASE=main
	@$(MAKE) --no-print-directory format
	@$(MAKE) --no-print-directory -j2 -Otarget lint types test-web
	@tests="$$(.venv/bin/python tests/changed.py $(or $(BASE),main))"; [ -z "$$tests" ] || .venv/bin/pytest -q --suite gate -m "not integration" -n 2 --timeout 60 $$tests || [ $$? = 5 ]

lint: ## style, prose, and the arrows between packages
	.venv/bin/ruff check .
	.venv/bin/ruff format --check -q .
	git ls-files "*.cpp" "*.h" | xargs .venv/bin/clang-format --dry-run -Werror
	.venv/bin/python tests/prose.py
	.venv/bin/lint-imports

types: types-python types-web ## Python and TypeScript types

types-python:
	.venv/bin/mypy

types-web: web/node_modules/.package-lock.json
	cd web && npm run --silent lint

# On two busy cores three comparisons of numbers of threads take a minute. `test-sanitize` runs them too.
test-cxx: export GTEST_FILTER := -Divided.Dragonflies*:Divided.Tori*:Divided.Trees*
test-cxx: ## the noise core's own tests
	cmake -S services/noise_core -B $(CXX_BUILD) -G Ninja -DFLITWATCH_TESTS=ON -DFLITWATCH_BENCH=ON >/dev/null
	cmake --build $(CXX_BUILD) -j2 >/dev/null
	ctest --test-dir $(CXX_BUILD) --output-on-failure -j2

# -Og without variable tracking: the sanitizers' checks make -O1 with full debugging information four times as long to compile.
test-sanitize: ## the same under ASan and UBSan
	cmake -S services/noise_core -B $(SANITIZE_BUILD) -G Ninja -DFLITWATCH_TESTS=ON -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_CXX_FLAGS_DEBUG=-Og -fno-var-tracking" -DFLITWATCH_SANITIZE=address,undefined >/dev/null
	cmake --build $(SANITIZE_BUILD) -j2 --target flitwatch_tests >/dev/null
	ctest --test-dir $(SANITIZE_BUILD) --output-on-failure -j2

test-web: web/node_modules/.package-lock.json ## the page's unit tests
	cd web && npm run --silent test

# The corpus is replayed in pytest. MINUTES=60 takes an hour of a core for each; FUZZ_AT_A_TIME more than the cores shortens the wait and what each target gets.
fuzz: fuzz-importers ## every fuzz target for MINUTES=2 each, then as many times ten requests to every operation of the API
	@FUZZ_API_EXAMPLES=$$(( $(or $(MINUTES),2) * 10 )) .venv/bin/pytest -q tests/api/test_openapi.py -k no_input

fuzz-importers:
	@.venv/bin/python -c 'import atheris' 2>/dev/null || { echo "fuzz: needs the test tools: make python-all" >&2; exit 1; }
	nice -n 10 .venv/bin/python tests/fuzz/run.py $(or $(FUZZ_SECONDS),$$(( $(or $(MINUTES),2) * 60 ))) $(if $(FUZZ_AT_A_TIME),--at-a-time $(FUZZ_AT_A_TIME)) $(if $(FUZZ_SEED),--seed $(FUZZ_SEED))

.PHONY: chaos failover soak hostile
hostile: ## hostile clients (endless heads, floods, slow bodies, unread answers, receivers that never end) against a platform of their own; prints as JSON what they cost in memory and how long others waited
	@cd tests && ../.venv/bin/python -m hostile

# The whole stack by default: STACK=embedded, ROUTERS=96 for a smaller machine, ROUTERS=0 for a few routers through a collector.
CAMPAIGN = cd tests && ../.venv/bin/python -m integration.campaign
CAMPAIGN_OPTIONS = --stack $(if $(filter file,$(origin STACK)),full,$(STACK)) $(if $(ROUTERS),--routers $(ROUTERS))

chaos: ## KILLS=100 random kills under the counters of 3,264 routers, a full disk, stopped processes, stepped clocks and a cut network; prints what was lost as JSON
	@$(CAMPAIGN) chaos --kills $(or $(KILLS),100) $(CAMPAIGN_OPTIONS)

failover: ## KILLS=20 losses of the database's server, whose standby takes over, under the counters of 1,152 routers (ROUTERS=); prints what was lost as JSON
	@$(SETUP) standby
	@$(CAMPAIGN) failover --kills $(or $(KILLS),20) $(if $(ROUTERS),--routers $(ROUTERS))

soak: ## MINUTES=120 of a third of that; prints losses and the slopes of memory and disk as JSON
	@$(CAMPAIGN) soak --minutes $(or $(MINUTES),120) $(CAMPAIGN_OPTIONS)

test-compose: docs ## build the images and start docker-compose.yml for real (root; its own Docker engine)
	tests/compose/run

# --- the page --------------------------------------------------------------------------------------------------------

.PHONY: browser bench-web screenshots
browser: web
	@$(SETUP) browser

bench-web: browser ## how fast the page is with 3,264 routers, as JSON
	@cd web && node bench/bench.mjs

# Measured machines next to the synthetic one, where their files are.
DATA ?= ../shared/data
screenshots: browser python ## every page to docs/screenshots (URL=... of a platform that runs; ONLY=alerts: some; THEMES="light dark": dark ones to .cache/screenshots; SIZE="390x844 3840x2160": of those windows to .cache/screenshots/WIDTH)
	@cd web && FLITWATCH_URL=$(URL) THEMES="$(THEMES)" SIZE="$(SIZE)" node tests/e2e/screenshots.mjs $(if $(ONLY),"$(ONLY)")
	@if [ -z "$(URL)" ] && [ -d "$(DATA)" ]; then cd tests && THEMES="$(THEMES)" SIZE="$(SIZE)" ../$(PY) -m e2e.site "$(abspath $(DATA))" node ../web/tests/e2e/screenshots.mjs "$(or $(ONLY),measured)"; fi
	@$(PY) tests/e2e/pictures.py docs/screenshots

.PHONY: mutants
# A fork for each change, after the libraries are loaded: a change costs the suite's tests alone.
mutants: python-all ## change one token at a time and see whether tests notice: SUITE=blame, SAMPLE=40, SEED=1; REPORT=1 writes docs/mutants.md
	@cd tests && OMP_NUM_THREADS=1 ../.venv/bin/python -m mutants $(SUITE) --sample $(or $(SAMPLE),40) --seed $(or $(SEED),1) $(if $(REPORT),--report)

.PHONY: scorecard
scorecard: python-all ## score blame, deviation and forecast on simulated scenarios into docs/scorecard.md (SEEDS=2: fewer seeds of each variant; EXECUTOR=dask, tcp://HOST:PORT or slurm:8: where)
	.venv/bin/flitwatch scorecard $(if $(SEEDS),--seeds $(SEEDS)) $(if $(EXECUTOR),--executor $(EXECUTOR)) --out docs

.PHONY: advice-value
advice-value: python-all ## measure what following advice saves in simulated scenarios into docs/advice-value.md (SEEDS=5; about 20 minutes on two cores)
	.venv/bin/flitwatch study advice-value --seeds $(or $(SEEDS),5) --out docs/advice-value.md > /dev/null

.PHONY: papers-routes
.PHONY: real-runs
real-runs: python-all ## blame on measured runs of Perlmutter into docs/real-runs.md (SHARED=../shared holds the data; SHUFFLES=1000)
	.venv/bin/python -m flitwatch_research.real_runs $(foreach part,runs exposure published_correlation,$(or $(SHARED),../shared)/data/variability/perlmutter_milc_$(part).csv) $(SHUFFLES) > docs/real-runs.md.part
	mv docs/real-runs.md.part docs/real-runs.md

papers-routes: python-all ## measure the tables of routes, traffic matrices and the loop into docs/papers-routes.md (about an hour; QUICK=1: a check)
	.venv/bin/python -m flitwatch_research.papers_routes $(if $(TRACES),--traces $(TRACES)) $(if $(QUICK),--quick --out .cache/papers-routes)

.PHONY: papers
papers: python-all ## every item of the five papers into docs/papers.md; says how long it takes, and goes on where it was stopped
	.venv/bin/python -m flitwatch_research.papers
