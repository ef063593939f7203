package loop

import (
	"testing"
	"time"
)

// TestAClassThatSelectsTheSameIsNotShownAgain: each look at AWS was shown to watchers, who had all of it planned anew.
func TestAClassThatSelectsTheSameIsNotShownAgain(t *testing.T) {
	leads(t, func(r *rig) {
		time.Sleep(time.Minute)
		before, _, _ := r.loop.Shown()
		time.Sleep(20 * time.Minute)
		after, _, _ := r.loop.Shown()
		if before == nil || before.Classes[0] != after.Classes[0] || before.Revision != after.Revision {
			t.Errorf("revision %d is shown after %d", after.Revision, before.Revision)
		}
		r.ec2.Publish("ami-new")
		r.until("another image is shown", 10*time.Minute, func() bool {
			inv, _, _ := r.loop.Shown()
			return inv.Classes[0] != after.Classes[0] && inv.Classes[0].Images[0].ID != after.Classes[0].Images[0].ID
		})
	})
}
