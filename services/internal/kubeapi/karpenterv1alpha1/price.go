package karpenterv1alpha1

import (
	"errors"
	"math/big"
	"regexp"
	"strings"
)

// million is how many micro-dollars a dollar has, and parts a whole.
const million = 1_000_000

// maxMicro bounds prices: a million dollars an hour.
const maxMicro = million * million

var (
	pricePattern      = regexp.MustCompile(`^\d+(\.\d+)?$`)
	adjustmentPattern = regexp.MustCompile(`^(([+-]\d*\.?\d+)|(\+\d*\.?\d+%)|(-\d{1,2}(\.\d+)?%)|(-100%))$`)
)

// ParsePrice reads a price in dollars per hour as micro-dollars, rounded to the
// nearest. The error says what would be right.
func ParsePrice(s string) (int64, error) {
	if !pricePattern.MatchString(s) {
		return 0, errors.New("want dollars per hour such as 0.096")
	}
	return scaled(s)
}

// Adjustment is what is added to a price: Micro micro-dollars per hour, or with
// IsPercent PPM millionths of the price.
type Adjustment struct {
	Micro, PPM int64
	IsPercent  bool
}

// ParseAdjustment reads a signed amount in dollars per hour, or a signed
// percentage. The error says what would be right.
func ParseAdjustment(s string) (Adjustment, error) {
	if !adjustmentPattern.MatchString(s) {
		return Adjustment{}, errors.New("want an amount or a percentage with its sign, such as -0.01 or +10%; never below -100%")
	}
	number, isPercent := strings.CutSuffix(s, "%")
	n, err := scaled(number)
	if err != nil {
		return Adjustment{}, err
	}
	if isPercent {
		return Adjustment{PPM: n / 100, IsPercent: true}, nil
	}
	return Adjustment{Micro: n}, nil
}

// scaled is a decimal number times a million, rounded half away from zero.
func scaled(s string) (int64, error) {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return 0, errors.New("want a decimal number")
	}
	r.Mul(r, big.NewRat(million, 1))
	if r.Cmp(big.NewRat(maxMicro, 1)) > 0 || r.Cmp(big.NewRat(-maxMicro, 1)) < 0 {
		return 0, errors.New("want less than a million")
	}
	half := big.NewRat(1, 2)
	if r.Sign() < 0 {
		half.Neg(half)
	}
	r.Add(r, half)
	return new(big.Int).Quo(r.Num(), r.Denom()).Int64(), nil
}
