package model

import (
	"fmt"
	"math"
)

// ReclaimBand is how many of a hundred spot instances AWS takes back in a month, in the bands that it publishes. Larger
// is worse; zero is unknown.
type ReclaimBand int

// The bands.
const (
	Below5 ReclaimBand = iota + 1
	Below10
	Below15
	Below20
	Above20
)

// ParseReclaimBand reads a band as AWS writes it, such as "5-10%".
func ParseReclaimBand(s string) (ReclaimBand, error) {
	for b := Below5; b <= Above20; b++ {
		if b.String() == s {
			return b, nil
		}
	}
	return 0, fmt.Errorf("%q is not a band of reclaims: want <5%%, 5-10%%, 10-15%%, 15-20%% or >20%%", s)
}

// String is the band as AWS writes it; "" where it is unknown.
func (b ReclaimBand) String() string {
	if b < Below5 || b > Above20 {
		return ""
	}
	return [...]string{"<5%", "5-10%", "10-15%", "15-20%", ">20%"}[b-Below5]
}

// perMonth is the middle of the band, as a share.
func (b ReclaimBand) perMonth() float64 {
	return [...]float64{0, 0.025, 0.075, 0.125, 0.175, 0.25}[b]
}

const hoursPerMonth = 730

// InterruptionPrice is what it costs to be interrupted as often as the band says, micro-dollars per hour, where moving
// the pods once costs so much: what it costs more than by another band.
func (b ReclaimBand) InterruptionPrice(than ReclaimBand, moving int64) int64 {
	return int64(math.Ceil(float64(moving) * (b.perMonth() - than.perMonth()) / hoursPerMonth))
}
