// Package refused says what the API server would not take of pods and of disruption budgets: a plan for it is a plan for
// nothing. It also says what of a class has no effect.
//
// It knows the rules that change what is planned, not all that there are, and says with each what would be right. It
// must never know a file, or what else there is beside an object. Start reading at Pod.
package refused

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

// ByServer ends what the API server would not take.
const ByServer = "; the API server refuses that"

// Pod is what is wrong with a pod's spec, a line each; at is the path of that. What is hardly meant is told too.
func Pod(at string, spec *corev1.PodSpec) []string {
	affinity := slices.Concat(nodeLabels(at, spec), podTerms(at+".affinity", spec.Affinity), weights(at+".affinity", spec.Affinity))
	return slices.Concat(containers(at, spec), hostPorts(at, spec), affinity, spread(at, spec), tolerations(at, spec))
}

// Restart is what is wrong with when a workload's pods start again, where these policies alone are right. A pod that
// says nothing has the policy Always.
func Restart(at string, spec *corev1.PodSpec, right ...corev1.RestartPolicy) []string {
	if slices.Contains(right, cmp.Or(spec.RestartPolicy, corev1.RestartPolicyAlways)) {
		return nil
	}
	words := make([]string, len(right))
	for i, r := range right {
		words[i] = string(r)
	}
	has := "is missing"
	if spec.RestartPolicy != "" {
		has = fmt.Sprintf("%q is not for such a workload", spec.RestartPolicy)
	}
	return []string{at + ".restartPolicy: " + has + "; want " + strings.Join(words, " or ") + ByServer}
}

func containers(at string, spec *corev1.PodSpec) (problems []string) {
	if len(spec.Containers) == 0 {
		problems = append(problems, at+".containers: there is none"+ByServer)
	}
	names := map[string]string{}
	for _, part := range []struct {
		field string
		list  []corev1.Container
	}{{"containers", spec.Containers}, {"initContainers", spec.InitContainers}} {
		for i, c := range part.list {
			here := fmt.Sprintf("%s.%s[%d].", at, part.field, i)
			if first := names[c.Name]; first != "" && c.Name != "" {
				problems = append(problems, fmt.Sprintf("%sname: %s has the name %s too%s", here, first, c.Name, ByServer))
			}
			names[c.Name] = strings.TrimSuffix(here, ".")
			if c.Image == "" {
				problems = append(problems, here+"image: is missing"+ByServer)
			}
			for _, problem := range slices.Concat(resources(c.Resources), ports(c.Ports)) {
				problems = append(problems, here+problem)
			}
		}
	}
	slices.Sort(problems)
	return problems
}

func ports(list []corev1.ContainerPort) (problems []string) {
	const most = 65535
	for i, p := range list {
		if !slices.Contains([]corev1.Protocol{"", corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}, p.Protocol) {
			problems = append(problems, fmt.Sprintf("ports[%d].protocol: %q is none of TCP, UDP and SCTP%s", i, p.Protocol, ByServer))
		}
		for _, port := range []struct {
			field string
			n     int32
		}{{"containerPort", p.ContainerPort}, {"hostPort", p.HostPort}} {
			switch {
			case port.n == 0 && port.field == "containerPort":
				problems = append(problems, fmt.Sprintf("ports[%d].containerPort: is missing; want 1 to %d%s", i, most, ByServer))
			case port.n < 0 || port.n > most:
				problems = append(problems, fmt.Sprintf("ports[%d].%s: %d is no port; want 1 to %d%s", i, port.field, port.n, most, ByServer))
			}
		}
	}
	return problems
}

// hostPorts are the ports of nodes that a pod takes, each of which it can take once.
func hostPorts(at string, spec *corev1.PodSpec) (problems []string) {
	type port struct {
		protocol corev1.Protocol
		ip       string
		n        int32
	}
	taken := map[port]string{}
	for i, c := range spec.Containers {
		for k, p := range c.Ports {
			if p.HostPort == 0 {
				continue
			}
			here := fmt.Sprintf("%s.containers[%d].ports[%d].hostPort", at, i, k)
			if spec.HostNetwork && p.HostPort != p.ContainerPort {
				problems = append(problems, fmt.Sprintf("%s: %d is not containerPort, %d: with hostNetwork both are one%s", here, p.HostPort, p.ContainerPort, ByServer))
			}
			as := port{cmp.Or(p.Protocol, corev1.ProtocolTCP), p.HostIP, p.HostPort}
			if first := taken[as]; first != "" {
				problems = append(problems, fmt.Sprintf("%s: %s takes %s %d too%s", here, first, as.protocol, as.n, ByServer))
				continue
			}
			taken[as] = here
		}
	}
	return problems
}

