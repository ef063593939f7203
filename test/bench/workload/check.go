package workload

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// check finds what a catalogue's fields can't mean.
func (c *Catalog) check() error {
	if len(c.Zones) == 0 {
		return errors.New("zones: want at least one")
	}
	if len(c.Types) == 0 {
		return errors.New("types: want at least one")
	}
	seen := make(map[string]bool, len(c.Types))
	for i, t := range c.Types {
		switch {
		case t.Name == "" || seen[t.Name]:
			return fmt.Errorf("types[%d]: n: %q is empty or there twice", i, t.Name)
		case t.FreeCPU <= 0 || t.FreeMemory <= 0 || t.Pods <= 0:
			return fmt.Errorf("types[%d] (%s): acpu, amem and pods: want more than 0", i, t.Name)
		case len(t.OnDemand) != len(c.Zones) || len(t.Spot) != len(c.Zones):
			return fmt.Errorf("types[%d] (%s): od and spot: want a price for each of the %d zones", i, t.Name, len(c.Zones))
		case slices.Min(t.OnDemand) < 0 || slices.Min(t.Spot) < 0:
			return fmt.Errorf("types[%d] (%s): od and spot: a price is below 0; want 0 where it is not sold", i, t.Name)
		}
		seen[t.Name] = true
	}
	return nil
}

// check finds what a workload's fields can't mean. What depends on the catalogue is looked at when the two meet.
func (w *Workload) check() error {
	if w.Name == "" {
		return errors.New("name: want one")
	}
	for i := range w.Pools {
		if err := w.Pools[i].check(); err != nil {
			return fmt.Errorf("pools[%d] (%s): %w", i, w.Pools[i].Name, err)
		}
	}
	for i := range w.Shapes {
		if err := w.Shapes[i].check(); err != nil {
			return fmt.Errorf("shapes[%d]: %w", i, err)
		}
	}
	if w.Kept < 0 || w.Kept > 100 || w.Kept > 0 && len(w.Nodes) > 0 {
		return fmt.Errorf("kept: %d, want 0 to 100 per cent, and none where there are nodes", w.Kept)
	}
	if err := w.checkCounts(w.Pending); err != nil {
		return fmt.Errorf("pending: %w", err)
	}
	for i := range w.Nodes {
		if err := w.checkNode(&w.Nodes[i]); err != nil {
			return fmt.Errorf("nodes[%d] (%s): %w", i, w.Nodes[i].Name, err)
		}
	}
	return nil
}

func (w *Workload) checkCounts(counts []Count) error {
	for i, c := range counts {
		if c.Shape < 0 || c.Shape >= len(w.Shapes) {
			return fmt.Errorf("[%d]: there is no shape %d; shapes are 0 to %d", i, c.Shape, len(w.Shapes)-1)
		}
		if c.Pods < 0 {
			return fmt.Errorf("[%d]: %d pods; want 0 or more", i, c.Pods)
		}
	}
	return nil
}

func (w *Workload) checkNode(n *Node) error {
	if n.Name == "" {
		return errors.New("name: want one")
	}
	if !slices.ContainsFunc(w.Pools, func(p Pool) bool { return p.Name == n.Pool }) {
		return fmt.Errorf("pool: there is no pool %q among pools", n.Pool)
	}
	if _, err := capacityType(n.CapacityType); err != nil {
		return fmt.Errorf("ct: %w", err)
	}
	if err := w.checkCounts(n.Pods); err != nil {
		return fmt.Errorf("pods: %w", err)
	}
	return nil
}

func (p *Pool) check() error {
	if p.Name == "" {
		return errors.New("name: want one")
	}
	if _, err := requirements(p.Requirements); err != nil {
		return err
	}
	for i, t := range p.Taints {
		if e, err := effect(t.Effect); err != nil || e == model.AnyEffect {
			return fmt.Errorf("taints[%d]: Effect: %q; want NoSchedule, PreferNoSchedule or NoExecute", i, t.Effect)
		}
	}
	if _, err := p.quiet(); err != nil {
		return err
	}
	_, err := p.budget()
	return err
}

