package instancetype_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/core/model"
)

var update = flag.Bool("update", false, "rewrite testdata/allocatable.tsv")

// allocatableFile holds what pods can use on a node of each bundled type, under a plain AL2023 class. Its values were
// compared with Karpenter's published table, of which TestAllocatableIsWhatKarpenterPublishes says how; so another
// value in it needs a reason.
const allocatableFile = "testdata/allocatable.tsv"

// columns of allocatableFile, after the type's name.
func columns() []model.Resource {
	return []model.Resource{
		"cpu", "memory", "ephemeral-storage", "pods", "vpc.amazonaws.com/pod-eni", "vpc.amazonaws.com/efa", "nvidia.com/gpu", "amd.com/gpu",
		"habana.ai/gaudi", "aws.amazon.com/neuron", "aws.amazon.com/neuroncore",
	}
}

// allocatables are of each type that any region has, in millicores, MiB, GiB and pieces.
func allocatables(t *testing.T) map[string][]int64 {
	t.Helper()
	out := map[string][]int64{}
	for _, region := range catalog.Regions() {
		c, err := catalog.BundledFor(region)
		if err != nil {
			t.Fatal(err)
		}
		for _, ty := range c.Types {
			if out[ty.Name] != nil {
				continue
			}
			has := resolve(t, ty, instancetype.Settings{AMIFamily: instancetype.Custom}).Allocatable // which runs on the oldest, too
			for _, r := range columns() {
				v := has.Value(r)
				if r == "memory" {
					v /= mi
				}
				if r == "ephemeral-storage" {
					v /= gi
				}
				out[ty.Name] = append(out[ty.Name], v)
			}
		}
	}
	return out
}

func TestAllocatableOfEachType(t *testing.T) {
	t.Parallel()
	got := allocatables(t)
	var b strings.Builder
	fmt.Fprintf(&b, "type")
	for _, r := range columns() {
		fmt.Fprintf(&b, "\t%s", r)
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		fmt.Fprintf(&b, "\n%s", name)
		for _, v := range got[name] {
			fmt.Fprintf(&b, "\t%d", v)
		}
	}
	b.WriteByte('\n')
	if *update {
		if err := os.WriteFile(allocatableFile, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(allocatableFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Errorf("run with -update, and say in the commit why (-want +got):\n%s", diff)
	}
}

// explained says why the published table differs from what is computed, by type.
func explained() map[string]string {
	const cards = "published as if one network card took all interfaces: EC2 names two, and pods get no addresses from the second"
	return map[string]string{
		"i7ie.48xlarge": cards, "i7ie.metal-48xl": cards, "i8ge.48xlarge": cards, "i8ge.metal-48xl": cards,
	}
}

// unbundled says why types that are published are not in the catalogue, by type or family.
func unbundled() map[string]string {
	const (
		retired  = "EC2's newer descriptions, those of October 2026, do not have it: it is not sold to every account any more"
		unpriced = "no source has a list price of it in any region"
	)
	return map[string]string{"g4ad": retired, "dl2q": unpriced, "g7": unpriced, "p5e": unpriced, "x8aedz": unpriced}
}

// TestWhatIsNotBundledIsNamed keeps unbundled to what is missing.
func TestWhatIsNotBundledIsNamed(t *testing.T) {
	t.Parallel()
	for name := range allocatables(t) {
		family, _, _ := strings.Cut(name, ".")
		if why := unbundled()[family]; why != "" {
			t.Errorf("%s is bundled, though %s", name, why)
		}
	}
}

// TestAllocatableIsWhatKarpenterPublishes compares with the page website/content/en/preview/reference/instance-types.md
// of github.com/aws/karpenter-provider-aws (Apache-2.0), which KERF_INSTANCE_TYPES_PAGE names. That of commit 1d92708,
// of August 2026, has 1,363 types: 1,342 of them are bundled, and agree but for those that are explained. unbundled
// names the others.
func TestAllocatableIsWhatKarpenterPublishes(t *testing.T) {
	t.Parallel()
	page := os.Getenv("KERF_INSTANCE_TYPES_PAGE")
	if page == "" {
		t.Skip("KERF_INSTANCE_TYPES_PAGE names no page")
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	got := allocatables(t)
	compared, why := 0, explained()
	for name, published := range publishedAllocatables(t, string(text)) {
		ours, ok := got[name]
		if family, _, _ := strings.Cut(name, "."); !ok && unbundled()[family] == "" {
			t.Errorf("%s is not bundled, and nothing says why", name)
		}
		if !ok {
			continue
		}
		compared++
		for i, r := range columns() {
			if published[r] != ours[i] && why[name] == "" {
				t.Errorf("%s: %s: %d, published %d", name, r, ours[i], published[r])
			}
		}
	}
	t.Logf("compared %d types", compared)
	if compared < 1000 {
		t.Errorf("only %d types compared", compared)
	}
}

// publishedAllocatables reads the page: of each type a heading, and a table of resources behind a heading of its own.
func publishedAllocatables(t *testing.T, page string) map[string]map[model.Resource]int64 {
	t.Helper()
	heading, row := regexp.MustCompile("^### `([^`]+)`"), regexp.MustCompile(`^ \|([a-z./-]+)\|([0-9]+)(m|Mi|Gi)?\|`)
	out := map[string]map[model.Resource]int64{}
	var of map[model.Resource]int64
	resources := false
	for line := range strings.Lines(page) {
		if m := heading.FindStringSubmatch(line); m != nil {
			of, resources = map[model.Resource]int64{}, false
			out[m[1]] = of
		}
		resources = resources || strings.HasPrefix(line, "#### Resources")
		if m := row.FindStringSubmatch(line); m != nil && resources {
			v, err := strconv.ParseInt(m[2], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if m[1] == "cpu" && m[3] == "" {
				v *= 1000
			}
			of[model.Resource(m[1])] = v
		}
	}
	return out
}
