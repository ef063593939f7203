// Package near says which name was meant by one that does not exist, for "did you mean …?": it finds those that are
// spelled much like it. It must never know what the names are of. Start reading at Names, then Question.
package near

import (
	"cmp"
	"slices"
	"strings"
)

// mostNear is how many names are suggested.
const mostNear = 3

// Question asks whether one of the names was meant: "did you mean a or b?"; "" where none is near.
func Question(name string, all []string) string {
	list := Names(name, all)
	if len(list) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(list, " or ") + "?"
}

// Value asks as Question does, for a value that begins as one of them: of instance types and the like, one that begins
// otherwise is another one, and no slip of the keys.
func Value(value string, all []string) string {
	if value == "" {
		return ""
	}
	return Question(value, slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == "" || name[0] != value[0] }))
}

// Names lists the names that are like one: those that contain it or are contained in it, then those that are a
// few keystrokes away. Names far from it are left out, and all others where one is spelled as it is, but for capitals.
func Names(name string, all []string) []string {
	if i := slices.IndexFunc(all, func(o string) bool { return strings.EqualFold(o, name) }); i >= 0 {
		return []string{all[i]}
	}
	type scored struct {
		name  string
		score int
	}
	most := max(len(name)/3, 2)
	var found []scored
	for _, candidate := range all {
		short := candidate[strings.LastIndexByte(candidate, '/')+1:]
		score := min(distance(name, candidate, most), distance(name, short, most))
		if strings.Contains(candidate, name) || strings.Contains(name, short) {
			score = 0
		}
		if score <= most {
			found = append(found, scored{candidate, score})
		}
	}
	slices.SortFunc(found, func(a, b scored) int { return cmp.Or(a.score-b.score, strings.Compare(a.name, b.name)) })
	var out []string
	for _, f := range found[:min(len(found), mostNear)] {
		out = append(out, f.name)
	}
	return out
}

// distance is how many letters must be put in, taken out or changed to make b of a; anything above most where it is more.
func distance(a, b string, most int) int {
	if max(len(a), len(b))-min(len(a), len(b)) > most {
		return most + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
