package apply

import (
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
)

func TestOfferingsMeetRequirements(t *testing.T) {
	is := func(key string, op model.Operator, values ...string) model.Requirement {
		return model.Requirement{Key: key, Operator: op, Values: values}
	}
	has := map[string]string{labels.Zone: "a", labels.ZoneID: "use1-az1", labels.Arch: "amd64", "type": "karpenter", labels.InstanceCPU: "4"}
	for name, c := range map[string]struct {
		claim, pool []model.Requirement
		want        bool
	}{
		"no requirements":                                         {want: true},
		"a value of the offering":                                 {claim: []model.Requirement{is(labels.Zone, model.In, "a", "b")}, want: true},
		"another value":                                           {claim: []model.Requirement{is(labels.Zone, model.In, "b")}},
		"the id of its zone":                                      {claim: []model.Requirement{is(labels.ZoneID, model.In, "use1-az1")}, pool: []model.Requirement{is(labels.ZoneID, model.NotIn, "use1-az2")}, want: true},
		"the id of another zone":                                  {claim: []model.Requirement{is(labels.ZoneID, model.In, "use1-az2")}},
		"the id of another zone, for the pool":                    {pool: []model.Requirement{is(labels.ZoneID, model.In, "use1-az2")}},
		"by an older name of the label":                           {claim: []model.Requirement{is("beta.kubernetes.io/arch", model.In, "arm64")}},
		"a number in a range":                                     {pool: []model.Requirement{is(labels.InstanceCPU, model.Gt, "3")}, want: true},
		"a number beyond a range":                                 {pool: []model.Requirement{is(labels.InstanceCPU, model.Lt, "4")}},
		"a label of the instance that the offering has not":       {claim: []model.Requirement{is(labels.InstanceGPUCount, model.In, "1")}},
		"a label of the user's own, left to the claim":            {claim: []model.Requirement{is("team", model.In, "red")}, pool: []model.Requirement{is("team", model.Exists)}, want: true},
		"a label that the pool does not name":                     {claim: []model.Requirement{is("team", model.In, "red")}},
		"one that keeps workloads apart":                          {claim: []model.Requirement{is("node-restriction.kubernetes.io/pci", model.In, "yes")}},
		"one that the claim leaves open":                          {claim: []model.Requirement{is("team", model.Exists)}},
		"one that the pool asks for and the claim has":            {claim: []model.Requirement{is("team", model.In, "red")}, pool: []model.Requirement{is("team", model.In, "blue", "red")}, want: true},
		"one that the pool asks for, of which the claim has more": {claim: []model.Requirement{is("team", model.In, "green", "red")}, pool: []model.Requirement{is("team", model.In, "blue", "red")}},
		"met by two requirements together":                        {claim: []model.Requirement{is("team", model.In, "green", "red"), is("team", model.NotIn, "green")}, pool: []model.Requirement{is("team", model.In, "red")}, want: true},
		"one that the pool asks for, which it lacks":              {pool: []model.Requirement{is("team", model.Exists)}},
		"one that the pool forbids, and the claim has not":        {pool: []model.Requirement{is("team", model.NotIn, "red")}, want: true},
		"one that the pool forbids, and the claim chooses":        {claim: []model.Requirement{is("team", model.In, "red")}, pool: []model.Requirement{is("team", model.NotIn, "red")}},
		"a value that no label can have":                          {claim: []model.Requirement{is("team", model.In, "red --anonymous-auth=true")}, pool: []model.Requirement{is("team", model.Exists)}},
		"one that has other labels in it":                         {claim: []model.Requirement{is("team", model.In, "red,node.kubernetes.io/x=y")}, pool: []model.Requirement{is("team", model.Exists)}},
		"a value that is too long for a label":                    {claim: []model.Requirement{is("team", model.In, strings.Repeat("r", 64))}, pool: []model.Requirement{is("team", model.Exists)}},
		"no value, which a label may have":                        {claim: []model.Requirement{is("team", model.In, "")}, pool: []model.Requirement{is("team", model.Exists)}, want: true},
		"the longest value, with all that it may have":            {claim: []model.Requirement{is("team", model.In, "R.e_d-"+strings.Repeat("9", 57))}, pool: []model.Requirement{is("team", model.Exists)}, want: true},
		"an operator that is not known":                           {pool: []model.Requirement{is(labels.Zone, 99, "a")}},
	} {
		t.Run(name, func(t *testing.T) {
			got := violated(has, demands{claim: require.NewSet(c.claim...), pool: require.NewSet(c.pool...)})
			if (got == "") != c.want {
				t.Errorf("%q, want that it is met: %v", got, c.want)
			}
		})
	}
}

func TestAClaimsLabelMeetsAllOfItsRequirements(t *testing.T) {
	s := state()
	editPool(&s, func(p *cluster.Pool) {
		p.Requirements = append(p.Requirements, model.Requirement{Key: "team", Operator: model.Exists})
	})
	w := one()
	w.Requirements = []model.Requirement{in("team", "blue", "red"), {Key: "team", Operator: model.NotIn, Values: []string{"blue"}}}
	o := Verify(plan(w), s)
	if len(o.Groups) != 1 {
		t.Fatalf("%+v", o.Verdicts)
	}
	if got, _ := o.Groups[0].Claims[0].Labels.Get("team"); got != "red" {
		t.Errorf("the node gets team=%s, which the claim excludes", got)
	}
}
