package proc

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Ports between which Port chooses: below the range from which systems take the ports of outgoing connections, so that
// no such connection takes the port between the choice and its use.
const (
	firstPort = 20000
	lastPort  = 32000
)

// given are the ports that this process has chosen: free as long as what they were chosen for has not started.
//
//nolint:gochecknoglobals // the ports of a machine are one thing for all who choose in a process
var given = struct {
	sync.Mutex

	ports map[int]bool
}{ports: map[int]bool{}}

// Ports chooses n TCP ports that are free on 127.0.0.1 now, and none twice. Safe for concurrent use.
func Ports(n int) ([]int, error) {
	given.Lock()
	defer given.Unlock()
	var ports []int
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort) //nolint:gosec // not a secret
		if given.ports[port] || !free(port) {
			continue
		}
		given.ports[port] = true
		if ports = append(ports, port); len(ports) == n {
			return ports, nil
		}
	}
	return nil, errors.New("no free port between " + strconv.Itoa(firstPort) + " and " + strconv.Itoa(lastPort))
}

func free(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return l.Close() == nil
}
