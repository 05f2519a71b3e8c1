package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/internal/pgsession"
	"github.com/leasehold-checker/leasehold/workload/resource"
)

// schema makes the tables. It is one request and one transaction. The advisory lock,
// whose number is of no meaning, keeps apart those who do it at once: CREATE ... IF
// NOT EXISTS alone does not.
const schema = `
SELECT pg_advisory_xact_lock(7310293652);
CREATE TABLE IF NOT EXISTS leasehold_space (
	space text PRIMARY KEY,
	fence text NOT NULL
);
CREATE TABLE IF NOT EXISTS leasehold_resource (
	space   text,
	name    text,
	value   bytea NOT NULL,
	highest bigint,           -- highest token seen; null: none yet
	seq     bigint NOT NULL,  -- number of operations so far
	PRIMARY KEY (space, name)
);`

// Prepare makes the space that the endpoint names, with its fence and its initial
// values. Of the options only these two count. A space that exists is an error: it
// would not be fresh.
func Prepare(ctx context.Context, endpoint string, o resource.ServerOptions) error {
	db, space, err := open(ctx, endpoint)
	if err != nil {
		return fmt.Errorf("prepare postgres resource: %w", err)
	}
	defer db.Close()
	if err := prepare(ctx, db, space, o); err != nil {
		return fmt.Errorf("prepare postgres resource: space %s: %w", space, err)
	}
	return nil
}

func open(ctx context.Context, endpoint string) (*pgsession.Client, string, error) {
	server, space, err := split(endpoint)
	if err != nil {
		return nil, "", err
	}
	db, err := pgsession.Connect(ctx, server)
	return db, space, err
}

// prepare writes the space last: until then nobody can dial it.
func prepare(ctx context.Context, db *pgsession.Client, space string, o resource.ServerOptions) error {
	fence := o.Fence
	switch fence {
	case "":
		fence = histories.FenceOff
	case histories.FenceOff, histories.FenceWrites, histories.FenceAll:
	default:
		return fmt.Errorf("unknown fence %q", fence)
	}
	if err := db.Script(ctx, schema); err != nil {
		return fmt.Errorf("make schema: %w", err)
	}
	for name, value := range o.Initial {
		var seq int64
		err := db.Do(ctx, pgsession.Statement{SQL: insert, Args: []any{space, name, []byte(value)}}, &seq)
		if errors.Is(err, pgsession.ErrNoRows) {
			return fmt.Errorf("not fresh: it has a resource %s", name)
		}
		if err != nil {
			return fmt.Errorf("make resource %s: %w", name, err)
		}
	}
	var made int
	err := db.Do(ctx, pgsession.Statement{
		SQL:  `INSERT INTO leasehold_space VALUES ($1::text, $2::text) ON CONFLICT DO NOTHING RETURNING 1`,
		Args: []any{space, string(fence)},
	}, &made)
	if errors.Is(err, pgsession.ErrNoRows) {
		return errors.New("not fresh: it exists")
	}
	return err
}

// Remove removes the space that the endpoint names, with all that is in it.
func Remove(ctx context.Context, endpoint string) error {
	db, space, err := open(ctx, endpoint)
	if err != nil {
		return fmt.Errorf("remove postgres resource: %w", err)
	}
	defer db.Close()
	var rows int64
	err = db.Do(ctx, pgsession.Statement{SQL: `WITH
		spaces AS (DELETE FROM leasehold_space WHERE space = $1::text RETURNING 1),
		rows AS (DELETE FROM leasehold_resource WHERE space = $1::text RETURNING 1)
		SELECT (SELECT count(*) FROM spaces) + (SELECT count(*) FROM rows)`, Args: []any{space}}, &rows)
	if err != nil {
		return fmt.Errorf("remove postgres resource: space %s: %w", space, err)
	}
	return nil
}
