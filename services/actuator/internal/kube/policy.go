package kube

import "github.com/kerf-dev/kerf/services/actuator/cluster"

func (k *Kube) observePolicy(s *cluster.State) error { return nil }
