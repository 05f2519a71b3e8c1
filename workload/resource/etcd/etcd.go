// Package etcd is a protected resource in etcd: for each name a key with the value
// and a key with the highest token, read and written in one transaction.
//
// Where a fence is on and the caller says under which lock key it holds its lease
// (resource.WithKey), the write's transaction also requires that key to exist, with
// the token as its create revision: guard and data in one store. A write whose lease
// has ended is then refused even before a successor has touched the resource.
//
// The store compares values as bytes. The highest token is therefore kept in an order
// of bytes: 16 hex digits of the token with its sign turned over, so that "less" is
// less for negative numbers, too. A key that does not exist compares with nothing.
//
// The commit number is the revision of the store: for what changed something, that of
// its own transaction, which no other operation has; for a read, an open or a refusal
// that changed nothing, that of the state that it saw. That one it may share with
// others of its kind, and with the one write that made the state.
//
// An operation is one request. Nothing is retried: no step of it reads first and
// writes what it computed.
//
// An endpoint is those of the store, separated by commas, with the name of a space
// behind them: http://127.0.0.1:2379#run-7/cell-1. A space is the resources of one
// cell: the prefix of its keys. Its fence stands in a key, where [Prepare] puts it and
// [Dial] finds it.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/resource"
)

const dialTimeout = 5 * time.Second

// Endpoint names a space in a store.
func Endpoint(store []string, space string) string { return strings.Join(store, ",") + "#" + space }

// split undoes Endpoint.
func split(endpoint string) (store []string, space string, err error) {
	list, space, ok := strings.Cut(endpoint, "#")
	if !ok || space == "" || list == "" {
		return nil, "", errors.New("the endpoint names no space: want URL,...#SPACE")
	}
	return strings.Split(list, ","), space, nil
}

// Keys of a space.
func fenceKey(space string) string       { return space + "/fence" }
func valueKey(space, name string) string { return space + "/value/" + name }
func tokenKey(space, name string) string { return space + "/token/" + name }

// connect makes a silent client that sends every request once.
func connect(store []string, options ...grpc.DialOption) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{
		Endpoints:       store,
		DialTimeout:     dialTimeout,
		Logger:          zap.NewNop(),
		MaxUnaryRetries: 1, // attempts, in truth: 0 means the default of 100
		DialOptions:     append(options, grpc.WithDisableRetry()),
	})
}

// chunk is how many keys one transaction writes: by default the server takes 128.
const chunk = 100

// Prepare makes the space that the endpoint names, with its fence and its initial
// values. Of the options only these two count. A space that exists is an error: it
// would not be fresh.
func Prepare(ctx context.Context, endpoint string, o resource.ServerOptions) error {
	store, space, err := split(endpoint)
	if err != nil {
		return fmt.Errorf("prepare etcd resource: %w", err)
	}
	fence := o.Fence
	switch fence {
	case "":
		fence = histories.FenceOff
	case histories.FenceOff, histories.FenceWrites, histories.FenceAll:
	default:
		return fmt.Errorf("prepare etcd resource: unknown fence %q", fence)
	}
	client, err := connect(store)
	if err != nil {
		return fmt.Errorf("prepare etcd resource: %w", err)
	}
	defer client.Close()
	var puts []clientv3.Op
	for name, value := range o.Initial {
		puts = append(puts, clientv3.OpPut(valueKey(space, name), value))
	}
	// The fence comes last: until then nobody can dial the space.
	puts = append(puts, clientv3.OpPut(fenceKey(space), string(fence)))
	if err := write(ctx, client, space, puts); err != nil {
		return fmt.Errorf("prepare etcd resource: space %s: %w", space, err)
	}
	return nil
}

// write writes the keys of a fresh space in order.
func write(ctx context.Context, client *clientv3.Client, space string, puts []clientv3.Op) error {
	fresh := []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(space+"/"), "=", 0).WithPrefix()}
	for some := range slices.Chunk(puts, chunk) {
		answer, err := client.Txn(ctx).If(fresh...).Then(some...).Commit()
		if err != nil {
			return err
		}
		if !answer.Succeeded {
			return errors.New("not fresh: it has keys")
		}
		fresh = nil
	}
	return nil
}

// Remove removes the space that the endpoint names, with all that is in it.
func Remove(ctx context.Context, endpoint string) error {
	store, space, err := split(endpoint)
	if err != nil {
		return fmt.Errorf("remove etcd resource: %w", err)
	}
	client, err := connect(store)
	if err != nil {
		return fmt.Errorf("remove etcd resource: %w", err)
	}
	defer client.Close()
	if _, err := client.Delete(ctx, space+"/", clientv3.WithPrefix()); err != nil {
		return fmt.Errorf("remove etcd resource: space %s: %w", space, err)
	}
	return nil
}
