package karpenterv1_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

func TestParseBudgetNodes(t *testing.T) {
	tests := map[string]struct {
		text string
		want v1.BudgetNodes
		ok   bool
	}{
		"a number":                      {"5", v1.BudgetNodes{Value: 5}, true},
		"none":                          {"0", v1.BudgetNodes{}, true},
		"a share":                       {"10%", v1.BudgetNodes{Value: 10, IsPercent: true}, true},
		"no share":                      {"0%", v1.BudgetNodes{IsPercent: true}, true},
		"all":                           {"100%", v1.BudgetNodes{Value: 100, IsPercent: true}, true},
		"half":                          {"50%", v1.BudgetNodes{Value: 50, IsPercent: true}, true},
		"a share of more than all":      {"101%", v1.BudgetNodes{}, false},
		"a sign":                        {"+5", v1.BudgetNodes{}, false},
		"less than none":                {"-5", v1.BudgetNodes{}, false},
		"a fraction":                    {"0.5", v1.BudgetNodes{}, false},
		"nothing":                       {"", v1.BudgetNodes{}, false},
		"a sign of percent alone":       {"%", v1.BudgetNodes{}, false},
		"more than a number can say":    {"99999999999", v1.BudgetNodes{}, false},
		"a space":                       {" 5", v1.BudgetNodes{}, false},
		"a number with two percentages": {"5%%", v1.BudgetNodes{}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := v1.ParseBudgetNodes(tc.text)
			if (err == nil) != tc.ok || got != tc.want {
				t.Fatalf("got %+v, %v, want %+v", got, err, tc.want)
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

func pool(change func(*v1.NodePool)) *v1.NodePool {
	p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	p.Spec.Template.Metadata.Labels = map[string]v1.LabelValue{"type": "karpenter"}
	p.Spec.Template.Spec.Taints = []v1.Taint{{Key: "a", Effect: "NoSchedule"}, {Key: "b", Effect: "NoExecute"}}
	p.Spec.Template.Spec.NodeClassRef = v1.NodeClassReference{Group: "g", Kind: "K", Name: "n"}
	p.Spec.Template.Spec.Requirements = []v1.Requirement{{Key: "a", Operator: v1.OpIn, Values: []string{"x"}}}
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
	// Claims in the field carry this value: it may change with the version of the hash only.
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
