package sight_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/watcher/internal/sight"
)

// text is one that is looked at while it changes.
type text struct{ atomic.Value }

func (t *text) set(s string) { t.Store(s) }
func (t *text) get() string  { return t.Load().(string) }

// moment is a time of that kind.
type moment struct{ atomic.Value }

func (m *moment) set(t time.Time) { m.Store(t) }
func (m *moment) get() time.Time  { return m.Load().(time.Time) }

func TestSight(t *testing.T) {
	failing := func(s *sight.Sight, resource string, times int) {
		for range times {
			s.Failed(resource, errors.New("forbidden"))
			time.Sleep(20 * time.Second)
		}
	}
	const lost = "the watcher can't read pods from the API server: forbidden"
	for name, c := range map[string]struct {
		happens func(s *sight.Sight, revision *text)
		want    []string
	}{
		"lists fail for a minute":         {func(s *sight.Sight, _ *text) { failing(s, "pods", 4) }, []string{lost}},
		"lists fail for a short time":     {func(s *sight.Sight, _ *text) { failing(s, "pods", 2) }, nil},
		"another resource can't be read":  {func(s *sight.Sight, _ *text) { failing(s, "services", 9) }, nil},
		"a watch breaks again and again":  {func(s *sight.Sight, r *text) { failing(s, "pods", 2); r.set("2"); failing(s, "pods", 2) }, nil},
		"objects come although it breaks": {func(s *sight.Sight, _ *text) { failing(s, "pods", 2); s.Works("pods"); failing(s, "pods", 2) }, nil},
		"it works again":                  {func(s *sight.Sight, r *text) { failing(s, "pods", 9); r.set("2"); time.Sleep(11 * time.Second) }, []string{lost, ""}},
		"it works only just":              {func(s *sight.Sight, r *text) { failing(s, "pods", 9); r.set("2"); time.Sleep(4 * time.Second) }, []string{lost}},
		"one of two works again": {func(s *sight.Sight, r *text) {
			failing(s, "pods", 9)
			failing(s, "nodes", 9)
			r.set("2")
			time.Sleep(time.Minute)
		}, []string{lost}},
		"it is lost for hours, and is told": {func(s *sight.Sight, _ *text) { failing(s, "pods", 900) }, []string{lost}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told []string
				var revision text
				revision.set("1")
				s := sight.New(time.Now, func(why string) { told = append(told, why) }, nil)
				s.Watch("pods", revision.get)
				s.Watch("nodes", func() string { return "1" })
				failing(s, "pods", 9) // before all was read
				go s.Run(t.Context())
				synctest.Wait()
				c.happens(s, &revision)
				synctest.Wait()
				if !slices.Equal(told, c.want) {
					t.Errorf("told %q, want %q", told, c.want)
				}
			})
		})
	}
}

// Informers say nothing of a connection that is refused: what an API server that does not answer has not moved is lost.
func TestSightOfAnAPIServerThatDoesNotAnswer(t *testing.T) {
	const lost = "the watcher can't read pods from the API server: it does not answer"
	for name, c := range map[string]struct {
		happens func(s *sight.Sight, silent *moment, revision *text)
		want    []string
	}{
		"for a minute": {func(*sight.Sight, *moment, *text) { time.Sleep(time.Minute) }, []string{lost}},
		"for a short time": {func(_ *sight.Sight, silent *moment, _ *text) {
			time.Sleep(40 * time.Second)
			silent.set(time.Time{})
			time.Sleep(time.Hour)
		}, nil},
		"its watches have bookmarks": {func(_ *sight.Sight, _ *moment, r *text) {
			for range 60 {
				time.Sleep(40 * time.Second)
				r.set(r.get() + ".")
			}
		}, nil},
		"its watches have objects": {func(s *sight.Sight, _ *moment, _ *text) {
			for range 60 {
				time.Sleep(40 * time.Second)
				s.Works("pods")
				s.Works("nodes")
			}
		}, nil},
		"its watches end later": {func(_ *sight.Sight, _ *moment, r *text) {
			time.Sleep(40 * time.Second)
			r.set("2")
			time.Sleep(2 * time.Minute)
		}, []string{lost}},
		"it answers again, with no news": {func(_ *sight.Sight, silent *moment, _ *text) {
			time.Sleep(time.Minute)
			silent.set(time.Time{})
			time.Sleep(time.Minute)
		}, []string{lost}},
		"it answers again": {func(_ *sight.Sight, silent *moment, r *text) {
			time.Sleep(time.Minute)
			silent.set(time.Time{})
			r.set("2")
			time.Sleep(11 * time.Second)
		}, []string{lost, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told []string
				var silent moment
				var revision text
				silent.set(time.Time{})
				revision.set("1")
				s := sight.New(time.Now, func(why string) { told = append(told, why) }, silent.get)
				s.Watch("pods", revision.get)
				s.Watch("nodes", revision.get)
				go s.Run(t.Context())
				time.Sleep(time.Hour)
				silent.set(time.Now())
				c.happens(s, &silent, &revision)
				synctest.Wait()
				if !slices.Equal(told, c.want) {
					t.Errorf("told %q, want %q", told, c.want)
				}
			})
		})
	}
}
