package instancetype

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Bounds of what is parsed, so that no text can cost more than a moment.
const (
	maxQuantityText = 64
	maxExponent     = 18
)

// threshold is one eviction threshold: an amount, or a share of the capacity.
type threshold struct {
	amount int64
	share  *big.Rat // of one; nil when amount says it
}

// of returns the threshold for a capacity, rounded up.
func (t threshold) of(capacity int64) int64 {
	if t.share == nil {
		return t.amount
	}
	n, err := roundUp(new(big.Rat).Mul(t.share, new(big.Rat).SetInt64(capacity)))
	if err != nil {
		// Unreachable: a share is at most one, so the product is at most the capacity.
		return capacity
	}
	return n
}

// parseReserved reads a kubelet reservation. field names the map in errors.
func parseReserved(field string, from map[string]string) (map[string]int64, error) {
	allowed := []string{CPU, EphemeralStorage, Memory, "pid"}
	to := make(map[string]int64, len(from))
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if !slices.Contains(allowed, name) {
			return nil, fmt.Errorf("%s: unknown resource %q: want one of %s", field, name, strings.Join(allowed, ", "))
		}
		unit := int64(1)
		if name == CPU {
			unit = 1000
		}
		value, err := parseQuantity(from[name], unit)
		if err != nil {
			return nil, fmt.Errorf("%s[%s]: %w", field, name, err)
		}
		to[name] = value
	}
	return to, nil
}

// parseThresholds reads eviction thresholds and returns, by resource, those that change what is allocatable.
func parseThresholds(field string, from map[string]string) (map[string]threshold, error) {
	resources := map[string]string{
		"memory.available": Memory, "nodefs.available": EphemeralStorage,
		"nodefs.inodesFree": "", "imagefs.available": "", "imagefs.inodesFree": "", "pid.available": "",
	}
	to := map[string]threshold{}
	for _, signal := range slices.Sorted(maps.Keys(from)) {
		resource, known := resources[signal]
		if !known {
			return nil, fmt.Errorf("%s: unknown signal %q: want one of %s", field, signal, strings.Join(slices.Sorted(maps.Keys(resources)), ", "))
		}
		t, err := parseThreshold(from[signal])
		if err != nil {
			return nil, fmt.Errorf("%s[%s]: %w", field, signal, err)
		}
		if resource != "" {
			to[resource] = t
		}
	}
	return to, nil
}

func parseThreshold(text string) (threshold, error) {
	number, isPercent := strings.CutSuffix(text, "%")
	if !isPercent {
		amount, err := parseQuantity(text, 1)
		return threshold{amount: amount}, err
	}
	want := fmt.Errorf("%q: want a percentage from 0%% to 100%%, such as 5%%", clip(text))
	if len(text) > maxQuantityText || !regexp.MustCompile(`^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)$`).MatchString(number) {
		return threshold{}, want
	}
	percent, ok := new(big.Rat).SetString(number)
	hundred := big.NewRat(100, 1)
	if !ok || percent.Cmp(hundred) > 0 {
		return threshold{}, want
	}
	if percent.Cmp(hundred) == 0 {
		// The kubelet's own way to write "no threshold".
		return threshold{}, nil
	}
	return threshold{share: percent.Quo(percent, hundred)}, nil
}

// parseQuantity reads a Kubernetes quantity, such as 100m, 1.5Gi or 1e3, and returns it times unit, rounded up.
func parseQuantity(text string, unit int64) (int64, error) {
	want := fmt.Errorf("%q: want a quantity of zero or more, such as 100m, 2 or 1.5Gi", clip(text))
	if len(text) > maxQuantityText {
		return 0, want
	}
	parts := regexp.MustCompile(`^\+?([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([a-zA-Z]*|[eE][+-]?[0-9]+)$`).FindStringSubmatch(text)
	if parts == nil {
		return 0, want
	}
	value, ok := new(big.Rat).SetString(parts[1])
	if !ok {
		return 0, want
	}
	scale, err := suffixScale(parts[2])
	if err != nil {
		return 0, fmt.Errorf("%w: %w", want, err)
	}
	value.Mul(value, scale)
	n, err := roundUp(value.Mul(value, new(big.Rat).SetInt64(unit)))
	if err != nil {
		return 0, fmt.Errorf("%q: %w", text, err)
	}
	return n, nil
}

// suffixScale returns what a quantity's suffix multiplies by.
func suffixScale(suffix string) (*big.Rat, error) {
	if i := slices.Index([]string{"Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}, suffix); i >= 0 {
		return new(big.Rat).SetInt64(1 << (10 * (i + 1))), nil
	}
	if i := slices.Index([]string{"n", "u", "m", "", "k", "M", "G", "T", "P", "E"}, suffix); i >= 0 {
		return powerOfTen(3 * (i - 3)), nil
	}
	exponent, err := strconv.Atoi(strings.TrimLeft(suffix, "eE"))
	if err != nil {
		return nil, fmt.Errorf("unknown unit %q", suffix)
	}
	if exponent < -maxExponent || exponent > maxExponent {
		return nil, fmt.Errorf("exponent %d: want %d to %d", exponent, -maxExponent, maxExponent)
	}
	return powerOfTen(exponent), nil
}

func powerOfTen(n int) *big.Rat {
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n, -n))), nil)
	if n < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), p)
	}
	return new(big.Rat).SetInt(p)
}

// roundUp returns the least whole number that is not below r.
func roundUp(r *big.Rat) (int64, error) {
	q, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	if !q.IsInt64() {
		return 0, errors.New("too large")
	}
	return q.Int64(), nil
}

// clip keeps error messages short, whatever was typed.
func clip(text string) string {
	if len(text) <= maxQuantityText {
		return text
	}
	return text[:maxQuantityText] + "…"
}
