// Package arch holds the rules that keep Kerf's shape: who may import whom, what a package that decides may not touch,
// that each package says what it is for, how large things may get (size.go), which rules stand in one place only
// (homes.go), and which words are not ours (words.go). Its test runs the rules on the repository; each finding says which
// rule it breaks and why the rule is there.
//
// It reads source text only, so it takes a second and works on code that does not compile. Start reading at rules; the
// lists that people change are at the top of each file.
package arch

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

// prefix is what every import path of the repository starts with.
const prefix = "github.com/kerf-dev/kerf/"

// pure are the packages that decide: values in, values out. Every one of them must exist.
func pure() []string {
	return []string{
		"services/core/extended", "services/core/labels", "services/core/lacks", "services/core/model", "services/core/near", "services/core/require", "services/core/rules", "services/core/schedule",
		"services/planner/bits", "services/planner/heaps", "services/planner/view", "services/planner/ending", "services/planner/fit",
		"services/planner/topology", "services/planner/topology/podrules",
		"services/planner/offer", "services/planner/optimise", "services/planner/optimise/problem", "services/planner/optimise/compact",
		"services/planner/optimise/exact", "services/planner/optimise/fleet", "services/planner/optimise/knapsack", "services/planner/optimise/lp", "services/planner/optimise/memory", "services/planner/optimise/parts",
		"services/planner/optimise/pricing", "services/planner/optimise/scarce", "services/planner/optimise/settle", "services/planner/optimise/swap",
		"services/planner/optimise/simplify", "services/planner/optimise/table",
		"services/planner/pack", "services/planner/pack/market", "services/planner/pack/miss", "services/planner/pack/purchase", "services/planner/pack/segments", "services/planner/pack/settled", "services/planner/pack/queue",
		"services/planner/disrupt", "services/planner/disrupt/budget", "services/planner/disrupt/churn",
		"services/planner/disrupt/consolidate", "services/planner/disrupt/draft", "services/planner/disrupt/replace",
		"services/planner/disrupt/shrink",
		"services/planner/verify", "services/planner/verify/facts", "services/planner/verify/place", "services/planner/plan", "services/planner/plan/encoding", "services/planner/plan/lists", "services/planner/safe", "services/planner/devices", "services/planner/volumes",
		"services/actuator/catalog", "services/actuator/instancetype", "services/actuator/lifecycle",
		"services/actuator/apply", "services/actuator/cluster", "services/actuator/interrupt",
		"services/actuator/disruption", "services/actuator/inventory", "services/actuator/launches", "services/actuator/launchhold", "services/actuator/nominate", "services/actuator/orphan", "services/actuator/shortage", "services/actuator/shrink",
		"services/actuator/cloud", "services/actuator/store",
		"services/watcher/snapshot",
		"services/internal/kubeapi/formula", "services/internal/kubeapi/replicas",
	}
}

// exceptions are imports beyond the standard library that a pure package may have, as prefixes.
func exceptions() map[string]string {
	return map[string]string{
		"services/core/schedule":            "github.com/robfig/cron/",   // the parser of Karpenter's own schedules
		"services/internal/kubeapi/formula": "github.com/google/cel-go/", // the language of Karpenter's own expressions
	}
}

// impure are packages of the standard library that reach outside: the machine, the network, the clock of somebody else.
// Package time is not among them: its types are fine, its clock is banned by the rule clock.
func impure() []string {
	return []string{
		"crypto/rand", "expvar", "flag", "log", "log/slog", "math/rand", "math/rand/v2", "net", "net/http", "net/rpc", "os",
		"os/exec", "os/signal", "os/user", "path/filepath", "plugin", "runtime/debug", "syscall", "testing",
	}
}

// clocks are the functions of package time that read or wait for the real clock.
func clocks() []string {
	return []string{"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"}
}

// domains are the packages whose nouns have a counterpart in proto; only a package named convert knows both.
func domains() []string {
	return []string{"services/core/model"}
}

// carriers hand whole values to convert, or take constants of model, and read no field of theirs, so they name both
// types and still convert nothing.
func carriers() []string {
	return []string{
		"services/actuator/internal/etcd", "services/actuator/internal/server", "services/planner/internal/server",
		"services/internal/policy",
	}
}

// rule looks at one package and returns what is wrong with it.
type rule struct {
	name string
	why  string
	find func(pkg) []string
}

func rules() []rule {
	return []rule{
		{"pure imports", "a decision that can be replayed touches nothing but its arguments", pureImports},
		{"clock", "time comes in as an argument, else a recorded input does not reproduce its plan", clock},
		{"services apart", "the contract between services is proto; only services/kerf puts them together", servicesApart},
		{"no test in the product", "what ships must not carry the simulator", noTestInProduct},
		{"convert alone", "conversion happens once, in a package named convert, so that a field cannot be read in two ways", convertAlone},
		{"words", "a Kubernetes engineer who opens any file must know each word; the few of our own are in docs/contributing.md", oddWords},
		{"package doc", "a newcomer learns from it what the package decides, what it must never know and where to start", packageDoc},
	}
}

