package awsv1_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
)

func TestParseAlias(t *testing.T) {
	tests := map[string]struct {
		text string
		want awsv1.Alias
		bad  bool
	}{
		"the newest":           {text: "al2023@latest", want: awsv1.Alias{Family: awsv1.FamilyAL2023, Version: "latest"}},
		"a pinned one":         {text: "bottlerocket@v1.20.0", want: awsv1.Alias{Family: awsv1.FamilyBottlerocket, Version: "v1.20.0"}},
		"Windows":              {text: "windows2025@latest", want: awsv1.Alias{Family: awsv1.FamilyWindows2025, Version: "latest"}},
		"Windows, pinned":      {text: "windows2022@v1", bad: true},
		"the family Custom":    {text: "custom@latest", bad: true},
		"an unknown family":    {text: "ubuntu@latest", bad: true},
		"capital letters":      {text: "AL2@latest", bad: true},
		"no version":           {text: "al2@", bad: true},
		"no @":                 {text: "al2", bad: true},
		"as long as it may be": {text: "al2023@v1234567890123456789012", want: awsv1.Alias{Family: awsv1.FamilyAL2023, Version: "v1234567890123456789012"}},
		"longer":               {text: "al2023@v12345678901234567890123", bad: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := awsv1.ParseAlias(tc.text)
			if got != tc.want || (err != nil) != tc.bad {
				t.Fatalf("got %v, %v, want %v, error: %v", got, err, tc.want, tc.bad)
			}
			if err == nil && got.String() != tc.text {
				t.Errorf("written as %s, want %s", got, tc.text)
			}
		})
	}
}

func TestVolumeSizeInGiB(t *testing.T) {
	tests := map[string]struct {
		size awsv1.VolumeSize
		want int32 // 0: refused
	}{
		"GiB":                 {"20Gi", 20},
		"GB are rounded up":   {"20G", 19},
		"TiB":                 {"58Ti", 59392},
		"TB":                  {"64T", 59605},
		"the most GiB":        {"59000Gi", 59000},
		"one GiB more":        {"59001Gi", 0},
		"the most GB":         {"64000G", 59605},
		"one TiB more":        {"59Ti", 0},
		"one TB more":         {"65T", 0},
		"no unit":             {"20", 0},
		"MiB":                 {"20Mi", 0},
		"nothing":             {"0Gi", 0},
		"a fraction":          {"1.5Gi", 0},
		"a huge number":       {"99999999999999999999Gi", 0},
		"a unit without size": {"Gi", 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := tc.size.GiB()
			if got != tc.want || (err != nil) != (tc.want == 0) {
				t.Errorf("got %d, %v, want %d", got, err, tc.want)
			}
		})
	}
}

func TestParseKubelet(t *testing.T) {
	number := func(n int32) *int32 { return &n }
	yes := true
	tests := map[string]struct {
		text   string
		want   awsv1.Kubelet
		fields []string // of the errors
	}{
		"nothing": {text: ""},
		"all that Kerf reads": {
			text: `{"clusterDNS":["10.0.0.10"],"maxPods":20,"podsPerCore":5,"systemReserved":{"cpu":"100m"},"kubeReserved":{"pid":"10"},
				"evictionHard":{"memory.available":"5%"},"evictionSoft":{"nodefs.available":"1Gi"},"evictionSoftGracePeriod":{"nodefs.available":"1m"},
				"evictionMaxPodGracePeriod":60,"imageGCHighThresholdPercent":80,"imageGCLowThresholdPercent":70,"cpuCFSQuota":true}`,
			want: awsv1.Kubelet{
				ClusterDNS: []string{"10.0.0.10"}, MaxPods: number(20), PodsPerCore: number(5),
				SystemReserved: map[string]string{"cpu": "100m"}, KubeReserved: map[string]string{"pid": "10"},
				EvictionHard: map[string]string{"memory.available": "5%"}, EvictionSoft: map[string]string{"nodefs.available": "1Gi"},
				EvictionSoftGracePeriod: map[string]string{"nodefs.available": "1m"}, EvictionMaxPodGracePeriod: number(60),
				ImageGCHighThresholdPercent: number(80), ImageGCLowThresholdPercent: number(70), CPUCFSQuota: &yes,
			},
		},
		"fields that it passes on": {text: `{"port":1,"logging":{"b":2}}`, want: awsv1.Kubelet{Extra: map[string]json.RawMessage{"logging": json.RawMessage(`{"b":2}`), "port": json.RawMessage("1")}}},
		"other capital letters":    {text: `{"maxpods":20,"registrypullqps":10,"some":1}`, fields: []string{"kubelet.maxpods", "kubelet.registrypullqps"}},
		"an expression":            {text: `{"maxPods":"vcpus * 10"}`, want: awsv1.Kubelet{MaxPodsFormula: "vcpus * 10"}},
		"one that can't be read":   {text: `{"maxPods":"vcpus *"}`, fields: []string{"kubelet.maxPods"}},
		"a number for a quantity":  {text: `{"kubeReserved":{"cpu":1}}`, fields: []string{"kubelet.kubeReserved"}},
		"several mistakes": {
			text:   `{"maxPods":-1,"systemReserved":{"cpu":"-1"},"evictionHard":{"disk":"5%","pid.available":"-5%"},"evictionSoftGracePeriod":{"pid.available":"x"}}`,
			fields: []string{"kubelet.maxPods", "kubelet.systemReserved[cpu]", "kubelet.evictionHard", "kubelet.evictionHard[pid.available]", "kubelet.evictionSoft[pid.available]", "kubelet.evictionSoftGracePeriod[pid.available]"},
		},
		"no object": {text: `[1]`, fields: []string{"kubelet"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, errs := awsv1.ParseKubelet(&runtime.RawExtension{Raw: []byte(tc.text)}, field.NewPath("kubelet"))
			var fields []string
			for _, err := range errs {
				fields = append(fields, err.Field)
			}
			if diff := cmp.Diff(tc.fields, fields); diff != "" {
				t.Fatalf("fields with errors (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, got); len(errs) == 0 && diff != "" {
				t.Errorf("kubelet (-want +got):\n%s", diff)
			}
		})
	}
}

func class(change func(*awsv1.EC2NodeClass)) *awsv1.EC2NodeClass {
	c := &awsv1.EC2NodeClass{}
	c.Name = "default"
	c.Spec.Role = "nodes"
	c.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}}
	c.Spec.SubnetSelectorTerms = []awsv1.SubnetSelectorTerm{{ID: "subnet-1"}}
	c.Spec.SecurityGroupSelectorTerms = []awsv1.SecurityGroupSelectorTerm{{ID: "sg-1"}}
	c.Spec.Kubelet = &runtime.RawExtension{Raw: []byte(`{"maxPods":20,"clusterDNS":["a","b"]}`)}
	if change != nil {
		change(c)
	}
	return c
}

