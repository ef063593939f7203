package catalog

// usualSaving is what spot mostly saves where nothing is known of a type: spot prices mostly lie between a quarter and
// a half of the list price.
const usualSaving = 65

// SpotEstimate guesses a spot price from the list price, in micro-dollars per hour, by how many percent spot saves
// (zero: unknown, then as much as usual): rounded up, so that it is not understated. What shows it must mark it as
// estimated. Unknown (zero or less) stays unknown (zero).
func SpotEstimate(onDemandMicroUSD, saves int64) int64 {
	if onDemandMicroUSD <= 0 {
		return 0
	}
	if saves == 0 {
		saves = usualSaving
	}
	// Whole hundreds first, so that no product overflows.
	hundreds, rest := onDemandMicroUSD/100, onDemandMicroUSD%100
	return hundreds*(100-saves) + (rest*(100-saves)+99)/100
}
