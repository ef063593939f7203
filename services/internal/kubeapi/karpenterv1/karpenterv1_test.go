package karpenterv1_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

func TestParseBudgetNodes(t *testing.T) {
	tests := map[string]struct {
		text string
		want v1.BudgetNodes
		of7  int32 // how many of 7 nodes; -1 means that the text is refused
	}{
		"a number":                      {"5", v1.BudgetNodes{Value: 5}, 5},
		"none":                          {"0", v1.BudgetNodes{}, 0},
		"a share is rounded up":         {"10%", v1.BudgetNodes{Value: 10, IsPercent: true}, 1},
		"no share":                      {"0%", v1.BudgetNodes{IsPercent: true}, 0},
		"all":                           {"100%", v1.BudgetNodes{Value: 100, IsPercent: true}, 7},
		"half":                          {"50%", v1.BudgetNodes{Value: 50, IsPercent: true}, 4},
		"a share of more than all":      {"101%", v1.BudgetNodes{}, -1},
		"a sign":                        {"+5", v1.BudgetNodes{}, -1},
		"less than none":                {"-5", v1.BudgetNodes{}, -1},
		"a fraction":                    {"0.5", v1.BudgetNodes{}, -1},
		"nothing":                       {"", v1.BudgetNodes{}, -1},
		"a sign of percent alone":       {"%", v1.BudgetNodes{}, -1},
		"more than a number can say":    {"99999999999", v1.BudgetNodes{}, -1},
		"a space":                       {" 5", v1.BudgetNodes{}, -1},
		"a number with two percentages": {"5%%", v1.BudgetNodes{}, -1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := v1.ParseBudgetNodes(tc.text)
			if (err != nil) != (tc.of7 < 0) || got != tc.want {
				t.Fatalf("got %+v, %v, want %+v", got, err, tc.want)
			}
			if err == nil && got.Of(7) != tc.of7 {
				t.Errorf("of 7 nodes: %d, want %d", got.Of(7), tc.of7)
			}
		})
	}
}

func TestNillableDurationParses(t *testing.T) {
	tests := map[string]struct {
		text  v1.NillableDuration
		want  time.Duration
		never bool
		bad   bool
	}{
		"hours":               {text: "720h", want: 720 * time.Hour},
		"hours and minutes":   {text: "1h30m", want: 90 * time.Minute},
		"no time":             {text: "0s"},
		"never":               {text: v1.Never, never: true},
		"never in lower case": {text: "never", bad: true},
		"nothing":             {bad: true},
		"days":                {text: "30d", bad: true},
		"a sign":              {text: "-1h", bad: true},
		"a fraction":          {text: "1.5h", bad: true},
		"milliseconds":        {text: "100ms", bad: true},
		"rubbish at the end":  {text: "1hNever", bad: true},
		"too long":            {text: "9999999999h", bad: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, never, err := tc.text.Parse()
			if got != tc.want || never != tc.never || (err != nil) != tc.bad {
				t.Errorf("got %v, %v, %v, want %v, %v, error: %v", got, never, err, tc.want, tc.never, tc.bad)
			}
		})
	}
}

func in(key string, values ...string) v1.Requirement {
	return v1.Requirement{Key: key, Operator: v1.OpIn, Values: values}
}

func req(key string, op v1.Operator, values ...string) v1.Requirement {
	return v1.Requirement{Key: key, Operator: op, Values: values}
}

func atLeast(n int32, r v1.Requirement) v1.Requirement {
	r.MinValues = &n
	return r
}

