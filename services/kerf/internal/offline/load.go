package offline

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/boot/config"
	"github.com/kerf-dev/kerf/services/internal/kubeapi"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest/template"
	"github.com/kerf-dev/kerf/services/internal/policy"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert/places"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert/variables"
)

// Input is everything that a dry run plans for.
type Input struct {
	// Source names the files, for errors.
	Source   string
	Snapshot *clusterpb.Snapshot
	// Now is the time to plan for.
	Now time.Time
	// Currency is what prices are in, as an ISO 4217 code; "" for US dollars.
	Currency string
	// Policy is how the cluster weighs what its objects leave open; nil where the files do not say.
	Policy *clusterpb.Policy
	// Gated has the pods and workloads, "namespace/name", that are left out until their scheduling gates are gone, and the
	// first of these.
	Gated map[string]string
	// Warnings are what the user should know of the files, a line each.
	Warnings []string
	// Assumed says what the snapshot holds that is unknown, a sentence each.
	Assumed []string
}

// Options are how files are understood.
type Options struct {
	// At is the time to plan for; zero means that of a saved snapshot, and Present for manifests.
	At time.Time
	// Present is the time now.
	Present time.Time
	// World is where nodes could be bought. It is called once, and only for manifests.
	World func() (convert.World, error)
	// Strict refuses fields that are not known, which are warnings otherwise.
	Strict bool
}

// Load understands files: manifests, or one saved snapshot alone; their content says which. Warnings are there beside an
// error too.
func Load(files []File, o Options) (Input, error) {
	for _, f := range files {
		as := formatOf(f.Data)
		if as == manifests || f.Found && len(files) > 1 {
			continue
		}
		if len(files) > 1 {
			return Input{}, fmt.Errorf("%s is a saved snapshot, which has everything in it: give it alone, without other files", f.Name)
		}
		return fromSnapshot(f, as, o)
	}
	return fromManifests(files, o)
}

// fromSnapshot plans for the time at which the snapshot was taken, so that the same file gives the same plan for ever.
func fromSnapshot(f File, as format, o Options) (Input, error) {
	req, err := decode(f, as)
	if err != nil {
		return Input{}, err
	}
	now := o.Present
	switch {
	case !o.At.IsZero():
		now = o.At
	case req.GetDecide().GetNow() != nil:
		now = req.GetDecide().GetNow().AsTime()
	case req.GetSnapshot().GetObserveTime() != nil:
		now = req.GetSnapshot().GetObserveTime().AsTime()
	}
	s := req.GetSnapshot()
	return Input{Source: f.Name, Snapshot: s, Currency: places.Currency(s), Now: now, Policy: req.GetDecide().GetPolicy()}, nil
}

func fromManifests(files []File, o Options) (Input, error) {
	objects, warnings, err := Objects(files, manifest.Options{Assume: true, Strict: o.Strict})
	if err != nil {
		return Input{Warnings: warnings}, err
	}
	objects, notes := convert.Once(objects)
	convert.Join(objects)
	objects, ranged := convert.Ranged(objects)
	notes = append(notes, ranged...)
	assumed, more := convert.Missing(objects)
	objects = append(objects, assumed...)
	in := Input{Source: names(files), Now: o.At, Gated: convert.Gated(objects), Warnings: slices.Concat(warnings, notes, more, convert.Refused(objects), convert.Elsewhere(objects), convert.Unheeded(objects), convert.LeftOut(objects), variables.Notes(objects))}
	if in.Now.IsZero() {
		in.Now = timeOf(objects, o.Present)
	}
	in.Warnings = append(in.Warnings, ahead(objects, in.Now)...)
	var b convert.Builder
	for _, obj := range objects {
		if err := b.Add(obj); err != nil {
			return Input{Warnings: in.Warnings}, located(files, err)
		}
	}
	if b.Len() == 0 {
		return Input{Warnings: in.Warnings}, fmt.Errorf("%s: nothing in it that could be planned for", names(files))
	}
	world, err := o.World()
	if err != nil {
		return Input{}, err
	}
	built, err := b.Snapshot(world, in.Now)
	in.Snapshot, in.Currency, in.Assumed, in.Warnings = built.Snapshot, built.Currency, built.Assumed, append(in.Warnings, built.Warnings...)
	if err != nil {
		return in, located(files, err)
	}
	return in, nil
}

// timeOf is when manifests are planned for where no one says: now, if there are nodes or claims, which age; else always the
// same time, so that the same files give the same plan, names included.
func timeOf(objects []runtime.Object, present time.Time) time.Time {
	if slices.ContainsFunc(objects, ages) {
		return present
	}
	return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
}

// ages says that plans depend on how old an object is.
func ages(o runtime.Object) bool {
	switch o.(type) {
	case *corev1.Node, *karpenterv1.NodeClaim:
		return true
	default:
		return false
	}
}

// ahead tells of nodes and claims from after the time that is planned for, by more than clocks differ.
func ahead(objects []runtime.Object, now time.Time) (warnings []string) {
	var made []string
	for _, o := range objects {
		if m, ok := o.(metav1.Object); ok && ages(o) && m.GetCreationTimestamp().After(now.Add(time.Minute)) {
			made = append(made, convert.TitleOf(o))
		}
	}
	if len(made) == 0 {
		return nil
	}
	who := made[0]
	if len(made) > 1 {
		who += fmt.Sprintf(" and %d more", len(made)-1)
	}
	return []string{who + ": made after the time that is planned for, which is " + now.UTC().Format(time.RFC3339) +
		": their age counts as none; plan for a later time with --now"}
}

