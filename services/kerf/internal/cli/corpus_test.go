package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/services/kerf/internal/cli"
)

// probe is what each pool of the corpus is planned for, where its file has no workload.
const probe = `apiVersion: apps/v1
kind: Deployment
metadata: {name: probe}
spec:
  replicas: 2
  selector: {matchLabels: {app: probe}}
  template:
    metadata: {labels: {app: probe}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: probe, image: example.com/probe, resources: {requests: {cpu: 250m, memory: 256Mi}}}]
`

// expectation is what a file of the corpus says should become of it.
type expectation struct {
	outcome, text string
	warns, prints []string
	quiet, alone  bool
}

func expected(t *testing.T, data string) expectation {
	t.Helper()
	var e expectation
	for line := range strings.Lines(data) {
		said, ok := strings.CutPrefix(strings.TrimSpace(line), "#> ")
		if !ok {
			continue
		}
		word, text, _ := strings.Cut(said, " ")
		switch word {
		case "plans", "pending", "refuses":
			if e.outcome != "" {
				t.Fatalf("two outcomes: %s and %s", e.outcome, word)
			}
			e.outcome, e.text = word, text
		case "warns":
			e.warns = append(e.warns, text)
		case "prints":
			e.prints = append(e.prints, text)
		case "quiet":
			e.quiet = true
		case "alone":
			e.alone = true
		default:
			t.Fatalf("unknown expectation %q", said)
		}
	}
	return e
}

// readCorpus cuts the corpus into its files, at lines such as "-- name --".
func readCorpus(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("testdata/corpus.txtar")
	if err != nil {
		t.Fatal(err)
	}
	out, name := map[string]string{}, ""
	for line := range strings.Lines(string(data)) {
		if marked := strings.TrimSpace(line); strings.HasPrefix(marked, "-- ") && strings.HasSuffix(marked, " --") {
			name = strings.TrimSuffix(strings.TrimPrefix(marked, "-- "), " --")
			if out[name] != "" {
				t.Fatalf("%s is there twice", name)
			}
			continue
		}
		if name != "" {
			out[name] += line
		}
	}
	return out
}

// TestTheCorpus runs kerf plan on manifests in the forms that users have.
func TestTheCorpus(t *testing.T) {
	t.Parallel()
	corpus := readCorpus(t)
	const least = 100
	if len(corpus) < least {
		t.Errorf("%d manifests, want %d or more", len(corpus), least)
	}
	codes := map[string]int{"plans": cli.ExitOK, "pending": cli.ExitPending, "refuses": cli.ExitError}
	for name, text := range corpus {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := expected(t, text)
			if strings.HasSuffix(name, ".json") {
				_, text, _ = strings.Cut(text, "\n") // JSON has no comments
			}
			file := filepath.Join(t.TempDir(), filepath.Base(name))
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			args, stdin := []string{"plan", "--advice=0", "-f", file}, ""
			if !want.alone && !hasWorkload(text) {
				args, stdin = append(args, "-f", "-"), probe
			}
			r := run(t, stdin, args...)
			code, known := codes[want.outcome]
			if !known || r.code != code {
				t.Errorf("exit code %d, want that it %s", r.code, want.outcome)
			}
			where := map[string]string{"pending": r.out, "refuses": r.err}[want.outcome]
			if !strings.Contains(where, want.text) {
				t.Errorf("no %q", want.text)
			}
			for _, p := range want.prints {
				if !strings.Contains(r.out, p) {
					t.Errorf("no %q", p)
				}
			}
			for _, w := range want.warns {
				if !strings.Contains(r.err, w) {
					t.Errorf("no warning %q", w)
				}
			}
			if want.quiet && r.err != "" {
				t.Error("it should say nothing")
			}
			if t.Failed() {
				t.Logf("printed\n%s\nsaid\n%s", r.out, r.err)
			}
		})
	}
}

func hasWorkload(text string) bool {
	for _, kind := range []string{"Deployment", "StatefulSet", "Job", "Pod", "Rollout", "PodTemplate", "RayCluster", "ScaledJob", "List"} {
		if strings.Contains(text, "\nkind: "+kind+"\n") {
			return true
		}
	}
	return false
}
