package show

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/kerf-dev/kerf/services/core/model"
)

// later writes what is not of pods and nodes themselves: notices, buffers, overlays.
func (w *writer) later() {
	for _, x := range w.s.Notices {
		for _, c := range w.s.Claims {
			if c.ID == x.Claim {
				w.line("notice", string(c.Node), "spot")
			}
		}
	}
	for _, b := range w.s.CapacityBuffers {
		w.line("buffer", string(b.ID), append(w.podWords(w.podClass(b.Class), true), pair("replicas", strconv.FormatInt(b.Replicas, 10)))...)
	}
	for _, o := range w.s.NodeOverlays {
		words := []string{number("weight", int64(o.Weight))}
		for _, r := range o.Requirements {
			words = append(words, pair("require", requirement(r)))
		}
		if o.Price != nil {
			words = append(words, pair("price", money(*o.Price)))
		}
		for _, a := range o.Capacity {
			words = append(words, pair("capacity", fmt.Sprintf("%s=%d", a.Resource, a.Value)))
		}
		w.line("overlay", o.Name, words...)
	}
}

// state is the word for what a node's claim is, where that is not what it mostly is.
func (w *writer) state(n *model.Node) string {
	i := slices.IndexFunc(w.s.Claims, func(c model.Claim) bool { return c.Node == n.Name })
	if i < 0 || w.s.Claims[i].State == model.ClaimInitialized {
		return ""
	}
	return pair("state", w.s.Claims[i].State.String())
}
