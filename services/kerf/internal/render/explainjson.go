package render

import (
	"encoding/json"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/kerf-dev/kerf/services/kerf/internal/page"
)

// answerJSON is an answer as proto JSON would have it; what is the contract's is in the contract's form.
type answerJSON struct {
	Object     string          `json:"object"`
	Outcome    string          `json:"outcome"`
	Reason     json.RawMessage `json:"reason,omitempty"`
	Node       *nodeJSON       `json:"node,omitempty"`
	Pods       []podJSON       `json:"pods,omitempty"`
	Pending    json.RawMessage `json:"pending,omitempty"`
	Placement  json.RawMessage `json:"placement,omitempty"`
	NodeClaim  json.RawMessage `json:"nodeClaim,omitempty"`
	Disruption json.RawMessage `json:"disruption,omitempty"`
	Removal    json.RawMessage `json:"removal,omitempty"`
}

type nodeJSON struct {
	Name                 string `json:"name,omitempty"`
	Claim                string `json:"claim,omitempty"`
	State                string `json:"state,omitempty"`
	NodePool             string `json:"nodePool,omitempty"`
	InstanceType         string `json:"instanceType,omitempty"`
	Zone                 string `json:"zone,omitempty"`
	CapacityType         string `json:"capacityType,omitempty"`
	PriceMicroUSDPerHour int64  `json:"priceMicroUsdPerHour,omitempty,string"`
	PriceEstimated       bool   `json:"priceEstimated,omitempty"`
	WasteMicroUSDPerHour int64  `json:"wasteMicroUsdPerHour,omitempty,string"`
	RemovalReason        string `json:"removalReason,omitempty"`
}

type podJSON struct {
	ID    string `json:"id"`
	Owner string `json:"owner,omitempty"`
}

func (p *planPage) answerJSON(w io.Writer, a answer) error {
	out := answerJSON{Object: a.object, Outcome: a.outcome}
	if f := a.node; f != nil {
		out.Node = &nodeJSON{f.name, f.claim, f.state, f.pool, f.shape, f.zone, f.capacity, f.price, f.estimated, f.waste, f.removed}
	}
	for _, id := range a.pods {
		out.Pods = append(out.Pods, podJSON{ID: id, Owner: p.owners.Of(id)})
	}
	for _, part := range []struct {
		to   *json.RawMessage
		from proto.Message
	}{
		{&out.Reason, a.reason},
		{&out.Pending, a.pending},
		{&out.Placement, a.placement},
		{&out.NodeClaim, a.claim},
		{&out.Disruption, a.disruption},
		{&out.Removal, a.removal},
	} {
		if !part.from.ProtoReflect().IsValid() {
			continue // nil
		}
		data, err := page.Marshal(part.from)
		if err != nil {
			return err
		}
		*part.to = data
	}
	data, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("encode %s: %w", a.object, err)
	}
	return page.Indent(w, data)
}
