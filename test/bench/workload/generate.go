package workload

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/kerf-dev/kerf/services/core/labels"
)

// BuiltIn makes a workload from its name; the same name gives the same workload always. Some name a size: G2-5000 is
// the mix of W2 with 5,000 pods; of draw it is the seed. The catalogue is that of the nodes that exist, for workloads
// that have any.
func BuiltIn(name string, c *Catalog) (*Workload, error) {
	kind, size := name, 0
	if prefix, digits, ok := strings.Cut(name, "-"); ok {
		if n, err := strconv.Atoi(digits); err == nil && n > 0 {
			kind, size = prefix, n
		}
	}
	for _, k := range builtins() {
		if k.name != kind || k.sized != (size > 0) {
			continue
		}
		w, err := k.make(c, size)
		if err != nil {
			return nil, fmt.Errorf("workload %s: %w", name, err)
		}
		w.Name = name
		return w, nil
	}
	names := make([]string, 0, len(builtins()))
	for _, k := range builtins() {
		if k.sized {
			k.name += "-N"
		}
		names = append(names, k.name)
	}
	return nil, fmt.Errorf("there is no built-in workload %q; there are %s; a file is named with its path or .json", name, strings.Join(names, ", "))
}

// builtin is a workload that is made from a seed, or a family of them by size.
type builtin struct {
	name  string
	sized bool
	make  func(c *Catalog, size int) (*Workload, error)
}

// builtins are in the order in which they are shown. Seeds are part of them: with another seed it is another workload.
func builtins() []builtin {
	const wide, narrow, capped = "wide", "narrow", "capped"
	plain := func(seed uint64, market string, shapes, pods int) func(*Catalog, int) (*Workload, error) {
		return func(_ *Catalog, size int) (*Workload, error) {
			if size > 0 {
				return mixed(seed, market, shapes, size), nil
			}
			return mixed(seed, market, shapes, pods), nil
		}
	}
	return []builtin{
		{"W1", false, equalPods(wide)},
		{"W1-od", false, equalPods(narrow)},
		{"W2", false, plain(2, wide, 50, 10000)},
		{"W2-od", false, plain(2, narrow, 50, 10000)},
		{"W2-cap", false, plain(2, capped, 50, 10000)},
		{"W3", false, func(c *Catalog, _ int) (*Workload, error) { return diverse(3, c.Zones, 10000), nil }},
		{"W4", false, plain(4, wide, 200, 50000)},
		{"W5", false, idling(5, 1000)},
		{"W5", true, idling(5, 0)},
		{"W6", false, leaving(6)},
		{"W5-fresh", false, fresh(5, 1000)},
		{"W5-100-fresh", false, fresh(5, 100)},
		{"W7a", false, handful(100)},
		{"W7b", false, handful(500)},
		{"W7c", false, handful(1000)},
		{"G2", true, plain(2, wide, 50, 0)},
		{"G3", true, func(c *Catalog, size int) (*Workload, error) { return diverse(3, c.Zones, size), nil }},
		{"GC", true, plain(2, capped, 50, 0)},
		{"GN", true, fitting(9)},
		{"GF", true, unfitting(9)},
		{"mix", true, func(_ *Catalog, size int) (*Workload, error) { return fiveClasses(11, size), nil }},
		{"draw", true, func(c *Catalog, seed int) (*Workload, error) { return anything(c, seed), nil }},
		{"plain", true, func(_ *Catalog, seed int) (*Workload, error) { return unruled(seed), nil }},
		{"shrink", true, func(_ *Catalog, seed int) (*Workload, error) { return shrinking(seed), nil }},
		{"preferences", true, func(_ *Catalog, size int) (*Workload, error) { return preferences(12, size), nil }},
		{"requests", true, func(_ *Catalog, size int) (*Workload, error) { return measured(13, size), nil }},
	}
}

// poolOf is one of the usual pools: wide buys spot and on-demand of both architectures and all categories but t; narrow
// buys on-demand amd64 of c, m and r; capped is wide with sizes up to 8xlarge.
func poolOf(market string) Pool {
	p := Pool{Name: "default", Requirements: []Requirement{in(labels.OS, "linux")}}
	add := func(r ...Requirement) { p.Requirements = append(p.Requirements, r...) }
	if market == "narrow" {
		add(in(labels.Arch, "amd64"), in(labels.CapacityType, "on-demand"), in(awsLabel+"instance-category", "c", "m", "r"))
		return p
	}
	add(in(labels.Arch, "amd64", "arm64"), in(labels.CapacityType, "on-demand", "spot"),
		Requirement{awsLabel + "instance-category", "NotIn", []string{"t"}})
	if market == "capped" {
		add(in(awsLabel+"instance-size", "medium", "large", "xlarge", "2xlarge", "4xlarge", "8xlarge"))
	}
	return p
}

