// Package e2e tests the three services together, as they run: as processes over gRPC, on a real control plane and a
// simulated AWS. The story itself is played by make demo, which make test calls; here it is played while services are
// killed, and what belongs to no story is tried: bad input, parts that are away, other clients.
//
// It knows the services' public faces only. Start reading at main_test.go; package story has the steps and what must come
// of them.
package e2e
