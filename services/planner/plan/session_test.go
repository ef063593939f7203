package plan_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
)

func session(t failer, s *model.Snapshot) *plan.Session {
	t.Helper()
	out, err := plan.NewSession(s)
	if err != nil {
		t.Fatalf("new session: %v", err)
	}
	return out
}

func question(in *model.Input) plan.Question {
	return plan.QuestionOf(in)
}

// agree asks a session twice, and compares its plans with that of Decide for the same snapshot, shuffled.
func agree(t failer, s *plan.Session, in model.Input) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, uint64(len(in.Snapshot.Pods))))
	in.Snapshot = shuffledCopy(in.Snapshot, rng)
	want, wrong := plan.Decide(in)
	for range 2 {
		got, err := s.Decide(question(&in))
		if (err == nil) != (wrong == nil) {
			t.Fatalf("the session says %v, Decide %v", err, wrong)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("the session's plan differs (-Decide +session):\n%s", diff)
		}
	}
}

func shuffledCopy(s model.Snapshot, rng *rand.Rand) model.Snapshot {
	v := reflect.ValueOf(&s).Elem()
	for _, f := range v.Fields() {
		if f.Kind() == reflect.Slice {
			c := reflect.AppendSlice(reflect.MakeSlice(f.Type(), 0, f.Len()), f)
			swap := reflect.Swapper(c.Interface())
			rng.Shuffle(c.Len(), swap)
			f.Set(c)
		}
	}
	return s
}

// drawDelta changes a snapshot, and says how.
func drawDelta(d *draw, s *model.Snapshot) *model.Delta {
	s.Revision++
	out := &model.Delta{}
	up := &out.Upserted
	for i := range d.n("pods that change", 0, 4) {
		if len(s.Pods) == 0 {
			break
		}
		at := d.n("pod", 0, len(s.Pods)-1)
		p := s.Pods[at]
		if slices.ContainsFunc(up.Pods, func(x model.Pod) bool { return x.ID == p.ID }) {
			continue
		}
		switch d.n("change", 0, 4) {
		case 0:
			out.Removed.Pods = append(out.Removed.Pods, string(p.ID))
			s.Pods = slices.Delete(s.Pods, at, at+1)
			continue
		case 1:
			p.Node, p.Phase = "", model.PodUnschedulable
		case 2:
			p.Node, p.Phase = model.NodeName(fmt.Sprintf("n%d", d.n("node", 0, 6))), model.PodRunning
		case 3:
			p.Terminating = !p.Terminating
			p.TerminationDeadline = time.Time{}
			if p.Terminating {
				p.TerminationDeadline = now().Add(time.Duration(d.n("ends", -15, 45)) * time.Second)
			}
		case 4:
			p.Class = s.PodClasses[d.n("class", 0, len(s.PodClasses)-1)].ID
		}
		p.DeletionCost = int32(i)
		s.Pods[at] = p
		up.Pods = append(up.Pods, p)
	}
	if d.n("a class comes", 0, 1) == 0 {
		c := s.PodClasses[0]
		c.ID = model.ClassID(fmt.Sprintf("class-%d-%d", d.n("place", 0, 9), s.Revision))
		c.Requests = amounts(300, gib, 1)
		if d.chance("it asks for a zone") {
			c.NodeSelector = model.Labels{{Key: "topology.kubernetes.io/zone", Value: "us-east-1a"}}
		}
		if len(s.Nodes) > 0 && d.chance("its volume lies on a node") {
			on := model.Requirement{Key: "kubernetes.io/hostname", Operator: model.In, Values: []string{string(s.Nodes[0].Name)}}
			c.Volumes = []model.VolumeTopology{{Terms: []model.NodeAffinityTerm{{Requirements: []model.Requirement{on}}}}}
		}
		if d.chance("it needs something of nodes") {
			c.NeededDrivers, c.NeededFeatures = []string{"ebs.csi.aws.com"}, []string{"Restarts"}
		}
		if d.n("it asks for an extended resource", 0, 3) == 0 {
			c.Requests = withGPU(c.Requests)
			c.ExtendedRequests = []model.ExtendedRequest{{Resource: extendedGPU, Devices: model.DeviceOption{DeviceClass: "gpus", Selector: "gpu", Count: 1}}}
		}
		s.PodClasses, up.PodClasses = append(slices.Clone(s.PodClasses), c), append(up.PodClasses, c)
	}
	d.dropClass(s, out)
	for i := range d.n("new pods", 0, 3) {
		p := model.Pod{
			ID: model.PodID(fmt.Sprintf("shop/%c-new-%d-%d", 'a'+rune(d.n("letter", 0, 25)), s.Revision, i)), Phase: model.PodUnschedulable,
			Class: s.PodClasses[d.n("class", 0, len(s.PodClasses)-1)].ID,
		}
		s.Pods, up.Pods = append(s.Pods, p), append(up.Pods, p)
	}
	if d.chance("an offering changes") {
		at := d.n("offering", 0, len(s.Offerings)-1)
		o := s.Offerings[at]
		o.Price += 1000
		o.UnavailableUntil = now().Add(time.Duration(d.n("minutes", -1, 3)) * time.Minute)
		s.Offerings = slices.Clone(s.Offerings)
		s.Offerings[at] = o
		up.Offerings = append(up.Offerings, o)
	}
	if len(s.Nodes) > 0 && d.chance("a node goes") {
		out.Removed.Nodes = append(out.Removed.Nodes, string(s.Nodes[0].Name))
		s.Nodes = slices.Clone(s.Nodes[1:])
	}
	d.changeHosts(s, up)
	if len(s.PodDisruptionBudgets) > 0 && d.chance("a budget changes") {
		b := s.PodDisruptionBudgets[0]
		b.DisruptionsAllowed++
		s.PodDisruptionBudgets = slices.Clone(s.PodDisruptionBudgets)
		s.PodDisruptionBudgets[0] = b
		up.PodDisruptionBudgets = append(up.PodDisruptionBudgets, b)
	}
	up.Revision, up.InventoryRevision, up.Cluster, up.ObserveTime = s.Revision, s.InventoryRevision, s.Cluster, s.ObserveTime
	return out
}

