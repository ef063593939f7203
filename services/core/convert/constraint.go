package convert

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/model"
)

func (r *reader) amounts(field string, in []*clusterpb.Amount) model.Amounts {
	if len(in) == 0 {
		return nil
	}
	out := make(model.Amounts, len(in))
	for i, a := range in {
		out[i] = model.Amount{Resource: model.Resource(a.GetResource()), Value: a.GetValue()}
		switch {
		case a.GetResource() == "":
			r.untidy(field, "has an amount without a resource")
		case a.GetValue() < 0:
			r.untidy(field, "has a negative amount of %s: %d", a.GetResource(), a.GetValue())
		}
	}
	sortBy(out, func(a *model.Amount) model.Resource { return a.Resource })
	for i := 1; i < len(out); i++ {
		if out[i].Resource == out[i-1].Resource {
			r.untidy(field, "names %s twice", out[i].Resource)
		}
	}
	return out
}

// Amounts writes quantities.
func Amounts(in model.Amounts) []*clusterpb.Amount {
	return write(in, func(a model.Amount) *clusterpb.Amount {
		return &clusterpb.Amount{Resource: string(a.Resource), Value: a.Value}
	})
}

func (r *reader) labels(field string, in []*clusterpb.Label) model.Labels {
	if len(in) == 0 {
		return nil
	}
	out := make(model.Labels, len(in))
	for i, l := range in {
		out[i] = model.Label{Key: l.GetKey(), Value: l.GetValue()}
		if l.GetKey() == "" {
			r.untidy(field, "has an entry without a key")
		}
	}
	sortBy(out, func(l *model.Label) string { return l.Key })
	for i := 1; i < len(out); i++ {
		if out[i].Key == out[i-1].Key {
			r.untidy(field, "has the key %s twice", out[i].Key)
		}
	}
	return out
}

// Labels writes labels or annotations.
func Labels(in model.Labels) []*clusterpb.Label {
	return write(in, func(l model.Label) *clusterpb.Label { return &clusterpb.Label{Key: l.Key, Value: l.Value} })
}

func (r *reader) requirements(field string, in []*clusterpb.Requirement) []model.Requirement {
	if len(in) == 0 {
		return nil
	}
	out := make([]model.Requirement, len(in))
	for i, q := range in {
		out[i] = r.requirement(field, q)
	}
	slices.SortStableFunc(out, model.Requirement.Compare)
	return out
}

func (r *reader) requirement(field string, q *clusterpb.Requirement) model.Requirement {
	if q.GetKey() == "" {
		r.bad(field, "has a requirement without a key")
	}
	field += "[" + strconv.Quote(q.GetKey()) + "]"
	out := model.Requirement{
		Key:      q.GetKey(),
		Operator: model.Operator(enum(r, field+".operator", q.GetOperator(), clusterpb.Operator_name)),
		Values:   r.strings(field+".values", q.GetValues()),
	}
	if q.MinValues != nil {
		out.MinValues = int(q.GetMinValues())
		if out.MinValues < 1 {
			r.untidy(field+".min_values", "%d is below 1", out.MinValues)
			out.MinValues = 0
		}
	}
	switch n := len(out.Values); out.Operator {
	case model.In, model.NotIn:
		if n == 0 {
			r.untidy(field+".values", "are missing: %s needs at least one", out.Operator)
		}
	case model.Exists, model.DoesNotExist:
		if n > 0 {
			r.untidy(field+".values", "are %d: %s takes none", n, out.Operator)
		}
	case model.Gt, model.Lt, model.Gte, model.Lte:
		r.integer(field+".values", out)
	}
	return out
}

func (r *reader) integer(field string, q model.Requirement) {
	if len(q.Values) != 1 {
		r.untidy(field, "are %d: %s takes exactly one", len(q.Values), q.Operator)
		return
	}
	if _, err := strconv.ParseInt(q.Values[0], 10, 64); err != nil {
		r.untidy(field, "%q is not a whole number, which %s needs", q.Values[0], q.Operator)
	}
}

// strings reads a list that is sorted and unique.
func (r *reader) strings(field string, in []string) []string {
	if len(in) == 0 {
		return nil
	}
	out := slices.Clone(in)
	slices.Sort(out)
	for i := 1; i < len(out); i++ {
		if out[i] == out[i-1] {
			r.untidy(field, "has %q twice", out[i])
		}
	}
	return out
}

// Requirements writes requirements that all must hold.
func Requirements(in []model.Requirement) []*clusterpb.Requirement {
	return write(in, func(q model.Requirement) *clusterpb.Requirement {
		out := &clusterpb.Requirement{Key: q.Key, Operator: clusterpb.Operator(q.Operator), Values: q.Values}
		if q.MinValues > 0 {
			n := int32(q.MinValues)
			out.MinValues = &n
		}
		return out
	})
}

func (r *reader) selector(field string, in *clusterpb.LabelSelector) *model.Selector {
	if in == nil {
		return nil
	}
	out := &model.Selector{Requirements: r.requirements(field, in.GetRequirements())}
	for _, q := range out.Requirements {
		if q.Operator > model.DoesNotExist {
			r.bad(field, "uses %s on %s; a label selector takes In, NotIn, Exists and DoesNotExist", q.Operator, q.Key)
		}
	}
	return out
}

// Selector writes a selector; nil stays nil.
func Selector(s *model.Selector) *clusterpb.LabelSelector {
	if s == nil {
		return nil
	}
	return &clusterpb.LabelSelector{Requirements: Requirements(s.Requirements)}
}

