package scenario

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Labels that have short names in the language.
const (
	region = "us-east-1"
)

// labelKey spells a short name out.
func labelKey(short string) string {
	switch short {
	case "zone":
		return labels.Zone
	case "zone-id":
		return labels.ZoneID
	case "capacity":
		return labels.CapacityType
	case "type":
		return labels.InstanceType
	case "hostname":
		return labels.Hostname
	case "arch":
		return labels.Arch
	case "pool":
		return labels.NodePool
	}
	return short
}

// zone spells a zone's letter out.
func zone(z string) string {
	if len(z) == 1 {
		return region + z
	}
	return z
}

func zones(zs []string) []string {
	out := make([]string, len(zs))
	for i, z := range zs {
		out[i] = zone(z)
	}
	slices.Sort(out)
	return out
}

// podID puts pods without a namespace into the default one.
func podID(name string) model.PodID {
	if strings.Contains(name, "/") {
		return model.PodID(name)
	}
	return model.PodID("default/" + name)
}

// labels reads k=v,k=v.
func (s *statement) labels(key string) model.Labels {
	var out model.Labels
	for _, pair := range s.list(key) {
		k, v, ok := strings.Cut(pair, "=")
		if !ok {
			s.fail("%s=%s is not of the form key=value", key, pair)
		}
		out = append(out, model.Label{Key: k, Value: v})
	}
	return sortLabels(out)
}

func sortLabels(ls model.Labels) model.Labels {
	slices.SortStableFunc(ls, func(a, b model.Label) int { return cmp.Compare(a.Key, b.Key) })
	return ls
}

// requirement reads "key In a,b", "key Exists", "key Gt 3".
func (s *statement) requirement(text string) model.Requirement {
	words := strings.Fields(text)
	if len(words) < 2 || len(words) > 3 {
		s.fail("%q is not a requirement such as \"zone In a,b\" or \"gpu Exists\"", text)
		return model.Requirement{}
	}
	r := model.Requirement{Key: labelKey(words[0])}
	for op := model.In; op <= model.Lte; op++ {
		if strings.EqualFold(op.String(), words[1]) {
			r.Operator = op
		}
	}
	if r.Operator == 0 {
		s.fail("%q is not an operator: In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte, Lte", words[1])
	}
	if len(words) == 3 {
		r.Values = strings.Split(words[2], ",")
		if r.Key == labels.Zone {
			r.Values = zones(r.Values)
		}
		slices.Sort(r.Values)
	}
	return r
}

// taints reads key[=value]:Effect.
func (s *statement) taints(key string) []model.Taint {
	var out []model.Taint
	for _, t := range s.list(key) {
		head, effect, ok := strings.Cut(t, ":")
		if !ok {
			s.fail("%s=%s is not of the form key=value:Effect", key, t)
		}
		k, v, _ := strings.Cut(head, "=")
		out = append(out, model.Taint{Key: k, Value: v, Effect: s.effect(effect)})
	}
	return out
}

func (s *statement) effect(name string) model.TaintEffect {
	for e := model.AnyEffect; e <= model.NoExecute; e++ {
		if strings.EqualFold(e.String(), name) {
			return e
		}
	}
	s.fail("%q is not an effect: NoSchedule, PreferNoSchedule, NoExecute", name)
	return 0
}

// tolerations reads key[=value][:Effect]; a star tolerates everything.
func (s *statement) tolerations(key string) []model.Toleration {
	var out []model.Toleration
	for _, t := range s.list(key) {
		if t == "*" {
			out = append(out, model.Toleration{Exists: true})
			continue
		}
		head, effect, _ := strings.Cut(t, ":")
		k, v, equal := strings.Cut(head, "=")
		out = append(out, model.Toleration{Key: k, Value: v, Exists: !equal, Effect: s.effect(effect)})
	}
	return out
}

// resources reads cpu=, mem= and other=; what is asked for is noted under its Kubernetes name.
func (s *statement) resources() model.Amounts {
	var out model.Amounts
	add := func(key, name string) {
		if v := s.text(key, ""); v != "" {
			out = append(out, model.Amount{Resource: model.Resource(name), Value: s.quantity(key, v)})
		}
	}
	add("cpu", "cpu")
	add("mem", "memory")
	add("disk", "ephemeral-storage")
	add("gpu", "nvidia.com/gpu")
	return sortAmounts(append(out, s.amounts("more")...))
}

