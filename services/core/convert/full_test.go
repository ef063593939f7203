package convert_test

import (
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

func at(minute int) time.Time { return time.Date(2026, 3, 1, 12, minute, 0, 0, time.UTC) }

func ptr[T any](v T) *T { return new(v) }

func req(key string, op model.Operator, values ...string) model.Requirement {
	return model.Requirement{Key: key, Operator: op, Values: values}
}

// full is an input in which every field of every message is used.
func full() model.Input {
	why := model.Reason{Code: model.CodeNodeClassNotReady, Message: "no subnet", Subject: "nodeclass/broken", Remedy: "tag one"}
	return model.Input{
		Snapshot: model.Snapshot{
			Revision: 7, InventoryRevision: 8, Cluster: "kerf-demo", ObserveTime: at(0),
			PodClasses:  []model.PodClass{fullClass(), {ID: "c-2", Namespace: "kube-system", Daemon: true, Mirror: true}},
			Pods:        []model.Pod{fullPod(), {ID: "shop/web-1", Class: "c-1", Phase: model.PodUnschedulable, UnschedulableTime: at(2), NominatedNode: "n1"}, {ID: "shop/web-2", Class: "c-1", Phase: model.PodUnschedulable, UnschedulableTime: at(2), ExpectedNode: "n1"}},
			DaemonSets:  []model.DaemonSet{{ID: "kube-system/proxy", Class: "c-2"}},
			Nodes:       []model.Node{fullNode()},
			Namespaces:  []model.Namespace{{Name: "shop", Labels: model.Labels{{Key: "team", Value: "a"}}}},
			NodePools:   []model.NodePool{fullPool()},
			NodeClasses: []model.NodeClass{{Name: "broken", NotReady: why}, fullNodeClass()},
			PodDisruptionBudgets: []model.PodDisruptionBudget{{
				ID: "shop/web", Namespace: "shop", Selector: &model.Selector{Requirements: []model.Requirement{req("app", model.In, "web")}},
				DisruptionsAllowed: 1, AllowsUnhealthy: true, NeverAllows: true,
			}},
			Catalogs: []model.Catalog{{ID: "k-1", InstanceTypes: []model.InstanceType{{
				Name: "m5.large", Labels: model.Labels{{Key: "kubernetes.io/arch", Value: "amd64"}},
				Capacity:    model.Amounts{{Resource: "cpu", Value: 2000}, {Resource: "memory", Value: 8 << 30}},
				Allocatable: model.Amounts{{Resource: "cpu", Value: 1930}},
			}}}},
			Offerings: []model.Offering{
				{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.OnDemand, Price: 96000, PriceEstimated: true, UnavailableUntil: at(9), ZoneID: "use1-az1"},
				{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.Reserved, ReservationID: "cr-1", ReservationRemaining: new(int64(3)), ReservationBlock: true, ReservationInterruptible: true},
				{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.Spot, Price: 32000, Reclaimed: model.Below10, ZoneID: "use1-az1", ZoneShifted: true},
			},
			Claims: []model.Claim{fullClaim()},
			Notices: []model.Notice{{
				ID: "m-1", Kind: model.NoticeSpotInterruption, InstanceID: "i-1", Claim: "claim-1", EventTime: at(3), Deadline: at(5), InstanceState: "stopping", StartTime: at(4),
			}},
			Disruptions: []model.DisruptionRecord{{
				ID: "d-1", Reason: model.ReasonUnderutilized, Candidates: []model.ClaimID{"claim-1"}, Replacements: []model.ClaimID{"claim-2"},
				Pods: []model.PodID{"shop/web-0"}, AcceptTime: at(1), EndTime: at(2), RolledBack: true, Saving: 5000,
				Workloads: []model.WorkloadEvictions{{Namespace: "shop", Kind: "StatefulSet", Name: "web", UID: "u-1", Revision: "web-5", Pods: 1}}, Staged: true,
			}},
			NodeOverlays: []model.NodeOverlay{
				{Name: "a", Weight: 7, Requirements: []model.Requirement{req("zone", model.In, "a")}, Price: ptr(int64(0))},
				{Name: "b", Adjustment: ptr(int64(-5)), Capacity: model.Amounts{{Resource: "example.com/x", Value: 2}}},
				{Name: "c", AdjustmentPPM: ptr(int64(-1_000_000))},
				{Name: "d", NotReady: why, Generation: 2},
			},
			CapacityBuffers: []model.CapacityBuffer{
				{ID: "shop/event", Generation: 3, TemplateGeneration: 4, Class: "c-1", Replicas: 20, OneShot: true, CreateTime: at(0), StartTime: at(5), ExpireTime: at(50)},
				{ID: "shop/lost", NotReady: why},
			},
		},
		Policy: model.Policy{
			PerNodeOverhead: 1000, MinSaving: 2000, MaxOfferingsPerClaim: ptr(20), Preferences: model.PreferencesEnforced, PreferencePrice: ptr(int64(7)),
			MinValues: model.MinValuesBestEffort, Work: ptr(int64(9000)), GapTarget: ptr(0.25), MaxPodsOfWorkloadPerNode: 12,
			DefaultSpread: []model.TopologySpread{{TopologyKey: "zone", MaxSkew: 3}},
			EvictionPrice: ptr(int64(7000)), Payback: ptr(2 * time.Hour), PodRest: ptr(time.Minute), RoomWait: ptr(time.Second), DisruptionTrials: ptr(int64(99)),
			Repair: model.RepairPolicy{
				Off: true, MaxUnhealthyPercent: 30, Conditions: []model.RepairCondition{{Type: "Ready", Status: "Unknown", After: time.Hour}},
			},
			SchedulerNames: []string{"default-scheduler", "volcano"},
		},
		Kinds: []model.DecisionKind{model.KindProvision, model.KindDisrupt},
		Now:   at(4),
		Seed:  42,

		ResumeAfter: "claim-1",
		Exclude:     []model.ClaimID{"claim-2", "claim-3"},
	}
}

func fullClass() model.PodClass {
	selector := &model.Selector{Requirements: []model.Requirement{
		req("app", model.NotIn, "db", "web"), req("tier", model.Exists), req("x", model.DoesNotExist),
	}}
	affinity := model.PodAffinityTerm{
		TopologyKey: "zone", Selector: selector, Namespaces: []string{"a", "b"}, NamespaceSelector: &model.Selector{}, Weight: 3,
	}
	return model.PodClass{
		ID: "c-1", Namespace: "shop",
		Labels:       model.Labels{{Key: "app", Value: "web"}, {Key: "empty"}},
		Requests:     model.Amounts{{Resource: "cpu", Value: 250}, {Resource: "example.com/gpu", Value: 2}, {Resource: "pods", Value: 1}},
		NodeSelector: model.Labels{{Key: "type", Value: "karpenter"}},
		NodeAffinity: []model.NodeAffinityTerm{{Requirements: []model.Requirement{
			req("cpus", model.Gt, "3"), req("cpus", model.Lt, "64"), req("gen", model.Gte, "5"), req("gen", model.Lte, "9"),
		}}, {}},
		PreferredNodeAffinity: []model.PreferredNodeAffinityTerm{{Weight: 50, Requirements: []model.Requirement{req("zone", model.In, "a")}}},
		Tolerations: []model.Toleration{
			{Key: "dedicated", Value: "shop", Effect: model.NoSchedule}, {Exists: true, Effect: model.PreferNoSchedule}, {Key: "k", Exists: true},
		},
		TopologySpread: []model.TopologySpread{{
			TopologyKey: "zone", MaxSkew: 1, Required: true, Selector: selector, MinDomains: 2, IgnoreNodeAffinity: true, HonorTaints: true,
		}, {TopologyKey: "host", MaxSkew: 2}},
		PodAffinity:       []model.PodAffinityTerm{affinity},
		PodAntiAffinity:   []model.PodAffinityTerm{affinity},
		HostPorts:         []model.HostPort{{Protocol: "TCP", Port: 80, IP: "10.0.0.1"}},
		Volumes:           []model.VolumeTopology{{Name: "shop/data", Driver: "ebs.csi.aws.com", Exclusive: true, Terms: []model.NodeAffinityTerm{{Requirements: []model.Requirement{req("zone", model.In, "a")}}}}},
		VolumeAttachments: model.Amounts{{Resource: "ebs.csi.aws.com", Value: 1}},
		DeviceClaims: []model.DeviceClaim{
			{
				Requests: []model.DeviceRequest{{Name: "gpu", Options: []model.DeviceOption{
					{Name: "big", DeviceClass: "gpu.example.com", Selector: "d-1", Count: 2}, {Name: "all", DeviceClass: "gpu.example.com", Selector: "d-2"},
				}}},
				Constraints: []model.DeviceConstraint{{Requests: []string{"gpu/big"}, Attribute: "example.com/numa"}},
			},
			{Name: "shop/near", Allocated: true, Node: "n1"},
			{Name: "shop/net", Allocated: true, Terms: []model.NodeAffinityTerm{{Requirements: []model.Requirement{req("zone", model.In, "a")}}}},
		},
		Priority: -5, Preempts: true, SchedulerName: "default-scheduler",
		OwnerKind: "ReplicaSet", OwnerName: "web", OwnerRevision: "abc", OwnerUID: "u-1",
		TerminationGracePeriod: ptr(30 * time.Second), Unsupported: "resource claims",
		DefaultSelector: &model.Selector{Requirements: []model.Requirement{{Key: "app", Operator: model.In, Values: []string{"web"}}}},
		NeededDrivers:   []string{"ebs.csi.aws.com"}, NeededFeatures: []string{"A", "B"},
		ExtendedRequests: []model.ExtendedRequest{{
			Resource: "example.com/gpu", Devices: model.DeviceOption{DeviceClass: "gpu.example.com", Selector: "d-1", Count: 2},
		}},
	}
}

func fullPod() model.Pod {
	return model.Pod{
		ID: "shop/web-0", UID: "u-0", Class: "c-1", Node: "n1", Phase: model.PodRunning, CreateTime: at(0), BindTime: at(1),
		Terminating: true, TerminationDeadline: at(40), Ready: true, DoNotDisrupt: true, DoNotDisruptUntil: at(30), DeletionCost: -3,
		Devices: []model.DeviceRef{{Driver: "gpu.example.com", Pool: "n1", Name: "gpu-0"}},
	}
}

func fullNode() model.Node {
	return model.Node{
		Name: "n1", ProviderID: "aws:///us-east-1a/i-1", Claim: "claim-1", Labels: model.Labels{{Key: "a", Value: "b"}, {Key: model.KeyNodeName, Value: "n1"}},
		Taints:      []model.Taint{{Key: "k", Value: "v", Effect: model.NoExecute}, {Key: "l", Effect: model.PreferNoSchedule}},
		Allocatable: model.Amounts{{Resource: "cpu", Value: 1930}}, Capacity: model.Amounts{{Resource: "cpu", Value: 2000}},
		Ready: true, Unschedulable: true, Terminating: true, DoNotDisrupt: true, DoNotRepair: true, CreateTime: at(0), LastPodEventTime: at(1),
		VolumeLimits: model.Amounts{{Resource: "ebs.csi.aws.com", Value: 25}},
		Drivers:      []string{"ebs.csi.aws.com"}, Features: []string{"A", "B"},
		Conditions: []model.NodeCondition{{Type: "Ready", Status: "Unknown", TransitionTime: at(1)}},
		Devices:    []model.NodeDevice{fullDevice(), {DeviceRef: model.DeviceRef{Driver: "net.example.com", Pool: "n1", Name: "nic"}}, {DeviceRef: model.DeviceRef{Driver: "net.example.com", Pool: "n2"}, IncompletePool: true}},
	}
}

func fullDevice() model.NodeDevice {
	return model.NodeDevice{
		DeviceRef: model.DeviceRef{Driver: "gpu.example.com", Pool: "n1", Name: "gpu-0"}, Selectors: []string{"d-1", "d-2"},
		OwnSelectors: []string{"d-2"}, FailingSelectors: []string{"d-3"}, Attributes: model.Labels{
			{Key: "example.com/a", Value: "bool:true"},
			{Key: "example.com/numa", Value: "int:1"},
			{Key: "example.com/s", Value: "string:int:1"},
			{Key: "example.com/v", Value: "version:1.2.3"},
		},
		Unavailable: true, Unsupported: "consumesCounters: not planned for",
	}
}

func fullPool() model.NodePool {
	return model.NodePool{
		Name: "default", Weight: 10, NodeClass: "default", Labels: model.Labels{{Key: "type", Value: "karpenter"}},
		Annotations: model.Labels{{Key: "note", Value: "x"}}, Taints: []model.Taint{{Key: "k", Value: "v", Effect: model.NoSchedule}},
		StartupTaints: []model.Taint{{Key: "s", Effect: model.NoSchedule}},
		Requirements: []model.Requirement{
			{Key: "karpenter.k8s.aws/instance-family", Operator: model.In, Values: []string{"c5", "m5"}, MinValues: 2},
		},
		Limits: model.Amounts{{Resource: "cpu", Value: 1000000}}, ExpireAfter: ptr(720 * time.Hour),
		TerminationGracePeriod: ptr(time.Hour), ConsolidationPolicy: model.WhenEmptyOrUnderutilized, ConsolidateAfter: ptr(time.Duration(0)),
		Budgets: []model.DisruptionBudget{
			{Count: 10, IsPercent: true},
			{Count: 0, Reasons: []model.DisruptionReason{model.ReasonDrifted}, Schedule: "0 9 * * 1-5", Duration: 8 * time.Hour},
			{Count: 2},
		},
		Replicas: new(int64(0)), Hash: "h",
		NotReady: model.Reason{Code: model.CodeNodePoolInvalid, Message: "invalid", Subject: "nodepool/default", Remedy: "mend it"},
		Devices:  []model.DeviceTemplate{{InstanceTypes: []model.TypeName{"g5.xlarge"}, Devices: []model.NodeDevice{fullDevice()}}},
	}
}

func fullNodeClass() model.NodeClass {
	return model.NodeClass{
		Name: "default", Catalog: "k-1", Zones: []string{"us-east-1a", "us-east-1b"}, Hash: "h", Generation: 3, Reservations: []string{"cr-1"},
		Images: []model.MachineImage{{ID: "ami-1", Name: "al2023", Requirements: []model.Requirement{req("kubernetes.io/arch", model.In, "amd64")}, CreateTime: at(0)}},
	}
}

func fullClaim() model.Claim {
	return model.Claim{
		ID: "claim-1", NodePool: "default", NodeClass: "default", State: model.ClaimDraining, Reached: model.ClaimInitialized,
		Requirements: []model.Requirement{req("zone", model.In, "us-east-1a")},
		Offerings:    []model.RankedOffering{{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.Spot, Price: 40000, PriceEstimated: true, Overlaid: true, ReservationID: "cr-1"}},
		Requests:     model.Amounts{{Resource: "cpu", Value: 250}}, Pods: []model.PodID{"shop/web-0"},
		Labels: model.Labels{{Key: "a", Value: "b"}}, Annotations: model.Labels{{Key: "n", Value: "m"}},
		Taints: []model.Taint{{Key: "k", Effect: model.NoSchedule}}, StartupTaints: []model.Taint{{Key: "s", Effect: model.NoExecute}},
		PoolHash: "p", ClassHash: "c", InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.Spot, Price: 40000,
		InstanceID: "i-1", ProviderID: "aws:///us-east-1a/i-1", ImageID: "ami-1", Node: "n1",
		Capacity: model.Amounts{{Resource: "cpu", Value: 2000}}, Allocatable: model.Amounts{{Resource: "cpu", Value: 1930}},
		CreateTime: at(0), StateTime: at(1), LaunchTime: at(2), InitializeTime: at(3), ExpireTime: at(50),
		TerminationGracePeriod: ptr(time.Minute), DrainDeadline: at(40), PlanID: "p-1", Replaces: "d-0", Disruption: "d-1",
		DisruptionReason: model.ReasonUnderutilized,
		Failure:          model.Reason{Code: model.CodeDrainBlocked, Message: "blocked"}, Drifted: model.Reason{Code: model.CodeDrifted, Message: "image"},
		ReservationID: "cr-1", RemovalDeferred: true, Arrivals: []model.Arrivals{{OwnerUID: "u-1", Pods: 2}},
	}
}

// fullPlan is a plan in which every field that the planner's core fills is used.
func fullPlan() model.Plan {
	why := model.Reason{Code: model.CodeCheapest, Message: "cheapest of 4", Subject: "claim/claim-9", Remedy: "none"}
	offering := model.RankedOffering{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.OnDemand, Price: 96000, PriceEstimated: true, Overlaid: true, OverlaidPrice: 9, ReservationID: "cr-1"}
	return model.Plan{
		ID: "p-0123456789abcdef", Revision: 7, InventoryRevision: 8, InputHash: "0123", Now: at(4),
		NodeClaims: []model.NodeClaim{{
			ID: "claim-9", NodePool: "default", NodeClass: "default", Requirements: []model.Requirement{req("zone", model.In, "us-east-1a")},
			Offerings: []model.RankedOffering{offering}, Requests: model.Amounts{{Resource: "cpu", Value: 250}},
			Pods: []model.PodID{"shop/web-0"}, Price: 96000, Disruption: "d-9", Reason: why,
			RunnersUp:   []model.RunnerUp{{Offering: offering, Pods: 3, Reason: why}},
			Annotations: model.Labels{{Key: "karpenter.sh/nodeclaim-min-values-relaxed", Value: "true"}},
		}},
		Disruptions: []model.Disruption{{
			ID: "d-9", Reason: model.ReasonUnderutilized, Candidates: []model.ClaimID{"claim-1"}, Replacements: []model.ClaimID{"claim-9"},
			Destinations: []model.Placement{{Pod: "shop/web-0", Claim: "claim-9"}}, Evictions: 1, Saving: 5000, SavingEstimated: true, Explanation: why,
			Churn: 1000, PayBack: 12 * time.Minute, Workloads: []model.WorkloadEvictions{{Namespace: "shop", Kind: "ReplicaSet", Name: "web", UID: "u-1", Revision: "abc", Pods: 1}}, Staged: true,
		}},
		Summary:    &model.DisruptionSummary{Candidates: 9, Judged: 8, Tried: 7, Floor: 80000, ResumeAfter: "claim-1"},
		Placements: []model.Placement{{Pod: "shop/web-1", Node: "n1", Order: 1, WaitUntil: at(1)}},
		Pending: []model.PendingPod{{
			Pod: "shop/web-2", Reason: why, Pools: []model.PoolMiss{{NodePool: "default", InstanceType: "m5.large", Reason: why}},
		}},
		Nodes:    []model.NodeVerdict{{Node: "n1", Claim: "claim-1", Price: 96000, PriceEstimated: true, Reason: why, Disruption: "d-9", Waste: 5000, Deferred: new(true), PodDeletionCost: -7}},
		Problems: []model.Reason{why},
		Objects: []model.ObjectState{
			{Subject: "nodeoverlay/a", Generation: 3, NotReady: why},
			{Subject: "capacitybuffer/shop/event", Capacity: &model.BufferCapacity{Replicas: 5, Coming: 2, Missing: 1, Why: why, TemplateGeneration: 4}},
		},
		ReconsiderTime: at(15), CostBefore: 96000, CostAfter: 91000, CostEstimated: true, LowerBound: &model.LowerBound{Price: 90000, Gap: 0.01, Kind: model.BoundResource},
	}
}
