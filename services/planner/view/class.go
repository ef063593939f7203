package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/lacks"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/devices"
)

// Class is a pod class with its requests as a vector and its constraints compiled.
type Class struct {
	// PodClass has the volumes as they can be reached now, and what the pods need of nodes among them; see rules.Disks and
	// lacks.Needed.
	*model.PodClass

	Index int
	// Requested is what each pod takes. Alone is what the first one takes on a node: volumes of Shared are attached once.
	Requested, Alone Vector
	Shared           []SharedVolume
	Profile          *Profile
}

// Profile is where pods may run, as far as labels and taints decide it. Many classes share one, so that it is judged
// once per node and offering instead of once per class.
type Profile struct {
	Index    int
	Selector require.Set
	Affinity []require.Set
	// Volumes has, for each volume in the order of the class, the alternatives from where it can be reached; none means
	// from everywhere. After the volumes come the shared resource claims that are allocated on no single node.
	Volumes     [][]require.Set
	Tolerations []model.Toleration
	// Preferred is the preferred node affinity. None where the policy ignores preferences.
	Preferred []Preference
	// Indifferent says that no preference counts, PreferNoSchedule included: the policy ignores them.
	Indifferent bool
	// Keys are the labels that it mentions, sorted.
	Keys []string
	// key is equal for equal profiles.
	key string
}

// Preference is one term of preferred node affinity, with its weight.
type Preference struct {
	Weight int32
	Terms  require.Set
}

// Mentions says whether the profile depends on a label.
func (p *Profile) Mentions(key string) bool {
	_, ok := slices.BinarySearch(p.Keys, key)
	return ok
}

func (cp compiler) addClasses() error {
	profiles := make(map[string]*Profile)
	indifferent := cp.w.Policy.Preferences == model.PreferencesIgnored
	cp.w.disks, cp.w.Lacks = rules.DisksOf(cp.w.Snapshot, cp.w.Now), lacks.Of(cp.w.Snapshot, cp.w.Now)
	for i := range cp.w.Snapshot.PodClasses {
		spec := lacks.Needed(cp.w.disks.Reachable(&cp.w.Snapshot.PodClasses[i]))
		if i > 0 && spec.ID == cp.w.Classes[i-1].ID {
			return fmt.Errorf("pod class %s is there twice", spec.ID)
		}
		key, err := profileKey(spec, indifferent)
		if err != nil {
			return fmt.Errorf("pod class %s: %w", spec.ID, err)
		}
		p := profiles[key]
		if p == nil {
			p = newProfile(spec, len(cp.w.Profiles), indifferent)
			p.key = key
			profiles[key] = p
			cp.w.Profiles = append(cp.w.Profiles, p)
		}
		c := &Class{PodClass: spec, Index: i, Requested: cp.requested(spec), Profile: p}
		cp.addAttachments(c)
		cp.w.Classes = append(cp.w.Classes, c)
	}
	return nil
}

// profileKey is equal for classes with equal constraints on labels and taints. The names of volumes are not among them:
// each pod of a StatefulSet has volumes of its own, and they mostly can be reached from the same places.
func profileKey(c *model.PodClass, indifferent bool) (string, error) {
	preferred := c.PreferredNodeAffinity
	if indifferent {
		preferred = nil
	}
	volumes := make([][]model.NodeAffinityTerm, len(c.Volumes))
	for i, v := range c.Volumes {
		volumes[i] = v.Terms
	}
	volumes = append(volumes, devices.Terms(c)...)
	b, err := json.Marshal([]any{c.NodeSelector, c.NodeAffinity, volumes, c.Tolerations, preferred})
	return string(b), err
}

func newProfile(c *model.PodClass, index int, indifferent bool) *Profile {
	p := &Profile{Index: index, Selector: require.FromLabels(c.NodeSelector), Tolerations: c.Tolerations, Indifferent: indifferent}
	if !indifferent {
		p.Preferred = preferences(c.PreferredNodeAffinity)
	}
	p.Affinity = terms(c.NodeAffinity)
	for _, v := range c.Volumes {
		p.Volumes = append(p.Volumes, terms(v.Terms))
	}
	for _, from := range devices.Terms(c) {
		p.Volumes = append(p.Volumes, terms(from))
	}
	mention := func(sets ...require.Set) {
		for _, s := range sets {
			for _, r := range s {
				p.Keys = append(p.Keys, r.Key)
			}
		}
	}
	mention(p.Selector)
	mention(p.Affinity...)
	for _, v := range p.Volumes {
		mention(v...)
	}
	for _, pref := range p.Preferred {
		mention(pref.Terms)
	}
	slices.Sort(p.Keys)
	p.Keys = slices.Compact(p.Keys)
	return p
}

// terms compiles alternatives. A term without requirements matches no node, as Kubernetes has it.
func terms(ts []model.NodeAffinityTerm) []require.Set {
	var out []require.Set
	for _, t := range ts {
		if len(t.Requirements) == 0 {
			out = append(out, require.Set{{Key: ""}})
			continue
		}
		out = append(out, require.NewSet(t.Requirements...))
	}
	return out
}

// preferences compiles terms. One without requirements is ignored, as kube-scheduler does.
func preferences(ts []model.PreferredNodeAffinityTerm) []Preference {
	var out []Preference
	for _, t := range ts {
		if len(t.Requirements) > 0 && t.Weight > 0 {
			out = append(out, Preference{Weight: t.Weight, Terms: require.NewSet(t.Requirements...)})
		}
	}
	return out
}

func (w *World) class(id model.ClassID) *Class {
	i, ok := slices.BinarySearchFunc(w.Classes, id, func(c *Class, id model.ClassID) int { return cmp.Compare(c.ID, id) })
	if !ok {
		return nil
	}
	return w.Classes[i]
}
