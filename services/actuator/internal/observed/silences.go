package observed

import "time"

// span is a time in which something gave no answer.
type span struct{ from, to time.Time }

// since is how much of the span lies after a time.
func (x span) since(t time.Time) time.Duration {
	from := x.from
	if from.Before(t) {
		from = t
	}
	return max(x.to.Sub(from), 0)
}

// mostSilences is how many are remembered, the last ones: what waits for an answer does so for minutes.
const mostSilences = 64

// silences are when something that is asked again and again gave no answer. What waits for such an answer is not late by
// that time; by the rest it is, so that one that answers now and then puts nothing off for ever.
type silences []span

// end notes one that is over.
func (s *silences) end(x span) {
	if !x.from.Before(x.to) {
		return
	}
	if len(*s) == mostSilences {
		*s = append((*s)[:0], (*s)[1:]...)
	}
	*s = append(*s, x)
}

// since is how long there was no answer since a time; present is the silence that lasts, empty where none does.
func (s silences) since(t time.Time, present span) time.Duration {
	sum := present.since(t)
	for _, x := range s {
		sum += x.since(t)
	}
	return sum
}