func in(key string, values ...string) Requirement { return Requirement{key, "In", values} }

// equalPods is 1,000 pods of half a core and 1 GiB.
func equalPods(market string) func(*Catalog, int) (*Workload, error) {
	return func(*Catalog, int) (*Workload, error) {
		return &Workload{
			Note: "1,000 pods of one shape", Seed: 1, Pools: []Pool{poolOf(market)},
			Shapes:  []Shape{{CPU: 500, Memory: 1024, Labels: map[string]string{"app": "w1"}}},
			Pending: []Count{{0, 1000}},
		}, nil
	}
}

// handful is five pods of 1 GiB and four types to choose from, small enough to solve by hand.
func handful(cpu int64) func(*Catalog, int) (*Workload, error) {
	return func(*Catalog, int) (*Workload, error) {
		p := Pool{Name: "default", Requirements: []Requirement{
			in(labels.OS, "linux"), in(labels.CapacityType, "on-demand"),
			in(labels.InstanceType, "c5.large", "m5.large", "r5.large", "m5.xlarge"),
		}}
		return &Workload{
			Note: "five pods of 1 GiB, four types, on-demand", Pools: []Pool{p},
			Shapes:  []Shape{{CPU: cpu, Memory: 1024, Labels: map[string]string{"app": "w7"}}},
			Pending: []Count{{0, 5}},
		}, nil
	}
}

// mixed is pods of many shapes without constraints, from 50m and 64 MiB to 16 cores and 64 GiB, small ones frequent.
func mixed(seed uint64, market string, shapes, pods int) *Workload {
	r := newRandom(seed)
	w := &Workload{
		Note: fmt.Sprintf("%d pods of %d shapes without constraints", pods, shapes), Seed: seed, Pools: []Pool{poolOf(market)},
	}
	weights := make([]float64, shapes)
	for i := range shapes {
		s := anyShape(r)
		s.Labels = map[string]string{"app": "s" + strconv.Itoa(i)}
		if i == shapes/2 {
			s.CPU, s.Memory = 16000, 64*1024 // the largest is always there
		}
		w.Shapes = append(w.Shapes, s)
		weights[i] = (0.2 + r.heavy()) / math.Sqrt(float64(s.CPU))
	}
	for i, n := range r.draws(pods, weights) {
		if n > 0 {
			w.Pending = append(w.Pending, Count{i, n})
		}
	}
	return w
}

// anyShape draws a shape: the fewer cores the likelier, with half to eight GiB a core.
func anyShape(r *random) Shape {
	const step, least, most = 32, 64, 64 * 1024
	cores := []int64{50, 100, 150, 200, 250, 300, 400, 500, 600, 750, 800, 1000, 1250, 1500, 2000, 2500, 3000, 4000, 6000, 8000, 12000, 16000}
	weights := make([]float64, len(cores))
	for i, c := range cores {
		weights[i] = math.Pow(float64(c), -0.5)
	}
	cpu := cores[r.pick(weights)]
	memory := memoryFor(r, cpu) / step * step
	return Shape{CPU: cpu, Memory: min(max(memory, least), most)}
}

// memoryFor draws half to eight GiB a core, in MiB.
func memoryFor(r *random, cpu int64) int64 {
	perCore := 512 * math.Exp(r.float()*math.Log(16))
	return int64(float64(cpu) * perCore / 1000)
}

// measured is pods of which four each ask for the same, as where requests follow what was used: from 20m to 8 cores, to
// the millicore and the MiB.
func measured(seed uint64, pods int) *Workload {
	r := newRandom(seed)
	w := &Workload{Note: fmt.Sprintf("%d pods, four of each request", pods), Seed: seed, Pools: []Pool{poolOf("wide")}}
	for i := 0; pods > 0; i++ {
		cpu := int64(20 * math.Exp(r.float()*r.float()*math.Log(400)))
		w.Shapes = append(w.Shapes, Shape{CPU: cpu, Memory: max(16, memoryFor(r, cpu)), Labels: map[string]string{"app": "v" + strconv.Itoa(i)}})
		w.Pending = append(w.Pending, Count{i, min(4, pods)})
		pods -= 4
	}
	return w
}

// shapeCounts collects pods by shape, in the order in which shapes first appear.
type shapeCounts struct {
	w     *Workload
	index map[string]int
}

