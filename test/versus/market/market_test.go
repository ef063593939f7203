package market

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-dev/kerf/services/actuator/instancetype"
)

func TestKwokNodesHaveTheSameCapacityForPods(t *testing.T) {
	t.Parallel()
	m, err := New()
	if err != nil {
		t.Fatal(err)
	}
	text, err := m.Kwok()
	if err != nil {
		t.Fatal(err)
	}
	var types []kwokType
	if err := json.Unmarshal(text, &types); err != nil {
		t.Fatal(err)
	}
	if len(types) != m.Len() || len(types) != 338 {
		t.Fatalf("%d types in the file, %d in the market", len(types), m.Len())
	}
	for i, k := range types {
		shape, err := instancetype.Resolve(m.types[i], instancetype.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := k.Resources.Cpu().MilliValue()-kwokCPUMilli, shape.Allocatable.Value(instancetype.CPU); got != want {
			t.Errorf("%s leaves %dm CPU to pods, want %dm", k.Name, got, want)
		}
		if got, want := k.Resources.Memory().Value()-kwokMemoryBytes, shape.Allocatable.Value(instancetype.Memory); got != want {
			t.Errorf("%s leaves %d bytes to pods, want %d", k.Name, got, want)
		}
		if len(k.Offerings) == 0 {
			t.Errorf("%s is sold nowhere", k.Name)
		}
		for _, o := range k.Offerings {
			if price := m.Price(k.Name, "", false); o.Price != price || price <= 0 {
				t.Errorf("%s costs %v in the file and %v in the market", k.Name, o.Price, price)
			}
		}
	}
}

func TestTheMarketIsWhatThePoolsRequirementsChoose(t *testing.T) {
	t.Parallel()
	m, err := New()
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range m.types {
		if typ.Arch != "amd64" || typ.BareMetal || typ.VCPU > 32 || typ.Name[0] != 'c' && typ.Name[0] != 'm' && typ.Name[0] != 'r' {
			t.Errorf("%s is in the market", typ.Name)
		}
	}
	if m.Price("m5.large", "us-east-1a", true) >= m.Price("m5.large", "us-east-1a", false) {
		t.Error("spot capacity is not cheaper")
	}
	if Types()[0].Key != corev1.LabelArchStable {
		t.Error("the pool does not choose the architecture")
	}
}
