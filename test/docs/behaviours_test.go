package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestEachCaseIsShown reads the tables of behaviours: each case has one line, and the tests and scenarios that it names
// are there.
func TestEachCaseIsShown(t *testing.T) {
	root := repository(t)
	there := testsByFolder(t, root)
	for file, of := range map[string]struct {
		from  string // the heading that the table is behind
		cases int
	}{
		"behaviours-aws.md": {"# Behaviours on AWS", 108},
		"behaviours.md":     {"## Asked of the whole", 33},
	} {
		t.Run(file, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(root, "docs", file))
			if err != nil {
				t.Fatal(err)
			}
			_, table, found := strings.Cut(string(data), of.from+"\n")
			if !found {
				t.Fatalf("there is no %q", of.from)
			}
			if n := eachCase(t, table, there); n != of.cases {
				t.Errorf("the page ends with case %d, want %d", n, of.cases)
			}
		})
	}
}

// eachCase looks at the lines of a table, and returns how many there are.
func eachCase(t *testing.T, table string, there tests) (cases int) {
	t.Helper()
	row := regexp.MustCompile(`(?m)^\| (\d+) \| ([^|]+) \| ([^|]+) \|$`)
	name := regexp.MustCompile("`([^:` ]+): ([^`]+)`")
	open, differ := []string{}, 0
	for _, line := range row.FindAllStringSubmatch(table, -1) {
		if cases++; line[1] != strconv.Itoa(cases) {
			t.Fatalf("case %s comes where %d must", line[1], cases)
		}
		names := name.FindAllStringSubmatch(line[3], -1)
		switch shown := line[3]; {
		case shown == "open":
			open = append(open, line[1])
		case strings.HasPrefix(shown, "differs: "):
			differ++
		case len(names) == 0 || strings.Trim(name.ReplaceAllString(shown, ""), ", ") != "":
			t.Errorf("case %s: %q is neither a list of tests nor \"open\" nor \"differs: why\"", line[1], shown)
		}
		for _, n := range names {
			if !there.has(n[1], n[2]) {
				t.Errorf("case %s: there is no %s in %s", line[1], n[2], n[1])
			}
		}
	}
	t.Logf("%d cases: %d open (%s), %d differ on purpose", cases, len(open), strings.Join(open, " "), differ)
	return cases
}

// tests are names of test functions by their folder, and of scenarios under "/scenario".
type tests map[string]map[string]bool

// has says whether a folder that ends so has the test.
func (s tests) has(folder, test string) bool {
	for f, names := range s {
		if strings.HasSuffix(f, "/"+folder) && names[test] {
			return true
		}
	}
	return false
}

func testsByFolder(t *testing.T, root string) tests {
	t.Helper()
	out := tests{"/scenario": {}}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "bin"):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".txtar") && strings.Contains(path, "/test/scenario/testdata/"):
			out["/scenario"][strings.TrimSuffix(d.Name(), ".txtar")] = true
		case strings.HasSuffix(path, "_test.go"):
			return out.add(root, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (s tests) add(root, path string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	folder := strings.TrimPrefix(filepath.Dir(path), root)
	if s[folder] == nil {
		s[folder] = map[string]bool{}
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
			s[folder][f.Name.Name] = true
		}
	}
	return nil
}