func (t *shapeCounts) add(s Shape) {
	key := fmt.Sprintf("%+v", s)
	i, known := t.index[key]
	if !known {
		i = len(t.w.Shapes)
		t.index[key] = i
		t.w.Shapes, t.w.Pending = append(t.w.Shapes, s), append(t.w.Pending, Count{Shape: i})
	}
	t.w.Pending[i].Pods++
}

// class makes one pod of a kind, of the size that it is given.
type class func(r *random, s Shape) Shape

// drawn adds pods to a workload, of each class the same number, and of sizes from 100m to 1.5 cores and 100 MiB to 4 GiB.
func drawn(w *Workload, pods int, classes []class) *Workload {
	r := newRandom(w.Seed)
	t := &shapeCounts{w, map[string]int{}}
	for i := range pods {
		s := Shape{
			CPU:    []int64{100, 250, 500, 1000, 1500}[r.below(5)],
			Memory: []int64{100, 256, 512, 1024, 2048, 4096}[r.below(6)],
		}
		t.add(classes[i*len(classes)/pods](r, s))
	}
	return w
}

// diverse is six equal classes of pods: without constraints, spread over zones, spread over nodes, together in a zone,
// apart on nodes, and with selectors and tolerations; and a second pool that only tolerating pods may use.
func diverse(seed uint64, zones []string, pods int) *Workload {
	dedicated := poolOf("wide")
	dedicated.Name = "dedicated"
	dedicated.Taints = []Taint{{"dedicated", "batch", "NoSchedule"}}
	w := &Workload{
		Note: fmt.Sprintf("%d pods of six equal classes: free, spread over zones, spread over nodes, together in a zone, "+
			"apart on nodes, with selectors and tolerations", pods),
		Seed: seed, Pools: []Pool{poolOf("wide"), dedicated},
	}
	return drawn(w, pods, append(tied(), selecting(zones[:min(len(zones), 2)])))
}

// fiveClasses is the first five classes of diverse, and one pool that buys anything.
func fiveClasses(seed uint64, pods int) *Workload {
	w := &Workload{
		Note: fmt.Sprintf("%d pods of five equal classes: free, spread over zones, spread over nodes, together in a zone, apart on nodes", pods),
		Seed: seed, Pools: []Pool{{Name: "default"}},
	}
	return drawn(w, pods, tied())
}

// preferences is pods that would each like a node and a zone of their own; the former is possible, the latter isn't.
func preferences(seed uint64, pods int) *Workload {
	w := &Workload{
		Note: fmt.Sprintf("%d pods that prefer a node of their own and, which is not possible, a zone of their own", pods),
		Seed: seed, Pools: []Pool{{Name: "default"}},
	}
	app := map[string]string{"app": "nginx"}
	return drawn(w, pods, []class{func(_ *random, s Shape) Shape {
		s.Labels = app
		s.PreferredAntiAffinity = []Preference{{labels.Hostname, app, 10}, {labels.Zone, app, 1}}
		return s
	}})
}

// tied are the classes of pods that are free or tied to one another.
func tied() []class {
	label := func(r *random, key string) map[string]string {
		return map[string]string{key: string('a' + rune(r.below(7)))}
	}
	spread := func(key string) class {
		return func(r *random, s Shape) Shape {
			s.Labels, s.Spread = label(r, "my-label"), []Spread{{key, 1, label(r, "my-label")}}
			return s
		}
	}
	return []class{
		func(r *random, s Shape) Shape {
			s.Labels = label(r, "my-label")
			return s
		},
		spread(labels.Zone),
		spread(labels.Hostname),
		func(r *random, s Shape) Shape {
			s.Labels = label(r, "my-affinity")
			s.Affinity = []Term{{labels.Zone, s.Labels}}
			return s
		},
		func(_ *random, s Shape) Shape {
			s.Labels = map[string]string{"app": "nginx"}
			s.AntiAffinity = []Term{{labels.Hostname, s.Labels}}
			return s
		},
	}
}

// selecting is pods that ask for an architecture, a capacity type, zones, or the dedicated pool.
func selecting(zones []string) class {
	return func(r *random, s Shape) Shape {
		s.Labels = map[string]string{"my-label": string('a' + rune(r.below(7)))}
		switch r.below(4) {
		case 0:
			s.NodeSelector = map[string]string{labels.Arch: "amd64"}
		case 1:
			s.NodeSelector = map[string]string{labels.CapacityType: "on-demand"}
		case 2:
			s.Requirements = []Requirement{in(labels.Zone, zones...)}
		default:
			s.NodeSelector = map[string]string{labels.NodePool: "dedicated"}
			s.Tolerations = []Toleration{{"dedicated", "Equal", "batch", "NoSchedule"}}
		}
		return s
	}
}
