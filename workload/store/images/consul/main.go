// Consul is the server of Consul, for an image where no other can be had: the agent
// command of its release line 1.14, the last one under the MPL, and nothing else of it.
// It is a module of its own, since nothing else here needs what it needs.
package main

import (
	"fmt"
	"os"

	"github.com/hashicorp/consul/command/agent"
	"github.com/hashicorp/consul/command/cli"
	mcli "github.com/mitchellh/cli"
)

func main() {
	if len(os.Args) < 2 || os.Args[1] != "agent" {
		fmt.Fprintln(os.Stderr, "usage: consul agent [options]")
		os.Exit(2)
	}
	ui := &cli.BasicUI{BasicUi: mcli.BasicUi{Writer: os.Stdout, ErrorWriter: os.Stderr}}
	os.Exit(agent.New(ui).Run(os.Args[2:]))
}
