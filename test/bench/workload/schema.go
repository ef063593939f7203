// Package workload has what is measured: catalogues of instance types and workloads of pods, pools and nodes.
//
// Files of both have a schema of plain facts (schema.go), which any planner can be measured on; generate.go and
// market.go make values of the same form from a seed, so that the repository needs no files. New turns a workload on a
// catalogue into the planner's input. It measures nothing. Start reading at Workload, then New.
package workload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Catalog is a file of instance types with their prices.
type Catalog struct {
	Region string `json:"region"`
	// Zones are the names that the prices of the types stand for, in their order.
	Zones []string `json:"zones"`
	Note  string   `json:"note,omitempty"`
	Types []Type   `json:"types"`
}

// Type is an instance type.
type Type struct {
	Name       string `json:"n"`
	Arch       string `json:"arch"`
	Category   string `json:"cat"`
	Family     string `json:"fam"`
	Generation int    `json:"gen"`
	Size       string `json:"size"`
	// CPU is millicores and Memory MiB, as the machine has them; FreeCPU and FreeMemory are what pods can use.
	CPU        int64 `json:"cpu"`
	Memory     int64 `json:"mem"`
	Pods       int64 `json:"pods"`
	GPU        int64 `json:"gpu,omitempty"`
	FreeCPU    int64 `json:"acpu"`
	FreeMemory int64 `json:"amem"`
	// OnDemand and Spot are dollars an hour by zone; 0 where it is not sold.
	OnDemand []float64 `json:"od"`
	Spot     []float64 `json:"spot"`
}

// Workload is a file of pods, the pools that may buy for them, and the nodes that exist.
type Workload struct {
	Name  string `json:"name"`
	Note  string `json:"note"`
	Seed  uint64 `json:"seed"`
	Pools []Pool `json:"pools"`
	// Shapes are the kinds of pods; the rest of the file names them by their place.
	Shapes []Shape `json:"shapes"`
	// Pending are expanded in this order.
	Pending []Count `json:"pending,omitempty"`
	// Kept is for mode disrupt, per cent: nodes are bought for the pending pods, and so many of each shape still run
	// when disruption begins; 0 leaves pending pods alone.
	Kept  int    `json:"kept,omitempty"`
	Nodes []Node `json:"nodes,omitempty"`
}

// Pool is a node pool.
type Pool struct {
	Name         string        `json:"name"`
	Weight       int32         `json:"weight,omitempty"`
	Requirements []Requirement `json:"requirements,omitempty"`
	Taints       []Taint       `json:"taints,omitempty"`
	// ConsolidateAfter is a duration; "" is none at all, which is 0s.
	ConsolidateAfter string `json:"consolidateAfter,omitempty"`
	// Budget is a count or a percentage; "" is 10%.
	Budget string `json:"budget,omitempty"`
}

// Requirement is one constraint on a label.
type Requirement struct {
	Key    string   `json:"key"`
	Op     string   `json:"op"`
	Values []string `json:"values,omitempty"`
}

// Taint is a node's taint.
type Taint struct{ Key, Value, Effect string }

// Toleration is a pod's toleration.
type Toleration struct{ Key, Op, Value, Effect string }

