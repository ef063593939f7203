# Every command that a developer or CI needs; `make` alone lists them. CI calls these targets and nothing else, and they
# need only Go, git, make and the module proxy: what else is wanted is pinned in tools/ and built into bin/.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

BIN := $(CURDIR)/bin
export PATH := $(BIN):$(PATH)

# The workspace's modules, as ./services/planner and so on. "work" names all their packages to go itself.
MODULES  := $(shell awk '$$1 ~ /^\.\//{print $$1}' go.work)
# Modules outside the workspace, each with dependencies that the others shall not have.
OUTSIDE  := ./test/differential ./test/versus ./test/chart ./tools/images
PATTERNS := $(addsuffix /...,$(MODULES))
PROGRAMS := $(patsubst %/,./%,$(dir $(wildcard services/*/cmd/*/main.go)))

# The contract of the last release.
BASELINE := proto/released/kerf.binpb

# The race detector needs a C compiler; without one the tests still run, and say so.
RACE := $(if $(shell command -v $$(go env CC)),-race)

# Packages whose tests play many plans, one after the other.
SEQUENTIAL := ./test/sim ./test/bench ./test/bench/cmd/bench ./services/kerf/internal/cli

# RETRIED runs tests as go test does, and those that fail once more, alone: what passes then was late on a busy machine, or
# is wrong now and then, and is named at the end. What fails twice, a data race, a panic, and more than ten failures fail.
RETRIED = gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg --hide-summary skipped --rerun-fails=1 \
	--rerun-fails-max-failures 10 --rerun-fails-run-root-test --rerun-fails-abort-on-data-race --rerun-fails-report $$(mktemp $(BIN)/retried.XXXX)
define retried
@[ -z "$$(cat $(BIN)/retried.*)" ] || { printf '\nWARNING: failed, and passed when run once more:\n'; cat $(BIN)/retried.*; }
@rm $(BIN)/retried.*
endef

# The tests that CI runs are run with -vet=off: without it go test looks again, and anew for the race detector, for some of the mistakes that
# `make vet` has looked for in all of it, which is a quarter of what it costs to build them.

# steps runs targets one after the other, prints how long each took and stops at the first that fails.
define steps
@for step in $(1); do \
	printf '\n==> %s\n' $$step; began=$$SECONDS; \
	$(MAKE) $$step || { printf '\nFAILED: make %s (after %ds)\n' $$step $$((SECONDS - began)); exit 1; }; \
	printf '<== %s: %ds (%ds in all)\n' $$step $$((SECONDS - began)) $$SECONDS; \
done
endef

