package main

import "testing"

func TestBlankLinesBeforeReturns(t *testing.T) {
	const before = `package p

func one() int { return 1 }

func two() int { return 2 }

func three() int {
	x := 3

	return x
}
`
	const after = `package p

func one() int { return 1 }

func two() int { return 2 }

func three() int {
	x := 3
	return x
}
`
	for name, source := range map[string]string{"loose": before, "tight": after} {
		got, err := tighten("p.go", []byte(source))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != after {
			t.Errorf("%s: got\n%s", name, got)
		}
	}
}