func pureImports(p pkg) []string {
	if !slices.Contains(pure(), p.path) {
		return nil
	}
	var found []string
	for _, imp := range p.imports(false) {
		switch inner, inside := strings.CutPrefix(imp, prefix); {
		case inside && !slices.Contains(pure(), inner):
			found = append(found, fmt.Sprintf("%s is pure and imports %s, which is not in the list of pure packages", p.path, inner))
		case inside:
		case standard(imp) && slices.Contains(impure(), imp):
			found = append(found, fmt.Sprintf("%s is pure and imports %s, which reaches outside", p.path, imp))
		case !standard(imp) && !allowed(p.path, imp):
			found = append(found, fmt.Sprintf("%s is pure and imports %s, which is not of the standard library", p.path, imp))
		}
	}
	return found
}

func allowed(pkg, imp string) bool {
	exception, ok := exceptions()[pkg]
	return ok && strings.HasPrefix(imp, exception)
}

// clock finds uses of the real clock, and of the process's output, in pure packages.
func clock(p pkg) []string {
	if !slices.Contains(pure(), p.path) {
		return nil
	}
	var found []string
	for _, f := range p.files {
		if f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if use := outside(f, sel); use != "" {
					found = append(found, fmt.Sprintf("%s:%d uses %s", f.path, f.line(sel), use))
				}
			}
			return true
		})
	}
	return found
}

// outside is the name of the banned function that the expression selects, or "".
func outside(f file, sel *ast.SelectorExpr) string {
	id, ok := sel.X.(*ast.Ident)
	if !ok {
		return ""
	}
	name := sel.Sel.Name
	switch f.names[id.Name] {
	case "time":
		if slices.Contains(clocks(), name) {
			return "time." + name
		}
	case "fmt":
		if strings.HasPrefix(name, "Print") {
			return "fmt." + name
		}
	}
	return ""
}

// servicesApart holds for tests too: a test that needs two services lives in test.
func servicesApart(p pkg) []string {
	own := service(p.path)
	if own == "" || own == "kerf" {
		return nil
	}
	var found []string
	for _, imp := range p.imports(true) {
		if other := service(strings.TrimPrefix(imp, prefix)); other != "" && other != own && other != "internal" && other != "core" {
			found = append(found, fmt.Sprintf("%s imports %s of another service", p.path, strings.TrimPrefix(imp, prefix)))
		}
	}
	return found
}

// service is the name of the service that holds the package, or "".
func service(pkg string) string {
	rest, ok := strings.CutPrefix(pkg, "services/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

func noTestInProduct(p pkg) []string {
	if !strings.HasPrefix(p.path, "services/") && !strings.HasPrefix(p.path, "proto/") {
		return nil
	}
	var found []string
	for _, imp := range p.imports(true) {
		if strings.HasPrefix(imp, prefix+"test/") {
			found = append(found, fmt.Sprintf("%s imports %s", p.path, strings.TrimPrefix(imp, prefix)))
		}
	}
	if strings.HasSuffix(p.path, "test") {
		return found
	}
	for _, imp := range p.imports(false) {
		if strings.HasSuffix(imp, "test") || imp == "testing" {
			found = append(found, fmt.Sprintf("%s imports %s, which is for tests only", p.path, strings.TrimPrefix(imp, prefix)))
		}
	}
	return found
}

func convertAlone(p pkg) []string {
	if path.Base(p.path) == "convert" || service(p.path) == "" || slices.Contains(carriers(), p.path) {
		return nil
	}
	var proto, domain string
	for _, imp := range p.imports(false) {
		if strings.HasPrefix(imp, prefix+"proto/gen/") {
			proto = strings.TrimPrefix(imp, prefix)
		}
		if slices.Contains(domains(), strings.TrimPrefix(imp, prefix)) {
			domain = strings.TrimPrefix(imp, prefix)
		}
	}
	if proto == "" || domain == "" {
		return nil
	}
	return []string{fmt.Sprintf("%s imports both %s and %s", p.path, proto, domain)}
}

func packageDoc(p pkg) []string {
	code, command, doc := false, false, ""
	for _, f := range p.files {
		if f.test {
			continue
		}
		code, command = true, f.ast.Name.Name == "main"
		doc += f.ast.Doc.Text()
	}
	switch {
	case code && doc == "":
		return []string{p.path + " has no doc comment"}
	case code && !command && !slices.Contains(strings.Fields(doc), "Start"):
		return []string{p.path + " does not say where to start: Start reading at …"}
	}
	return nil
}

// missing are the pure packages that are listed and not there; a list that names nothing guards nothing.
func missing(pkgs []pkg) []string {
	var found []string
	for _, want := range pure() {
		if !slices.ContainsFunc(pkgs, func(p pkg) bool { return p.path == want }) {
			found = append(found, want+" is listed as pure and does not exist")
		}
	}
	return found
}
