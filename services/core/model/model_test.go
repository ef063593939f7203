package model_test

import (
	"testing"

	"github.com/kerf-dev/kerf/services/core/model"
)

func TestTolerates(t *testing.T) {
	taint := model.Taint{Key: "gpu", Value: "yes", Effect: model.NoSchedule}
	tests := map[string]struct {
		toleration model.Toleration
		want       bool
	}{
		"equal in all":               {model.Toleration{Key: "gpu", Value: "yes", Effect: model.NoSchedule}, true},
		"every effect":               {model.Toleration{Key: "gpu", Value: "yes"}, true},
		"any value":                  {model.Toleration{Key: "gpu", Exists: true}, true},
		"every taint":                {model.Toleration{Exists: true}, true},
		"another key":                {model.Toleration{Key: "cpu", Exists: true}, false},
		"another value":              {model.Toleration{Key: "gpu", Value: "no"}, false},
		"another effect":             {model.Toleration{Key: "gpu", Value: "yes", Effect: model.NoExecute}, false},
		"no key without Exists":      {model.Toleration{Value: "yes"}, false},
		"every taint of one effect":  {model.Toleration{Exists: true, Effect: model.NoSchedule}, true},
		"every taint of another one": {model.Toleration{Exists: true, Effect: model.NoExecute}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.toleration.Tolerates(taint); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

func TestSelectorMatches(t *testing.T) {
	labels := model.Labels{{Key: "app", Value: "web"}}
	one := func(op model.Operator, key string, values ...string) *model.Selector {
		return &model.Selector{Requirements: []model.Requirement{{Key: key, Operator: op, Values: values}}}
	}
	tests := map[string]struct {
		selector *model.Selector
		want     bool
	}{
		"nil picks nothing":         {nil, false},
		"empty picks everything":    {&model.Selector{}, true},
		"In":                        {one(model.In, "app", "api", "web"), true},
		"In, other values":          {one(model.In, "app", "api"), false},
		"NotIn":                     {one(model.NotIn, "app", "web"), false},
		"NotIn of an absent label":  {one(model.NotIn, "tier", "web"), true},
		"Exists":                    {one(model.Exists, "app"), true},
		"Exists of an absent label": {one(model.Exists, "tier"), false},
		"DoesNotExist":              {one(model.DoesNotExist, "tier"), true},
		"bounds are not for pods":   {one(model.Gt, "app", "1"), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.selector.Matches(labels); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

func TestAnIDIsThatOfAPodOrOfABuffersPod(t *testing.T) {
	tests := map[model.PodID]struct {
		buffer          model.BufferID
		namespace, name string
	}{
		model.BufferID("shop/room").Pod(12): {buffer: "shop/room"},
		"shop/web-0":                        {namespace: "shop", name: "web-0"},
		"buffer/room":                       {namespace: "buffer", name: "room"},
		"buffer/shop/room":                  {},
		"shop/room/0":                       {},
		"buffer":                            {},
		"":                                  {},
	}
	for id, want := range tests {
		b, ok := id.Buffer()
		if b != want.buffer || ok != (want.buffer != "") || id.Virtual() != ok {
			t.Errorf("%q: buffer %q, %v; want %q", id, b, ok, want.buffer)
		}
		if ok && (id < model.FirstVirtual || id >= model.AfterVirtual) {
			t.Errorf("%q is not among the virtual ones", id)
		}
		namespace, name, ok := id.Object()
		if namespace != want.namespace || name != want.name || ok != (want.name != "") {
			t.Errorf("%q: pod %q of %q, %v; want %q of %q", id, name, namespace, ok, want.name, want.namespace)
		}
	}
}
