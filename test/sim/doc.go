// Package sim is a day, or several, in the life of a cluster that Kerf's planner runs: load that rises and falls,
// rollouts, spot reclaims, capacity that runs out, drift, expiry, unhealthy nodes. It is discrete events on a heap and
// one seed, without real time, network or goroutines; the same seed gives the same day to the byte.
//
// What is under test is the planner alone, by its public functions. The rest of the world is here and is simple: a cloud
// that launches and takes away (cloud.go), Kubernetes as far as it matters (kube.go), workloads (load.go), and what the
// watcher and the actuator do between them (loop.go). Each plan is checked by the planner's own second opinion, and by
// eyes.go, which shares no code with the planner and looks at what really happens, to pods and not to plans. report.go and
// picture.go tell it.
//
// Start reading at Run.
package sim