// extendedGPU is a resource that a device class stands for.
const extendedGPU = model.Resource("example.com/gpu")

func withGPU(list model.Amounts) model.Amounts {
	if list.Value(extendedGPU) > 0 {
		return list
	}
	out := append(slices.Clone(list), model.Amount{Resource: extendedGPU, Value: 1})
	slices.SortFunc(out, func(a, b model.Amount) int { return strings.Compare(string(a.Resource), string(b.Resource)) })
	return out
}

// changeHosts may change a node and a claim, and may interrupt one.
func (d *draw) changeHosts(s, up *model.Snapshot) {
	if len(s.Nodes) > 0 && d.n("a node changes", 0, 2) == 0 {
		at := d.n("which", 0, len(s.Nodes)-1)
		n := s.Nodes[at]
		switch d.n("how", 0, 5) {
		case 0:
			n.Ready = !n.Ready
		case 1:
			n.Allocatable = slices.Clone(n.Allocatable)
			n.Allocatable[0].Value = n.Allocatable[0].Value * 9 / 10
		case 2:
			n.VolumeLimits = model.Amounts{{Resource: "ebs.csi.aws.com", Value: int64(d.n("volumes", 1, 2))}}
		case 3:
			n.Drivers, n.Features = []string{"ebs.csi.aws.com"}, []string{"Restarts"}
		case 4:
			n.Allocatable = withGPU(n.Allocatable)
		case 5:
			n.Devices = gpus(2)
		}
		s.Nodes = slices.Clone(s.Nodes)
		s.Nodes[at] = n
		up.Nodes = append(up.Nodes, n)
	}
	if len(s.Claims) > 0 && d.n("a claim changes", 0, 2) == 0 {
		at := d.n("which", 0, len(s.Claims)-1)
		c := s.Claims[at]
		c.State = []model.ClaimState{model.ClaimDraining, model.ClaimInitialized, model.ClaimRegistered}[d.n("state", 0, 2)]
		s.Claims = slices.Clone(s.Claims)
		s.Claims[at] = c
		up.Claims = append(up.Claims, c)
	}
	if len(s.Claims) > 0 && d.chance("a notice comes") {
		n := model.Notice{ID: fmt.Sprint("n-", s.Revision), Kind: model.NoticeSpotInterruption, Claim: s.Claims[d.n("which", 0, len(s.Claims)-1)].ID}
		s.Notices = append(slices.Clone(s.Notices), n)
		up.Notices = append(up.Notices, n)
	}
}

// dropClass may take a class away that came with a delta, and its pods.
func (d *draw) dropClass(s *model.Snapshot, out *model.Delta) {
	at := slices.IndexFunc(s.PodClasses, func(c model.PodClass) bool { return strings.Count(string(c.ID), "-") == 2 })
	if at < 0 || !d.chance("a class goes") {
		return
	}
	id := s.PodClasses[at].ID
	if slices.ContainsFunc(out.Upserted.PodClasses, func(c model.PodClass) bool { return c.ID == id }) ||
		slices.ContainsFunc(out.Upserted.Pods, func(p model.Pod) bool { return p.Class == id }) ||
		slices.ContainsFunc(s.CapacityBuffers, func(b model.CapacityBuffer) bool { return b.Class == id }) {
		return
	}
	out.Removed.PodClasses = append(out.Removed.PodClasses, string(id))
	s.PodClasses = slices.Delete(slices.Clone(s.PodClasses), at, at+1)
	s.Pods = slices.DeleteFunc(s.Pods, func(p model.Pod) bool {
		if p.Class == id {
			out.Removed.Pods = append(out.Removed.Pods, string(p.ID))
		}
		return p.Class == id
	})
}

