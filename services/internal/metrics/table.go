package metrics

// ID names an instrument.
type ID int

// The instruments.
const (
	_ ID = iota
	PlanDuration
	PlanThrown
	PlansWaiting
	PlansRunning
	Sessions
	SessionBytes

	CycleDuration
	CycleDelay
	Decisions
	PodsLeft
	PodsLeftAge
	PodsWaiting
	PodsWaitingAge
	PodBoundDuration
	PodCount
	NodeCount
	NodesKept
	KeptWaste
	PoolLimit
	PoolUsage
	Problems
	NotReady
	ClusterCost
	ClusterCostPlanned
	ClusterCostFloor
	PlanBound
	PlanGap
	Driver

	Leader
	Watchers
	ClaimCount
	ClaimAge
	NodeCost
	NodeCostSaved
	ClaimsCreated
	ClaimsEnded
	LaunchDuration
	RegisterDuration
	ReadyDuration
	NodesDisrupted
	DrainDuration
	TerminateDuration
	DisruptionsOngoing
	DisruptionsEnded
	DisruptionSaved
	Evictions
	Notices
	NoticeLead
	NoticeDelay
	Messages
	ShortOfferings
	CloudDuration
	StoreDuration

	CloudFailing
	KubernetesDuration
	CertificateLeft
	BuildInfo
)

// seconds are the buckets of what takes from milliseconds to a minute.
func seconds() []float64 {
	return []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}
}

// calls are the buckets of requests: fewer, because there are many series.
func calls() []float64 { return []float64{0.01, 0.05, 0.1, 0.5, 1, 5, 30} }

// minutes are the buckets of what takes from a second to an hour.
func minutes() []float64 {
	return []float64{1, 5, 10, 20, 30, 45, 60, 90, 120, 180, 300, 600, 1800, 3600}
}

// Table is all that is measured, in the order of the reference.
func Table() []Instrument {
	var all []Instrument
	for _, part := range [][]Instrument{planning(), cluster(), claims(), disruptions(), requests()} {
		all = append(all, part...)
	}
	return all
}

func planning() []Instrument {
	planner, watcher := []Service{Planner}, []Service{Watcher}
	return []Instrument{
		{
			ID: PlanDuration, Name: "kerf.plan.duration", Kind: Histogram, Unit: "s", Services: planner, Buckets: seconds(),
			Attributes: []Attribute{scope(), open(ErrorType, "gRPC code; absent where a plan was made")},
			Text:       "How long a plan took to make, from the question to the plan that is verified; without the wait for a free processor.",
		},
		{
			ID: PlanThrown, Name: "kerf.plan.thrown_away", Kind: Counter, Unit: "{plan}", Services: planner,
			Text: "Plans that the planner's own check refused, and that were made again: each is a defect of the planner.",
		},
		{
			ID: PlansWaiting, Name: "kerf.plan.waiting", Kind: Gauge, Unit: "{plan}", Services: planner,
			Text: "Questions that wait for a free processor.",
		},
		{
			ID: PlansRunning, Name: "kerf.plan.running", Kind: Gauge, Unit: "{plan}", Services: planner,
			Text: "Plans that are being made.",
		},
		{
			ID: Sessions, Name: "kerf.session.open", Kind: Gauge, Unit: "{session}", Services: planner,
			Text: "Sessions that are open; each holds a snapshot in memory.",
		},
		{
			ID: SessionBytes, Name: "kerf.session.size", Kind: Gauge, Unit: "By", Services: planner,
			Text: "What the snapshots of all sessions and requests hold, as `sessions.max_total_bytes` counts it.",
		},
		{
			ID: CycleDuration, Name: "kerf.cycle.duration", Kind: Histogram, Unit: "s", Services: watcher, Buckets: seconds(),
			Attributes: []Attribute{scope(), {Key: ErrorType, Values: []string{"plan", "apply"}, Text: "what failed; absent where nothing did"}},
			Text:       "How long a plan took from the watcher's question to the actuator's answer.",
		},
		{
			ID: CycleDelay, Name: "kerf.cycle.delay", Kind: Histogram, Unit: "s", Services: watcher, Buckets: seconds(),
			Attributes: []Attribute{scope()},
			Text:       "How long the first event that a plan is for waited until the planner was asked: the batch, and the plan before.",
		},
		{
			ID: Decisions, Name: "kerf.decision.relayed", Kind: Counter, Unit: "{decision}", Services: watcher,
			Attributes: []Attribute{closed(Result, Accepted, Rejected)},
			Text:       "Claims and disruptions of plans, by what the actuator said to them.",
		},
		{
			ID: PlanBound, Name: "kerf.plan.bound", Kind: Gauge, Unit: "{USD}/h", Services: watcher,
			Text: "What the newest plan for pending pods would cost at least, whatever were bought; proven. Weighed, and with the policy's overhead for each node.",
		},
		{
			ID: PlanGap, Name: "kerf.plan.gap", Kind: Gauge, Unit: "1", Services: watcher,
			Text: "By how much the newest plan for pending pods may be above the lowest price, as a share: 0 proves that it is the lowest. Limits and weights of pools are not in what is proven.",
		},
		{
			ID: Driver, Name: "kerf.watcher.driver", Kind: Gauge, Unit: "{driver}", Services: watcher,
			Text: "1 while this watcher drives; one of them does. What the others see of the cluster is not among their metrics, so that sums over all are right.",
		},
	}
}