// Shape is a kind of pod. All pods are in namespace default.
type Shape struct {
	// CPU is millicores, Memory MiB.
	CPU    int64 `json:"cpu"`
	Memory int64 `json:"mem"`
	// GPU is not in published files.
	GPU          int64             `json:"gpu,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Requirements are required node affinity: one term, all of which must hold.
	Requirements []Requirement `json:"requirements,omitempty"`
	Spread       []Spread      `json:"spread,omitempty"`
	Affinity     []Term        `json:"affinity,omitempty"`
	AntiAffinity []Term        `json:"antiAffinity,omitempty"`
	// PreferredAntiAffinity is not in published files: preferences to be away from others.
	PreferredAntiAffinity []Preference `json:"preferredAntiAffinity,omitempty"`
	Tolerations           []Toleration `json:"tolerations,omitempty"`
}

// Spread is a required topology spread constraint.
type Spread struct {
	Key      string            `json:"key"`
	MaxSkew  int32             `json:"maxSkew"`
	Selector map[string]string `json:"selector"`
}

// Term is a required affinity or anti-affinity to pods.
type Term struct {
	Key      string            `json:"key"`
	Selector map[string]string `json:"selector"`
}

// Preference is a preferred anti-affinity to pods.
type Preference struct {
	Key      string            `json:"key"`
	Selector map[string]string `json:"selector"`
	// Weight is 1 to 100.
	Weight int32 `json:"weight"`
}

// Count is a number of pods of a shape, in files as [shape,count].
type Count struct{ Shape, Pods int }

// MarshalJSON implements json.Marshaler.
func (c Count) MarshalJSON() ([]byte, error) { return json.Marshal([2]int{c.Shape, c.Pods}) }

// UnmarshalJSON implements json.Unmarshaler.
func (c *Count) UnmarshalJSON(data []byte) error {
	var pair []int
	if err := json.Unmarshal(data, &pair); err != nil || len(pair) != 2 {
		return fmt.Errorf("%s is not a shape and a count, such as [0,25]", data)
	}
	c.Shape, c.Pods = pair[0], pair[1]
	return nil
}

// Node is a node that exists, with the pods that it runs.
type Node struct {
	Name         string  `json:"name"`
	Type         string  `json:"type"`
	Zone         string  `json:"zone"`
	CapacityType string  `json:"ct"`
	Pool         string  `json:"pool"`
	Pods         []Count `json:"pods,omitempty"`
	Drifted      bool    `json:"drifted,omitempty"`
}

// ReadCatalog reads a catalogue file. A field that it does not know is an error, which names it.
func ReadCatalog(data []byte) (*Catalog, error) {
	var c Catalog
	var types []json.RawMessage
	err := decodeParts(data, &c, map[string]any{"types": &types})
	if err == nil {
		c.Types, err = decodeAll[Type]("types", types)
	}
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return nil, fmt.Errorf("catalogue: %w", err)
	}
	return &c, nil
}

// ReadWorkload reads a workload file. A field that it does not know is an error, which names it.
func ReadWorkload(data []byte) (*Workload, error) {
	var w Workload
	var pools, shapes, nodes []json.RawMessage
	err := decodeParts(data, &w, map[string]any{"pools": &pools, "shapes": &shapes, "nodes": &nodes})
	if err == nil {
		w.Pools, err = decodeAll[Pool]("pools", pools)
	}
	if err == nil {
		w.Shapes, err = decodeAll[Shape]("shapes", shapes)
	}
	if err == nil {
		w.Nodes, err = decodeAll[Node]("nodes", nodes)
	}
	if err == nil {
		err = w.check()
	}
	if err != nil {
		return nil, fmt.Errorf("workload: %w", err)
	}
	return &w, nil
}

// decodeParts decodes an object into the struct, except for the named fields, which go where parts says.
func decodeParts(data []byte, into any, parts map[string]any) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return fmt.Errorf("not a JSON object: %w", err)
	}
	for field, part := range parts {
		raw, ok := all[field]
		if !ok {
			continue
		}
		if err := json.Unmarshal(raw, part); err != nil {
			return fmt.Errorf("%s: want a list: %w", field, err)
		}
		delete(all, field)
	}
	rest, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return strict(rest, into)
}

func decodeAll[T any](field string, raw []json.RawMessage) ([]T, error) {
	if raw == nil {
		return nil, nil
	}
	out := make([]T, len(raw))
	for i := range raw {
		if err := strict(raw[i], &out[i]); err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", field, i, err)
		}
	}
	return out, nil
}

func strict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		return nil
	}
	text := strings.TrimPrefix(err.Error(), "json: ")
	if strings.HasPrefix(text, "unknown field") {
		return fmt.Errorf("%s; known are %s", text, strings.Join(fields(reflect.TypeOf(into).Elem()), ", "))
	}
	return errors.New(text)
}

// fields are the names of a struct's fields in JSON.
func fields(t reflect.Type) []string {
	var out []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		out = append(out, name)
	}
	return out
}