func resources(r corev1.ResourceRequirements) (problems []string) {
	for field, list := range map[string]corev1.ResourceList{"limits": r.Limits, "requests": r.Requests} {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			if problem := amount(name, list[name]); problem != "" {
				problems = append(problems, fmt.Sprintf("resources.%s.%s: %s", field, name, problem))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		request, limit := r.Requests[name], r.Limits[name]
		_, limited := r.Limits[name]
		switch {
		case limited && request.Cmp(limit) > 0:
			problems = append(problems, fmt.Sprintf("resources.requests.%s: %s is more than its limit, %s%s", name, request.String(), limit.String(), ByServer))
		case limited && whole(name) != "" && request.Cmp(limit) != 0:
			problems = append(problems, fmt.Sprintf("resources.requests.%s: %s is not its limit, %s: of %s the limit counts%s", name, request.String(), limit.String(), whole(name), ByServer))
		case !limited && whole(name) != "":
			problems = append(problems, fmt.Sprintf("resources.limits.%s: is missing: of %s the limit counts%s", name, whole(name), ByServer))
		}
	}
	return problems
}

// whole says what a resource is of which a container gets as much as it may have at most; "" for others.
func whole(name corev1.ResourceName) string {
	switch {
	case reader.IsExtended(name):
		return "devices"
	case strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
		return "huge pages"
	default:
		return ""
	}
}

// amount says what is wrong with how much is asked for; "" for nothing.
func amount(name corev1.ResourceName, q resource.Quantity) string {
	const thousandths, most = 1000, 10_000 // more processors than any machine has
	const little = 1 << 20                 // 1.2Gi has a fraction too, and is meant
	text := q.String()
	switch part := q.MilliValue()%thousandths != 0; {
	case name == "":
		return "has no resource's name" + ByServer
	case !named(name):
		return "is no resource of containers; want cpu, memory, ephemeral-storage, hugepages-2Mi, or one with a domain such as nvidia.com/gpu" + ByServer
	case q.Sign() < 0:
		return text + " is negative" + ByServer
	case part && reader.IsExtended(name):
		return text + " is no whole number" + ByServer
	case (name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage) && strings.HasSuffix(text, "m") && q.Value() < little:
		return fmt.Sprintf("%s is in thousandths of a byte; did you mean %sMi?", text, strings.TrimSuffix(text, "m"))
	case name == corev1.ResourceCPU && q.Value() > most && strings.HasSuffix(text, "M"):
		return fmt.Sprintf("%s is in millions; did you mean %sm?", text, strings.TrimSuffix(text, "M"))
	default:
		return ""
	}
}

// named tells the names of resources that containers may ask for.
func named(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return true
	default:
		return strings.Contains(string(name), "/") || strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
	}
}

func spread(at string, spec *corev1.PodSpec) (problems []string) {
	kinds := map[string]int{}
	for i, c := range spec.TopologySpreadConstraints {
		wrong := constraint(c)
		kind := c.TopologyKey + " " + string(c.WhenUnsatisfiable)
		if first, again := kinds[kind]; again {
			wrong = append(wrong, fmt.Sprintf("topologyKey: topologySpreadConstraints[%d] has %s with %s too; want one of both", first, c.TopologyKey, c.WhenUnsatisfiable))
		} else {
			kinds[kind] = i
		}
		for _, problem := range wrong {
			problems = append(problems, fmt.Sprintf("%s.topologySpreadConstraints[%d].%s%s", at, i, problem, ByServer))
		}
	}
	return problems
}

