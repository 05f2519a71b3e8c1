package container

import (
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
)

// unique tells apart the stores of one campaign: at most as long as is readable.
func unique() string { return strings.ToLower(rand.Text()[:8]) }

// Ports are taken from below those that the kernel gives to outgoing connections. A
// port of that range can be lost while its node is down, to any process that dials
// anywhere; and a client that dials it just then may even be connected to itself.
const (
	lowestPort = 20000
	portTries  = 100
)

// freePort finds a port of the loopback address that nobody listens at just now.
func freePort() (int, error) {
	highest := ephemeral()
	for range portTries {
		port := lowestPort + mathrand.IntN(highest-lowestPort)
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		return port, l.Close()
	}
	return 0, fmt.Errorf("find a free port from %d to %d: none in %d tries", lowestPort, highest, portTries)
}

// ephemeral is the first port that the kernel gives away by itself.
func ephemeral() int {
	const usual = 32768
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return usual
	}
	fields := strings.Fields(string(text))
	if len(fields) == 0 {
		return usual
	}
	first, err := strconv.Atoi(fields[0])
	if err != nil || first <= lowestPort {
		return usual
	}
	return first
}
