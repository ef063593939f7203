package scenario

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const behavioursPage = "../../docs/behaviours.md"

// planning says whether a case is about what is decided. Others are about how nodes begin, drain and end; they are listed
// where a scenario shows them.
func planning(n int) bool { return n <= 98 || (n >= 113 && n <= 130) || (n >= 138 && n <= 140) }

const behavioursHead = `# Behaviours

What the planner does, one behaviour a line, each shown by a file that a test runs (` + "`make scenarios`" + `). Case numbers are those
of the catalogue of behaviours that Karpenter's own tests check it by, so that the two can be compared one by one; where Kerf does
something else on purpose, the line says why. This page is written from the files: ` + "`make scenarios ARGS=-update`" + `.

`

// row is one line of a table.
type row struct {
	sentence, shown, differs string
	// about is the part of disruption, "" for what is about something else.
	about string
	// waits says that no test runs it yet.
	waits bool
}

// Tests of pages come after those of files_test.go, by the names of the files: -update writes plans first, then what the
// pages take from them.

// TestBehavioursArePublished compares docs/behaviours.md with the files, and the files against the numbers: each case
// about planning has a file, or says where else it is shown.
func TestBehavioursArePublished(t *testing.T) {
	cases := elsewhere(t)
	var more []row
	count := map[string]int{}
	loader := NewLoader()
	for _, file := range append(files(t), pendingFiles(t)...) {
		s, err := loader.Load(read(t, file))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		r := row{
			strings.Join(strings.Fields(s.Text), " "), fmt.Sprintf("[%s](../test/scenario/%s)", behaviour(file), filepath.ToSlash(file)),
			s.Differs, s.About, strings.HasPrefix(file, pendingFolder),
		}
		count[s.About]++
		if r.waits {
			r.sentence += " **Not yet.**"
		}
		for _, n := range s.Cases {
			cases[n] = append(cases[n], r)
		}
		if len(s.Cases) == 0 {
			more = append(more, r)
		}
	}
	for n := range maxCase {
		if n > 0 && planning(n) && len(cases[n]) == 0 {
			t.Errorf("case %d has no scenario, and testdata/cases.txt does not say what else shows it", n)
		}
	}
	page := behavioursHead + waiting(len(files(t)), len(pendingFiles(t)), cases) + subjects(count) + table(cases) +
		"\n## Beyond the catalogue\n\n| What happens | Shown by |\n|---|---|\n"
	for _, about := range append([]string{""}, Subjects()...) {
		if about == "order" {
			page += "\n## Disruption, beyond the catalogue\n\n| Subject | What happens | Shown by |\n|---|---|---|\n"
		}
		for _, r := range more {
			switch {
			case r.about != about:
			case about == "":
				page += fmt.Sprintf("| %s | %s |\n", r.text(), r.shown)
			default:
				page += fmt.Sprintf("| %s | %s | %s |\n", about, r.text(), r.shown)
			}
		}
	}
	page += asked(t)
	if *update {
		if err := os.WriteFile(behavioursPage, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(behavioursPage); err != nil || !bytes.Equal(got, []byte(page)) {
		t.Errorf("%v: docs/behaviours.md is not what the files say (-update writes it)", err)
	}
}

// pendingFolder has files that say what is to come, which no test runs.
const pendingFolder = "testdata/pending/"

func pendingFiles(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob(pendingFolder + "*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// waiting says how much of the page is not so yet, so that no one has to count.
func waiting(run, wait int, cases map[int][]row) string {
	if wait == 0 {
		return fmt.Sprintf("All %d files pass.\n\n", run)
	}
	out := fmt.Sprintf("%d files pass. %d more say what is to come, and are marked **Not yet**", run, wait)
	var only []string
	for _, n := range slices.Sorted(maps.Keys(cases)) {
		if !slices.ContainsFunc(cases[n], func(r row) bool { return !r.waits }) {
			only = append(only, strconv.Itoa(n))
		}
	}
	if len(only) > 0 {
		out += "; cases that only they show: " + strings.Join(only, ", ")
	}
	return out + ".\n\n"
}

// subjects says how many files there are on each part of disruption.
func subjects(count map[string]int) string {
	sum, parts := 0, []string(nil)
	for _, s := range Subjects() {
		sum += count[s]
		parts = append(parts, fmt.Sprintf("%s %d", s, count[s]))
	}
	return fmt.Sprintf("%d of the files are about disruption: %s.\n\n", sum, strings.Join(parts, ", "))
}

func table(cases map[int][]row) string {
	var b strings.Builder
	b.WriteString("## By case\n\n| Case | What happens | Shown by |\n|---|---|---|\n")
	for _, n := range slices.Sorted(maps.Keys(cases)) {
		for _, r := range cases[n] {
			fmt.Fprintf(&b, "| %d | %s | %s |\n", n, r.text(), r.shown)
		}
	}
	return b.String()
}

func (r row) text() string {
	text := r.sentence
	if r.differs != "" {
		text += " *Differs " + strings.TrimSuffix(r.differs, ".") + ".*"
	}
	return strings.ReplaceAll(text, "|", `\|`)
}

// elsewhere reads the cases that no scenario can show.
func elsewhere(t *testing.T) map[int][]row {
	t.Helper()
	out := map[int][]row{}
	for i, line := range strings.Split(string(read(t, "testdata/cases.txt")), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, "|")
		if len(parts) != 4 {
			t.Fatalf("cases.txt, line %d: want number | sentence | shown by | because …", i+1)
		}
		for j := range parts {
			parts[j] = strings.TrimSpace(parts[j])
		}
		n, err := atoi(parts[0])
		if err != nil {
			t.Fatalf("cases.txt, line %d: %v", i+1, err)
		}
		if parts[3] != "" && !strings.HasPrefix(parts[3], "because ") {
			t.Fatalf("cases.txt, line %d: %q does not begin with because", i+1, parts[3])
		}
		// What shows it is a package, and mostly a test: both must exist.
		dir, test, _ := strings.Cut(parts[2], ": ")
		if !hasTest(t, filepath.Join("../..", dir), test) {
			t.Errorf("cases.txt, line %d: there is no test %s in %s", i+1, test, dir)
		}
		out[n] = append(out[n], row{sentence: parts[1], shown: "`" + parts[2] + "`", differs: parts[3]})
	}
	return out
}

const askedHead = `
## Asked of the whole

Questions that Karpenter's own suites ask, and that no plan alone answers, or that were answered otherwise before, one a line. The third
column names what shows it, as in [behaviours-aws.md](behaviours-aws.md): tests as ` + "`folder: TestName`, scenarios as `scenario: file`" + `; "differs:" says why
Kerf does something else on purpose, and "open" that nothing shows it yet.

| Case | What happens | Shown by |
|---|---|---|
`

// asked is the table of testdata/asked.txt, numbered. That what shows each line is there, a test in test/docs holds.
func asked(t *testing.T) string {
	t.Helper()
	out, n := askedHead, 0
	for i, line := range strings.Split(string(read(t, "testdata/asked.txt")), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		sentence, shown, ok := strings.Cut(line, " | ")
		if !ok || strings.Contains(shown, "|") {
			t.Fatalf("asked.txt, line %d: want what happens | what shows it", i+1)
		}
		n++
		out += fmt.Sprintf("| %d | %s | %s |\n", n, sentence, shown)
	}
	return out
}

func hasTest(t *testing.T, dir, test string) bool {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		return bytes.Contains(read(t, name), []byte("func "+test))
	})
}