// constraint is what is wrong with one, by itself.
func constraint(c corev1.TopologySpreadConstraint) (problems []string) {
	bad := func(field, format string, args ...any) {
		problems = append(problems, field+": "+fmt.Sprintf(format, args...))
	}
	policy := func(field string, p *corev1.NodeInclusionPolicy) {
		if p == nil {
			return
		}
		if problem := oneOf(*p, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore); problem != "" {
			bad(field, "%s", problem)
		}
	}
	if c.MaxSkew < 1 {
		bad("maxSkew", "%d is less than 1", c.MaxSkew)
	}
	if n := c.MinDomains; n != nil && *n < 1 {
		bad("minDomains", "%d is less than 1", *n)
	}
	if c.MinDomains != nil && c.WhenUnsatisfiable == corev1.ScheduleAnyway {
		bad("minDomains", "needs whenUnsatisfiable: %s", corev1.DoNotSchedule)
	}
	if problem := oneOf(c.WhenUnsatisfiable, corev1.DoNotSchedule, corev1.ScheduleAnyway); problem != "" {
		bad("whenUnsatisfiable", "%s", problem)
	}
	policy("nodeAffinityPolicy", c.NodeAffinityPolicy)
	policy("nodeTaintsPolicy", c.NodeTaintsPolicy)
	if at, problem := unreadable("labelSelector", c.LabelSelector); problem != "" {
		bad(at, "%s", problem)
	}
	if len(c.MatchLabelKeys) > 0 && c.LabelSelector == nil {
		bad("matchLabelKeys", "need a labelSelector")
		return problems
	}
	for _, key := range c.MatchLabelKeys {
		// What the API server itself adds for a key is an expression.
		if _, both := c.LabelSelector.MatchLabels[key]; both {
			bad("matchLabelKeys", "%s is in labelSelector too; leave it out in one of them", key)
		}
	}
	return problems
}

// oneOf says that a value is none of two; "" for one that is.
func oneOf[T ~string](v, a, b T) string {
	if v == a || v == b {
		return ""
	}
	return fmt.Sprintf("%q is neither %s nor %s", v, a, b)
}

func tolerations(at string, spec *corev1.PodSpec) (problems []string) {
	for i, t := range spec.Tolerations {
		here := fmt.Sprintf("%s.tolerations[%d].", at, i)
		switch {
		case t.Operator == corev1.TolerationOpExists && t.Value != "":
			problems = append(problems, here+"value: "+t.Value+" has no place with operator Exists; leave it out, or write Equal"+ByServer)
		case t.Operator != corev1.TolerationOpExists && t.Key == "":
			problems = append(problems, here+"key: is missing: only operator Exists needs none"+ByServer)
		case t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute:
			problems = append(problems, here+"tolerationSeconds: need effect: NoExecute"+ByServer)
		}
	}
	return problems
}

// weights are those of what is preferred.
func weights(at string, a *corev1.Affinity) (problems []string) {
	const most, field = 100, "preferredDuringSchedulingIgnoredDuringExecution"
	check := func(kind string, i int, weight int32) {
		if weight < 1 || weight > most {
			problems = append(problems, fmt.Sprintf("%s.%s.%s[%d].weight: %d is not between 1 and %d%s", at, kind, field, i, weight, most, ByServer))
		}
	}
	if a == nil {
		return nil
	}
	if n := a.NodeAffinity; n != nil {
		for i, t := range n.PreferredDuringSchedulingIgnoredDuringExecution {
			check("nodeAffinity", i, t.Weight)
		}
	}
	if p := a.PodAffinity; p != nil {
		for i, t := range p.PreferredDuringSchedulingIgnoredDuringExecution {
			check("podAffinity", i, t.Weight)
		}
	}
	if p := a.PodAntiAffinity; p != nil {
		for i, t := range p.PreferredDuringSchedulingIgnoredDuringExecution {
			check("podAntiAffinity", i, t.Weight)
		}
	}
	return problems
}

// Budget is what is wrong with a disruption budget, a line each.
func Budget(b *policyv1.PodDisruptionBudget) (problems []string) {
	spec := b.Spec
	bad := func(field, problem string) {
		if problem != "" {
			problems = append(problems, "spec."+field+": "+problem+ByServer)
		}
	}
	if spec.MinAvailable != nil && spec.MaxUnavailable != nil {
		bad("maxUnavailable", "minAvailable is there too; want one of both")
	}
	bad("minAvailable", share(spec.MinAvailable))
	bad("maxUnavailable", share(spec.MaxUnavailable))
	if p := spec.UnhealthyPodEvictionPolicy; p != nil {
		bad("unhealthyPodEvictionPolicy", oneOf(*p, policyv1.IfHealthyBudget, policyv1.AlwaysAllow))
	}
	bad(unreadable("selector", spec.Selector))
	return problems
}

// share says what is wrong with a number of pods, or a share of them; "" for nothing.
func share(v *intstr.IntOrString) string {
	const all = 100
	if v == nil {
		return ""
	}
	if v.Type == intstr.Int && v.IntVal >= 0 {
		return ""
	}
	if v.Type == intstr.Int {
		return v.String() + " is negative"
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(v, all, true)
	switch {
	case err != nil:
		return fmt.Sprintf("%q is no number and no percentage; write a number without quotes, or one with %%", v.StrVal)
	case n < 0 || n > all:
		return v.StrVal + " is not between 0% and 100%"
	default:
		return ""
	}
}
