// Package awssim is a small AWS that lives in one process: EC2, SQS, SSM, IAM, EKS and Pricing on one loopback port,
// speaking the wire protocols of the real services, so that an unmodified aws-sdk-go-v2 client reaches it by a base
// endpoint and nothing else.
//
// It has what a recorded answer has not: stock per (type, zone, capacity type) that runs out, fleet allocation
// strategies with partial fills, client tokens, launch and terminate latencies, Describe calls that lag behind the
// truth, API token buckets, injected faults before and after the effect, spot interruptions that arrive as queue
// messages and end the instance two minutes later, and a clock that tests drive. Its world (types, zones, prices) is
// the product's bundled catalogue. An instance that boots hands its parsed user data to a Kubelet, which may join a
// real cluster (package kwok does).
//
// What is not simulated is refused with the service's own error shape: an unknown action, an unknown filter and an
// unknown parameter are errors, never a silent success.
//
// Other processes drive it by JSON below /_sim/: GET state, calls, ready; POST stock, pool-fail, price, addresses,
// parameter (what the world sells), images (a newer release of the EKS images), interrupt, rebalance, health, message,
// terminate, impair (what happens to instances), fail, limit (what the API does), advance (a fake clock). Unknown members
// are errors.
//
// It must never know Kerf: nothing here reads Kerf's tags, claims or names. Capacity and allocatable are worked out
// from the user data and the catalogue record independently of the product's arithmetic, so that the two can disagree.
//
// Start reading at Config (config.go), then Sim (sim.go), fleet.go and instance.go.
package awssim
