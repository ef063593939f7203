package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kerf-dev/kerf/test/harness"
)

// TestAnAPIServerKeepsTheRulesOfNodeClasses asks a real one, by dry runs, about the largest class that there may be, so
// that its rules come through the server's limits, and about classes of which it must say what is wrong.
func TestAnAPIServerKeepsTheRulesOfNodeClasses(t *testing.T) {
	c := controlPlane(t)
	client, err := c.Dynamic(harness.Admin)
	if err != nil {
		t.Fatal(err)
	}
	classes := client.Resource(schema.GroupVersionResource{Group: "karpenter.k8s.aws", Version: "v1", Resource: "ec2nodeclasses"})
	term := func(key string, value any) []any { return []any{map[string]any{key: value}} }
	for name, tt := range map[string]struct {
		field string
		value any
		want  string // in what the server says; "" where it takes the class
	}{
		"a bare one":              {"userData", "#!/bin/sh", ""},
		"an id and tags":          {"subnetSelectorTerms", []any{map[string]any{"id": "subnet-1", "tags": map[string]any{"a": "b"}}}, "id can't be combined with tags"},
		"Windows with a version":  {"amiSelectorTerms", term("alias", "windows2022@v1"), "Windows has the version latest only"},
		"two identities":          {"instanceProfile", "p", "set exactly one of role and instanceProfile"},
		"the controller's tag":    {"tags", map[string]any{"karpenter.sh/nodepool": "x"}, "are set by the controller: remove them"},
		"two interfaces in one":   {"networkInterfaces", []any{nic(0, 0, "interface"), nic(0, 0, "interface")}, "Duplicate value"},
		"a disk of 64001 GB":      {"blockDeviceMappings", term("ebs", map[string]any{"volumeSize": "64001G"}), "volumeSize"},
		"a hop limit of nothing":  {"metadataOptions", map[string]any{"httpPutResponseHopLimit": int64(0)}, "httpPutResponseHopLimit"},
		"a field that is unknown": {"spotOptions", map[string]any{}, `unknown field "spec.spotOptions"`},
	} {
		spec := map[string]any{
			"role": "nodes", "amiSelectorTerms": term("alias", "al2023@latest"),
			"subnetSelectorTerms": term("id", "subnet-1"), "securityGroupSelectorTerms": term("id", "sg-1"),
		}
		spec[tt.field] = tt.value
		check(t, name, create(t, classes, spec), tt.want)
	}
	check(t, "the largest", create(t, classes, largestClass()), "")
}

func check(t *testing.T, name string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && (!apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: %v, want %q", name, err, want)
	}
}

func create(t *testing.T, classes dynamic.ResourceInterface, spec map[string]any) error {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": map[string]any{"name": "asked"}, "spec": spec,
	}}
	_, err := classes.Create(t.Context(), o, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict, DryRun: []string{metav1.DryRunAll}})
	return err
}

func nic(card, device int64, kind string) map[string]any {
	return map[string]any{"networkCardIndex": card, "deviceIndex": device, "interfaceType": kind}
}

// largestClass has as many terms, tags, disks and interfaces as the schema takes.
func largestClass() map[string]any {
	tags := func(n int) map[string]any {
		out := map[string]any{}
		for i := range n {
			out[fmt.Sprint(strings.Repeat("k", 120), i)] = strings.Repeat("v", 250)
		}
		return out
	}
	repeat := func(n int, each func(i int) map[string]any) (out []any) {
		for i := range n {
			out = append(out, each(i))
		}
		return out
	}
	term := func(int) map[string]any { return map[string]any{"tags": tags(20)} }
	return map[string]any{
		"role": "nodes", "amiFamily": "Custom", "tags": tags(50),
		"amiSelectorTerms": repeat(30, term), "subnetSelectorTerms": repeat(30, term), "securityGroupSelectorTerms": repeat(30, term),
		"capacityReservationSelectorTerms": repeat(30, term),
		"blockDeviceMappings": repeat(50, func(i int) map[string]any {
			return map[string]any{"deviceName": "/dev/sd", "rootVolume": i == 0, "ebs": map[string]any{"volumeSize": "59000Gi", "snapshotID": "snap-1"}}
		}),
		"networkInterfaces": repeat(150, func(i int) map[string]any {
			if i == 0 {
				return nic(0, 0, "interface")
			}
			return nic(int64(i), 1, "efa-only")
		}),
	}
}
