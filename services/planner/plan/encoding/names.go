package encoding

import (
	"strings"

	"github.com/kerf-dev/kerf/services/core/model"
)

// Names makes the ids of a plan: the same plan has the same ids, and no two parts of it have one.
type Names struct {
	e *Encoder
	// hash is the input's.
	hash  string
	parts []string
}

// NewNames makes ids for a plan of the input that has the hash.
func NewNames(hash string) *Names { return &Names{e: New(1 << 10), hash: hash} }

// mostPoolName is how much of a pool's name a claim's id has: the id is a label's value too, which has at most 63 bytes.
const mostPoolName = 52

// Claim names a claim by its pool and its pods.
func (n *Names) Claim(pool model.PoolName, pods []model.PodID) model.ClaimID {
	parts := append(n.parts[:0], "claim", n.hash, string(pool))
	for _, p := range pods {
		parts = append(parts, string(p))
	}
	n.parts = parts
	short := strings.TrimRight(string(pool[:min(len(pool), mostPoolName)]), "-.") // no part of a name ends so
	return model.ClaimID(short + "-" + n.e.Strings(parts)[:10])
}

// Disruption names a disruption by the claims that it removes.
func (n *Names) Disruption(candidates []model.ClaimID) model.DisruptionID {
	parts := []string{"disruption", n.hash}
	for _, id := range candidates {
		parts = append(parts, string(id))
	}
	return model.DisruptionID("d-" + n.e.Strings(parts)[:16])
}