func TestHashFollowsWhatNodesDriftFrom(t *testing.T) {
	family, other, no, zero := awsv1.FamilyAL2023, awsv1.FamilyCustom, false, int32(0)
	data := "#!/bin/sh"
	tests := map[string]struct {
		change func(*awsv1.EC2NodeClass)
		drifts bool
	}{
		"nothing":                  {nil, false},
		"defaults":                 {(*awsv1.EC2NodeClass).SetDefaults, false},
		"subnets":                  {func(c *awsv1.EC2NodeClass) { c.Spec.SubnetSelectorTerms[0].ID = "subnet-2" }, false},
		"groups":                   {func(c *awsv1.EC2NodeClass) { c.Spec.SecurityGroupSelectorTerms[0].ID = "sg-2" }, false},
		"the version of the image": {func(c *awsv1.EC2NodeClass) { c.Spec.AMISelectorTerms[0].Alias = "al2023@v1" }, false},
		"prefixes":                 {func(c *awsv1.EC2NodeClass) { c.Spec.IPPrefixCount = &zero }, false},
		"the family written out":   {func(c *awsv1.EC2NodeClass) { c.Spec.AMIFamily = &family }, false},
		"the kubelet written another way": {func(c *awsv1.EC2NodeClass) {
			c.Spec.Kubelet.Raw = []byte(`{ "clusterDNS": ["a", "b"], "maxPods": 20 }`)
		}, false},
		"the family":               {func(c *awsv1.EC2NodeClass) { c.Spec.AMIFamily = &other }, true},
		"the alias's family":       {func(c *awsv1.EC2NodeClass) { c.Spec.AMISelectorTerms[0].Alias = "al2@latest" }, true},
		"the kubelet":              {func(c *awsv1.EC2NodeClass) { c.Spec.Kubelet.Raw = []byte(`{"maxPods":21}`) }, true},
		"the order of DNS servers": {func(c *awsv1.EC2NodeClass) { c.Spec.Kubelet.Raw = []byte(`{"maxPods":20,"clusterDNS":["b","a"]}`) }, true},
		"no kubelet":               {func(c *awsv1.EC2NodeClass) { c.Spec.Kubelet = nil }, true},
		"the role":                 {func(c *awsv1.EC2NodeClass) { c.Spec.Role = "other" }, true},
		"user data":                {func(c *awsv1.EC2NodeClass) { c.Spec.UserData = &data }, true},
		"tags":                     {func(c *awsv1.EC2NodeClass) { c.Spec.Tags = map[string]string{"a": "b"} }, true},
		"no public address, said":  {func(c *awsv1.EC2NodeClass) { c.Spec.AssociatePublicIPAddress = &no }, true},
	}
	base, err := awsv1.HashEC2NodeClass(class(nil))
	if err != nil {
		t.Fatal(err)
	}
	// Claims in the field carry this value: it may change with the version of the hash only.
	if want := "f765ec8360df5c14"; base != want {
		t.Errorf("hash %s, want %s", base, want)
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := class(tc.change)
			before := c.DeepCopy()
			got, err := awsv1.HashEC2NodeClass(c)
			if err != nil || (got != base) != tc.drifts {
				t.Errorf("hash %s, %v, base %s, want a change: %v", got, err, base, tc.drifts)
			}
			if diff := cmp.Diff(before, c); diff != "" {
				t.Errorf("hashing changed the class:\n%s", diff)
			}
		})
	}
}
