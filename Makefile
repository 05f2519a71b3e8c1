# leasehold: see README.md. `make demo` shows what it does, `make test` tests all of it.

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null)
LDFLAGS := -X main.version=$(VERSION)

.PHONY: build demo test lint bench clean

build: ## bin/leasehold
	go build -ldflags "$(LDFLAGS)" -o bin/leasehold ./cmd/leasehold

demo: build ## a paused etcd lock holder, without and with fencing
	bin/leasehold run --name demo --fence off,all

test: build ## everything, with the race detector; says what it had to skip
	bash .ci/test

lint: ## gofmt, go vet, staticcheck, go mod tidy
	bash .ci/lint

bench: ## what recording and checking cost
	go test -run '^$$' -bench . -benchmem ./...

clean: ## all that make has made
	rm -rf bin .test
