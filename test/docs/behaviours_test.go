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

// casesOnAWS is how many cases docs/behaviours-aws.md has a line for.
const casesOnAWS = 108

// TestEachCaseOnAWSIsShown reads docs/behaviours-aws.md: each case has one line, and the tests and scenarios that it names are there.
func TestEachCaseOnAWSIsShown(t *testing.T) {
	root := repository(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "behaviours-aws.md"))
	if err != nil {
		t.Fatal(err)
	}
	there := testsByFolder(t, root)
	row := regexp.MustCompile(`(?m)^\| (\d+) \| ([^|]+) \| ([^|]+) \|$`)
	name := regexp.MustCompile("`([^:`]+): ([^`]+)`")
	next, open, differ := 1, []string{}, 0
	for _, line := range row.FindAllStringSubmatch(string(page), -1) {
		if number := line[1]; number != strconv.Itoa(next) {
			t.Fatalf("case %s comes where %d must", number, next)
		}
		next++
		switch shown := line[3]; {
		case shown == "open":
			open = append(open, line[1])
		case strings.HasPrefix(shown, "differs: "):
			differ++
		default:
			if strings.Trim(name.ReplaceAllString(shown, ""), ", ") != "" {
				t.Errorf("case %s: %q is neither a list of tests nor \"open\" nor \"differs: why\"", line[1], shown)
			}
		}
		for _, n := range name.FindAllStringSubmatch(line[3], -1) {
			if !there.has(n[1], n[2]) {
				t.Errorf("case %s: there is no %s in %s", line[1], n[2], n[1])
			}
		}
	}
	if next != casesOnAWS+1 {
		t.Errorf("the page ends with case %d, want %d", next-1, casesOnAWS)
	}
	t.Logf("%d cases: %d open (%s), %d differ on purpose", next-1, len(open), strings.Join(open, " "), differ)
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
