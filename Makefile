# Kerf: every command that a developer or CI needs. CI calls these targets and nothing else.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

ROOT := $(CURDIR)
BIN  := $(ROOT)/bin
export PATH := $(BIN):$(PATH)

##@ Contract

.PHONY: tools
tools: $(BIN)/.tools ## Build the pinned developer tools into bin/

$(BIN)/.tools: tools/go.mod tools/go.sum
	mkdir -p $(BIN)
	cd tools && GOWORK=off go build -o $(BIN)/ tool
	touch $@

.PHONY: generate
generate: $(BIN)/.tools ## Generate Go from proto/; `make check` fails when this leaves a diff
	buf generate


.PHONY: help
help: ## Show this help
	@grep -hE "##" Makefile
