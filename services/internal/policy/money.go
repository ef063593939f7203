package policy

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Dollars is money in micro-dollars, which users spell in decimal dollars: "0.002". No float is on the way, and plain
// numbers of JSON and YAML are refused, because what is read from them need not be what was written.
type Dollars int64

const (
	microPerDollar = 1_000_000
	microDigits    = 6
	// maxDollarDigits keeps what is added up far from the range's end.
	maxDollarDigits = 6
)

// ParseDollars reads decimal dollars.
func ParseDollars(s string) (Dollars, error) {
	const want = "want decimal dollars, such as 0.005"
	whole, fraction, point := strings.Cut(s, ".")
	switch {
	case strings.HasPrefix(s, "-"):
		return 0, fmt.Errorf("%q is negative: %s", s, want)
	case !digits(whole) || point && !digits(fraction):
		return 0, fmt.Errorf("%q is not an amount: %s", s, want)
	case len(fraction) > microDigits:
		return 0, fmt.Errorf("%q is finer than a millionth of a dollar: want %d decimals at most", s, microDigits)
	case len(whole) > maxDollarDigits:
		return 0, fmt.Errorf("%q is too much: want less than a million dollars", s)
	}
	micro, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", microDigits-len(fraction)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not an amount: %s", s, want)
	}
	return Dollars(micro), nil
}

// digits says that s has digits and nothing else.
func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// String is the amount as ParseDollars reads it.
func (d Dollars) String() string {
	s := fmt.Sprintf("%d.%0*d", d/microPerDollar, microDigits, d%microPerDollar)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *Dollars) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf(`%s is not an amount: want decimal dollars in quotes, such as "0.005"`, data)
	}
	v, err := ParseDollars(s)
	if err != nil {
		return err
	}
	*d = v
	return nil
}

// MarshalJSON implements json.Marshaler.
func (d Dollars) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// said is the amount in micro-dollars, nil where there is none.
func (d *Dollars) said() *int64 { return (*int64)(d) }

// micro is the amount in micro-dollars, 0 for none.
func (d *Dollars) micro() int64 {
	if d == nil {
		return 0
	}
	return int64(*d)
}
