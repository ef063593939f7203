package karpenterv1

import (
	"fmt"
	"regexp"
	"time"
)

// Never is what a NillableDuration says when the time never comes.
const Never = "Never"

var durationPattern = regexp.MustCompile(`^([0-9]+[smh])+$`)

// Duration is a length of time in hours, minutes and seconds ("1h30m"). It keeps
// the user's text, so that an object is written as it was read.
//
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:Pattern=`^([0-9]+(s|m|h))+$`
type Duration string

// NillableDuration is a Duration or the word Never. "" is unset.
//
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:Pattern=`^(([0-9]+(s|m|h))+|Never)$`
type NillableDuration string

// Parse reads the duration.
func (d Duration) Parse() (time.Duration, error) {
	if !durationPattern.MatchString(string(d)) {
		return 0, fmt.Errorf("duration %q: want hours, minutes and seconds such as 720h or 1h30m", string(d))
	}
	parsed, err := time.ParseDuration(string(d))
	if err != nil {
		return 0, fmt.Errorf("duration %q: too long; the most is 2562047h", string(d))
	}
	return parsed, nil
}

// Parse reads the duration; never is true, and the duration 0, for the word
// Never. "" is an error: apply defaults first.
func (d NillableDuration) Parse() (value time.Duration, never bool, err error) {
	if d == Never {
		return 0, true, nil
	}
	value, err = Duration(d).Parse()
	if err != nil {
		return 0, false, fmt.Errorf("%w, or the word %s", err, Never)
	}
	return value, false, nil
}
