// Package show writes the demo's live timeline: a heading for each step, a line for everything that happens, how each
// step ended, and a table at the end. On a terminal it has colours and a status line that renews itself; elsewhere the
// same text comes as plain lines.
//
// It must never know what it shows: nothing here looks at a cluster. Start reading at Timeline.
package show

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// The marks that a line can begin with, each with a meaning and a colour of its own.
const (
	User  Mark = "▸" // the user, or AWS, did something
	Plan  Mark = "◆" // Kerf decided something
	Why   Mark = " " // and why
	Claim Mark = "●" // Kerf did something
	Gone  Mark = "○" // something is no more
	Good  Mark = "✔"
	Bad   Mark = "✘"
)

// Mark says of what kind a line is.
type Mark string

// color is the mark's ANSI code.
func (m Mark) color() string {
	switch m {
	case User:
		return "35"
	case Plan:
		return "36"
	case Claim, Good:
		return "32"
	case Bad:
		return "1;31"
	default:
		return "2"
	}
}

// Timeline writes to one place. Safe for concurrent use.
type Timeline struct {
	mu    sync.Mutex
	out   io.Writer
	live  bool // a terminal: colours, and a status line
	width int  // 0: lines are never cut
	began time.Time
	step  time.Time
	// status is what the status line shows now; it is on the screen when shown is set.
	status string
	shown  bool
}

// New writes to out; with plain, as if out were no terminal. The clock starts now.
func New(out io.Writer, plain bool) *Timeline {
	t := &Timeline{out: out, began: time.Now(), step: time.Now()}
	f, ok := out.(*os.File)
	if !ok || plain || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return t
	}
	t.live = true
	if width, _, err := term.GetSize(int(f.Fd())); err == nil {
		t.width = width
	}
	return t
}

// Elapsed is how long the timeline runs.
func (t *Timeline) Elapsed() time.Duration { return time.Since(t.began) }

// Title writes a line of its own at the very top, and details below it.
func (t *Timeline) Title(title, details string) {
	t.print(t.paint("1", title)+"  "+t.paint("2", details), "")
}

// Fact writes a name and what is to be said about it.
func (t *Timeline) Fact(name, text string) {
	t.print(fmt.Sprintf("  %s %s", t.paint("1", pad(name, 14)), text))
}

// Step begins a step: its number, what is done, and what must come of it. Its lines are timed from here.
func (t *Timeline) Step(number int, title, want string) {
	t.mu.Lock()
	t.step = time.Now()
	t.mu.Unlock()
	lines := []string{"", t.paint("1;34", fmt.Sprintf("%2d", number)) + "  " + t.paint("1", title)}
	if want != "" {
		lines = append(lines, "    "+t.paint("2", "→ "+want))
	}
	t.print(lines...)
}

// Line writes something that happened now.
func (t *Timeline) Line(mark Mark, text string) {
	t.mu.Lock()
	since := time.Since(t.step)
	t.mu.Unlock()
	at := fmt.Sprintf("%7s", fmt.Sprintf("+%.1fs", since.Seconds()))
	if mark == Why {
		at = strings.Repeat(" ", 7)
	}
	var lines []string
	for i, part := range wrap(text, t.width-lineStart) {
		if mark == Why {
			part = t.paint("2", part)
		}
		if i > 0 {
			part = strings.Repeat(" ", lineStart) + part
		} else {
			part = "  " + t.paint("2", at) + " " + t.paint(mark.color(), string(mark)) + " " + part
		}
		lines = append(lines, part)
	}
	t.print(lines...)
}

// lineStart is where the text of a line begins, after its time and mark.
const lineStart = 12

// wrap cuts text between words into parts of at most n characters, if its words allow; n of 0 or less leaves it whole.
func wrap(text string, n int) []string {
	if n <= 0 {
		return []string{text}
	}
	var parts []string
	for word := range strings.FieldsSeq(text) {
		last := len(parts) - 1
		if last >= 0 && utf8.RuneCountInString(parts[last])+1+utf8.RuneCountInString(word) <= n {
			parts[last] += " " + word
		} else {
			parts = append(parts, word)
		}
	}
	return parts
}

// Block writes text as it is, indented.
func (t *Timeline) Block(text string) {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimRight("    "+line, "\n "))
	}
	t.print(lines...)
}

// Status sets the line that is renewed in place while something is waited for. Elsewhere than on a terminal it is not
// shown; "" takes it away.
func (t *Timeline) Status(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.live {
		return
	}
	t.status = text
	t.wipe()
	t.draw()
}

// print writes lines above the status line.
func (t *Timeline) print(lines ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wipe()
	for _, line := range lines {
		fmt.Fprintln(t.out, line)
	}
	t.draw()
}

func (t *Timeline) wipe() {
	if t.shown {
		fmt.Fprint(t.out, "\r\x1b[K")
		t.shown = false
	}
}

func (t *Timeline) draw() {
	if t.status == "" {
		return
	}
	text := fmt.Sprintf("  %7s … %s", fmt.Sprintf("+%.1fs", time.Since(t.step).Seconds()), t.status)
	fmt.Fprint(t.out, t.paint("2", cut(text, t.width-1)))
	t.shown = true
}

func (t *Timeline) paint(code, text string) string {
	if !t.live || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s))) }

// cut shortens plain text to n characters; n of 0 or less leaves it.
func cut(s string, n int) string {
	if n <= 0 || utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
