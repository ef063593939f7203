package fit

import (
	"math"
	"strconv"
	"strings"

	"github.com/kerf-dev/kerf/services/core/model"
)

// Quantity writes an amount of a resource for people: "250m" and "1.5" of cpu, "2.5 GiB" of memory, counts as they are.
func Quantity(r model.Resource, v int64) string {
	switch {
	case r == model.CPU && v%1000 != 0 && v < 1000:
		return strconv.FormatInt(v, 10) + "m"
	case r == model.CPU:
		return decimal(float64(v)/1000, 3)
	case inBytes(r):
		f, unit := bytes(v)
		return decimal(f, 2) + unit
	}
	return strconv.FormatInt(v, 10)
}

// AtMost writes an amount as Quantity does, but never as more than it is: what is written can be asked for.
func AtMost(r model.Resource, v int64) string {
	if !inBytes(r) {
		return Quantity(r, v)
	}
	f, unit := bytes(v)
	return decimal(math.Floor(f*100)/100, 2) + unit
}

func inBytes(r model.Resource) bool {
	return r == model.Memory || r == "ephemeral-storage" || strings.HasPrefix(string(r), "hugepages-")
}

func bytes(v int64) (f float64, unit string) {
	units := []string{" B", " KiB", " MiB", " GiB", " TiB"}
	i := 0
	for f = float64(v); f >= 1024 && i < len(units)-1; i++ {
		f /= 1024
	}
	return f, units[i]
}

// decimal writes a number with at most that many digits after the point.
func decimal(f float64, digits int) string {
	s := strconv.FormatFloat(f, 'f', digits, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// Count writes a number of things for people: "1 pod", "5 pods".
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// Price is Money, marked where the price is an estimate: "~$0.096".
func Price(micro int64, estimated bool) string {
	if estimated {
		return "~" + Money(micro)
	}
	return Money(micro)
}

// Money writes micro-dollars for people: "$0.096".
func Money(micro int64) string {
	s := strconv.FormatFloat(float64(micro)/1e6, 'f', 6, 64)
	s = strings.TrimRight(s, "0")
	whole, frac, _ := strings.Cut(s, ".")
	for len(frac) < 3 {
		frac += "0"
	}
	return "$" + whole + "." + frac
}
