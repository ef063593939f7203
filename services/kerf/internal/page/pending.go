package page

import (
	"strings"

	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
)

// Pending writes the reasons for which a pod stays pending: the nearest miss, then each pool's where there are more.
func (p *Page) Pending(pod *plannerpb.PendingPod) {
	nearest := pod.GetReason()
	p.Item("    "+p.Paint(Dim, "why     "), nearest.GetMessage())
	if r := nearest.GetRemedy(); r != "" {
		p.Item("    "+p.Paint(Dim, "remedy  "), p.Paint(Green, r))
	}
	for _, m := range pod.GetPools() {
		what := m.GetReason().GetMessage()
		same := what == strings.TrimPrefix(nearest.GetMessage(), "node pool "+m.GetNodePool()+": ")
		if t := m.GetInstanceType(); t != "" && !strings.Contains(what, t) {
			what = "on " + t + ", the nearest, " + what
		} else if same && len(pod.GetPools()) == 1 {
			continue
		} else if same {
			what = "as above"
		}
		if r := m.GetReason().GetRemedy(); r != "" && (!same || r != nearest.GetRemedy()) {
			what += "; " + p.Paint(Green, r)
		}
		p.Item("    "+p.Paint(Dim, "pool    "), m.GetNodePool()+": "+what)
	}
}
