package arch

import (
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

// TestSize warns about what is over the budget (go test -v shows it) and fails for what is over the limit.
func TestSize(t *testing.T) {
	for _, p := range repository(t) {
		warn, fail := tooLong(p)
		for _, w := range warn {
			t.Log(w)
		}
		for _, f := range fail {
			t.Error(f)
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
		"a package without a doc comment is found": {"package doc", "test/x/a.go", "package x", "test/x"},
		"tests alone need no doc comment":          {"package doc", "test/x/a_test.go", "package x", ""},
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
	tests := map[string]struct {
		code       string
		warn, fail bool
	}{
		"a short file is fine":          {"package p\n" + lines(300), false, false},
		"a long file is a warning":      {"package p\n" + lines(450), true, false},
		"an endless file is a failure":  {"package p\n" + lines(650), false, true},
		"a long function is a warning":  {"package p\nfunc f() {" + lines(90) + "}\n", true, false},
		"a short function may be there": {"package p\nfunc f() {" + lines(20) + "}\n", false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pkgs, err := load(fstest.MapFS{"services/planner/a.go": {Data: []byte(tt.code)}})
			if err != nil {
				t.Fatal(err)
			}
			warn, fail := tooLong(pkgs[0])
			if (len(warn) > 0) != tt.warn || (len(fail) > 0) != tt.fail {
				t.Errorf("warnings %v, failures %v; want %v, %v", warn, fail, tt.warn, tt.fail)
			}
		})
	}
}
