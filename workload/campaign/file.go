package campaign

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFile is the largest campaign file that is read, in bytes.
const maxFile = 1 << 20

// ReadFile reads a campaign file (leasehold.yaml). What it does not say is as in
// Default; a block under cells has what the file says outside of it, unless it says
// otherwise. Its errors are of the kind UsageError, and name file and line.
func ReadFile(path string) (Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return Config{}, usagef("read campaign: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return Config{}, usagef("read campaign: %w", err)
	}
	if len(text) > maxFile {
		return Config{}, usagef("read campaign: %s is larger than %d bytes", path, maxFile)
	}
	return Parse(path, text)
}

// Parse reads the text of a campaign file. The name is for errors.
func Parse(name string, text []byte) (Config, error) {
	if err := strict(text); err != nil {
		return Config{}, usagef("%s", located(name, err))
	}
	// The blocks begin with what stands outside of them, so they come second.
	c := Default()
	c.Version = 0 // it has to be said
	var blocks struct {
		Cells []yaml.Node `yaml:"cells"`
	}
	if err := errors.Join(yaml.Unmarshal(text, &c), yaml.Unmarshal(text, &blocks)); err != nil {
		return Config{}, usagef("%s", located(name, err))
	}
	c.Cells = nil
	for i := range blocks.Cells {
		k := c.Settings
		if err := blocks.Cells[i].Decode(&k); err != nil {
			return Config{}, usagef("%s", located(name, err))
		}
		c.Cells = append(c.Cells, k)
	}
	if err := c.check(); err != nil {
		return Config{}, usagef("%s: %w", name, err)
	}
	return c, nil
}

// strict refuses unknown keys, keys that are there twice, and more than one document.
func strict(text []byte) error {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	var c Config
	switch err := d.Decode(&c); {
	case errors.Is(err, io.EOF):
		return errors.New("it is empty")
	case err != nil:
		return err
	}
	if err := d.Decode(&c); !errors.Is(err, io.EOF) {
		return errors.New("it has more than one document")
	}
	return nil
}

var (
	atLine    = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)
	ofType    = regexp.MustCompile(` (?:in|into) (?:type )?campaign\.\w+$`)
	notOfType = regexp.MustCompile("^cannot unmarshal !!\\w+ (`.*`) into (.*)$")
)

// located puts file and line before each of a YAML error's lines, and takes the names
// of Go types out of it.
func located(name string, err error) string {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSpace(line)
		if line == "" || line == "yaml: unmarshal errors:" {
			continue
		}
		at := name
		if m := atLine.FindStringSubmatch(line); m != nil {
			at, line = name+":"+m[1], m[2]
		}
		line = ofType.ReplaceAllString(line, "")
		if m := notOfType.FindStringSubmatch(line); m != nil {
			line = fmt.Sprintf("%s is no %s", m[1], plainType(m[2]))
		}
		if strings.HasPrefix(line, "field ") {
			line = strings.Replace(strings.TrimPrefix(line, "field "), " not found", ": unknown key", 1)
		}
		lines = append(lines, at+": "+strings.TrimPrefix(line, "yaml: "))
	}
	return strings.Join(lines, "\n")
}

// plainType is a Go type in the words of a YAML file.
func plainType(t string) string {
	switch {
	case strings.HasPrefix(t, "[]"):
		return "list"
	case strings.HasPrefix(t, "map["):
		return "mapping"
	case t == "time.Duration":
		return "duration, such as 2s"
	case strings.HasPrefix(t, "int"):
		return "whole number"
	case t == "bool":
		return "true or false"
	}
	return "text"
}
