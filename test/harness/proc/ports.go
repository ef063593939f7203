package proc

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports between which Port chooses: below the range from which systems take the ports of outgoing connections, so that
// no such connection takes the port between the choice and its use.
const (
	firstPort = 20000
	lastPort  = 32000
)

// Ports chooses n different TCP ports that are free on 127.0.0.1 now.
func Ports(n int) ([]int, error) {
	var ports []int
	taken := map[int]bool{}
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort) //nolint:gosec // not a secret
		if taken[port] || !free(port) {
			continue
		}
		taken[port] = true
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
