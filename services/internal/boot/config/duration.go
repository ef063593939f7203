package config

import (
	"encoding/json"
	"fmt"
	"time"
)

// Duration is a time.Duration that JSON spells as Go does: "50ms", "1m30s".
// Plain numbers are refused, because their unit would be a guess.
type Duration time.Duration

// Or returns d, or def where d is zero.
func (d Duration) Or(def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return time.Duration(d)
}

// String implements fmt.Stringer.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalJSON implements json.Marshaler.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON implements json.Unmarshaler.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("%s is not a duration: want a string with a unit, such as \"50ms\" or \"1m30s\"", data)
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%q is not a duration: want a number with a unit, such as \"50ms\" or \"1m30s\"", s)
	}
	*d = Duration(v)
	return nil
}
