package device

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

// maxDevices is how many devices one claim can be given.
const maxDevices = resourcev1.AllocationResultsMaxSize

// Implied says whether a resource stands for the devices of a class.
func Implied(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), resourcev1.ResourceDeviceClassPrefix)
}

// ClaimName is the name of the claim object behind a pod's claim. own says that it is made from a template for this pod;
// then made says whether that has happened, and the name is "" if not, or if there was nothing to make.
func ClaimName(p *corev1.Pod, rc corev1.PodResourceClaim) (name string, own, made bool) {
	if rc.ResourceClaimName != nil {
		return *rc.ResourceClaimName, false, false
	}
	if rc.ResourceClaimTemplateName == nil {
		return "", false, false
	}
	for _, s := range p.Status.ResourceClaimStatuses {
		if s.Name == rc.Name {
			if s.ResourceClaimName == nil {
				return "", true, true
			}
			return *s.ResourceClaimName, true, true
		}
	}
	return "", true, false
}

// ClaimKeys lists the claim objects of a pod as "namespace/name", those made for it included.
func ClaimKeys(p *corev1.Pod) []string {
	var out []string
	for _, rc := range p.Spec.ResourceClaims {
		if name, _, _ := ClaimName(p, rc); name != "" {
			out = append(out, p.Namespace+"/"+name)
		}
	}
	if s := p.Status.ExtendedResourceClaimStatus; s != nil && s.ResourceClaimName != "" {
		out = append(out, p.Namespace+"/"+s.ResourceClaimName)
	}
	return out
}

// SharedClaim reads a claim that pods name. Where no pod uses it any more it is about to lose its devices.
func SharedClaim(c *resourcev1.ResourceClaim, classes func(string) *resourcev1.DeviceClass) (*clusterpb.DeviceClaim, string) {
	out, bad := Claim(c.Spec.Devices, classes)
	if bad != "" {
		return nil, bad
	}
	out.Name = c.Namespace + "/" + c.Name
	if c.Status.Allocation == nil || len(c.Status.ReservedFor) == 0 {
		return out, ""
	}
	out.Allocated = true
	selector := c.Status.Allocation.NodeSelector
	if selector == nil {
		return out, ""
	}
	if out.Node = singleNode(selector); out.GetNode() != "" {
		return out, ""
	}
	for i, t := range selector.NodeSelectorTerms {
		reqs, bad := reader.NodeTerm(t)
		if bad != "" {
			return nil, fmt.Sprintf("resource claim %s: status.allocation.nodeSelector.nodeSelectorTerms[%d].%s", c.Name, i, bad)
		}
		out.Terms = append(out.Terms, &clusterpb.NodeAffinityTerm{Requirements: convert.Requirements(reqs)})
	}
	return out, ""
}

// singleNode is the node that a selector names, and nothing else; "" when it does more, or less.
func singleNode(s *corev1.NodeSelector) string {
	if len(s.NodeSelectorTerms) != 1 {
		return ""
	}
	t := s.NodeSelectorTerms[0]
	if len(t.MatchExpressions) > 0 || len(t.MatchFields) != 1 {
		return ""
	}
	f := t.MatchFields[0]
	if f.Key != metav1.ObjectNameField || f.Operator != corev1.NodeSelectorOpIn || len(f.Values) != 1 {
		return ""
	}
	return f.Values[0]
}

// Claim reads what a claim asks for. The text names the first field that Kerf does not plan for.
func Claim(d resourcev1.DeviceClaim, classes func(string) *resourcev1.DeviceClass) (*clusterpb.DeviceClaim, string) {
	out := &clusterpb.DeviceClaim{}
	for i, q := range d.Requests {
		path := fmt.Sprintf("devices.requests[%d]", i)
		r := &clusterpb.DeviceRequest{Name: q.Name}
		for _, w := range waysOf(q) {
			o, bad := option(w.DeviceSubRequest, classes)
			if bad != "" {
				return nil, path + w.path + "." + bad
			}
			if w.adminAccess {
				return nil, path + w.path + ".adminAccess: not planned for"
			}
			r.Options = append(r.Options, o)
		}
		if len(r.GetOptions()) == 0 {
			return nil, path + ": has neither exactly nor firstAvailable"
		}
		out.Requests = append(out.Requests, r)
	}
	for i, c := range d.Constraints {
		if c.MatchAttribute == nil {
			return nil, fmt.Sprintf("devices.constraints[%d]: distinctAttribute: not planned for; want matchAttribute", i)
		}
		k := &clusterpb.DeviceConstraint{Attribute: string(*c.MatchAttribute)}
		for _, name := range reader.SortedSet(c.Requests) {
			k.Requests = append(k.Requests, convert.DeviceRequestRef(name))
		}
		out.Constraints = append(out.Constraints, k)
	}
	return out, ""
}

