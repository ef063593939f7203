package subnets

import (
	"fmt"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
)

// clock is a time that the test moves.
type clock struct{ now time.Time }

func (c *clock) read() time.Time { return c.now }

func all() []cloud.Subnet {
	return []cloud.Subnet{
		{ID: "subnet-1", Zone: "a", FreeAddresses: 1},
		{ID: "subnet-2", Zone: "a", FreeAddresses: 100},
		{ID: "subnet-3", Zone: "a", FreeAddresses: 90},
		{ID: "subnet-4", Zone: "b", FreeAddresses: 7},
	}
}

func book() (*Book, *clock) {
	c := &clock{time.Unix(1000, 0)}
	b := New(c.read)
	b.Seen(all(), c.now)
	return b, c
}

func picks(t *testing.T, b *Book, token, want string) {
	t.Helper()
	if got, ok := b.Pick(token, all(), "a", 29); got != want || !ok {
		t.Errorf("%s goes into %q, want %s", token, got, want)
	}
}

func TestTheSubnetWithTheMostFreeAddressesIsPicked(t *testing.T) {
	b, _ := book()
	picks(t, b, "t", "subnet-2")
	if got, ok := b.Pick("t", all(), "b", 29); got != "subnet-4" || !ok {
		t.Errorf("%q in zone b", got)
	}
	if got, ok := b.Pick("t", all(), "c", 29); ok {
		t.Errorf("%q in a zone without subnets", got)
	}
}

func TestWhatLaunchesTakeIsNotFree(t *testing.T) {
	b, c := book()
	picks(t, b, "t1", "subnet-2")                      // 71 left
	picks(t, b, "t2", "subnet-3")                      // 61 left
	picks(t, b, "t3", "subnet-2")                      // 42 left
	b.Launched("t1", nil)                              // it came to nothing: 71 left
	b.Launched("t3", map[string]int64{"subnet-2": 29}) // it is there, and counts until EC2 is asked again
	picks(t, b, "t4", "subnet-2")                      // 42 left
	c.now = c.now.Add(time.Minute)
	b.Seen(all(), c.now)          // the instance of t3 is counted by EC2 now; t4 goes on
	picks(t, b, "t5", "subnet-2") // 71 left, and 61
}

func TestARepeatedLaunchGetsTheSameSubnet(t *testing.T) {
	b, c := book()
	picks(t, b, "t", "subnet-2")
	for i := range 3 {
		b.Pick(fmt.Sprint("other", i), all(), "a", 50)
	}
	b.Full("subnet-2")
	picks(t, b, "t", "subnet-2")
	b.Launched("t", map[string]int64{"subnet-2": 50})
	c.now = c.now.Add(time.Minute)
	picks(t, b, "t", "subnet-2")
}

func TestAFullSubnetIsPassedOverForAWhile(t *testing.T) {
	b, c := book()
	b.Full("subnet-2")
	picks(t, b, "t1", "subnet-3")
	b.Launched("t1", nil)
	b.Full("subnet-3")
	picks(t, b, "t2", "subnet-1")
	b.Full("subnet-1")
	if b.Open(all(), "a") || !b.Open(all(), "b") {
		t.Error("a zone whose subnets are all full is open, or another is not")
	}
	picks(t, b, "t3", "subnet-1") // EC2 has the last word
	c.now = c.now.Add(fullFor)
	if !b.Open(all(), "a") {
		t.Error("full for ever")
	}
	b.Launched("t2", nil)
	b.Launched("t3", nil)
	picks(t, b, "t4", "subnet-2")
}

func TestLaunchesAreForgotten(t *testing.T) {
	b, c := book()
	for i := range 100 {
		b.Pick(fmt.Sprint(i), all(), "a", 1)
	}
	c.now = c.now.Add(keep + 1)
	b.Seen(all(), c.now)
	if len(b.launches) != 0 {
		t.Errorf("%d launches are remembered", len(b.launches))
	}
}
