package objects

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
)

// hashVersion is the version of all hashes that Kerf writes, for Karpenter, which makes others and compares those of
// one version.
const hashVersion = "kerf"

// SetClass writes a class's status into its object, and what Kerf needs on the object to keep it until its claims are
// gone. Each condition tells which generation it is about: what was found for another stands until more is known.
func SetClass(o *unstructured.Unstructured, s cluster.ClassStatus, now time.Time) {
	setFinalizer(o, labels.FinalizerNodeClass)
	o.SetAnnotations(merged(o.GetAnnotations(), map[string]string{labels.NodeClassHash: s.Hash, labels.NodeClassHashVersion: hashVersion}))
	status := statusOf(o)
	if s.Resolved || status["subnets"] == nil {
		status["subnets"] = subnets(s.Class)
		status["securityGroups"] = securityGroups(s.Class)
		status["amis"] = images(s.Class)
		setOrDrop(status, "capacityReservations", reservations(s.Class))
	}
	if s.Class.InstanceProfile != "" {
		status["instanceProfile"] = s.Class.InstanceProfile
	}
	for _, kind := range awsv1.Dependencies() {
		setFinding(o, s, kind, now)
	}
	c := ready(s.NotReady)
	c.generation = s.Generation
	setCondition(o, now, c)
}

// setFinding writes the condition that says whether one of the things that a class needs is there.
func setFinding(o *unstructured.Unstructured, s cluster.ClassStatus, kind string, now time.Time) {
	c := condition{kind: kind, holds: true, generation: s.Generation}
	i := slices.IndexFunc(s.Class.Findings, func(f cloud.Finding) bool { return f.Condition == kind })
	switch {
	case !s.Invalid.OK() && kind == awsv1.ConditionValidationSucceeded:
		c.holds, c.reason, c.message = false, s.InvalidWhy, sentence(s.Invalid)
	case !s.Resolved && hasCondition(o, kind):
		return
	case !s.Resolved:
		c.unknown, c.reason = true, "AwaitingReconciliation"
	case i < 0 && kind == awsv1.ConditionValidationSucceeded && len(s.Class.Findings) > 0:
		c.unknown, c.reason = true, awsv1.ReasonDependenciesNotReady // rights are asked for once there is something to launch
	case i >= 0:
		f := s.Class.Findings[i]
		c.holds, c.reason, c.message = false, f.Reason, f.Message
	}
	setCondition(o, now, c)
}

func hasCondition(o *unstructured.Unstructured, kind string) bool {
	return slices.ContainsFunc(conditions(o), func(c any) bool {
		m, ok := c.(map[string]any)
		return ok && m["type"] == kind
	})
}

func setOrDrop(status map[string]any, name string, list []any) {
	delete(status, name)
	if len(list) > 0 {
		status[name] = list
	}
}

func subnets(c cloud.Class) []any {
	out := make([]any, 0, len(c.Subnets))
	for _, n := range c.Subnets {
		out = append(out, map[string]any{"id": n.ID, "zone": n.Zone, "zoneID": n.ZoneID})
	}
	return out
}

func securityGroups(c cloud.Class) []any {
	out := make([]any, 0, len(c.SecurityGroups))
	for _, g := range c.SecurityGroups {
		out = append(out, map[string]any{"id": g.ID, "name": g.Name})
	}
	return out
}

func images(c cloud.Class) []any {
	out := make([]any, 0, len(c.Images))
	for _, i := range c.Images {
		m := map[string]any{"id": i.ID, "name": i.Name, "requirements": requirements(i.Requirements)}
		if i.Deprecated {
			m["deprecated"] = true
		}
		out = append(out, m)
	}
	return out
}

func reservations(c cloud.Class) []any {
	out := make([]any, 0, len(c.Reservations))
	for _, r := range c.Reservations {
		m := map[string]any{
			"id": r.ID, "availabilityZone": r.Zone, "instanceType": string(r.InstanceType), "ownerID": r.OwnerID,
			"instanceMatchCriteria": strings.ToLower(r.MatchesLaunches), "reservationType": rules.ReservationType(r.Block), "state": "active",
		}
		if r.Expiring {
			m["state"] = "expiring"
		}
		if r.Interruptible {
			m["interruptible"] = true
		}
		if !r.EndTime.IsZero() {
			m["endTime"] = r.EndTime.UTC().Format(time.RFC3339)
		}
		out = append(out, m)
	}
	return out
}
