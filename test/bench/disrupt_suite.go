package bench

import (
	"path/filepath"

	"github.com/kerf-dev/kerf/test/bench/workload"
)

// DisruptRows are the workloads of mode disrupt, those of one kind by size. Of the largest only the first plans are
// measured: they tell what one plan costs. Files of the directory are used where it has them; "" has none.
func DisruptRows(dir string) ([]Row, error) {
	const fewRounds = 3
	s := suite{dir: dir, catalog: workload.Market}
	if dir != "" {
		s.catalog = filepath.Join(dir, "catalog.json")
	}
	var rows []Row
	for _, name := range []string{"W5-100", "W5", "W5-5000", "W6"} {
		j := s.job(name)
		j.Mode = Disrupt
		if name == "W5-5000" {
			j.Rounds = fewRounds
		}
		rows = append(rows, Row{Job: j})
	}
	return rows, s.err
}