func TestImpossibleRequirementsAreFound(t *testing.T) {
	tests := map[string]struct {
		requirements []v1.Requirement
		labels       map[string]string
		possible     bool
	}{
		"two lists with a value in common":         {requirements: []v1.Requirement{in("a", "x", "y"), in("a", "y", "z")}, possible: true},
		"two lists without":                        {requirements: []v1.Requirement{in("a", "x"), in("a", "z")}},
		"the same under an older name":             {requirements: []v1.Requirement{in("kubernetes.io/arch", "amd64"), in("beta.kubernetes.io/arch", "arm64")}},
		"different keys":                           {requirements: []v1.Requirement{in("a", "x"), in("b", "z")}, possible: true},
		"a list and its complement":                {requirements: []v1.Requirement{in("a", "x"), req("a", v1.OpNotIn, "x")}},
		"a list and a part of its complement":      {requirements: []v1.Requirement{in("a", "x", "y"), req("a", v1.OpNotIn, "x")}, possible: true},
		"a list and absence":                       {requirements: []v1.Requirement{in("a", "x"), req("a", v1.OpDoesNotExist)}},
		"presence and absence":                     {requirements: []v1.Requirement{req("a", v1.OpExists), req("a", v1.OpDoesNotExist)}},
		"an exclusion and absence":                 {requirements: []v1.Requirement{req("a", v1.OpNotIn, "x"), req("a", v1.OpDoesNotExist)}, possible: true},
		"bounds with a number between":             {requirements: []v1.Requirement{req("a", v1.OpGt, "3"), req("a", v1.OpLt, "5")}, possible: true},
		"strict bounds with none":                  {requirements: []v1.Requirement{req("a", v1.OpGt, "3"), req("a", v1.OpLt, "4")}},
		"bounds that touch":                        {requirements: []v1.Requirement{req("a", v1.OpGte, "4"), req("a", v1.OpLte, "4")}, possible: true},
		"less than nothing":                        {requirements: []v1.Requirement{req("a", v1.OpLt, "0")}},
		"a bound and absence":                      {requirements: []v1.Requirement{req("a", v1.OpGt, "3"), req("a", v1.OpDoesNotExist)}},
		"a list with one number in bounds":         {requirements: []v1.Requirement{in("a", "2", "4"), req("a", v1.OpGt, "3")}, possible: true},
		"a list with no number in bounds":          {requirements: []v1.Requirement{in("a", "2", "large"), req("a", v1.OpGt, "3")}},
		"enough values left":                       {requirements: []v1.Requirement{atLeast(2, in("a", "x", "y", "z")), req("a", v1.OpNotIn, "x")}, possible: true},
		"too few values left":                      {requirements: []v1.Requirement{atLeast(3, in("a", "x", "y", "z")), req("a", v1.OpNotIn, "x")}},
		"the template's label against the list":    {requirements: []v1.Requirement{in("a", "x")}, labels: map[string]string{"a": "y"}},
		"the template's label in the list":         {requirements: []v1.Requirement{in("a", "x")}, labels: map[string]string{"a": "x"}, possible: true},
		"a bound larger than any number":           {requirements: []v1.Requirement{req("a", v1.OpGt, "99999999999999999999")}},
		"the same list, one value after the other": {requirements: []v1.Requirement{in("a", "x", "x")}, possible: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			errs := v1.ValidateRequirements(tc.requirements, tc.labels, field.NewPath("requirements"))
			if (len(errs) == 0) != tc.possible {
				t.Fatalf("errors: %v, want possible: %v", errs, tc.possible)
			}
			if !tc.possible && !strings.Contains(errs[0].Error(), "impossible") {
				t.Errorf("%v does not say that it is impossible", errs[0])
			}
		})
	}
}

func TestAnImpossibleRequirementNamesItsEntries(t *testing.T) {
	errs := v1.ValidateRequirements([]v1.Requirement{
		in("zone", "a", "b"), in("other", "x"), in("zone", "c"),
	}, nil, field.NewPath("spec", "requirements"))
	const want = `spec.requirements: Invalid value: "zone": impossible: entry 0: In [a b]; entry 2: In [c]: no value satisfies all of them`
	if len(errs) != 1 || errs[0].Error() != want {
		t.Errorf("got %v, want %s", errs, want)
	}
}

