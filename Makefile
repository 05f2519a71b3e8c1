# leasehold: see README.md. `make demo` shows what it does, `make test` tests all of it.

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null)
LDFLAGS := -X main.version=$(VERSION)

.PHONY: build demo test lint bench fuzz-long mutants clean images image-consul campaign honest

build: ## bin/leasehold
	CGO_ENABLED=0 go build -ldflags "$(LDFLAGS)" -o bin/leasehold ./cmd/leasehold

demo: build ## a paused etcd lock holder, without and with fencing
	bin/leasehold run --name demo --fence off,all

images: ## local images of the lock stores, for where no image registry is reached
	bash .ci/images

image-consul: ## the same for Consul, which is compiled from source: some five minutes
	bash .ci/images consul

campaign: build ## every lock, with and without fencing, in one table; some minutes
	bash .ci/campaign

honest: build ## 200 runs over all stores, and not one false alarm
	bin/leasehold honest --runs 200

test: build ## everything, with the race detector; says what it had to skip
	bash .ci/test

lint: ## gofmt, go vet, staticcheck, go mod tidy
	bash .ci/lint

bench: ## what recording and checking cost
	go test -run '^$$' -bench . -benchmem ./...

fuzz-long: ## millions of random histories, and each fuzz target for FUZZTIME (5m)
	bash .ci/fuzz

mutants: ## breaks the checkers on purpose, and sees whether their tests notice; some 40 minutes
	go run ./.ci/mutants

clean: ## all that make has made
	rm -rf bin .test
