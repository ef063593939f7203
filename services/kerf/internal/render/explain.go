package render

import (
	"fmt"
	"io"
	"strings"

	plannerv1 "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1"
)

// Explain writes what a plan says about one object: "pod/NAME", where the name may leave out its namespace if one pod
// alone has it, or "node/NAME". It is an error when the plan says nothing of it.
func Explain(w io.Writer, v PlanView, object string, s Style) error {
	p := planPage{page: page{Style: s}, PlanView: v, owners: ownersOf(v.Snapshot)}
	kind, name, ok := strings.Cut(object, "/")
	if !ok || name == "" {
		return fmt.Errorf("explain %q: want pod/NAME, pod/NAMESPACE/NAME or node/NAME", object)
	}
	var err error
	switch kind {
	case "pod":
		err = p.explainPod(name)
	case "node":
		err = p.explainNode(name)
	default:
		err = fmt.Errorf("explain %q: want pod/NAME, pod/NAMESPACE/NAME or node/NAME", object)
	}
	if err != nil {
		return err
	}
	return p.writeTo(w)
}

func (p *planPage) explainPod(name string) error {
	id, err := p.podID(name)
	if err != nil {
		return err
	}
	for _, pod := range p.Plan.GetPending() {
		if pod.GetPod() == id {
			p.heading("pod/"+id, "stays pending")
			writePending(&p.page, pod)
			return nil
		}
	}
	for _, d := range p.Plan.GetDisruptions() {
		for _, pl := range d.GetDestinations() {
			if pl.GetPod() == id {
				p.heading("pod/"+id, "moves: "+d.GetExplanation().GetMessage())
				p.destination(pl)
				return nil
			}
		}
	}
	for _, pl := range p.Plan.GetPlacements() {
		if pl.GetPod() == id {
			p.heading("pod/"+id, "is planned for")
			p.destination(pl)
			return nil
		}
	}
	for _, pod := range p.Snapshot.GetPods() {
		if pod.GetId() == id {
			p.heading("pod/"+id, "stays where it is")
			p.item("    "+p.paint(dim, "node    "), pod.GetNode())
		}
	}
	return nil
}

// podID finds the one pod that is meant by a name.
func (p *planPage) podID(name string) (string, error) {
	var found []string
	for _, pod := range p.Snapshot.GetPods() {
		if pod.GetId() == name || (!strings.Contains(name, "/") && strings.HasSuffix(pod.GetId(), "/"+name)) {
			found = append(found, pod.GetId())
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fmt.Errorf("explain pod/%s: there is no such pod", name)
	default:
		return "", fmt.Errorf("explain pod/%s: %d pods have this name; say pod/%s", name, len(found), found[0])
	}
}

func (p *planPage) destination(pl *plannerv1.Placement) {
	if pl.GetNode() != "" {
		p.item("    "+p.paint(dim, "node    "), pl.GetNode()+", which has room")
		return
	}
	for _, c := range p.Plan.GetNodeClaims() {
		if c.GetId() == pl.GetClaim() {
			p.claims([]*plannerv1.NodeClaim{c})
			p.why([]*plannerv1.NodeClaim{c})
			return
		}
	}
	p.item("    "+p.paint(dim, "claim   "), pl.GetClaim()+", which is on its way")
}

func (p *planPage) explainNode(name string) error {
	for _, n := range p.Plan.GetNodes() {
		if n.GetNode() != name {
			continue
		}
		what := "stays"
		if n.GetDisruption() != "" {
			what = "goes"
		}
		p.heading("node/"+name, what)
		p.item("    "+p.paint(dim, "why     "), n.GetReason().GetMessage())
		if r := n.GetReason().GetRemedy(); r != "" {
			p.item("    "+p.paint(dim, "remedy  "), p.paint(green, r))
		}
		p.item("    "+p.paint(dim, "price   "), dollars(n.GetPriceMicroUsdPerHour())+" an hour")
		return nil
	}
	for _, n := range p.Snapshot.GetNodes() {
		if n.GetName() == name {
			p.heading("node/"+name, "stays")
			p.item("    "+p.paint(dim, "why     "), "Kerf did not launch it, so it never takes it away")
			return nil
		}
	}
	return fmt.Errorf("explain node/%s: there is no such node", name)
}
