package docs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/kerf-dev/kerf/test/harness/assets"
)

// patience is for slow machines: a block that does not end is ended.
const patience = 5 * time.Minute

func repository(t *testing.T) string {
	t.Helper()
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func all(t *testing.T, root string) []block {
	t.Helper()
	files, err := pages(root)
	if err != nil {
		t.Fatal(err)
	}
	var out []block
	for _, page := range files {
		found, err := blocks(root, page)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, found...)
	}
	return out
}

// TestConsoleBlocks runs the blocks that need nothing but this repository, one after the other: they use its folder bin.
func TestConsoleBlocks(t *testing.T) {
	if testing.Short() {
		t.Skip("runs programs, which -short leaves out")
	}
	root := repository(t)
	counts := map[string]int{}
	for _, b := range all(t, root) {
		if len(b.needs) > 0 {
			counts[strings.Join(b.needs, ", ")]++
			continue
		}
		counts["run"]++
		t.Run(b.String(), func(t *testing.T) { run(t, root, b) })
	}
	t.Logf("blocks: %v", counts)
}

// run runs a block's commands in one shell.
func run(t *testing.T, root string, b block) {
	t.Helper()
	dir := t.TempDir()
	var script strings.Builder
	started := false
	for i, c := range b.commands {
		out := filepath.Join(dir, fmt.Sprint(i))
		try := fmt.Sprintf("{ %s\n} > %s 2>&1 && echo 0 > %s.code || echo $? > %s.code\n", c.text, out, out, out)
		if started { // what was started in the background takes a moment until it answers
			try = fmt.Sprintf("for try in $(seq 120); do\n%s[ $(cat %s.code) = 0 ] && break; sleep 0.5\ndone\n", try, out)
		}
		script.WriteString(try)
		started = started || strings.HasSuffix(c.text, "&")
	}
	script.WriteString("kill $(jobs -p) 2> /dev/null\n")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script.String())
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "COLUMNS=200", "PATH="+filepath.Join(root, "bin")+":"+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	_ = cmd.Run() // each command's own code counts
	for i, c := range b.commands {
		name := filepath.Join(dir, fmt.Sprint(i))
		printed, err := os.ReadFile(name)
		if err != nil {
			t.Fatalf("$ %s\nwas not run: %v", c.text, ctx.Err())
		}
		code, _ := os.ReadFile(name + ".code") // without one it is no 0
		shown := lines(strings.Join(c.shown, "\n"))
		same := len(shown) == 0 || like(shown, lines(string(printed)))
		// A plan that leaves pods pending ends with 2, and a page may show one.
		pending := strings.TrimSpace(string(code)) == "2" && len(shown) > 0
		if !same || strings.TrimSpace(string(code)) != "0" && !pending {
			t.Errorf("$ %s\nended with %sand printed\n%s\nthe page shows\n%s", c.text, code, printed, strings.Join(c.shown, "\n"))
		}
	}
}

// lines are what is compared: names that come from a hash of all input are all alike.
func lines(text string) []string {
	text = regexp.MustCompile(`\b([a-z]+)-[0-9a-f]{10}\b`).ReplaceAllString(strings.TrimSpace(text), "$1-0123456789")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// TestCommandsAreThere looks at all blocks, also at those that are not run.
func TestCommandsAreThere(t *testing.T) {
	root := repository(t)
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range all(t, root) {
		for _, n := range b.needs {
			if needs()[n] == "" {
				t.Errorf("%s: %q is no word for what a block needs", b, n)
			}
		}
		if len(b.commands) == 0 {
			t.Errorf("%s has no command", b)
		}
		for _, c := range b.commands {
			for _, words := range parts(c.text) {
				checkFiles(t, b, root, words)
				checkMake(t, b, string(makefile), words)
			}
		}
	}
}

// checkFiles wants the files of the repository that a command reads.
func checkFiles(t *testing.T, b block, root string, words []string) {
	t.Helper()
	for i, w := range words {
		if i == 0 || !strings.HasPrefix(w, "deploy/") && !strings.HasPrefix(w, "docs/") && !strings.HasPrefix(w, "test/") {
			continue
		}
		reads := words[0] == "helm" || slices.Contains([]string{"-f", "-k", "<", "--with", "--policy", "--template-file"}, words[i-1])
		if _, err := os.Stat(filepath.Join(root, w)); reads && err != nil {
			t.Errorf("%s: %v", b, err)
		}
	}
}

func checkMake(t *testing.T, b block, makefile string, words []string) {
	t.Helper()
	if len(words) == 0 || words[0] != "make" {
		return
	}
	for _, w := range words[1:] {
		if strings.Contains(w, "=") {
			break // and what follows may be part of its value
		}
		if !strings.Contains(makefile, "\n"+w+":") {
			t.Errorf("%s: make has no target %s", b, w)
		}
	}
}

// TestFlagsAreThere asks kerf for its flags.
func TestFlagsAreThere(t *testing.T) {
	if testing.Short() {
		t.Skip("builds kerf, which -short leaves out")
	}
	root := repository(t)
	bin := filepath.Join(root, "bin")
	if err := assets.Programs(t.Context(), root, bin, os.Stderr, "./services/kerf/cmd/kerf", "./services/kerf/cmd/kerf-up"); err != nil {
		t.Fatal(err)
	}
	help := map[string]string{}
	for _, b := range all(t, root) {
		for _, c := range b.commands {
			for _, words := range parts(c.text) {
				if len(words) < 2 || filepath.Base(words[0]) != "kerf" || strings.HasPrefix(words[1], "-") {
					continue
				}
				sub := words[1]
				if help[sub] == "" {
					out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "kerf"), sub, "--help").CombinedOutput()
					if err != nil || !strings.Contains(string(out), "kerf "+sub) {
						t.Fatalf("%s: kerf %s --help: %v\n%s", b, sub, err, out)
					}
					help[sub] = string(out)
				}
				for _, w := range words[2:] {
					if flag, _, _ := strings.Cut(w, "="); strings.HasPrefix(flag, "--") && !strings.Contains(help[sub], flag+" ") {
						t.Errorf("%s: kerf %s has no flag %s", b, sub, flag)
					}
				}
			}
		}
	}
}

// TestLinksLeadSomewhere: to a file that is there, and a heading that is there.
func TestLinksLeadSomewhere(t *testing.T) {
	root := repository(t)
	files, err := pages(root)
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range files {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			to, anchor, _ := strings.Cut(m[1], "#")
			target := filepath.Join(root, filepath.Dir(page), to)
			if to == "" {
				target = filepath.Join(root, page)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
				continue
			}
			if anchor != "" && !slices.Contains(anchors(t, target), anchor) {
				t.Errorf("%s links to %s, and the page has no such heading", page, m[1])
			}
		}
	}
}

// anchors are the names by which the headings of a page are linked.
func anchors(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			continue
		}
		out = append(out, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			default:
				return -1
			}
		}, strings.TrimSpace(strings.TrimLeft(line, "#"))))
	}
	return out
}

func TestLikeKnowsEllipses(t *testing.T) {
	tests := map[string]struct {
		shown, printed string
		want           bool
	}{
		"the same":         {"a\nb", "a\nb", true},
		"something else":   {"a\nb", "a\nc", false},
		"one line more":    {"a", "a\nb", false},
		"left out":         {"a\n  …\nd", "a\nb\nc\nd", true},
		"nothing left out": {"a\n…", "a", true},
		"another end":      {"a\n…\nd", "a\nb\nc", false},
	}
	for name, tt := range tests {
		if got := like(lines(tt.shown), lines(tt.printed)); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}
