//go:build linux

package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/spf13/cobra"
	"golang.org/x/mod/modfile"

	"github.com/leasehold-checker/leasehold/checker/report"
)

//go:embed starter/*.tmpl
var starterFiles embed.FS

// modulePath is that of leasehold itself.
const modulePath = "github.com/leasehold-checker/leasehold"

func newInit() *cobra.Command {
	var source string
	cmd := &cobra.Command{
		Use:     "init",
		GroupID: "run",
		Short:   "Put a project under leasehold: campaign file, workflow, and a test in a Go module",
		Long: `Writes leasehold.yaml and .github/workflows/lease.yml into the present folder, and in a
Go module lease_test.go as well, each with comments. It asks nothing, overwrites nothing,
and what it wrote runs at once. The lock of the campaign is the one whose client library
the module already uses, if leasehold knows it.

The test needs leasehold as a module. It is not published: init adds a requirement to
go.mod that points to leasehold's sources (--source, or where this program lies).`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return initialize(cmd, source) },
	}
	cmd.Flags().StringVar(&source, "source", "", "folder of leasehold's sources (default: found from where this program lies)")
	return cmd
}

// project is what is known of the folder that is to be put under leasehold.
type project struct {
	Lock, Why string
	Package   string // of the Go package in the folder; "": no Go module
}

func initialize(cmd *cobra.Command, source string) error {
	p, err := lookAround()
	if err != nil {
		return err
	}
	files := []struct{ template, path string }{
		{"campaign.yaml.tmpl", campaignFile},
		{"workflow.yaml.tmpl", filepath.Join(".github", "workflows", "lease.yml")},
	}
	if p.Package != "" {
		if source, err = findSource(source); err != nil {
			return err
		}
		files = append(files, struct{ template, path string }{"lease_test.go.tmpl", "lease_test.go"})
	}
	for _, f := range files { // before the first is written
		if _, err := os.Lstat(f.path); err == nil {
			return withCode(exitUsage, fmt.Errorf("%s is there already, and stays as it is", f.path))
		}
	}
	out := cmd.OutOrStdout()
	for _, f := range files {
		if err := p.write(f.template, f.path); err != nil {
			return err
		}
		fmt.Fprintf(out, "wrote %s\n", f.path)
	}
	if p.Package != "" {
		if err := requireUs(source); err != nil {
			return err
		}
		fmt.Fprintf(out, "go.mod requires leasehold now, from %s\n", report.Clean(source))
		fmt.Fprintln(out, "\nTry:  go test -run TestPausedHolder -v .")
	}
	_, err = fmt.Fprintf(out, "Try:  leasehold run -c %s\n", campaignFile)
	return err
}

func (p project) write(name, path string) error {
	t, err := template.ParseFS(starterFiles, "starter/"+name)
	if err != nil {
		return withCode(exitInternal, err)
	}
	var text bytes.Buffer
	if err := t.Execute(&text, p); err != nil {
		return withCode(exitInternal, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return withCode(exitEnvironment, err)
	}
	return writeNew(path, text.String())
}

// lookAround finds out what the present folder is.
func lookAround() (project, error) {
	p := project{Lock: "etcd-mutex", Why: "The store of this one needs no Docker: it runs inside leasehold."}
	text, err := os.ReadFile("go.mod")
	if errors.Is(err, os.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, withCode(exitEnvironment, err)
	}
	mod, err := modfile.Parse("go.mod", text, nil)
	if err != nil || mod.Module == nil {
		return p, withCode(exitUsage, errors.Join(errors.New("go.mod can't be read"), err))
	}
	for _, known := range []struct{ client, lock string }{
		{"go.etcd.io/etcd/client/v3", "etcd-mutex"},
		{"github.com/bsm/redislock", "redislock"},
		{"github.com/go-redsync/redsync/v4", "redsync"},
		{"github.com/redis/go-redis/v9", "redis-counter"},
		{"github.com/go-zookeeper/zk", "zk-recipe"},
		{"github.com/hashicorp/consul/api", "consul"},
		{"github.com/jackc/pgx/v5", "pg-row"},
		{"github.com/nats-io/nats.go", "nats-kv"},
	} {
		for _, r := range mod.Require {
			if r.Mod.Path == known.client && !r.Indirect {
				p.Lock, p.Why = known.lock, "go.mod requires "+known.client+"."
				p.Package = packageName(mod.Module.Mod.Path)
				return p, nil
			}
		}
	}
	p.Package = packageName(mod.Module.Mod.Path)
	return p, nil
}

// packageName is that of the Go files here, or else one made of the module's path.
func packageName(path string) string {
	files, _ := filepath.Glob("*.go")
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly)
		if err == nil && !strings.HasSuffix(f.Name.Name, "_test") {
			return f.Name.Name
		}
	}
	var name strings.Builder
	for _, r := range strings.ToLower(filepath.Base(path)) {
		if r >= 'a' && r <= 'z' || name.Len() > 0 && r >= '0' && r <= '9' {
			name.WriteRune(r)
		}
	}
	if name.Len() == 0 {
		return "lease"
	}
	return name.String()
}

// findSource is the folder of leasehold's own module: the one that was named, or one
// above this program.
func findSource(named string) (string, error) {
	ours := func(dir string) bool {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		return err == nil && modfile.ModulePath(text) == modulePath
	}
	if named != "" {
		if !ours(named) {
			return "", withCode(exitUsage, fmt.Errorf("%s does not hold leasehold's sources", named))
		}
		return filepath.Abs(named)
	}
	own, err := os.Executable()
	if err == nil {
		own, err = filepath.EvalSymlinks(own)
	}
	if err != nil {
		return "", withCode(exitEnvironment, fmt.Errorf("find this program: %w", err))
	}
	for dir := filepath.Dir(own); ; dir = filepath.Dir(dir) {
		if ours(dir) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", withCode(exitUsage, errors.New("this program does not lie in leasehold's sources: --source says where those are"))
		}
	}
}

// requireUs adds leasehold to the module here.
func requireUs(source string) error {
	for _, args := range [][]string{
		{"mod", "edit", "-require=" + modulePath + "@v0.0.0", "-replace=" + modulePath + "=" + source},
		{"mod", "tidy"},
	} {
		cmd := exec.Command("go", args...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return withCode(exitEnvironment, fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(out)))
		}
	}
	return nil
}
