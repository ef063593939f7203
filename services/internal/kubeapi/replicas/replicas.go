// Package replicas says how many pods a manifest can ask for.
//
// It must never know what asks for them. Start reading at Check.
package replicas

import "fmt"

// most bounds what one manifest can ask for.
const most = 100_000

// Check finds a number of pods that is below none, or more than a manifest can ask for.
func Check(n int64) error {
	if n < 0 || n > most {
		return fmt.Errorf("%d pods; want 0 to %d", n, most)
	}
	return nil
}
