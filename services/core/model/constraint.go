package model

import (
	"cmp"
	"slices"
	"strings"
)

// Operator says how a Requirement compares a label's value.
type Operator int

// The operators. The zero Operator is invalid.
const (
	In Operator = iota + 1
	NotIn
	Exists
	DoesNotExist
	Gt
	Lt
	Gte
	Lte
)

// String is the operator as Kubernetes writes it.
func (o Operator) String() string {
	switch o {
	case In:
		return "In"
	case NotIn:
		return "NotIn"
	case Exists:
		return "Exists"
	case DoesNotExist:
		return "DoesNotExist"
	case Gt:
		return "Gt"
	case Lt:
		return "Lt"
	case Gte:
		return "Gte"
	case Lte:
		return "Lte"
	}
	return "invalid"
}

// ParseOperator is the operator that Kubernetes writes so, and false where there is none.
func ParseOperator(s string) (Operator, bool) { return parse(s, In, Lte) }

// parse finds which of the values from first to last is written as s.
func parse[E interface {
	~int
	String() string
}](s string, first, last E,
) (E, bool) {
	for v := first; v <= last; v++ {
		if v.String() == s {
			return v, true
		}
	}
	return 0, false
}

// Requirement is one constraint on one label.
type Requirement struct {
	Key      string
	Operator Operator
	// Values are sorted and unique; empty for Exists and DoesNotExist, exactly one integer for Gt, Lt, Gte and Lte.
	Values []string
	// MinValues is how many distinct values of the key must remain among a claim's offerings; 0 means no minimum.
	MinValues int
}

// Compare is the canonical order of requirements that all must hold.
func (r Requirement) Compare(o Requirement) int {
	return cmp.Or(
		strings.Compare(r.Key, o.Key), cmp.Compare(r.Operator, o.Operator), slices.Compare(r.Values, o.Values),
		cmp.Compare(r.MinValues, o.MinValues))
}

// TaintEffect is what a taint does to a pod that does not tolerate it.
type TaintEffect int

// The effects. AnyEffect is for tolerations only.
const (
	AnyEffect TaintEffect = iota
	NoSchedule
	PreferNoSchedule
	NoExecute
)

// String is the effect as Kubernetes writes it; "" for AnyEffect.
func (e TaintEffect) String() string {
	switch e {
	case NoSchedule:
		return "NoSchedule"
	case PreferNoSchedule:
		return "PreferNoSchedule"
	case NoExecute:
		return "NoExecute"
	case AnyEffect:
	}
	return ""
}

// ParseTaintEffect is the effect that Kubernetes writes so, and false where there is none.
func ParseTaintEffect(s string) (TaintEffect, bool) { return parse(s, NoSchedule, NoExecute) }

// Taint keeps pods off a node that do not tolerate it.
type Taint struct {
	Key    string
	Value  string
	Effect TaintEffect
}

// String is the taint as kubectl writes it: key=value:effect.
func (t Taint) String() string {
	if t.Value == "" {
		return t.Key + ":" + t.Effect.String()
	}
	return t.Key + "=" + t.Value + ":" + t.Effect.String()
}

// Toleration lets a pod onto a tainted node.
type Toleration struct {
	// Key is the taint's key; "" together with Exists matches every taint.
	Key string
	// Exists tolerates any value; otherwise Value must be equal.
	Exists bool
	Value  string
	// Effect is the tolerated effect; AnyEffect tolerates all.
	Effect TaintEffect
}

// Tolerates says whether the toleration covers the taint.
func (t Toleration) Tolerates(taint Taint) bool {
	if t.Effect != AnyEffect && t.Effect != taint.Effect {
		return false
	}
	if t.Key != taint.Key && (t.Key != "" || !t.Exists) {
		return false
	}
	return t.Exists || t.Value == taint.Value
}

// Selector picks objects by their labels. A nil *Selector picks nothing; one without requirements picks everything.
type Selector struct {
	// Requirements use In, NotIn, Exists and DoesNotExist only. All must hold.
	Requirements []Requirement
}

// Matches says whether the selector picks an object with these labels.
func (s *Selector) Matches(labels Labels) bool {
	if s == nil {
		return false
	}
	for _, r := range s.Requirements {
		v, ok := labels.Get(r.Key)
		var holds bool
		switch r.Operator {
		case In:
			holds = ok && slices.Contains(r.Values, v)
		case NotIn:
			holds = !ok || !slices.Contains(r.Values, v)
		case Exists:
			holds = ok
		case DoesNotExist:
			holds = !ok
		case Gt, Lt, Gte, Lte:
			holds = false
		}
		if !holds {
			return false
		}
	}
	return true
}
