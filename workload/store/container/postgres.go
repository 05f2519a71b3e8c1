package container

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

func postgresKind() kind {
	return kind{
		name: "postgres", image: "postgres:17.2", port: 5432,
		endpoint: func(address string) string {
			return "postgres://postgres@" + address + "/postgres?sslmode=disable"
		},
		topologies: []topology{oneNode()},
		command:    postgresCommand, ready: postgresReady, forks: true,
	}
}

// postgresCommand trusts whoever connects: only this machine can.
func postgresCommand(place) ([]string, map[string]string) {
	return []string{"postgres", "-c", "listen_addresses=*", "-c", "max_connections=300"},
		map[string]string{"PGDATA": dataDir, "POSTGRES_HOST_AUTH_METHOD": "trust"}
}

func postgresReady(ctx context.Context, p place) (string, error) {
	conn, err := pgx.Connect(ctx, p.endpoint)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	var two int
	var version string
	err = conn.QueryRow(ctx, "SELECT 1 + 1, current_setting('server_version')").Scan(&two, &version)
	if err != nil || two != 2 {
		return "", fmt.Errorf("SELECT 1 + 1: %d, %w", two, err)
	}
	version, _, _ = strings.Cut(version, " ") // "15.20 (Debian 15.20-0+deb12u1)"
	return version, nil
}