func cluster() []Instrument {
	watcher := []Service{Watcher}
	return []Instrument{
		{
			ID: PodsLeft, Name: "kerf.pod.left_pending", Kind: Gauge, Unit: "{pod}", Services: watcher, Attributes: []Attribute{reason()},
			Text: "Pods that the newest plan found nothing for, by why.",
		},
		{
			ID: PodsLeftAge, Name: "kerf.pod.left_pending.age", Kind: Gauge, Unit: "s", Services: watcher, Attributes: []Attribute{reason()},
			Text: "How long the oldest of them has been unschedulable, by why.",
		},
		{
			ID: PodsWaiting, Name: "kerf.pod.waiting", Kind: Gauge, Unit: "{pod}", Services: watcher, Attributes: []Attribute{waitsFor()},
			Text: "Pods that the scheduler calls unschedulable, by what they wait for as the newest plan says: for a `node` that is to come, for the `room` of " +
				"pods that are ending, for the `scheduler` to bind them to a node that has room, for a `plan` that speaks of them; for `nothing` where none helps them.",
		},
		{
			ID: PodsWaitingAge, Name: "kerf.pod.waiting.age", Kind: Gauge, Unit: "s", Services: watcher, Attributes: []Attribute{waitsFor()},
			Text: "How long the oldest of them has been unschedulable, by what it waits for. Those that the newest plan has left pending count, for `nothing`, where a " +
				"plan of the last hour had a place for them.",
		},
		{
			ID: PodBoundDuration, Name: "kerf.pod.bound.duration", Kind: Histogram, Unit: "s", Services: watcher, Buckets: seconds(),
			Text: "How long pods had been unschedulable when they were bound.",
		},
		{
			ID: PodCount, Name: "kerf.pod.count", Kind: Gauge, Unit: "{pod}", Services: watcher,
			Attributes: []Attribute{closed(PodPhase, "waiting", "unschedulable", "starting", "running")},
			Text:       "Pods that take capacity or ask for it. Those in the scheduler's queue are waiting.",
		},
		{
			ID: NodeCount, Name: "kerf.node.count", Kind: Gauge, Unit: "{node}", Services: watcher,
			Attributes: []Attribute{pool(), capacityType(), open(Zone, "zone"), closed(NodeState, NodeReady, NodeNotReady, NodeLeaving)},
			Text:       "Nodes, those that are not Kerf's included.",
		},
		{
			ID: NodesKept, Name: "kerf.node.kept", Kind: Gauge, Unit: "{node}", Services: watcher, Attributes: []Attribute{reason()},
			Text: "Kerf's nodes that stay, by what keeps them, as the newest plan for everything says.",
		},
		{
			ID: KeptWaste, Name: "kerf.node.kept.waste", Kind: Gauge, Unit: "{USD}/h", Services: watcher, Attributes: []Attribute{reason()},
			Text: "What those nodes cost beyond what their pods would at the lowest prices, or in all where their pods have room on others and a rule of users keeps them, by what keeps them.",
		},
		{
			ID: PoolLimit, Name: "kerf.node_pool.limit", Kind: Gauge, Services: watcher, Attributes: []Attribute{pool(), resource()},
			Text: "Limits of NodePools, in cores, bytes or numbers.",
		},
		{
			ID: PoolUsage, Name: "kerf.node_pool.usage", Kind: Gauge, Services: watcher, Attributes: []Attribute{pool(), resource()},
			Text: "What the nodes of a NodePool have, of the resources that it limits.",
		},
		{
			ID: Problems, Name: "kerf.problem.count", Kind: Gauge, Unit: "{object}", Services: watcher, Attributes: []Attribute{reason()},
			Text: "Users' objects that have no effect, by why.",
		},
		{
			ID: NotReady, Name: "kerf.object.not_ready", Kind: Gauge, Unit: "{object}", Services: watcher,
			Attributes: []Attribute{open(Object, "`nodepool/NAME` or `ec2nodeclass/NAME`"), reason()},
			Text:       "1 for each NodePool and EC2NodeClass that nothing can be launched with, whether pods wait for it or not; 0 and no reason for the others.",
		},
		{
			ID: ClusterCost, Name: "kerf.cluster.cost", Kind: Gauge, Unit: "{USD}/h", Services: watcher,
			Text: "What Kerf's nodes cost at present prices, or estimates where none is known; those that are being removed do not count.",
		},
		{
			ID: ClusterCostPlanned, Name: "kerf.cluster.cost.planned", Kind: Gauge, Unit: "{USD}/h", Services: watcher,
			Text: "What they will cost once the newest plan is carried out.",
		},
		{
			ID: ClusterCostFloor, Name: "kerf.cluster.cost.floor", Kind: Gauge, Unit: "{USD}/h", Services: watcher,
			Text: "What the pods of Kerf's nodes would cost at least if nothing kept any of them where it is, with the overhead per node, and what nodes of static pools cost beyond that; absent where nothing is proven.",
		},
	}
}