func pool(change func(*v1.NodePool)) *v1.NodePool {
	p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	p.Spec.Template.Metadata.Labels = map[string]v1.LabelValue{"type": "karpenter"}
	p.Spec.Template.Spec.Taints = []v1.Taint{{Key: "a", Effect: "NoSchedule"}, {Key: "b", Effect: "NoExecute"}}
	p.Spec.Template.Spec.NodeClassRef = v1.NodeClassReference{Group: "g", Kind: "K", Name: "n"}
	p.Spec.Template.Spec.Requirements = []v1.Requirement{in("a", "x")}
	if change != nil {
		change(p)
	}
	return p
}

func TestHashFollowsWhatNodesDriftFrom(t *testing.T) {
	grace := v1.Duration("1h")
	weight := int32(5)
	tests := map[string]struct {
		change func(*v1.NodePool)
		drifts bool
	}{
		"nothing":                            {nil, false},
		"defaults":                           {(*v1.NodePool).SetDefaults, false},
		"requirements":                       {func(p *v1.NodePool) { p.Spec.Template.Spec.Requirements = nil }, false},
		"weight":                             {func(p *v1.NodePool) { p.Spec.Weight = &weight }, false},
		"disruption":                         {func(p *v1.NodePool) { p.Spec.Disruption.ConsolidateAfter = "1h" }, false},
		"name":                               {func(p *v1.NodePool) { p.Name = "other" }, false},
		"the order of taints":                {func(p *v1.NodePool) { slices.Reverse(p.Spec.Template.Spec.Taints) }, false},
		"the time of a taint":                {func(p *v1.NodePool) { p.Spec.Template.Spec.Taints[0].TimeAdded = &metav1.Time{Time: time.Unix(1, 0)} }, false},
		"another way to write the same time": {func(p *v1.NodePool) { p.Spec.Template.Spec.ExpireAfter = "43200m" }, false},
		"no annotations and none":            {func(p *v1.NodePool) { p.Spec.Template.Metadata.Annotations = map[string]string{} }, false},
		"expiry":                             {func(p *v1.NodePool) { p.Spec.Template.Spec.ExpireAfter = v1.Never }, true},
		"grace period":                       {func(p *v1.NodePool) { p.Spec.Template.Spec.TerminationGracePeriod = &grace }, true},
		"a label":                            {func(p *v1.NodePool) { p.Spec.Template.Metadata.Labels["type"] = "x" }, true},
		"an empty label":                     {func(p *v1.NodePool) { p.Spec.Template.Metadata.Labels["x"] = "" }, true},
		"an annotation":                      {func(p *v1.NodePool) { p.Spec.Template.Metadata.Annotations = map[string]string{"a": "b"} }, true},
		"a taint":                            {func(p *v1.NodePool) { p.Spec.Template.Spec.Taints[0].Value = "x" }, true},
		"a taint that starts only": {func(p *v1.NodePool) {
			t := &p.Spec.Template.Spec
			t.Taints, t.StartupTaints = t.StartupTaints, t.Taints
		}, true},
		"the class's name": {func(p *v1.NodePool) { p.Spec.Template.Spec.NodeClassRef.Name = "x" }, true},
	}
	base, err := v1.HashNodePool(pool(nil))
	if err != nil {
		t.Fatal(err)
	}
	// Claims in the field carry this value: it may change with HashVersion only.
	if want := "2836cc108fe31e94"; base != want {
		t.Errorf("hash %s, want %s", base, want)
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := pool(tc.change)
			before := p.DeepCopy()
			got, err := v1.HashNodePool(p)
			if err != nil || (got != base) != tc.drifts {
				t.Errorf("hash %s, %v, base %s, want a change: %v", got, err, base, tc.drifts)
			}
			if diff := cmp.Diff(before, p); diff != "" {
				t.Errorf("hashing changed the pool:\n%s", diff)
			}
		})
	}
}
