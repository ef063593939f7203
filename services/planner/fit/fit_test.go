package fit_test

import (
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/view"
)

func world(t *testing.T, classes ...model.PodClass) *view.World {
	t.Helper()
	w, err := view.NewWorld(&model.Snapshot{PodClasses: classes}, model.Policy{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func req(key string, op model.Operator, values ...string) model.Requirement {
	return model.Requirement{Key: key, Operator: op, Values: values}
}

func affinity(terms ...[]model.Requirement) []model.NodeAffinityTerm {
	var out []model.NodeAffinityTerm
	for _, t := range terms {
		out = append(out, model.NodeAffinityTerm{Requirements: t})
	}
	return out
}

func TestStatic(t *testing.T) {
	place := fit.Place{
		Labels: model.Labels{{Key: "arch", Value: "arm64"}, {Key: "cores", Value: "8"}, {Key: "topology.kubernetes.io/zone", Value: "a"}},
		Open:   require.NewSet(req("team", model.In, "x", "y"), req("tier", model.Exists)),
		Taints: []model.Taint{{Key: "gpu", Value: "yes", Effect: model.NoSchedule}, {Key: "old", Effect: model.PreferNoSchedule}},
	}
	tolerates := []model.Toleration{{Key: "gpu", Value: "yes"}}
	tests := map[string]struct {
		class model.PodClass
		want  model.Code
	}{
		"no constraint but the toleration":       {model.PodClass{Tolerations: tolerates}, model.CodeNone},
		"no toleration":                          {model.PodClass{}, model.CodeTaint},
		"another value":                          {model.PodClass{Tolerations: []model.Toleration{{Key: "gpu", Value: "no"}}}, model.CodeTaint},
		"any value":                              {model.PodClass{Tolerations: []model.Toleration{{Key: "gpu", Exists: true}}}, model.CodeNone},
		"every taint":                            {model.PodClass{Tolerations: []model.Toleration{{Exists: true}}}, model.CodeNone},
		"another effect":                         {model.PodClass{Tolerations: []model.Toleration{{Key: "gpu", Exists: true, Effect: model.NoExecute}}}, model.CodeTaint},
		"the label's value":                      {model.PodClass{Tolerations: tolerates, NodeSelector: model.Labels{{Key: "arch", Value: "arm64"}}}, model.CodeNone},
		"another value of the label":             {model.PodClass{Tolerations: tolerates, NodeSelector: model.Labels{{Key: "arch", Value: "amd64"}}}, model.CodeRequirements},
		"the label's older name":                 {model.PodClass{Tolerations: tolerates, NodeSelector: model.Labels{{Key: "failure-domain.beta.kubernetes.io/zone", Value: "a"}}}, model.CodeNone},
		"a label that is not there":              {model.PodClass{Tolerations: tolerates, NodeSelector: model.Labels{{Key: "disk", Value: "x"}}}, model.CodeRequirements},
		"one of two terms":                       {model.PodClass{Tolerations: tolerates, NodeAffinity: affinity([]model.Requirement{req("arch", model.In, "amd64")}, []model.Requirement{req("cores", model.Gt, "4")})}, model.CodeNone},
		"no term":                                {model.PodClass{Tolerations: tolerates, NodeAffinity: affinity([]model.Requirement{req("cores", model.Lt, "8")})}, model.CodeRequirements},
		"bounds that hold":                       {model.PodClass{Tolerations: tolerates, NodeAffinity: affinity([]model.Requirement{req("cores", model.Gte, "8"), req("cores", model.Lte, "8")})}, model.CodeNone},
		"a term without requirements is no term": {model.PodClass{Tolerations: tolerates, NodeAffinity: affinity(nil)}, model.CodeRequirements},
		"absent, as asked":                       {model.PodClass{Tolerations: tolerates, NodeAffinity: affinity([]model.Requirement{req("disk", model.DoesNotExist)})}, model.CodeNone},
		"absent is none of the values":           {model.PodClass{Tolerations: tolerates, NodeAffinity: affinity([]model.Requirement{req("disk", model.NotIn, "x")})}, model.CodeNone},
		"an open label that may be right is not": {model.PodClass{Tolerations: tolerates, NodeSelector: model.Labels{{Key: "team", Value: "x"}}}, model.CodeRequirements},
		"an open label that must be right":       {model.PodClass{Tolerations: tolerates, NodeAffinity: affinity([]model.Requirement{req("team", model.In, "x", "y", "z")})}, model.CodeNone},
		"an endless label exists":                {model.PodClass{Tolerations: tolerates, NodeAffinity: affinity([]model.Requirement{req("tier", model.Exists)})}, model.CodeNone},
		"no more is sure of an endless label":    {model.PodClass{Tolerations: tolerates, NodeAffinity: affinity([]model.Requirement{req("tier", model.NotIn, "x")})}, model.CodeRequirements},
		"a volume within reach":                  {model.PodClass{Tolerations: tolerates, Volumes: []model.VolumeTopology{{Name: "v", Terms: affinity([]model.Requirement{req("topology.ebs.csi.aws.com/zone", model.In, "a")})}}}, model.CodeNone},
		"a volume out of reach":                  {model.PodClass{Tolerations: tolerates, Volumes: []model.VolumeTopology{{Name: "v", Terms: affinity([]model.Requirement{req("topology.ebs.csi.aws.com/zone", model.In, "b")})}}}, model.CodeVolumeZone},
		"a volume that is everywhere":            {model.PodClass{Tolerations: tolerates, Volumes: []model.VolumeTopology{{Name: "v"}}}, model.CodeNone},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := world(t, tt.class).Classes[0]
			got := fit.Static(c, &place)
			if got.Code != tt.want {
				t.Errorf("%d (%s), want %d", got.Code, got.Message, tt.want)
			}
			if fit.Admits(c.Profile, &place) != got.OK() {
				t.Error("Admits says something else than Static")
			}
			if got.OK() && !fit.MayRun(c.Profile, &place) {
				t.Error("what surely runs may not run")
			}
		})
	}
}

func TestMayRunIsGenerous(t *testing.T) {
	place := fit.Place{Open: require.NewSet(req("team", model.In, "x", "y"), req("tier", model.Exists))}
	tests := map[string]struct {
		selector model.Labels
		want     bool
	}{
		"a value that the label may take": {model.Labels{{Key: "team", Value: "x"}}, true},
		"a value that it can't take":      {model.Labels{{Key: "team", Value: "z"}}, false},
		"any value of an endless label":   {model.Labels{{Key: "tier", Value: "z"}}, true},
		"a label that will not be there":  {model.Labels{{Key: "disk", Value: "z"}}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := fit.MayRun(world(t, model.PodClass{NodeSelector: tt.selector}).Classes[0].Profile, &place); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

func TestHost(t *testing.T) {
	one := func(r model.Resource, v int64) model.Amounts { return model.Amounts{{Resource: r, Value: v}} }
	port := func(ip string, n int32) []model.HostPort { return []model.HostPort{{Protocol: "TCP", Port: n, IP: ip}} }
	tests := map[string]struct {
		class model.PodClass
		want  model.Code
		free  int
	}{
		"capacity for two":                   {model.PodClass{Requests: one("cpu", 900)}, model.CodeNone, 2},
		"too large":                          {model.PodClass{Requests: one("cpu", 1801)}, model.CodeResources, 0},
		"a device that the node has not":     {model.PodClass{Requests: one("gpu", 1)}, model.CodeResources, 0},
		"one pod of a port":                  {model.PodClass{Requests: one("cpu", 100), HostPorts: port("", 81)}, model.CodeNone, 1},
		"a port that is taken":               {model.PodClass{Requests: one("cpu", 100), HostPorts: port("10.0.0.1", 80)}, model.CodeHostPort, 0},
		"as many volumes as can be attached": {model.PodClass{Requests: one("cpu", 100), VolumeAttachments: one("csi", 1)}, model.CodeNone, 3},
		"more volumes than can be attached":  {model.PodClass{Requests: one("cpu", 100), VolumeAttachments: one("csi", 4)}, model.CodeVolumeLimit, 0},
		"a driver without limit":             {model.PodClass{Requests: one("cpu", 450), VolumeAttachments: one("other", 9)}, model.CodeNone, 4},
		"another node's":                     {model.PodClass{NodeSelector: model.Labels{{Key: "kubernetes.io/hostname", Value: "n2"}}}, model.CodeRequirements, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.class.ID = "a"
			s := &model.Snapshot{
				PodClasses: []model.PodClass{tt.class, {ID: "b", Requests: one("cpu", 200), HostPorts: port("", 80)}},
				Nodes: []model.Node{{
					Name: "n1", Ready: true, Allocatable: one("cpu", 2000), VolumeLimits: one("csi", 3),
					Labels: model.Labels{{Key: "kubernetes.io/hostname", Value: "n1"}},
				}},
				Pods: []model.Pod{{ID: "x/p", Class: "b", Node: "n1", Phase: model.PodRunning}},
			}
			w, err := view.NewWorld(s, model.Policy{}, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			m := fit.NewMatcher(view.NewView(w))
			if got := m.Host(w.Classes[0], 0); got.Code != tt.want {
				t.Errorf("%d (%s), want %d", got.Code, got.Message, tt.want)
			}
			if got := m.Capacity(w.Classes[0], 0, 100); tt.free != 0 && got != tt.free || (got == 0) != (tt.want != model.CodeNone) {
				t.Errorf("capacity for %d, want %d", got, tt.free)
			}
		})
	}
}

func TestQuantities(t *testing.T) {
	tests := map[string]struct {
		resource model.Resource
		value    int64
		want     string
	}{
		"millicores": {"cpu", 250, "250m"}, "cores": {"cpu", 2000, "2"}, "parts of cores": {"cpu", 1930, "1.93"},
		"bytes": {"memory", 17 << 30, "17 GiB"}, "parts": {"memory", 14482 << 20, "14.14 GiB"}, "a hundred": {"memory", 100 << 20, "100 MiB"},
		"counts": {"pods", 110, "110"}, "nothing": {"cpu", 0, "0"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := fit.Quantity(tt.resource, tt.value); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
	for micro, want := range map[int64]string{96000: "$0.096", 1000000: "$1.000", 85: "$0.000085", 12345678: "$12.345678", 0: "$0.000"} {
		if got := fit.Money(micro); got != want {
			t.Errorf("%d is written %s, want %s", micro, got, want)
		}
	}
}

// TestWhatCanBeAskedForIsNotRoundedUp: 6,624 MiB are 6.469 GiB, and a pod that asks for the 6.47 GiB that this rounds
// to has no place.
func TestWhatCanBeAskedForIsNotRoundedUp(t *testing.T) {
	const mi = 1 << 20
	for want, tt := range map[string]struct {
		resource model.Resource
		value    int64
	}{
		"6.47 GiB": {model.Memory, 6625*mi + 6*mi/10}, "6.46 GiB": {model.Memory, 6625*mi - 1*mi}, "17 GiB": {"ephemeral-storage", 17 << 30},
		"1.93": {model.CPU, 1930}, "29": {model.Pods, 29},
	} {
		if got := fit.AtMost(tt.resource, tt.value); got != want {
			t.Errorf("%d of %s: %q, want %q", tt.value, tt.resource, got, want)
		}
	}
}

func TestAPreferenceWeighsWhatIsNotMet(t *testing.T) {
	place := fit.Place{
		Labels: model.Labels{{Key: "topology.kubernetes.io/zone", Value: "a"}},
		Open:   require.NewSet(req("team", model.In, "x", "y")),
		Taints: []model.Taint{{Key: "soft", Effect: model.PreferNoSchedule}, {Key: "hard", Effect: model.NoSchedule}},
	}
	prefer := func(weight int32, rs ...model.Requirement) model.PreferredNodeAffinityTerm {
		return model.PreferredNodeAffinityTerm{Weight: weight, Requirements: rs}
	}
	tolerates := []model.Toleration{{Key: "soft", Exists: true}}
	tests := map[string]struct {
		class model.PodClass
		want  int32
	}{
		"nothing preferred":                           {model.PodClass{Tolerations: tolerates}, 0},
		"a taint that asks to stay away":              {model.PodClass{}, fit.TaintPenalty},
		"a preferred zone that it is":                 {model.PodClass{Tolerations: tolerates, PreferredNodeAffinity: []model.PreferredNodeAffinityTerm{prefer(5, req("topology.kubernetes.io/zone", model.In, "a"))}}, 0},
		"preferred zones that it is not":              {model.PodClass{Tolerations: tolerates, PreferredNodeAffinity: []model.PreferredNodeAffinityTerm{prefer(5, req("topology.kubernetes.io/zone", model.In, "b")), prefer(7, req("topology.kubernetes.io/zone", model.NotIn, "a"))}}, 12},
		"half a term is not met":                      {model.PodClass{Tolerations: tolerates, PreferredNodeAffinity: []model.PreferredNodeAffinityTerm{prefer(5, req("topology.kubernetes.io/zone", model.In, "a"), req("disk", model.Exists))}}, 5},
		"what is not decided is not met":              {model.PodClass{Tolerations: tolerates, PreferredNodeAffinity: []model.PreferredNodeAffinityTerm{prefer(3, req("team", model.In, "x"))}}, 3},
		"what is met however it is decided":           {model.PodClass{Tolerations: tolerates, PreferredNodeAffinity: []model.PreferredNodeAffinityTerm{prefer(3, req("team", model.In, "x", "y"))}}, 0},
		"a term without requirements prefers nothing": {model.PodClass{Tolerations: tolerates, PreferredNodeAffinity: []model.PreferredNodeAffinityTerm{prefer(3)}}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := world(t, tt.class).Classes[0].Profile
			if got := fit.PreferencePenalty(p, &place); got != tt.want {
				t.Errorf("%d, want %d", got, tt.want)
			}
			ignored, err := view.NewWorld(&model.Snapshot{PodClasses: []model.PodClass{tt.class}}, model.Policy{Preferences: model.PreferencesIgnored}, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			if q := ignored.Classes[0].Profile; fit.PreferencePenalty(q, &place) != 0 || !fit.Prefers(q, &place) {
				t.Error("a preference counts although the policy ignores them")
			}
		})
	}
}

func TestSelectsTellsSureFromMaybe(t *testing.T) {
	place := fit.Place{
		Labels: model.Labels{{Key: "zone", Value: "a"}}, Open: require.NewSet(req("team", model.In, "x", "y")),
		Taints: []model.Taint{{Key: "hard", Effect: model.NoSchedule}},
	}
	tests := map[string]struct {
		class     model.PodClass
		sure, may bool
	}{
		"taints do not matter": {model.PodClass{}, true, true},
		"a label that is so":   {model.PodClass{NodeSelector: model.Labels{{Key: "zone", Value: "a"}}}, true, true},
		"one that is not so":   {model.PodClass{NodeSelector: model.Labels{{Key: "zone", Value: "b"}}}, false, false},
		"one that may be so":   {model.PodClass{NodeSelector: model.Labels{{Key: "team", Value: "x"}}}, false, true},
		"an affinity that may": {model.PodClass{NodeAffinity: []model.NodeAffinityTerm{{Requirements: []model.Requirement{req("team", model.In, "y")}}}}, false, true},
		"volumes do not count": {model.PodClass{Volumes: []model.VolumeTopology{{Terms: []model.NodeAffinityTerm{{Requirements: []model.Requirement{req("zone", model.In, "b")}}}}}}, true, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			sure, may := fit.Selects(world(t, tt.class).Classes[0].Profile, &place)
			if sure != tt.sure || may != tt.may {
				t.Errorf("sure %v, may %v, want %v and %v", sure, may, tt.sure, tt.may)
			}
		})
	}
}

func TestDaemonSetsAreChargedWhatTheyStillTake(t *testing.T) {
	daemon := func(id model.ClassID, cpu int64) model.PodClass {
		return model.PodClass{ID: id, Namespace: "ns", Daemon: true, OwnerKind: "DaemonSet", OwnerName: "d", Requests: model.Amounts{{Resource: "cpu", Value: cpu}}}
	}
	tests := map[string]struct {
		pods []model.ClassID
		free int64
	}{
		"no pod of it runs yet":               {nil, 1700},
		"one of this revision runs":           {[]model.ClassID{"now"}, 1700},
		"one of a smaller revision runs":      {[]model.ClassID{"small"}, 1700},
		"one of a larger revision runs":       {[]model.ClassID{"large"}, 1500},
		"two run for a while, when it surges": {[]model.ClassID{"now", "small"}, 1600},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := &model.Snapshot{
				PodClasses: []model.PodClass{daemon("large", 500), daemon("now", 300), daemon("small", 100)},
				DaemonSets: []model.DaemonSet{{ID: "ns/d", Class: "now"}},
				Nodes:      []model.Node{{Name: "n", Ready: true, Allocatable: model.Amounts{{Resource: "cpu", Value: 2000}}}},
			}
			for _, c := range tt.pods {
				s.Pods = append(s.Pods, model.Pod{ID: model.PodID("ns/" + c), Class: c, Node: "n", Phase: model.PodRunning})
			}
			w, err := view.NewWorld(s, model.Policy{}, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			v := view.NewView(w)
			fit.ReserveDaemons(v)
			cpu, _ := w.Index.Place("cpu")
			if got := v.Free(0)[cpu]; got != tt.free {
				t.Errorf("%d is free, want %d", got, tt.free)
			}
		})
	}
}