func claims() []Instrument {
	actuator := []Service{Actuator}
	return []Instrument{
		{
			ID: Leader, Name: "kerf.actuator.leader", Kind: Gauge, Unit: "{leader}", Services: actuator,
			Text: "1 while this actuator leads. What follows is measured by the leader.",
		},
		{
			ID: Watchers, Name: "kerf.actuator.watchers", Kind: Gauge, Unit: "{watcher}", Services: actuator,
			Text: "Watchers that follow the leader's inventory.",
		},
		{
			ID: ClaimCount, Name: "kerf.claim.count", Kind: Gauge, Unit: "{claim}", Services: actuator,
			Attributes: []Attribute{
				closed(ClaimState, "Planned", "Launching", "Launched", "Registered", "Initialized", "Draining", "Terminating"), pool(), capacityType(),
			},
			Text: "Claims that have not ended.",
		},
		{
			ID: ClaimAge, Name: "kerf.claim.state.age", Kind: Gauge, Unit: "s", Services: actuator,
			Attributes: []Attribute{
				closed(ClaimState, "Planned", "Launching", "Launched", "Registered", "Initialized", "Draining", "Terminating"), pool(),
			},
			Text: "How long the claim has been in its state that has been longest in it.",
		},
		{
			ID: NodeCost, Name: "kerf.node.cost", Kind: Gauge, Unit: "{USD}/h", Services: actuator, Attributes: []Attribute{pool(), capacityType()},
			Text: "What running instances cost at present prices, or estimates of them; at the price of their launch where neither is known.",
		},
		{
			ID: NodeCostSaved, Name: "kerf.node.cost.saved", Kind: Gauge, Unit: "{USD}/h", Services: actuator, Attributes: []Attribute{pool(), capacityType()},
			Text: "What they would cost more at on-demand list prices.",
		},
		{
			ID: ClaimsCreated, Name: "kerf.claim.created", Kind: Counter, Unit: "{claim}", Services: actuator,
			Attributes: []Attribute{pool(), open(Cause, "`"+CauseProvisioned+"`, or the reason of the disruption that it is a replacement of")},
			Text:       "Claims that plans asked for.",
		},
		{
			ID: ClaimsEnded, Name: "kerf.claim.ended", Kind: Counter, Unit: "{claim}", Services: actuator,
			Attributes: []Attribute{pool(), capacityType(), open(Zone, "zone"), closed(Result, Ended, Failed, NotLaunched)},
			Text:       "Claims of which nothing is left. Those that failed had an instance that never became a ready node; of others none was launched.",
		},
		{
			ID: LaunchDuration, Name: "kerf.launch.duration", Kind: Histogram, Unit: "s", Services: actuator, Buckets: calls(),
			Attributes: []Attribute{
				pool(), capacityType(), failure(ErrorCapacity, ErrorThrottled, ErrorInvalid, ErrorUnauthorized, ErrorNotReady),
			},
			Text: "How long EC2 took to answer to a launch; its count is that of launches.",
		},
		{
			ID: RegisterDuration, Name: "kerf.node.registration.duration", Kind: Histogram, Unit: "s", Services: actuator, Buckets: minutes(),
			Attributes: []Attribute{pool()},
			Text:       "From an instance's launch until its node has joined.",
		},
		{
			ID: ReadyDuration, Name: "kerf.node.startup.duration", Kind: Histogram, Unit: "s", Services: actuator, Buckets: minutes(),
			Attributes: []Attribute{pool()},
			Text:       "From an instance's launch until its node is ready for pods.",
		},
		{
			ID: ShortOfferings, Name: "kerf.offering.short", Kind: Gauge, Unit: "{offering}", Services: actuator, Attributes: []Attribute{capacityType()},
			Text: "Offerings that EC2 is believed to have none of.",
		},
	}
}