func (r *reader) taints(field string, in []*clusterpb.Taint) []model.Taint {
	if len(in) == 0 {
		return nil
	}
	out := make([]model.Taint, len(in))
	for i, t := range in {
		if t.GetKey() == "" {
			r.untidy(field, "has a taint without a key")
		}
		effect := enum(r, field+"["+strconv.Quote(t.GetKey())+"].effect", t.GetEffect(), clusterpb.TaintEffect_name)
		out[i] = model.Taint{Key: t.GetKey(), Value: t.GetValue(), Effect: model.TaintEffect(effect)}
	}
	slices.SortStableFunc(out, func(a, b model.Taint) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Effect, b.Effect), cmp.Compare(a.Value, b.Value))
	})
	for i := 1; i < len(out); i++ {
		if out[i].Key == out[i-1].Key && out[i].Effect == out[i-1].Effect {
			r.untidy(field, "has %s:%s twice", out[i].Key, out[i].Effect)
		}
	}
	return out
}

// Taints writes taints.
func Taints(in []model.Taint) []*clusterpb.Taint {
	return write(in, func(t model.Taint) *clusterpb.Taint {
		return &clusterpb.Taint{Key: t.Key, Value: t.Value, Effect: clusterpb.TaintEffect(t.Effect)}
	})
}

func (r *reader) tolerations(field string, in []*clusterpb.Toleration) []model.Toleration {
	if len(in) == 0 {
		return nil
	}
	out := make([]model.Toleration, len(in))
	for i, t := range in {
		at := field + "[" + strconv.Itoa(i) + "]"
		effect := optionalEnum(r, at+".effect", t.GetEffect(), clusterpb.TaintEffect_name)
		out[i] = model.Toleration{
			Key: t.GetKey(), Exists: t.GetExists(), Value: t.GetValue(), Effect: model.TaintEffect(effect),
		}
		switch {
		case t.GetKey() == "" && !t.GetExists():
			r.bad(at+".key", "is missing, which only a toleration with exists may leave out")
		case t.GetExists() && t.GetValue() != "":
			r.bad(at+".value", "%q contradicts exists", t.GetValue())
		}
	}
	return out
}

// Tolerations writes tolerations.
func Tolerations(in []model.Toleration) []*clusterpb.Toleration {
	return write(in, func(t model.Toleration) *clusterpb.Toleration {
		return &clusterpb.Toleration{Key: t.Key, Exists: t.Exists, Value: t.Value, Effect: clusterpb.TaintEffect(t.Effect)}
	})
}

// reason reads a reason that need not be there. It only explains, so a code of another release is kept, and no reason
// to refuse what it stands in: with one claim of a newer release's an older planner would plan nothing.
func (r *reader) reason(field string, in *clusterpb.Reason) model.Reason {
	if in == nil {
		return model.Reason{}
	}
	if in.GetCode() == clusterpb.ReasonCode_REASON_CODE_UNSPECIFIED {
		r.untidy(field+".code", "is unspecified")
	}
	return model.Reason{
		Code: model.Code(in.GetCode()), Message: in.GetMessage(), Subject: SubjectText(in.GetSubject()), Remedy: in.GetRemedy(),
	}
}

// given reads a reason that must be there.
func (r *reader) given(field string, in *clusterpb.Reason) model.Reason {
	if in == nil {
		r.untidy(field, "is missing")
	}
	return r.reason(field, in)
}

// Subject is what "kind/name" names; nil for "".
func Subject(text string) *clusterpb.ObjectRef {
	if text == "" {
		return nil
	}
	kind, name, ok := strings.Cut(text, "/")
	if !ok {
		return &clusterpb.ObjectRef{Name: text}
	}
	return &clusterpb.ObjectRef{Kind: kind, Name: name}
}

// SubjectText is an object as texts write it: "kind/name".
func SubjectText(o *clusterpb.ObjectRef) string {
	if o.GetKind() == "" {
		return o.GetName()
	}
	return o.GetKind() + "/" + o.GetName()
}

// CodeText is a reason's code, the model's or the wire's, as the documents write it.
func CodeText[C model.Code | clusterpb.ReasonCode](code C) string {
	return strings.TrimPrefix(clusterpb.ReasonCode(code).String(), "REASON_CODE_")
}

func writeReason(in model.Reason) *clusterpb.Reason {
	if in == (model.Reason{}) {
		return nil
	}
	return &clusterpb.Reason{
		Code: clusterpb.ReasonCode(in.Code), Message: in.Message, Subject: Subject(in.Subject), Remedy: in.Remedy,
	}
}

// write maps a list; an empty one stays nil, as it is on the wire.
func write[M, P any](in []M, one func(M) P) []P {
	if len(in) == 0 {
		return nil
	}
	out := make([]P, len(in))
	for i, v := range in {
		out[i] = one(v)
	}
	return out
}

// names reads a list of ids, sorted and unique.
func names[N ~string](r *reader, field string, in []string) []N {
	var out []N
	for _, s := range r.strings(field, in) {
		if s == "" {
			r.untidy(field, "has an empty entry")
		}
		out = append(out, N(s))
	}
	return out
}

func texts[N ~string](in []N) []string { return write(in, func(n N) string { return string(n) }) }

// namespaced checks an id of the form "namespace/name".
func (r *reader) namespaced(id string) {
	ns, name, ok := strings.Cut(id, "/")
	if !ok || ns == "" || name == "" || strings.Contains(name, "/") {
		r.bad("id", "%q is not of the form namespace/name", id)
	}
}
