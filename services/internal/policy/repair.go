package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/boot/config"
)

// Repair says which nodes are unhealthy for so long that they are replaced.
type Repair struct {
	// Off keeps unhealthy nodes.
	Off bool `json:"off"`
	// Conditions are what makes a node unhealthy; left out, AWS's: Ready False or Unknown for 30m, AcceleratedHardwareReady
	// False for 10m, and StorageReady, NetworkingReady, KernelReady and ContainerRuntimeReady False for 30m.
	Conditions []RepairCondition `json:"conditions"`
	// MaxUnhealthyPercent is the share of a pool's nodes, 1 to 100, that may be unhealthy at once for any to be
	// replaced; left out, 20.
	MaxUnhealthyPercent *int32 `json:"max_unhealthy_percent"`
}

// RepairCondition is one way to be unhealthy. All of its fields must be set.
type RepairCondition struct {
	// Type is the type of the node's condition, such as "Ready". Required.
	Type string `json:"type"`
	// Status is the one that is unhealthy: "True", "False" or "Unknown". Required.
	Status Status `json:"status"`
	// After is how long it must last. Required.
	After config.Duration `json:"after"`
}

// Status is a condition's status: "True", "False" or "Unknown".
type Status string

// UnmarshalJSON implements json.Unmarshaler. It is there for those who write True in YAML, which is no text.
func (s *Status) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("%s is no text: want %s, in quotes", data, oneOf(statuses()))
	}
	*s = Status(text)
	return nil
}

// statuses are those that there are, quoted.
func statuses() []string {
	var out []string
	for _, s := range []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown} {
		out = append(out, strconv.Quote(string(s)))
	}
	return out
}

// Validate implements config.Validator.
func (r Repair) Validate() error {
	var errs []error
	if n := r.MaxUnhealthyPercent; n != nil && (*n < 1 || *n > maxPercent) {
		errs = append(errs, config.Errorf("max_unhealthy_percent",
			"%d is not between 1 and %d; leave it out for the default", *n, maxPercent))
	}
	if r.Off && len(r.Conditions) > 0 {
		errs = append(errs, config.Errorf("conditions", "have no meaning where repair is off: leave them out, or off"))
	}
	if r.Off && r.MaxUnhealthyPercent != nil {
		errs = append(errs, config.Errorf("max_unhealthy_percent", "has no meaning where repair is off: leave it out, or off"))
	}
	for i, c := range r.Conditions {
		same := func(b RepairCondition) bool { return b.Type == c.Type && b.Status == c.Status }
		if c.Type != "" && slices.ContainsFunc(r.Conditions[:i], same) {
			errs = append(errs, config.Errorf(fmt.Sprintf("conditions[%d]", i),
				"type %s with status %s is there twice: keep one", c.Type, c.Status))
		}
	}
	return errors.Join(errs...)
}

// Validate implements config.Validator.
func (c RepairCondition) Validate() error {
	var errs []error
	if c.Type == "" {
		errs = append(errs, config.Errorf("type", "required: the type of a node's condition, such as %s", corev1.NodeReady))
	} else if wrong := validation.IsQualifiedName(c.Type); len(wrong) > 0 {
		errs = append(errs, config.Errorf("type", "%q is not a condition's type: %s", c.Type, wrong[0]))
	}
	if !slices.Contains(statuses(), strconv.Quote(string(c.Status))) {
		errs = append(errs, config.Errorf("status", "%q is unknown: want %s", c.Status, oneOf(statuses())))
	}
	if c.After <= 0 {
		errs = append(errs, config.Errorf("after", `%s is too short: want how long the condition must last, such as "30m"`, c.After))
	}
	return errors.Join(errs...)
}

// Model is the policy as rules read it; nil is the default. The config has been checked.
func (r *Repair) Model() model.RepairPolicy {
	if r == nil {
		return model.RepairPolicy{}
	}
	out := model.RepairPolicy{Off: r.Off}
	if n := r.MaxUnhealthyPercent; n != nil {
		out.MaxUnhealthyPercent = int(*n)
	}
	for _, c := range r.Conditions {
		out.Conditions = append(out.Conditions, model.RepairCondition{
			Type: c.Type, Status: string(c.Status), After: time.Duration(c.After),
		})
	}
	return out
}

func (r *Repair) proto() *clusterpb.RepairPolicy {
	if r == nil {
		return nil
	}
	out := &clusterpb.RepairPolicy{Off: r.Off, MaxUnhealthyPercent: r.MaxUnhealthyPercent}
	for _, c := range r.Conditions {
		out.Conditions = append(out.Conditions, &clusterpb.RepairCondition{
			Type: c.Type, Status: string(c.Status), After: span(&c.After),
		})
	}
	return out
}

func span(d *config.Duration) *durationpb.Duration {
	if d == nil {
		return nil
	}
	return durationpb.New(time.Duration(*d))
}