func disruptions() []Instrument {
	actuator := []Service{Actuator}
	return []Instrument{
		{
			ID: NodesDisrupted, Name: "kerf.node.disrupted", Kind: Counter, Unit: "{node}", Services: actuator,
			Attributes: []Attribute{pool(), capacityType(), disruption()},
			Text:       "Nodes whose drain has begun.",
		},
		{
			ID: DisruptionsOngoing, Name: "kerf.disruption.ongoing", Kind: Gauge, Unit: "{disruption}", Services: actuator, Attributes: []Attribute{disruption()},
			Text: "Disruptions that were accepted and have not ended.",
		},
		{
			ID: DisruptionsEnded, Name: "kerf.disruption.ended", Kind: Counter, Unit: "{disruption}", Services: actuator,
			Attributes: []Attribute{disruption(), closed(Result, Completed, RolledBack)},
			Text:       "Disruptions that have ended.",
		},
		{
			ID: DisruptionSaved, Name: "kerf.disruption.saved", Kind: Counter, Unit: "{USD}/h", Services: actuator, Attributes: []Attribute{disruption()},
			Text: "What disruptions that were completed have saved in sum, by their plans.",
		},
		{
			ID: DrainDuration, Name: "kerf.node.drain.duration", Kind: Histogram, Unit: "s", Services: actuator, Buckets: minutes(),
			Attributes: []Attribute{disruption()},
			Text:       "How long drains took.",
		},
		{
			ID: TerminateDuration, Name: "kerf.node.termination.duration", Kind: Histogram, Unit: "s", Services: actuator, Buckets: minutes(),
			Attributes: []Attribute{pool()},
			Text:       "From the end of a drain until EC2 shows that the instance has ended.",
		},
		{
			ID: Evictions, Name: "kerf.pod.evictions", Kind: Counter, Unit: "{request}", Services: actuator,
			Attributes: []Attribute{closed(Result, Evicted, Deleted, Blocked, Failed)},
			Text:       "Evictions that were asked for: those that PodDisruptionBudgets refused are blocked, pods that were removed by force deleted.",
		},
		{
			ID: Notices, Name: "kerf.interruption.notices", Kind: Counter, Unit: "{notice}", Services: actuator, Attributes: []Attribute{noticeKind()},
			Text: "AWS's notices about Kerf's instances.",
		},
		{
			ID: NoticeLead, Name: "kerf.interruption.lead_time", Kind: Histogram, Unit: "s", Services: actuator, Buckets: minutes(),
			Attributes: []Attribute{noticeKind()},
			Text:       "How much time a notice left until its deadline when it was stored.",
		},
		{
			ID: NoticeDelay, Name: "kerf.interruption.delay", Kind: Histogram, Unit: "s", Services: actuator, Buckets: seconds(),
			Attributes: []Attribute{noticeKind()},
			Text:       "How old a notice was when it was stored: its time in the queue.",
		},
		{
			ID: Messages, Name: "kerf.queue.messages", Kind: Counter, Unit: "{message}", Services: actuator,
			Attributes: []Attribute{closed(Result, Read, Unreadable)},
			Text:       "Messages that came by the queue, those about instances that are not Kerf's included.",
		},
	}
}

