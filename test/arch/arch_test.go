package arch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// repository loads the code that this test belongs to.
func repository(t *testing.T) []pkg {
	t.Helper()
	pkgs, err := load(os.DirFS(filepath.Join("..", "..")))
	if err != nil {
		t.Fatal(err)
	}
	if len(pkgs) < 10 {
		t.Fatalf("found only %d packages: the rules have nothing to judge", len(pkgs))
	}
	return pkgs
}

func TestTheRepositoryKeepsItsShape(t *testing.T) {
	pkgs := repository(t)
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			for _, p := range pkgs {
				for _, finding := range r.find(p) {
					t.Errorf("%s\n\twhy: %s", finding, r.why)
				}
			}
		})
	}
}

func TestPurePackagesExist(t *testing.T) {
	for _, finding := range missing(repository(t)) {
		t.Error(finding)
	}
}

// TestSize fails for what is over a budget and has no exception, and for exceptions that nothing needs any more.
func TestSize(t *testing.T) {
	over := map[string]string{}
	for _, p := range repository(t) {
		for _, f := range tooLarge(p) {
			over[f.what] = f.text
		}
	}
	allowed := largeForAReason()
	for what, text := range over {
		if allowed[what] == "" {
			t.Error(text)
		}
	}
	for what := range allowed {
		if over[what] == "" {
			t.Errorf("%s is within its budget: take it off the list of exceptions", what)
		}
	}
	if len(allowed) > mostExceptions {
		t.Errorf("%d exceptions, at most %d: split something", len(allowed), mostExceptions)
	}
}

func TestEachRuleHasOneHome(t *testing.T) {
	pkgs := repository(t)
	for _, h := range homes(pkgs) {
		for _, finding := range h.strays(pkgs) {
			t.Error(finding)
		}
		for _, finding := range h.idle(pkgs) {
			t.Error(finding)
		}
	}
}

