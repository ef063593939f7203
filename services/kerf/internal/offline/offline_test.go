package offline_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert"
	"github.com/kerf-dev/kerf/services/kerf/internal/offline"
)

const examples = "../../../../deploy/examples"

func present() time.Time { return time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC) }

// always is when manifests without nodes are planned for.
func always() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

func options() offline.Options {
	return offline.Options{Present: present(), World: func() (convert.World, error) {
		c, err := catalog.Bundled()
		return convert.World{Catalog: c}, err
	}}
}

// story is the story's manifests.
func story(t *testing.T) []offline.File {
	t.Helper()
	var paths []string
	for _, name := range []string{"nodepool.yaml", "nodeclass.yaml", "inflate-5.yaml"} {
		paths = append(paths, filepath.Join(examples, "inflate", name))
	}
	files, err := offline.Read(paths, nil)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// same compares snapshots. The difference is only looked for where there is one: that takes seconds.
func same(t *testing.T, want, got *clusterpb.Snapshot) {
	t.Helper()
	if !proto.Equal(want, got) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, got, protocmp.Transform()))
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "b.yml", "b")
	write(t, dir, "a.yaml", "a")
	write(t, dir, "c.json", "c")
	write(t, dir, "README.md", "not a manifest")
	for _, sub := range []string{"sub.yaml", ".git"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, sub), "d.yaml", "d")
	}
	write(t, dir, "empty.yaml", "")
	got, err := offline.Read([]string{"-", dir}, strings.NewReader("in"))
	if err != nil {
		t.Fatal(err)
	}
	want := []offline.File{
		{Name: "standard input", Data: []byte("in")},
		{Name: filepath.Join(dir, "a.yaml"), Data: []byte("a"), Found: true},
		{Name: filepath.Join(dir, "b.yml"), Data: []byte("b"), Found: true},
		{Name: filepath.Join(dir, "c.json"), Data: []byte("c"), Found: true},
		{Name: filepath.Join(dir, "sub.yaml", "d.yaml"), Data: []byte("d"), Found: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestATextInUTF16IsRead is of what a PowerShell of Windows makes of kubectl's output.
func TestATextInUTF16IsRead(t *testing.T) {
	t.Parallel()
	for name, order := range map[string]binary.AppendByteOrder{"little": binary.LittleEndian, "big": binary.BigEndian} {
		var text []byte
		for _, unit := range utf16.Encode([]rune("\ufeffname: Zürich 🚉\n")) {
			text = order.AppendUint16(text, unit)
		}
		got, err := offline.Read([]string{write(t, t.TempDir(), name, string(text))}, nil)
		if err != nil || string(got[0].Data) != "name: Zürich 🚉\n" {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}

func TestACompressedFileIsRead(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte("kind: Pod\n")); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	got, err := offline.Read([]string{write(t, t.TempDir(), "pod.yaml.gz", b.String())}, nil)
	if err != nil || string(got[0].Data) != "kind: Pod\n" {
		t.Errorf("got %v, %v", got, err)
	}
	_, err = offline.Read([]string{"-"}, bytes.NewReader(b.Bytes()[:b.Len()-9]))
	if err == nil || err.Error() != "standard input: unexpected EOF" {
		t.Errorf("of a part of it got %v", err)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty, full := write(t, dir, "empty.txt", " \n\t"), write(t, dir, "full.txt", "x")
	tests := map[string]struct {
		paths []string
		want  string
	}{
		"an empty file":                 {[]string{empty}, empty + " is empty"},
		"empty standard input":          {[]string{"-"}, "standard input is empty"},
		"a directory without manifests": {[]string{dir}, dir + ": the directory has no manifests"},
		"a file that is not there":      {[]string{filepath.Join(dir, "none.yaml")}, "none.yaml: no such file"},
		"what is no file":               {[]string{"https://example.org/a.yaml"}, "curl -sSL https://example.org/a.yaml | kerf plan -f -"},
		"a file twice":                  {[]string{full, full}, "named twice"},
		"an empty name":                 {[]string{""}, "name is empty"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := offline.Read(tt.paths, strings.NewReader(""))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestManifestsBecomeASnapshot(t *testing.T) {
	t.Parallel()
	in, err := offline.Load(story(t), options())
	if err != nil {
		t.Fatal(err)
	}
	if len(in.Snapshot.GetPods()) != 5 || !in.Now.Equal(always()) || len(in.Warnings) > 0 || len(in.Assumed) == 0 {
		t.Errorf("%d pods at %s, warnings %q, assumed %q", len(in.Snapshot.GetPods()), in.Now, in.Warnings, in.Assumed)
	}
	aged := append(story(t), offline.File{Name: "node.yaml", Data: []byte("apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\n")})
	if in, err = offline.Load(aged, options()); err != nil || !in.Now.Equal(present()) {
		t.Errorf("with a node got %s, %v; want the present", in.Now, err)
	}
	o := options()
	o.At = present().Add(time.Hour)
	if in, err = offline.Load(story(t), o); err != nil || !in.Now.Equal(o.At) {
		t.Errorf("got %s, %v; want the time that was asked for", in.Now, err)
	}
}

func TestOldFormsSayTheSame(t *testing.T) {
	t.Parallel()
	files, err := offline.Read([]string{filepath.Join(examples, "v1beta1")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	old, err := offline.Load(files, options())
	if err != nil {
		t.Fatal(err)
	}
	today, err := offline.Load(story(t), options())
	if err != nil {
		t.Fatal(err)
	}
	if len(old.Warnings) == 0 {
		t.Error("nothing warns that the forms are old")
	}
	// The hop limit that v1beta1 had by default is part of a class's hash, and of nothing that is planned.
	old.Snapshot.NodeClasses[0].Hash = today.Snapshot.GetNodeClasses()[0].GetHash()
	same(t, today.Snapshot, old.Snapshot)
}

func TestASavedSnapshotComesBackWhole(t *testing.T) {
	t.Parallel()
	in, err := offline.Load(story(t), options())
	if err != nil {
		t.Fatal(err)
	}
	taken := present().Add(-time.Hour)
	want := proto.CloneOf(in.Snapshot)
	want.ObserveTime = timestamppb.New(taken)
	binary, err := proto.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	text, err := protojson.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	small, err := proto.Marshal(&clusterpb.Snapshot{Cluster: "just a name"})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		data []byte
		want *clusterpb.Snapshot
		now  time.Time
	}{
		"binary":                        {binary, want, taken},
		"JSON":                          {text, want, taken},
		"JSON after white space":        {append([]byte("\n  "), text...), want, taken},
		"binary with hardly anything":   {small, &clusterpb.Snapshot{Cluster: "just a name"}, present()},
		"JSON of a cluster by its name": {[]byte(`{"cluster": "kind"}`), &clusterpb.Snapshot{Cluster: "kind"}, present()},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := offline.Load([]offline.File{{Name: "live", Data: tt.data}}, options())
			if err != nil {
				t.Fatal(err)
			}
			same(t, tt.want, got.Snapshot)
			if !got.Now.Equal(tt.now) {
				t.Errorf("planned for %s, want %s", got.Now, tt.now)
			}
		})
	}
}

// buffer is capacity for three more pods of the story.
const buffer = `apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: room}
spec:
  scalableRef: {apiGroup: apps, kind: Deployment, name: inflate}
  replicas: 3
`

func TestOverlaysAndBuffersBecomePartOfTheSnapshot(t *testing.T) {
	t.Parallel()
	files := append(story(t), offline.File{Name: "more.yaml", Data: []byte(buffer + `---
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: discount}
spec:
  requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [r5]}]
  priceAdjustment: "-40%"
`)})
	in, err := offline.Load(files, options())
	if err != nil {
		t.Fatal(err)
	}
	buffers, overlays := in.Snapshot.GetCapacityBuffers(), in.Snapshot.GetNodeOverlays()
	if len(buffers) != 1 || buffers[0].GetReplicas() != 3 || !buffers[0].GetCreateTime().AsTime().Equal(always()) {
		t.Errorf("buffers %v, want capacity for 3, as of the plan", buffers)
	}
	if len(overlays) != 1 || overlays[0].GetAdjustmentPpm() != -400_000 {
		t.Errorf("overlays %v, want 40%% off", overlays)
	}
}

func TestGatesOfFilesAreKnown(t *testing.T) {
	t.Parallel()
	const gated = "apiVersion: v1\nkind: Pod\nmetadata: {name: gated}\nspec: {schedulingGates: [{name: x/y}], containers: [{name: c, image: i}]}\n"
	in, err := offline.Load(append(story(t), offline.File{Name: "more.yaml", Data: []byte(gated)}), options())
	if err != nil || len(in.Gated) != 1 || in.Gated["default/gated"] != "x/y" {
		t.Errorf("gates %v: %v", in.Gated, err)
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(examples, "inflate", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	pool, class, app := read("nodepool.yaml"), read("nodeclass.yaml"), read("inflate-5.yaml")
	snapshot, err := proto.Marshal(&clusterpb.Snapshot{Revision: 1})
	if err != nil {
		t.Fatal(err)
	}
	const overlay = "apiVersion: karpenter.sh/v1alpha1\nkind: NodeOverlay\nmetadata: {name: discount}\nspec:\n  requirements: []\n"
	tests := map[string]struct {
		files map[string]string
		want  []string
	}{
		"text that is not YAML": {map[string]string{"a.yaml": "kind: [Pod"}, []string{"a.yaml"}},
		"an unknown field": {
			map[string]string{"a.yaml": strings.Replace(pool, "limits:", "limit:", 1), "b.yaml": class},
			[]string{"a.yaml", "NodePool default", "spec.limit", "unknown field"},
		},
		"a value of the wrong kind": {
			map[string]string{"a.yaml": strings.Replace(app, "replicas: 5", "replicas: many", 1)},
			[]string{"a.yaml", "Deployment default/inflate", "spec.replicas"},
		},
		"requirements that contradict each other": {
			map[string]string{"b.yaml": class, "a.yaml": strings.Replace(pool, "      expireAfter: 720h",
				"        - {key: karpenter.sh/capacity-type, operator: In, values: [spot]}\n      expireAfter: 720h", 1)},
			[]string{"a.yaml", "NodePool default", "spec.template.spec.requirements", "karpenter.sh/capacity-type"},
		},
		"a class that selects no subnets": {
			map[string]string{"a.yaml": strings.Replace(class, "  subnetSelectorTerms:\n    - tags:\n        karpenter.sh/discovery: kerf-demo\n", "", 1)},
			[]string{"a.yaml", "EC2NodeClass default", "spec.subnetSelectorTerms"},
		},
		"an overlay of cpu": {
			map[string]string{"a.yaml": overlay + "  capacity: {cpu: 4}\n", "b.yaml": app},
			[]string{"a.yaml", "NodeOverlay discount", "spec.capacity", "cpu"},
		},
		"an overlay without a sign": {
			map[string]string{"a.yaml": overlay + "  priceAdjustment: 10%\n", "b.yaml": app},
			[]string{"a.yaml", "NodeOverlay discount", "spec.priceAdjustment", "with its sign"},
		},
		"a buffer without a size": {
			map[string]string{"a.yaml": strings.Replace(buffer, "replicas: 3", "limits: {nvidia.com/gpu: 1}", 1), "b.yaml": app},
			[]string{"a.yaml", "CapacityBuffer room", "set replicas, percentage, or limits"},
		},
		"one object in two files":       {map[string]string{"a.yaml": class, "b.yaml": class + "  context: abc\n"}, []string{"b.yaml", "EC2NodeClass default", "a.yaml"}},
		"nothing that could be planned": {map[string]string{"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"}, []string{"a.yaml", "nothing"}},
		"a snapshot beside manifests":   {map[string]string{"a.pb": string(snapshot), "b.yaml": class}, []string{"a.pb", "alone"}},
		"a snapshot with a field that is not known": {
			map[string]string{"a.json": `{"revision": "1", "podz": []}`}, []string{"a.json", "kerf.cluster.v1alpha1.Snapshot", "podz"},
		},
		"bytes that are nothing": {map[string]string{"a.pb": "\x00\x01\x02"}, []string{"a.pb", "kerf.cluster.v1alpha1.Snapshot"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var files []offline.File
			for _, n := range []string{"a.yaml", "a.json", "a.pb", "b.yaml"} {
				if content, ok := tt.files[n]; ok {
					files = append(files, offline.File{Name: n, Data: []byte(content)})
				}
			}
			o := options()
			o.Strict = true
			_, err := offline.Load(files, o)
			if err == nil {
				t.Fatal("it was taken")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, without %q", err, want)
				}
			}
		})
	}
}

func FuzzLoad(f *testing.F) {
	for _, seed := range []string{"kind: Pod", "{}", `{"cluster":"a"}`, "\x08\x01", "---\n---\n", "[]", "{\"kind\":1}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o := options()
		o.World = func() (convert.World, error) { return convert.World{Catalog: &catalog.Catalog{Region: "r"}}, nil }
		in, err := offline.Load([]offline.File{{Name: "fuzz", Data: data}}, o)
		if err == nil && in.Snapshot == nil {
			t.Error("no snapshot and no error")
		}
		if err != nil && !bytes.Contains([]byte(err.Error()), []byte("fuzz")) {
			t.Errorf("the error does not name the file: %v", err)
		}
	})
}

// TestDevicesAreReadFromManifests follows a claim to the devices of a pool without nodes.
func TestDevicesAreReadFromManifests(t *testing.T) {
	files, err := offline.Read([]string{filepath.Join(examples, "devices"), filepath.Join(examples, "inflate", "nodeclass.yaml")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	in, err := offline.Load(files, options())
	if err != nil {
		t.Fatal(err)
	}
	classes, pools := in.Snapshot.GetPodClasses(), in.Snapshot.GetNodePools()
	if len(classes) != 1 || len(classes[0].GetDeviceClaims()) != 1 || classes[0].GetUnsupported() != "" {
		t.Fatalf("classes %v, want one with a claim", classes)
	}
	asked := classes[0].GetDeviceClaims()[0].GetRequests()[0].GetOptions()[0].GetSelector()
	device := pools[0].GetDevices()[0].GetDevices()[0]
	if pools[0].GetNotReady() != nil || len(device.GetSelectors()) != 2 || !slices.Contains(device.GetSelectors(), asked) {
		t.Errorf("device %v of pool %v: want it to match its class, and %s", device, pools[0].GetNotReady(), asked)
	}
	if len(in.Warnings) > 0 {
		t.Errorf("warnings %v", in.Warnings)
	}
}