// amounts reads cpu=2,mem=8Gi.
func (s *statement) amounts(key string) model.Amounts {
	var out model.Amounts
	for _, pair := range s.list(key) {
		name, v, ok := strings.Cut(pair, "=")
		if !ok {
			s.fail("%s=%s is not of the form cpu=1000,mem=1000Gi", key, pair)
		}
		r := name
		if name == "mem" {
			r = "memory"
		}
		out = append(out, model.Amount{Resource: model.Resource(r), Value: s.quantity(name, v)})
	}
	return sortAmounts(out)
}

func sortAmounts(as model.Amounts) model.Amounts {
	slices.SortStableFunc(as, func(a, b model.Amount) int { return cmp.Compare(a.Resource, b.Resource) })
	return as
}

// selector reads a label selector: k=v, k=v|w, k!=v, k and !k, all of which must hold; * selects all pods, none none.
func (s *statement) selector(text string) *model.Selector {
	out := &model.Selector{}
	switch text {
	case "*":
		return out
	case "none":
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		r := model.Requirement{Operator: model.Exists}
		key, values, ok := strings.Cut(part, "=")
		not := strings.HasSuffix(key, "!")
		switch {
		case ok && not:
			r.Key, r.Operator, r.Values = strings.TrimSuffix(key, "!"), model.NotIn, strings.Split(values, "|")
		case ok:
			r.Key, r.Operator, r.Values = key, model.In, strings.Split(values, "|")
		case strings.HasPrefix(key, "!"):
			r.Key, r.Operator = key[1:], model.DoesNotExist
		default:
			r.Key = key
		}
		if r.Key == "" || strings.ContainsAny(r.Key, "! ") {
			s.fail("%q does not select by k=v, k=v|w, k!=v, k or !k", part)
		}
		slices.Sort(r.Values)
		r.Values = slices.Compact(r.Values)
		out.Requirements = append(out.Requirements, r)
	}
	slices.SortFunc(out.Requirements, func(a, b model.Requirement) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Operator, b.Operator), slices.Compare(a.Values, b.Values))
	})
	return out
}

// capacity reads a capacity type.
func (s *statement) capacity(name string) model.CapacityType {
	for c := model.OnDemand; c <= model.Reserved; c++ {
		if c.String() == name {
			return c
		}
	}
	s.fail("%q is not a capacity type: on-demand, spot, reserved", name)
	return 0
}

// pods reads names and ranges, web-0..4, as ids.
func (s *statement) pods() []model.PodID { return s.podsOf("pods") }

// podsOf are those of a list by another name.
func (s *statement) podsOf(key string) []model.PodID {
	var out []model.PodID
	for _, name := range s.list(key) {
		first, last, isRange := strings.Cut(name, "..")
		if !isRange {
			out = append(out, podID(name))
			continue
		}
		dash := strings.LastIndexByte(first, '-')
		from, err := strconv.Atoi(first[dash+1:])
		to, err2 := strconv.Atoi(last)
		if dash < 0 || err != nil || err2 != nil || from > to || to > maxCopies {
			s.fail("%s is not a range such as web-0..4", name)
			continue
		}
		for i := from; i <= to; i++ {
			out = append(out, podID(first[:dash+1]+strconv.Itoa(i)))
		}
	}
	return out
}

// classID names a class by its content.
func classID(c model.PodClass) model.ClassID {
	data, err := json.Marshal(c)
	if err != nil {
		panic(err) // plain values
	}
	for _, unsaid := range []string{`,"OwnerUID":""`, `,"NeededDrivers":null`, `,"NeededFeatures":null`, `,"ExtendedRequests":null`} {
		data = bytes.Replace(data, []byte(unsaid), nil, 1) // what is not said does not change who comes first
	}
	sum := sha256.Sum256(data)
	return model.ClassID("c-" + hex.EncodeToString(sum[:16]))
}

// defaultNow is when scenarios play: a Wednesday at noon.
func defaultNow() time.Time { return time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC) }