// TestTheRulesBite gives each rule code that breaks it and code that does not.
func TestTheRulesBite(t *testing.T) {
	const doc = "// Package p is documented.\npackage p\n"
	tests := map[string]struct {
		rule, file, code string
		want             string // part of the finding; empty: none
	}{
		"a pure package may use the standard library": {
			"pure imports", "services/planner/fit/a.go", doc + `import ("fmt"; "slices"; "time")`, "",
		},
		"a pure package may use another of its kind": {
			"pure imports", "services/planner/fit/a.go", doc + `import "github.com/kerf-dev/kerf/services/core/model"`, "",
		},
		"a pure package may not know proto": {
			"pure imports", "services/planner/fit/a.go", doc + `import _ "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"`, "proto/gen",
		},
		"a pure package may not use a package that is not listed": {
			"pure imports", "services/planner/fit/a.go", doc + `import "github.com/kerf-dev/kerf/services/planner/internal/server"`, "internal/server",
		},
		"a pure package may not use other people's modules": {
			"pure imports", "services/watcher/snapshot/a.go", doc + `import "k8s.io/api/core/v1"`, "k8s.io/api",
		},
		"a pure package may not log": {
			"pure imports", "services/actuator/lifecycle/a.go", doc + `import "log/slog"`, "log/slog",
		},
		"the tests of a pure package may use what they like": {
			"pure imports", "services/planner/fit/a_test.go", doc + `import "os"`, "",
		},
		"a pure package has no clock": {
			"clock", "services/planner/plan/a.go", doc + "import \"time\"\nvar _ = time.Now()", "a.go:4 uses time.Now",
		},
		"a clock under another name is a clock": {
			"clock", "services/planner/plan/a.go", doc + "import t \"time\"\nvar _ = t.Since", "time.Since",
		},
		"a duration is no clock": {
			"clock", "services/planner/plan/a.go", doc + "import \"time\"\nvar _ = time.Second", "",
		},
		"a pure package does not print": {
			"clock", "services/planner/plan/a.go", doc + "import \"fmt\"\nfunc f() { fmt.Println() }", "fmt.Println",
		},
		"a shell may use the clock": {
			"clock", "services/planner/internal/server/a.go", doc + "import \"time\"\nvar _ = time.Now()", "",
		},
		"one service may not import another": {
			"services apart", "services/watcher/convert/a.go", doc + `import "github.com/kerf-dev/kerf/services/planner/view"`, "planner/view",
		},
		"a service may import what is shared": {
			"services apart", "services/watcher/cmd/watcher/a.go", doc + `import "github.com/kerf-dev/kerf/services/internal/boot"`, "",
		},
		"kerf puts the services together": {
			"services apart", "services/kerf/a.go", doc + `import "github.com/kerf-dev/kerf/services/planner"`, "",
		},
		"the product does not import the simulator, not even in tests": {
			"no test in the product", "services/actuator/internal/ec2/a_test.go", doc + `import "github.com/kerf-dev/kerf/test/awssim"`, "test/awssim",
		},
		"the product does not import a test package": {
			"no test in the product", "services/actuator/internal/loop/a.go", doc + `import "github.com/kerf-dev/kerf/services/actuator/cloudtest"`, "for tests only",
		},
		"a test package may": {
			"no test in the product", "services/actuator/clustertest/a.go", doc + `import "github.com/kerf-dev/kerf/services/actuator/cloudtest"`, "",
		},
		"a server does not convert": {
			"convert alone", "services/planner/internal/loop/a.go",
			doc + "import (\"github.com/kerf-dev/kerf/services/core/model\"; \"github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1\")", "imports both",
		},
		"convert knows both": {
			"convert alone", "services/core/convert/a.go",
			doc + "import (\"github.com/kerf-dev/kerf/services/core/model\"; \"github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1\")", "",
		},
		"a word that nobody knows":                 {"words", "services/planner/fit/a.go", doc + "type freeDesk struct{}", "desk"},
		"a word in a word is no word":              {"words", "services/planner/fit/a.go", doc + "var staffing, desktop int", ""},
		"a package without a doc comment is found": {"package doc", "test/x/a.go", "package x", "test/x"},
		"tests alone need no doc comment":          {"package doc", "test/x/a_test.go", "package x", ""},
		"a doc comment without a start is found":   {"package doc", "test/x/a.go", "// Package x is.\npackage x", "where to start"},
		"a doc comment with one is right":          {"package doc", "test/x/a.go", "// Package x is. Start reading at X.\npackage x", ""},
		"a command starts at main":                 {"package doc", "test/x/a.go", "// Command x does.\npackage main", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pkgs, err := load(fstest.MapFS{tt.file: {Data: []byte(tt.code)}})
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(rules(), func(r rule) bool { return r.name == tt.rule })
			got := strings.Join(rules()[i].find(pkgs[0]), "\n")
			if (got != "") != (tt.want != "") || !strings.Contains(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

func TestLoadLeavesOutWhatIsNotKerf(t *testing.T) {
	source := &fstest.MapFile{Data: []byte("package p")}
	module := &fstest.MapFile{Data: []byte("module m")}
	pkgs, err := load(fstest.MapFS{
		"go.work":                 {Data: []byte("use (\n\t./services/planner\n\t./test\n)")},
		"services/planner/go.mod": module, "services/planner/a.go": source,
		"services/planner/testdata/a.go": source, "services/planner/gen.go": {Data: []byte("// Code generated by x. DO NOT EDIT.\n\npackage p")},
		"test/go.mod": module, "test/e2e/a.go": source,
		"test/controlplane/go.mod": module, "test/controlplane/a.go": source,
		".cache/a.go": source,
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range pkgs {
		for _, f := range p.files {
			got = append(got, f.path)
		}
	}
	if want := "services/planner/a.go test/e2e/a.go"; strings.Join(got, " ") != want {
		t.Errorf("loaded %v, want %v", got, want)
	}
}

func TestSizeBudget(t *testing.T) {
	lines := func(n int) string { return strings.Repeat("\n", n) }
	methods := func(receiver string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "func (%s) m%d() {}\n", receiver, i)
		}
		return b.String()
	}
	tests := map[string]struct {
		code string
		want string // what is too large; "" for nothing
	}{
		"a short file is fine":             {"package p\n" + lines(300), ""},
		"a long file":                      {"package p\n" + lines(510), "file services/planner/a.go"},
		"a long function":                  {"package p\nfunc f() {" + lines(90) + "}\n", "function services/planner.f"},
		"a short function may be there":    {"package p\nfunc f() {" + lines(20) + "}\n", ""},
		"a receiver with many methods":     {"package p\ntype t struct{}\n" + methods("t", 41), "receiver services/planner.t"},
		"a receiver with a few methods":    {"package p\ntype t struct{}\n" + methods("*t", 40), ""},
		"methods that come by embedding":   {"package p\ntype t struct{ *u }\ntype u struct{}\n" + methods("t", 21) + methods("*u", 20), "receiver services/planner.t"},
		"what is held in a field is apart": {"package p\ntype t struct{ u u }\ntype u struct{}\n" + methods("t", 21) + methods("u", 20), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pkgs, err := load(fstest.MapFS{"services/planner/a.go": {Data: []byte(tt.code)}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range tooLarge(pkgs[0]) {
				got = append(got, f.what)
			}
			if strings.Join(got, ", ") != tt.want {
				t.Errorf("too large: %v, want %q", got, tt.want)
			}
		})
	}
}

func TestAPackageHasABudget(t *testing.T) {
	files := fstest.MapFS{}
	for i := range 5 {
		code := "package p\n" + strings.Repeat("\n", 450)
		files[fmt.Sprintf("services/planner/f%d.go", i)] = &fstest.MapFile{Data: []byte(code)}
		files[fmt.Sprintf("services/planner/f%d_test.go", i)] = &fstest.MapFile{Data: []byte(code)}
	}
	pkgs, err := load(files)
	if err != nil {
		t.Fatal(err)
	}
	if got := tooLarge(pkgs[0]); len(got) != 1 || got[0].what != "package services/planner" {
		t.Errorf("too large: %v, want the package", got)
	}
}

func TestStraysOfARuleAreFound(t *testing.T) {
	const doc = "// Package p is documented.\npackage p\n"
	pkgs, err := load(fstest.MapFS{
		"services/core/labels/labels.go":  {Data: []byte("package labels\nconst domain = \"karpenter.sh\"\nconst NodePool = domain + \"/nodepool\"\n")},
		"services/planner/fit/a.go":       {Data: []byte(doc + "const own = \"karpenter.sh/nodepool\"\n")},
		"services/planner/pack/a.go":      {Data: []byte(doc + "func parseCron() {}\n")},
		"services/planner/view/a.go":      {Data: []byte(doc + "import _ \"github.com/robfig/cron/v3\"\n")},
		"services/planner/view/a_test.go": {Data: []byte("package p\nconst tested = \"karpenter.sh/nodepool\"\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got, idle []string
	for _, h := range homes(pkgs) {
		got, idle = append(got, h.strays(pkgs)...), append(idle, h.idle(pkgs)...)
	}
	if len(got) != 3 {
		t.Errorf("found %d strays, want the key, the parser and the import: %v", len(got), got)
	}
	if want := "has no name like (?i)^(first|longest)pause$"; !slices.ContainsFunc(idle, func(s string) bool { return strings.Contains(s, want) }) {
		t.Errorf("of rules that have no home it does not say %q: %v", want, idle)
	}
}