// Preview is what files say that shall be other than it is.
type Preview struct {
	// Objects are in today's forms, with defaults, and valid.
	Objects []runtime.Object
	// Policy is nil where no file is one.
	Policy *clusterpb.Policy
	// Warnings are what the user should know of the files, a line each.
	Warnings []string
}

// LoadPreview understands files as manifests and, where one has no kind, as a policy in the words of the watcher's config.
// LimitRanges are skipped with a warning.
func LoadPreview(files []File, o manifest.Options) (Preview, error) {
	var out Preview
	var objects []File
	var from string
	for _, f := range files {
		if !isPolicy(f.Data) {
			objects = append(objects, f)
			continue
		}
		if out.Policy != nil {
			return Preview{}, fmt.Errorf("%s: a policy, and so is %s: want one at most", f.Name, from)
		}
		cfg, err := policy.Read(f.Data)
		if err == nil {
			err = config.Check(cfg)
		}
		if err != nil {
			return Preview{}, prefixed(f.Name, err)
		}
		out.Policy, from = cfg.Proto(), f.Name
	}
	if len(objects) == 0 {
		return out, nil
	}
	var err error
	out.Objects, out.Warnings, err = Objects(objects, o)
	out.Objects = slices.DeleteFunc(out.Objects, func(o runtime.Object) bool {
		_, skipped := o.(*corev1.LimitRange)
		if skipped {
			out.Warnings = append(out.Warnings, convert.TitleOf(o)+": skipped, because a preview does not look at it: the pods of a snapshot have been admitted")
		}
		return skipped
	})
	return out, err
}

// Locate puts the name of the file before an error about an object of a preview.
func Locate(files []File, err error) error { return located(files, err) }

// isPolicy tells a policy from manifests, which all have a kind.
func isPolicy(data []byte) bool {
	var top map[string]any
	if yaml.Unmarshal(data, &top) != nil || len(top) == 0 {
		return false
	}
	return top["kind"] == nil && top["apiVersion"] == nil && top["items"] == nil
}

// Objects reads manifests in today's forms, with defaults, and valid. Warnings are a line each, and are there beside an
// error too.
func Objects(files []File, o manifest.Options) (objects []runtime.Object, warnings []string, err error) {
	sources := make([]manifest.Source, len(files))
	for i, f := range files {
		sources[i] = manifest.Source{Name: f.Name, Reader: bytes.NewReader(f.Data), Found: f.Found}
	}
	fill := o.Assume
	objects, notes, err := o.Read(sources...)
	for _, n := range notes {
		warnings = append(warnings, n.String())
	}
	if err != nil {
		return nil, warnings, err
	}
	var errs []error
	for _, o := range objects {
		kubeapi.SetDefaults(o)
		if c, ok := o.(*awsv1.EC2NodeClass); ok && fill {
			warnings = append(warnings, fillIDs(c)...)
		}
		for _, err := range []error{kubeapi.ValidateNames(o), kubeapi.Validate(o)} {
			if err == nil {
				continue
			}
			errs = append(errs, unfilled(located(files, err)))
		}
	}
	return objects, warnings, errors.Join(errs...)
}

// unfilled says at the end of each line whether it is a variable that is wrong.
func unfilled(err error) error {
	text := err.Error()
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = l + template.Unfilled(l)
	}
	if told := strings.Join(lines, "\n"); told != text {
		return errors.New(told)
	}
	return err
}

// located puts the name of the file before an error about an object. Where there are several they are read anew for it,
// each by itself: that is cheap enough for the end of a command, and reading them together keeps no names.
func located(files []File, err error) error {
	var invalid *kubeapi.InvalidError
	var object *convert.ObjectError
	var want string
	switch {
	case len(files) == 1:
		return prefixed(files[0].Name, err)
	case errors.As(err, &invalid):
		want = convert.Title(invalid.Kind, "", invalid.Name)
	case errors.As(err, &object):
		want = object.Object
	default:
		return err
	}
	for _, assume := range []bool{false, true} { // what stands for the pods of another project's object is assumed
		for _, f := range files {
			found, _, readErr := manifest.Options{Assume: assume}.Read(manifest.Source{Name: f.Name, Reader: bytes.NewReader(f.Data), Found: f.Found})
			if readErr != nil {
				continue
			}
			if slices.ContainsFunc(found, func(o runtime.Object) bool { return convert.TitleOf(o) == want }) {
				return prefixed(f.Name, err)
			}
		}
	}
	return err
}

// prefixed puts the name before each line of an error.
func prefixed(name string, err error) error {
	lines := strings.Split(err.Error(), "\n")
	for i, l := range lines {
		lines[i] = name + ": " + l
	}
	return errors.New(strings.Join(lines, "\n"))
}

func names(files []File) string {
	list := make([]string, len(files))
	for i, f := range files {
		list[i] = f.Name
	}
	return strings.Join(list, ", ")
}