func (s *Shape) check() error {
	if s.CPU < 0 || s.Memory < 0 || s.GPU < 0 {
		return fmt.Errorf("cpu %d, mem %d and gpu %d: want 0 or more", s.CPU, s.Memory, s.GPU)
	}
	if _, err := requirements(s.Requirements); err != nil {
		return err
	}
	for i, t := range s.Spread {
		if t.Key == "" || t.MaxSkew < 1 {
			return fmt.Errorf("spread[%d]: want a key, and a maxSkew of 1 or more", i)
		}
	}
	for i, t := range slices.Concat(s.Affinity, s.AntiAffinity) {
		if t.Key == "" {
			return fmt.Errorf("affinity and antiAffinity: [%d] of both: want a key", i)
		}
	}
	for i, t := range s.PreferredAntiAffinity {
		if t.Key == "" || t.Weight < 1 || t.Weight > 100 {
			return fmt.Errorf("preferredAntiAffinity[%d]: want a key, and a weight of 1 to 100", i)
		}
	}
	for i, t := range s.Tolerations {
		if _, err := toleration(t); err != nil {
			return fmt.Errorf("tolerations[%d]: %w", i, err)
		}
	}
	return nil
}

// quiet is how long a node must have been quiet before it is consolidated.
func (p *Pool) quiet() (time.Duration, error) {
	if p.ConsolidateAfter == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(p.ConsolidateAfter)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("consolidateAfter: %q; want a duration such as 30s", p.ConsolidateAfter)
	}
	return d, nil
}

func (p *Pool) budget() (model.DisruptionBudget, error) {
	text, percent := strings.CutSuffix(p.Budget, "%")
	if p.Budget == "" {
		text, percent = "10", true
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 || (percent && n > 100) {
		return model.DisruptionBudget{}, fmt.Errorf("budget: %q; want a number of nodes, or a percentage such as 10%%", p.Budget)
	}
	return model.DisruptionBudget{Count: int32(n), IsPercent: percent}, nil
}

func capacityType(s string) (model.CapacityType, error) {
	for _, ct := range []model.CapacityType{model.OnDemand, model.Spot} {
		if s == ct.String() {
			return ct, nil
		}
	}
	return 0, fmt.Errorf("%q; want on-demand or spot", s)
}

func effect(s string) (model.TaintEffect, error) {
	for _, e := range []model.TaintEffect{model.AnyEffect, model.NoSchedule, model.PreferNoSchedule, model.NoExecute} {
		if s == e.String() {
			return e, nil
		}
	}
	return 0, fmt.Errorf("effect: %q is not known", s)
}

func toleration(t Toleration) (model.Toleration, error) {
	e, err := effect(t.Effect)
	if err != nil {
		return model.Toleration{}, err
	}
	if t.Op != "Equal" && t.Op != "Exists" && t.Op != "" {
		return model.Toleration{}, fmt.Errorf("op: %q; want Equal or Exists", t.Op)
	}
	return model.Toleration{Key: t.Key, Exists: t.Op == "Exists", Value: t.Value, Effect: e}, nil
}

func requirements(list []Requirement) ([]model.Requirement, error) {
	var out []model.Requirement
	for i, r := range list {
		op := operator(r.Op)
		switch {
		case r.Key == "":
			return nil, fmt.Errorf("requirements[%d]: key: want one", i)
		case op == 0:
			return nil, fmt.Errorf("requirements[%d] (%s): op: %q; want In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte or Lte", i, r.Key, r.Op)
		case (op == model.In || op == model.NotIn) && len(r.Values) == 0:
			return nil, fmt.Errorf("requirements[%d] (%s): values: want at least one for %s", i, r.Key, r.Op)
		case (op == model.Exists || op == model.DoesNotExist) && len(r.Values) > 0:
			return nil, fmt.Errorf("requirements[%d] (%s): values: want none for %s", i, r.Key, r.Op)
		case op > model.DoesNotExist && !oneNumber(r.Values):
			return nil, fmt.Errorf("requirements[%d] (%s): values: want one whole number for %s", i, r.Key, r.Op)
		}
		values := slices.Clone(r.Values)
		slices.Sort(values)
		out = append(out, model.Requirement{Key: r.Key, Operator: op, Values: slices.Compact(values)})
	}
	return out, nil
}

func oneNumber(values []string) bool {
	if len(values) != 1 {
		return false
	}
	_, err := strconv.ParseInt(values[0], 10, 64)
	return err == nil
}

func operator(s string) model.Operator {
	for op := model.In; op <= model.Lte; op++ {
		if s == op.String() {
			return op
		}
	}
	return 0
}