func requests() []Instrument {
	return []Instrument{
		{
			ID: CloudDuration, Name: "kerf.aws.request.duration", Kind: Histogram, Unit: "s", Services: []Service{Actuator}, Buckets: calls(),
			Attributes: []Attribute{
				closed(Operation, "launch", "terminate", "tag", "instances", "resolve_class", "release_class", "sweep_class", "instance_types", "on_demand_prices",
					"spot_prices", "receive_notices", "delete_notices", "instance_statuses", "shifted_zones"),
				failure(ErrorCapacity, ErrorThrottled, ErrorInvalid, ErrorUnauthorized, ErrorNotReady, ErrorNotFound),
			},
			Text: "How long AWS took, the SDK's own retries included. What is throttled tells how much of the account's API budget is left.",
		},
		{
			ID: CloudFailing, Name: "kerf.aws.failing", Kind: Gauge, Unit: "s", Services: []Service{Actuator},
			Attributes: []Attribute{
				closed(Operation, "instances", "resolve_class", "release_class", "instance_types", "on_demand_prices", "spot_prices", "receive_notices", "delete_notices",
					"instance_statuses", "shifted_zones"),
				{Key: ErrorType, Values: []string{ErrorThrottled, ErrorInvalid, ErrorUnauthorized, ErrorNotFound, ErrorOther}, Text: "of the last call; absent where it did not fail"},
				open(Object, "`ec2nodeclass/NAME`, of `resolve_class` and `release_class`; absent of others"),
			},
			Text: "How long all calls have failed of an operation that is repeated for ever; 0 where the last one did not, or is more than two hours old. Of what is done for each " +
				"EC2NodeClass, for 100 of them that fail; gone once one does not, or five minutes after the last try.",
		},
		{
			ID: StoreDuration, Name: "kerf.etcd.request.duration", Kind: Histogram, Unit: "s", Services: []Service{Actuator}, Buckets: calls(),
			Attributes: []Attribute{closed(Operation, "load", "commit", "lead"), failure(ErrorFenced, ErrorTooLarge)},
			Text:       "How long etcd took.",
		},
		{
			ID: KubernetesDuration, Name: "http.client.request.duration", Kind: Histogram, Unit: "s", Services: []Service{Watcher, Actuator}, Buckets: calls(),
			Attributes: []Attribute{
				closed(Method, "GET", "POST", "PUT", "PATCH", "DELETE"), open(Status, "HTTP's code"), open(ErrorType, "`"+ErrorOther+"` where there was no answer; else absent"),
			},
			Text: "How long the API server took to begin its answers. 429 is its flow control, or a PodDisruptionBudget.",
		},
		{
			ID: CertificateLeft, Name: "kerf.certificate.left", Kind: Gauge, Unit: "1", Services: []Service{Planner, Watcher, Actuator},
			Text: "What share of its life the certificate still has that ends first, of those that the service shows its clients, other services and etcd, and of those that etcd shows it; 1 without TLS.",
		},
		{
			ID: BuildInfo, Name: "kerf.build.info", Kind: Gauge, Unit: "{build}", Services: []Service{Planner, Watcher, Actuator},
			Attributes: []Attribute{open(Version, "version"), open(Revision, "commit"), open(GoVersion, "Go's version")},
			Text:       "Always 1; says what runs.",
		},
	}
}
