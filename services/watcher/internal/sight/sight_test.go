package sight_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/watcher/internal/sight"
)

func TestSight(t *testing.T) {
	failing := func(s *sight.Sight, resource string, times int) {
		for range times {
			s.Failed(resource, errors.New("forbidden"))
			time.Sleep(20 * time.Second)
		}
	}
	const lost = "the watcher can't read pods from the API server: forbidden"
	for name, c := range map[string]struct {
		happens func(s *sight.Sight, revision *string)
		want    []string
	}{
		"lists fail for a minute":         {func(s *sight.Sight, _ *string) { failing(s, "pods", 4) }, []string{lost}},
		"lists fail for a short time":     {func(s *sight.Sight, _ *string) { failing(s, "pods", 2) }, nil},
		"another resource can't be read":  {func(s *sight.Sight, _ *string) { failing(s, "services", 9) }, nil},
		"a watch breaks again and again":  {func(s *sight.Sight, r *string) { failing(s, "pods", 2); *r = "2"; failing(s, "pods", 2) }, nil},
		"objects come although it breaks": {func(s *sight.Sight, _ *string) { failing(s, "pods", 2); s.Works("pods"); failing(s, "pods", 2) }, nil},
		"it works again":                  {func(s *sight.Sight, r *string) { failing(s, "pods", 9); *r = "2"; time.Sleep(11 * time.Second) }, []string{lost, ""}},
		"it works only just":              {func(s *sight.Sight, r *string) { failing(s, "pods", 9); *r = "2"; time.Sleep(4 * time.Second) }, []string{lost}},
		"one of two works again": {func(s *sight.Sight, r *string) {
			failing(s, "pods", 9)
			failing(s, "nodes", 9)
			*r = "2"
			time.Sleep(time.Minute)
		}, []string{lost}},
		"it is lost for hours, and is told": {func(s *sight.Sight, _ *string) { failing(s, "pods", 900) }, []string{lost}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told []string
				revision := "1"
				s := sight.New(time.Now, func(why string) { told = append(told, why) })
				s.Watch("pods", func() string { return revision })
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
