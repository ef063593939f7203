package watcher

import clusterv1 "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1"

// Policy is what the planner is told.
func (c PolicyConfig) Policy() *clusterv1.Policy { return c.policy() }