# fuzz runs every fuzz target for a time, goes on after one that fails, and ends with a table.
define fuzz
@failed=0; table=""; \
targets=$$(grep -rhoE --include='*_test.go' '^func Fuzz\w*' $(MODULES) | wc -l); done=0; \
for target in $$(grep -roE --include='*_test.go' '^func Fuzz\w*' $(MODULES) | sed -E 's,/[^/]+_test.go:func , ,; s, ,:,' | sort); do \
	package=$${target%:*}; name=$${target#*:}; done=$$((done + 1)); \
	[[ "$$target" =~ $(or $(ONLY),.) ]] || continue; \
	printf '\n==> %d of %d: %s in %s for %s\n' $$done $$targets $$name $$package $(1); \
	log=$$(mktemp); word=ok; \
	go test $$package -run '^$$' -fuzz "^$$name\$$" -fuzztime $(1) -fuzzminimizetime 100x 2>&1 | tee $$log || { word=FAILED; failed=1; }; \
	last=$$(grep -E '^fuzz: elapsed.*execs' $$log | tail -1) || true; rm -f $$log; \
	execs=$$(sed -nE 's/.*execs: ([0-9]+).*/\1/p' <<< "$$last"); total=$$(sed -nE 's/.*total: ([0-9]+).*/\1/p' <<< "$$last"); \
	table+=$$(printf '%-8s %12s %8s  %-24s %s' $$word "$${execs:-0}" "$${total:-0}" $$name $$package)$$'\n'; \
done; \
printf '\n%-8s %12s %8s  %-24s %s\n%s' result executions corpus target package "$$table"; \
[ $$failed = 0 ] || { printf '\nWhat failed is kept under testdata/fuzz of its package: go test runs it again.\n'; exit 1; }
endef

##@ Everyday

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "; print "Kerf. make TARGET:"} \
		/^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z0-9-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build the services and kerf into bin/
	@# With go test's flags but for the tag, so that most of what a test has compiled is not compiled again.
	@# grpcnotrace leaves gRPC's trace pages out, whose templates make the linker keep every method of every type.
	go build -tags grpcnotrace -o $(BIN)/ $(PROGRAMS)

.PHONY: release
release: ## Build the programs as they are released, static and stripped, into bin/release/
	@go run ./test/harness/assets/build -released $(PROGRAMS)
	@cd $(BIN)/release && wc -c *
	@[ $$(wc -c < $(BIN)/release/kerf) -lt 60000000 ] || { echo "kerf weighs 60 MB or more: see services/kerf/cmd/kerf/main_test.go"; exit 1; }

.PHONY: demo
demo: controlplane ## Play the whole story on this machine (ARGS="-keep" leaves it running)
	@go run ./test/harness/assets/build $(PROGRAMS) ./test/awssim/cmd/awssim ./test/demo
	@$(BIN)/demo $(ARGS)

.PHONY: check
check: ## All that needs no control plane: contract, format, vet, lint, unit tests (minutes)
	$(call steps,tools modules proto generated format vet lint arch unit)

.PHONY: test
test: ## All that CI runs: check, race tests, each module alone, the real scheduler, the demo, the control plane's tests
	$(call steps,tools modules controlplane observers proto generated format vet lint arch race standalone differential mutations demo e2e)

.PHONY: fmt
fmt: tools ## Format the Go code (gofumpt, grouped imports, no blank line before a return, wrapped comments) and the protos
	go run ./test/arch/layout $(MODULES)
	golangci-lint fmt $(MODULES) ./test/differential ./test/versus
	buf format -w

.PHONY: generate
generate: $(BIN)/.tools ## Generate Go from proto/, and CRDs and the config reference from their Go types; commit what it changes
	buf generate
	go generate ./services/internal/kubeapi
	go run ./test/configdoc > docs/configuration.md.new && mv docs/configuration.md.new docs/configuration.md

##@ Parts of check and test

.PHONY: modules
modules: ## Check that each module's go.mod says all that it needs when the workspace is off (seconds; standalone builds them)
	@for module in $(MODULES) $(OUTSIDE); do \
		(cd $$module && GOWORK=off go list -test -deps ./... > /dev/null) || { echo "run GOWORK=off go mod tidy in $$module"; exit 1; }; \
	done

.PHONY: proto
proto: $(BIN)/.tools ## Lint and format-check the contract, and compare it with the last release
	buf lint
	buf format --diff --exit-code > /dev/null || { echo "protos are not formatted: run make fmt"; exit 1; }
	buf breaking --against $(BASELINE) || { echo "this breaks callers of the last release: see buf.yaml"; exit 1; }

.PHONY: generated
generated: $(BIN)/.tools ## Check that the committed generated code is what `make generate` makes
	@# In a copy of the working tree with an index of its own, so that the check changes nothing and misses no output.
	@fresh=$$(mktemp -d); trap 'rm -rf "$$fresh"' EXIT; \
	git ls-files -z --cached --others --exclude-standard | \
		tar --null --ignore-failed-read -T - -cf - 2> /dev/null | tar -xf - -C "$$fresh"; \
	git -C "$$fresh" init -q; git -C "$$fresh" add -A; ln -s $(BIN) "$$fresh/bin"; \
	$(MAKE) -C "$$fresh" generate > /dev/null; \
	git -C "$$fresh" add -AN .; \
	git -C "$$fresh" diff --exit-code || { echo "generated files are stale: run make generate"; exit 1; }

.PHONY: format
format: $(BIN)/.golangci ## Check that the Go code is formatted
	go run ./test/arch/layout -check $(MODULES) || { echo "not formatted: run make fmt"; exit 1; }
	golangci-lint fmt --diff $(MODULES) ./test/differential ./test/versus || { echo "not formatted: run make fmt"; exit 1; }

.PHONY: vet
vet: ## go vet over the workspace
	go vet work

.PHONY: lint
lint: $(BIN)/.golangci ## golangci-lint over the workspace
	golangci-lint run --allow-parallel-runners --timeout 15m $(PATTERNS)

.PHONY: arch
arch: ## The shape: import bans, no clock in what decides, one home for each rule, sizes, words, package docs
	@go test -count=1 ./test/arch

.PHONY: unit
unit: ## Unit tests of the workspace, without a control plane
	go test -short work

.PHONY: scenarios
scenarios: ## The planner's behaviours, written as files (ARGS=-update accepts what changed)
	go test -count=1 ./test/scenario $(ARGS)
	@echo "$$(ls test/scenario/testdata/*.txtar | wc -l) scenarios; docs/behaviours.md lists them"

.PHONY: race
race: $(BIN)/.tools ## The unit tests under the race detector
	@[ -n "$(RACE)" ] || echo "no C compiler: these tests run WITHOUT the race detector"
	@# Go 1.26 gives all timers of a synctest bubble one race context, and two threads that use it at once crash the
	@# detector (runtime.(*timer).maybeRunChan, unlockAndRun): tests of bubbles run on one thread, where that can't be, beside the others.
	@# Races are found by what happens before what, so none is missed for it. SEQUENTIAL ones plan for minutes on one thread, which the
	@# detector makes ten times as slow: they run without it, those in test/ as a part of e2e. What they call has tests of its own that run with it.
	@# The others are two at a time: nearly half of the time of one is its linking, and the second that the detector waits at its
	@# end for late races; and they take both cores once the bubbles are done.
	@bubbles=$$(go list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' work | awk '/testing\/synctest/{print $$1}'); \
	sequential=$$(go list $(SEQUENTIAL)); failed=0; \
	( $(RETRIED) --packages "$$bubbles" -- -short -timeout 30m -vet=off -p 1 $(RACE) -cpu 1 || failed=1; \
	$(RETRIED) --packages "$(filter-out ./test/%,$(SEQUENTIAL))" -- -short -timeout 30m -vet=off -p 1 || failed=1; \
	exit $$failed ) & one=$$!; \
	$(RETRIED) --packages "$$(go list work | grep -vxF "$$bubbles" | grep -vxF "$$sequential")" -- -short -timeout 30m -vet=off -p 2 $(RACE) || failed=1; \
	wait $$one && exit $$failed
	$(retried)

.PHONY: standalone
standalone: ## Build each module with the workspace off, as images and outside users do
	@for module in $(MODULES); do (cd $$module && GOWORK=off go build ./...) || { echo "in $$module"; exit 1; }; done
	@for module in test/versus tools/images test/chart; do (cd $$module && GOWORK=off go vet ./... && GOWORK=off go test -vet=off ./...) || exit 1; done

.PHONY: e2e
e2e: $(BIN)/.tools controlplane observers ## The tests that run a real control plane, one package at a time
	@# Compile first and in parallel; with -short and no test to run nothing starts.
	@go test -short -run '^$$' -vet=off ./test/... > /dev/null
	@# Stories mostly wait, and take a quarter of a processor each: four at a time.
	$(RETRIED) --packages ./test/... -- -count=1 -vet=off -p 1 -parallel 4 -timeout 30m
	$(retried)

.PHONY: differential
differential: ## Hold plans against the real kube-scheduler, and 100 of the commit's own seeds (SEEDS=300; ARGS="-seed 7" for one, -help for more)
	@# A module of its own, with the workspace off: all of Kubernetes is not for the other modules. Built like the control
	@# plane, and like Kerf, so that what those have compiled is not compiled again.
	@cd test/differential && GOWORK=off go build -tags grpcnotrace -o $(BIN)/differential .
	@$(BIN)/differential -seeds $(or $(SEEDS),300) $(ARGS)
	@# Seeds that are new with each commit. What fails there is a warning: it need not be the commit that broke it.
	@commit=$(if $(ARGS),,$$(git rev-parse HEAD 2>/dev/null)); [ -z "$$commit" ] || $(BIN)/differential -fresh $$commit -seeds 100 -show 1

.PHONY: conformance
conformance: ## Hold the AWS adapter and the simulated AWS against moto and AWS's own service models (needs python3 and PyPI)
	@go build -o $(BIN)/conformance ./test/conformance
	@$(BIN)/conformance

.PHONY: hunt
hunt: ## Hold plans for random clusters that were never drawn before against the real kube-scheduler (T=60m; each failure at once in bin/hunt/)
	@cd test/differential && GOWORK=off go build -tags grpcnotrace -o $(BIN)/differential .
	@$(BIN)/differential -hunt $(or $(T),60m) -show 0 -keep $(BIN)/hunt $(ARGS)

.PHONY: live
live: controlplane ## Play stories that were never drawn before on the whole of Kerf, one after the other (T=60m; ARGS="-seed 7" begins with that)
	@# Without a timeout of its own; what fails says where its logs are, and the next story is played.
	@go test -count=1 -timeout 0 -v ./test/e2e -run '^TestAStoryThatNoOneHasWritten$$' -args -live $(or $(T),60m) $(ARGS)

.PHONY: mutations
mutations: ## Weaken the rules one by one: the comparison with the real kube-scheduler must notice each
	@# Without vet, which would look through all of Kubernetes first.
	@cd test/differential && GOWORK=off go test -tags grpcnotrace -vet=off ./...

##@ Rarely

.PHONY: images
images: ## Build the images into bin/images/, as OCI layouts and archives (VERSION=dev; ARGS="-only kerf-planner -arch amd64")
	@# Without a container engine, by a module of its own. docker load, ctr images import and kind load image-archive take the archives.
	@cd tools/images && GOWORK=off go run . -out $(BIN)/images -version $(or $(VERSION),dev) $(ARGS)

.PHONY: controlplane
controlplane: ## Get etcd, Kubernetes and kwok once, into .cache/ or $KERF_CACHE: installed, fetched or built (minutes, then nothing)
	@go run ./test/harness/assets/build

.PHONY: observers
observers: ## Build Prometheus and Jaeger, which tests ask what the services tell, once, where the control plane is kept (minutes, then nothing)
	@go run ./test/harness/assets/build -tools

.PHONY: bench
bench: ## Measure plans: cost, bound, CPU, growth (BENCH_FILES=dir for published files, ARGS="-runs 1")
	@go build -o $(BIN)/ ./test/bench/cmd/bench
	@$(BIN)/bench $(if $(BENCH_FILES),-files $(BENCH_FILES)) $(ARGS)

.PHONY: bench-disrupt
bench-disrupt: ## Measure disruption: cost over moves, CPU, rounds (BENCH_FILES=dir; draws docs/disruption-curve.svg with the files)
	@go build -o $(BIN)/ ./test/bench/cmd/bench
	@$(BIN)/bench -mode disrupt -curve $(if $(BENCH_FILES),docs,$(BIN))/disruption-curve.svg $(if $(BENCH_FILES),-files $(BENCH_FILES)) $(ARGS)

.PHONY: bench-growth
bench-growth: ## Measure how plans grow with the pods: processor time at 1k, 5k, 20k, and the exponent (ONLY=spread)
	@KERF_GROWTH=$(or $(ONLY),all) go test -count=1 -v -run '^TestGrowth$$' ./services/planner/plan | grep -vE '^(=== |--- |PASS)'

.PHONY: sim
sim: ## Play a day in the life of a cluster, drawn into docs/sim/day.svg, and a week of one on spot (SEED=1; ARGS="-length 6h -pods 1000" for the day)
	@mkdir -p docs/sim && go build -o $(BIN)/sim ./test/sim/cmd/sim
	@$(BIN)/sim -seed $(or $(SEED),1) -out docs/sim/day.svg $(ARGS)
	@$(BIN)/sim -week -seed $(or $(SEED),1) -out $(BIN)/week.svg

.PHONY: versus
versus: ## Play loads on Kerf and on Karpenter's kwok provider, and compare (ARGS="-loads ramp -seeds 1 -sides kerf"; -help)
	@# A module of its own, as the control plane is: Karpenter, a further module in it, is not for the others.
	@mkdir -p $(BIN) && cd test/versus && GOWORK=off go build -o $(BIN)/versus .
	@$(BIN)/versus -raw $(BIN)/versus.json $(ARGS)

.PHONY: size
size: ## Grow a live cluster to 5,000 nodes and 50,000 pods, and let each service die (half an hour; ARGS="-nodes 1000")
	@mkdir -p $(BIN) && cd test/versus && GOWORK=off go build -o $(BIN)/versus .
	@$(BIN)/versus -raw $(BIN)/size.json -loads size -seeds 1 -sides kerf $(ARGS)

.PHONY: fuzz
fuzz: ## Run each fuzz target for a time (T=60s; ONLY=regexp for some); go test alone runs the kept corpora
	$(call fuzz,$(or $(T),60s))

.PHONY: contract-baseline
contract-baseline: $(BIN)/.tools ## Make the contract as it is the one that `make proto` compares with (at a release)
	buf build --exclude-source-info -o $(BASELINE)

.PHONY: tools
tools: $(BIN)/.tools $(BIN)/.golangci ## Build the pinned developer tools into bin/

$(BIN)/.tools: tools/go.mod tools/go.sum
	cd tools && GOWORK=off CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o $(BIN)/ tool
	@touch $@

# A module of its own: linters and buf cannot agree on one set of versions.
$(BIN)/.golangci: tools/golangci/go.mod tools/golangci/go.sum
	cd tools/golangci && GOWORK=off CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o $(BIN)/ tool
	@touch $@

.PHONY: clean
clean: ## Remove bin/; the control plane in .cache/ stays
	rm -rf bin

.PHONY: distclean
distclean: clean ## Remove the control plane too, and what else is kept
	rm -rf .cache