// way is one way to serve a request: the request itself, or one of its alternatives.
type way struct {
	resourcev1.DeviceSubRequest
	path        string
	adminAccess bool
}

func waysOf(q resourcev1.DeviceRequest) []way {
	if e := q.Exactly; e != nil {
		return []way{{path: ".exactly", adminAccess: e.AdminAccess != nil && *e.AdminAccess, DeviceSubRequest: resourcev1.DeviceSubRequest{
			DeviceClassName: e.DeviceClassName, Selectors: e.Selectors, AllocationMode: e.AllocationMode, Count: e.Count,
			Tolerations: e.Tolerations, Capacity: e.Capacity, DerivedAttributes: e.DerivedAttributes,
		}}}
	}
	var out []way
	for i, s := range q.FirstAvailable {
		out = append(out, way{path: fmt.Sprintf(".firstAvailable[%d]", i), DeviceSubRequest: s})
	}
	return out
}

func option(s resourcev1.DeviceSubRequest, classes func(string) *resourcev1.DeviceClass) (*clusterpb.DeviceOption, string) {
	switch {
	case len(s.Tolerations) > 0:
		return nil, "tolerations: not planned for"
	case s.Capacity != nil && len(s.Capacity.Requests) > 0:
		return nil, "capacity: not planned for"
	case len(s.DerivedAttributes) > 0:
		return nil, "derivedAttributes: not planned for"
	}
	class := classes(s.DeviceClassName)
	if class == nil {
		return nil, fmt.Sprintf("deviceClassName: there is no DeviceClass %s", s.DeviceClassName)
	}
	exprs, bad := expressions(class.Spec.Selectors, s.Selectors)
	if bad != "" {
		return nil, bad
	}
	out := &clusterpb.DeviceOption{Name: s.Name, DeviceClass: s.DeviceClassName, Selector: selectorID(exprs)}
	switch s.AllocationMode {
	case resourcev1.DeviceAllocationModeAll:
	case resourcev1.DeviceAllocationModeExactCount, "":
		count := cmp.Or(s.Count, 1)
		if count < 1 || count > min(maxDevices, math.MaxInt32) {
			return nil, fmt.Sprintf("count: %d; a claim can be given 1 to %d devices", count, maxDevices)
		}
		out.Count = new(int32(count))
	default:
		return nil, fmt.Sprintf("allocationMode: %q is not known", s.AllocationMode)
	}
	return out, ""
}

// OfPod are the devices that a bound pod's claims were given, sorted.
func OfPod(p *corev1.Pod, claims func(namespace, name string) *resourcev1.ResourceClaim) []*clusterpb.DeviceRef {
	if p.Spec.NodeName == "" {
		return nil
	}
	var out []*clusterpb.DeviceRef
	for _, key := range ClaimKeys(p) {
		namespace, name, _ := strings.Cut(key, "/")
		c := claims(namespace, name)
		if c == nil || c.Status.Allocation == nil {
			continue
		}
		for _, d := range c.Status.Allocation.Devices.Results {
			if d.AdminAccess == nil || !*d.AdminAccess {
				out = append(out, &clusterpb.DeviceRef{Driver: d.Driver, Pool: d.Pool, Name: d.Device})
			}
		}
	}
	slices.SortFunc(out, compareDeviceRefs)
	return slices.CompactFunc(out, func(a, b *clusterpb.DeviceRef) bool { return compareDeviceRefs(a, b) == 0 })
}

func compareDeviceRefs(a, b *clusterpb.DeviceRef) int {
	return cmp.Or(strings.Compare(a.GetDriver(), b.GetDriver()), strings.Compare(a.GetPool(), b.GetPool()), strings.Compare(a.GetName(), b.GetName()))
}

// HeldByOthers are the devices of a claim that something uses which is no pod. What pods use is said with the pods.
func HeldByOthers(c *resourcev1.ResourceClaim) map[Key]bool {
	pods := func(r resourcev1.ResourceClaimConsumerReference) bool {
		return r.APIGroup == "" && r.Resource == "pods"
	}
	if c.Status.Allocation == nil || !slices.ContainsFunc(c.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return !pods(r) }) {
		return nil
	}
	out := map[Key]bool{}
	for _, d := range c.Status.Allocation.Devices.Results {
		if d.AdminAccess == nil || !*d.AdminAccess {
			out[Key{d.Driver, d.Pool, d.Device}] = true
		}
	}
	return out
}