func TestASessionThatFoldsDeltasMakesThePlansOfTheWholeSnapshot(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorld(rt)
		d := &draw{rt, w}
		in := w.Input
		begin := in.Snapshot
		begin.Pods = slices.Clone(begin.Pods)
		s := session(rt, &begin)
		for range d.n("deltas", 1, 5) {
			if d.n("asked in between", 0, 3) > 0 {
				agree(rt, s, in)
			}
			if err := s.Apply(drawDelta(d, &in.Snapshot)); err != nil {
				rt.Fatalf("apply: %v", err)
			}
			in.Now = in.Now.Add(time.Duration(d.n("minutes pass", 0, 1)) * time.Minute)
			if d.chance("another policy") {
				in.Policy.MaxPodsOfWorkloadPerNode = d.n("cap", 0, 3)
			}
		}
		agree(rt, s, in)
	})
}

func TestASessionRefusesToRemoveWhatIsNotThere(t *testing.T) {
	tests := map[string]struct {
		gone model.Removed
		want string
	}{
		"a pod":       {model.Removed{Pods: []string{"shop/a"}}, "pod shop/a: is to be removed, and is not there"},
		"an offering": {model.Removed{Offerings: []string{"m5.large/r-1a/spot/"}}, "offering m5.large/r-1a/spot/: is to be removed, and is not there"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			err := session(t, &w.Snapshot).Apply(&model.Delta{Removed: tt.gone})
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// hashOf is the input hash of a snapshot with nothing else in it that a plan could trip over.
func hashOf(t *testing.T, in model.Input) string {
	t.Helper()
	p, err := plan.Decide(in)
	if err != nil {
		t.Fatal(err)
	}
	return p.InputHash
}

func TestEveryFieldOfAPodCountsForTheInputHash(t *testing.T) {
	base := func() model.Input {
		w := newWorld()
		w.class("a", 100, mib, nil)
		w.class("b", 100, mib, nil)
		w.Snapshot.Pods = []model.Pod{{ID: "shop/p", Class: "a", Phase: model.PodWaiting}}
		return w.Input
	}
	seen := map[string]string{hashOf(t, base()): "nothing"}
	for i := range reflect.TypeFor[model.Pod]().NumField() {
		in := base()
		name := reflect.TypeFor[model.Pod]().Field(i).Name
		change(t, reflect.ValueOf(&in.Snapshot.Pods[0]).Elem().Field(i), name)
		h := hashOf(t, in)
		if other, twice := seen[h]; twice {
			t.Errorf("the hash is the same with another %s as with another %s", name, other)
		}
		seen[h] = name
	}
}

func TestWhatIsSparedCountsForTheInputHash(t *testing.T) {
	digest := func(ids ...model.ClaimID) string {
		w := newWorld()
		w.Exclude = ids
		return hashOf(t, w.Input)
	}
	if digest() != digest([]model.ClaimID{}...) || digest("a", "b") != digest("b", "a", "b") {
		t.Error("order counts, or how nothing is written")
	}
	if digest() == digest("a") || digest("a") == digest("b") || digest("a", "b") == digest("ab") {
		t.Error("claims to leave alone don't count")
	}
}

func change(t *testing.T, f reflect.Value, name string) {
	t.Helper()
	switch x := f.Addr().Interface().(type) {
	case *time.Time:
		*x = now()
	case *[]model.DeviceRef:
		*x = []model.DeviceRef{{Driver: "d"}}
	case *model.ClassID:
		*x = "b"
	default:
		switch f.Kind() {
		case reflect.String:
			f.SetString("other-" + name)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int, reflect.Int32:
			f.SetInt(4)
		default:
			t.Fatalf("%s: a field of a kind that the test can't change", name)
		}
	}
}

func TestEveryPartOfASnapshotCountsForTheInputHash(t *testing.T) {
	w := newWorld()
	w.class("a", 100, mib, nil)
	seen := map[string]string{hashOf(t, w.Input): "nothing"}
	fields := reflect.TypeFor[model.Snapshot]()
	for i := range fields.NumField() {
		in := w.Input
		f := reflect.ValueOf(&in.Snapshot).Elem().Field(i)
		name := fields.Field(i).Name
		switch f.Kind() {
		case reflect.Slice:
			x := reflect.New(f.Type().Elem()).Elem()
			x.Field(0).SetString("zz")
			if c := x.FieldByName("Class"); name != "NodeClasses" && c.IsValid() && c.Kind() == reflect.String {
				c.SetString("a")
			}
			if c := x.FieldByName("Catalog"); c.IsValid() && c.Kind() == reflect.String {
				c.SetString("k-1")
			}
			f.Set(reflect.Append(f.Slice3(0, f.Len(), f.Len()), x))
		case reflect.Uint64:
			f.SetUint(99)
		case reflect.Int64:
			f.SetInt(99)
		case reflect.String:
			f.SetString("other")
		default:
			f.Set(reflect.ValueOf(now()))
		}
		h := hashOf(t, in)
		if other, twice := seen[h]; twice {
			t.Errorf("the hash is the same with another %s as with another %s", name, other)
		}
		seen[h] = name
	}
}
