# `make up` takes a bare machine to its first run; everything after it is `dagger call`.
ENGINE := .slipway/engine

# A call that hangs ends, and leaves its stacks in the output.
DEADLINE := timeout --foreground --signal=QUIT --kill-after=30s 40m

.DEFAULT_GOAL := help

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

up: engine ## Take this machine from nothing to environment local, deployed and checked
	@./dev/setup
	@eval "$$($(ENGINE) env)" && \
	  if [ ! -e credentials/local.enc.env ]; then $(DEADLINE) dagger --progress=plain --silent call -y secrets init --file=credentials/local.enc.env; fi && \
	  $(DEADLINE) dagger --progress=plain --silent call up --env=local && \
	  printf '%s\n' "To see it, run these in two shells (its certificate is from the simulated cloud):" \
	    "  dagger call open --env=local up --ports=8443:443" \
	    "  curl --insecure --resolve local.example.org:8443:127.0.0.1 https://local.example.org:8443/"

engine: $(ENGINE) ## Start a Dagger engine, or find the one that is there
	@$(ENGINE) up

cluster: engine ## Run two Talos nodes beside the engine; builds them and Flux first, which takes 25 minutes
	@$(ENGINE) cluster
	@./dev/setup

env: $(ENGINE) ## Print the lines that point a shell at the engine
	@$(ENGINE) env

status: $(ENGINE) ## Show which engine is used and whether it responds
	@$(ENGINE) status

logs: $(ENGINE) ## Print what the engine wrote
	@$(ENGINE) logs

down: $(ENGINE) ## Stop the engine and leave the machine as it was
	@$(ENGINE) down

clean: $(ENGINE) ## Stop the engine and delete all that it built
	@$(ENGINE) clean

test: ## Run the tests and checks that each change has to pass; CI calls it
	@./dev/test

test-all: ## Run every test and check, for more than an hour
	@./dev/test all

kills: tools ## Kill every program of every effect, 200 times in all: some 20 minutes
	@PATH="$$PWD/.slipway/bin:$$PATH" SLIPWAY_KILLS=160 go test -tags blackbox -count=1 -timeout 3h -v -run BlackBoxKillMatrix ./cmd/slipway
	@PATH="$$PWD/.slipway/bin:$$PATH" SLIPWAY_KILLS=40 go test -tags blackbox -count=1 -timeout 3h -v -run BlackBoxDeployKills ./cmd/slipway

mutants: tools ## Change the code that keeps secrets, locks and plans, and see whether a test notices
	@PATH="$$PWD/.slipway/bin:$$PATH" go run ./dev/mutants

bench: tools ## Measure a plan and a deploy against the bare tools, a first call, and the reading of a plan
	@go test -tags bench -count=1 -v -run TestBench ./internal/plan
	@go test -tags e2e,bench -count=1 -parallel 1 -timeout 30m -v -run TestBench ./e2e
	@PATH="$$PWD/.slipway/bin:$$PATH" go test -tags blackbox,bench -count=1 -timeout 30m -v -run TestBench ./cmd/slipway

tools: engine
	@./dev/fetch-tools >.slipway/fetch-tools.log 2>&1 || { cat .slipway/fetch-tools.log >&2; exit 1; }

$(ENGINE): dev/engine/go.mod dev/engine/go.sum $(wildcard dev/engine/*.go dev/engine/*/*.go)
	@go build -C dev/engine -buildvcs=false -o ../../$@ .

.PHONY: help up engine cluster env status logs down clean test test-all tools kills mutants bench
