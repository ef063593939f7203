package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

func TestTheReferenceIsUpToDate(t *testing.T) {
	want, err := page(root)
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile(filepath.Join(root, "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(have)); diff != "" {
		t.Errorf("run make generate (-want +have):\n%s", diff)
	}
}

// TestExamplesDifferWhereTheReferenceSaysSo compares what is the default today with what is the default next.
func TestExamplesDifferWhereTheReferenceSaysSo(t *testing.T) {
	for _, service := range []string{"planner", "watcher", "actuator"} {
		today, after := example(t, "config", service), example(t, "config-next", service)
		for _, c := range changes() {
			if c.file == service {
				set(t, today, strings.Split(c.field, "."), c.next)
			}
		}
		if diff := cmp.Diff(today, after); diff != "" {
			t.Errorf("%s: today's example with the changes of the reference, and the next one (-want +got):\n%s", service, diff)
		}
	}
}

// TestTodaysExamplesAreTheDefaults compares each value of today's examples with what the reference says of a field that
// is left out.
func TestTodaysExamplesAreTheDefaults(t *testing.T) {
	own := regexp.MustCompile(`^(listen|cluster|planner\.target|actuator\.addresses|etcd\.endpoints|aws\..*|.*repair\.conditions)$`)
	for _, s := range sections()[1:4] {
		src := open(root)
		known := map[string]string{}
		for _, of := range []section{s, sections()[0]} {
			p, err := src.pkg(of.dir)
			if err != nil {
				t.Fatal(err)
			}
			w := &walker{src: src}
			w.walk("", p.types[of.name])
			for _, f := range w.fields {
				value, _, _ := strings.Cut(f.without, ",")
				known[f.path] = strings.Trim(value, "`\"")
			}
		}
		for path, value := range leaves("", example(t, "config", strings.ToLower(s.title))) {
			want, ok := known[path]
			if size, is := strings.CutSuffix(want, " MiB"); is {
				n, err := strconv.Atoi(size)
				if err != nil {
					t.Fatal(err)
				}
				want = strconv.Itoa(n << 20)
			}
			if !ok || !own.MatchString(path) && value != "0" && value != want {
				t.Errorf("%s: %s is %q, and left out it is %q", s.title, path, value, want)
			}
		}
	}
}

// leaves are the values in an object that are no objects, by their paths.
func leaves(path string, in map[string]any) map[string]string {
	out := map[string]string{}
	for name, v := range in {
		at := join(path, name)
		switch v := v.(type) {
		case map[string]any:
			maps.Copy(out, leaves(at, v))
		case float64:
			out[at] = strconv.FormatFloat(v, 'f', -1, 64)
		default:
			out[at] = fmt.Sprint(v)
		}
	}
	return out
}

func example(t *testing.T, folder, service string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "deploy", "examples", folder, service+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func set(t *testing.T, in map[string]any, path []string, value string) {
	t.Helper()
	for _, step := range path[:len(path)-1] {
		in = in[step].(map[string]any)
	}
	var v any
	if err := json.Unmarshal([]byte(strings.Trim(value, "`")), &v); err != nil {
		t.Fatal(err)
	}
	in[path[len(path)-1]] = v
}

// TestVariablesOfTheEnvironmentAreInTheReference finds those that the services ask for by name.
func TestVariablesOfTheEnvironmentAreInTheReference(t *testing.T) {
	known := environment()
	asked := regexp.MustCompile(`[gG]etenv\("([A-Z_]+)"\)`)
	for _, service := range []string{"planner", "watcher", "actuator", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, "services", service), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range asked.FindAllStringSubmatch(string(text), -1) {
				if !strings.Contains(known, m[1]) {
					t.Errorf("%s reads %s, which the reference does not have", path, m[1])
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFieldsCommentSaysWhatItIsAndWhatItMeansLeftOut(t *testing.T) {
	tests := map[string]struct {
		source string
		want   field
		err    string
	}{
		"a duration with a constant": {
			"// Wait is how long it takes; zero is DefaultWait.\nWait Duration `json:\"wait\"`",
			field{"wait", "duration", "`1m30s`", "How long it takes."},
			"",
		},
		"a size, and what comes after": {
			"MaxBytes int `json:\"max_bytes\"` // how large it is; 0 is DefaultSize. Less is refused",
			field{"max_bytes", "bytes", "2 MiB", "How large it is. Less is refused."},
			"",
		},
		"another field is called as in the file": {
			"// Wait is less than MaxBytes; left out, MaxBytes.\nWait *Duration `json:\"wait\"`\nMaxBytes int `json:\"max_bytes\"` // n; zero is 1",
			field{"wait", "duration", "`max_bytes`", "Less than `max_bytes`."},
			"",
		},
		"a switch is off":                {"// On turns it on.\nOn bool `json:\"on\"`", field{"on", "true or false", "`false`", "Turns it on."}, ""},
		"a list of names":                {"// Names are names. Required.\nNames []string `json:\"names\"`", field{"names", "list of texts", "required", "Names."}, ""},
		"no word about the zero value":   {"// Wait is how long it takes.\nWait Duration `json:\"wait\"`", field{}, "what it means when it is zero"},
		"no comment":                     {"Wait Duration `json:\"wait\"`", field{}, "must say what it is"},
		"a constant that is not there":   {"// Wait is a time; zero is DefaultTime.\nWait Duration `json:\"wait\"`", field{}, "no constant DefaultTime"},
		"a field without a name in JSON": {"// Wait is a time; zero is 1.\nWait Duration", field{}, "its name in JSON"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			code := "package p\n\nimport \"time\"\n\nconst DefaultWait = 90 * time.Second\nconst DefaultSize = 2 << 20\n\ntype Duration int64\n\ntype Config struct {\n" +
				tt.source + "\n}\n"
			if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte(code), 0o600); err != nil {
				t.Fatal(err)
			}
			src := open(dir)
			p, err := src.pkg(".")
			if err != nil {
				t.Fatal(err)
			}
			w := &walker{src: src}
			w.walk("", p.types["Config"])
			err = w.err()
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || w.fields[0] != tt.want {
				t.Errorf("got %+v, %v; want %+v", w.fields, err, tt.want)
			}
		})
	}
}
