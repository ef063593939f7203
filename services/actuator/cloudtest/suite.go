package cloudtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
)

// World is an implementation under test and the levers that the suite needs.
type World struct {
	Cloud   cloud.Cloud
	Classes cloud.Classes
	Market  cloud.Market
	Queue   cloud.Queue
	Checks  cloud.Checks
	// Spec is a class that resolves in this world.
	Spec cloud.ClassSpec
	// Exhaust makes an offering out of stock.
	Exhaust func(o model.RankedOffering)
	// Limit leaves so many instances of an offering in stock.
	Limit func(o model.RankedOffering, n int)
	// Send puts a message on the queue.
	Send func(body string)
	// Impair lets an instance's status check fail from now on, or its host's.
	Impair func(instance string, host bool)
	// Advance moves the world's time; everything that is due happens before it returns.
	Advance func(d time.Duration)
}

// settle is longer than any launch, end, or lag that a world under test may have.
const settle = 2 * time.Minute

// Suite is what every implementation of the cloud port must do. open makes a fresh world for each test.
func Suite(t *testing.T, open func(t *testing.T) World) {
	t.Helper()
	tests := map[string]func(*testing.T, World){
		"a class resolves to zones, images for both architectures and a profile":   testResolve,
		"a class whose selector matches nothing is not ready and names the field":  testResolveMissing,
		"a launch shows up with its claim and what it was launched as":             testLaunch,
		"instances are found among as many names as can be given at once":          testSome,
		"the same token never makes a second instance":                             testToken,
		"the same token with another request is refused":                           testTokenMismatch,
		"a launch of ten makes ten, without a claim's tag until they get it":       testTogether,
		"a launch of which there is less than asked makes that much, and says why": testPartly,
		"the first offering in stock is launched":                                  testSecondChoice,
		"no stock at all names the offerings":                                      testCapacity,
		"spot is launched as spot":                                                 testSpot,
		"ending an instance twice, or one that never was, is no error":             testTerminate,
		"types are described as the catalogue knows them":                          testTypes,
		"prices are known, and spot is below on-demand":                            testMarket,
		"a message comes again until it is deleted":                                testQueue,
		"a launch works after its template was swept away":                         testSweep,
		"releasing a class twice is no error":                                      testRelease,
		"instances whose checks fail are told, and since when":                     testStatuses,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func offering(name, zone string, c model.CapacityType) model.RankedOffering {
	return model.RankedOffering{InstanceType: model.TypeName(name), Zone: zone, CapacityType: c, Price: 1}
}

func request(t *testing.T, w World, token string, offerings ...model.RankedOffering) cloud.Request {
	t.Helper()
	class, err := w.Classes.Resolve(context.Background(), w.Spec)
	if err != nil {
		t.Fatal(err)
	}
	if class.NotReady.Message != "" {
		t.Fatalf("class is not ready: %s", class.NotReady.Message)
	}
	return cloud.Request{
		Claim: model.ClaimID("default-" + token), Token: token, NodePool: "default", Class: class, Spec: w.Spec,
		Offerings: offerings, Labels: model.Labels{{Key: "type", Value: "karpenter"}},
		Taints:  []model.Taint{{Key: "karpenter.sh/unregistered", Effect: model.NoExecute}},
		MaxPods: map[model.TypeName]int64{"m5.large": 29, "c5.large": 29},
	}
}

func mustLaunch(t *testing.T, w World, r cloud.Request) cloud.Instance {
	t.Helper()
	list, err := w.Cloud.Launch(context.Background(), r)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d instances, %v; want one", len(list), err)
	}
	return list[0]
}

func list(t *testing.T, w World) []cloud.Instance {
	t.Helper()
	all, err := w.Cloud.Instances(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func testResolve(t *testing.T, w World) {
	c := request(t, w, "t").Class
	if len(c.Zones()) < 2 || !slices.IsSorted(c.Zones()) {
		t.Errorf("zones %v: want at least two, sorted", c.Zones())
	}
	archs := map[string]bool{}
	for _, i := range c.Images {
		for _, r := range i.Requirements {
			if r.Key == "kubernetes.io/arch" {
				archs[r.Values[0]] = true
			}
		}
	}
	if !archs["amd64"] || !archs["arm64"] {
		t.Errorf("images boot %v: want amd64 and arm64", archs)
	}
	if c.InstanceProfile == "" || len(c.SecurityGroups) == 0 {
		t.Errorf("profile %q, security groups %v: want both", c.InstanceProfile, c.SecurityGroups)
	}
}

func testResolveMissing(t *testing.T, w World) {
	s := w.Spec
	s.SubnetTerms = []cloud.SelectorTerm{{Tags: model.Labels{{Key: "no-one", Value: "none"}}}}
	c, err := w.Classes.Resolve(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(c.NotReady.Message, "no-one=none") || !strings.Contains(c.NotReady.Remedy, "subnetSelectorTerms") {
		t.Errorf("reason %+v names neither the selector nor the field", c.NotReady)
	}
}

func testLaunch(t *testing.T, w World) {
	o := offering("m5.large", "us-east-1b", model.OnDemand)
	r := request(t, w, "launch", o)
	i := mustLaunch(t, w, r)
	w.Advance(settle)
	all := list(t, w)
	if len(all) != 1 {
		t.Fatalf("%d instances, want 1", len(all))
	}
	got := all[0]
	if got.ID != i.ID || got.Claim != r.Claim || got.InstanceType != "m5.large" || got.Zone != o.Zone ||
		got.CapacityType != model.OnDemand || got.State != cloud.Running {
		t.Errorf("instance %+v is not what was launched", got)
	}
	for claim, want := range map[model.ClaimID]int{r.Claim: 1, "another": 0} {
		if of, err := w.Cloud.Instances(context.Background(), cloud.Some{Claim: claim}); err != nil || len(of) != want {
			t.Errorf("%d instances of claim %s, %v; want %d", len(of), claim, err, want)
		}
	}
	inSubnet := func(s cloud.Subnet) bool { return s.ID == got.SubnetID && s.Zone == o.Zone }
	var groups []string
	for _, g := range r.Class.SecurityGroups {
		groups = append(groups, g.ID)
	}
	if !slices.ContainsFunc(r.Class.Subnets, inSubnet) || !slices.Equal(got.SecurityGroups, groups) {
		t.Errorf("subnet %q, security groups %v are not of the class %+v", got.SubnetID, got.SecurityGroups, r.Class)
	}
	if want := "aws:///" + o.Zone + "/" + i.ID; got.ProviderID != want || i.ProviderID != want {
		t.Errorf("provider id %q and %q, want %q", i.ProviderID, got.ProviderID, want)
	}
}

func testToken(t *testing.T, w World) {
	r := request(t, w, "token", offering("m5.large", "us-east-1b", model.OnDemand))
	first, second := mustLaunch(t, w, r), mustLaunch(t, w, r)
	w.Advance(settle)
	third := mustLaunch(t, w, r)
	if first.ID != second.ID || first.ID != third.ID || len(list(t, w)) != 1 {
		t.Errorf("launched %s, %s, %s: want one instance", first.ID, second.ID, third.ID)
	}
}

// testSome names the claims, the launches or the ids of instances, as many as the port takes.
func testSome(t *testing.T, w World) {
	r := request(t, w, "some", offering("m5.large", "us-east-1b", model.OnDemand))
	i := mustLaunch(t, w, r)
	w.Advance(settle)
	for name, named := range map[string]func(n int) cloud.Some{
		"claims":    func(n int) cloud.Some { return cloud.Some{Claim: model.ClaimID(fmt.Sprint("other-", n))} },
		"launches":  func(n int) cloud.Some { return cloud.Some{Launch: fmt.Sprint("other-", n)} },
		"instances": func(n int) cloud.Some { return cloud.Some{Instance: fmt.Sprintf("i-%017x", n)} },
	} {
		some := []cloud.Some{map[string]cloud.Some{"claims": {Claim: r.Claim}, "launches": {Launch: r.Token}, "instances": {Instance: i.ID}}[name]}
		for n := range cloud.MaxSome - 1 {
			some = append(some, named(n))
		}
		got, err := w.Cloud.Instances(context.Background(), some...)
		if err != nil || len(got) != 1 || got[0].ID != i.ID {
			t.Errorf("%d %s: %d instances, %v; want %s", len(some), name, len(got), err, i.ID)
		}
	}
}

// several is a request for so many instances.
func several(t *testing.T, w World, token string, n int, offerings ...model.RankedOffering) cloud.Request {
	t.Helper()
	r := request(t, w, token, offerings...)
	r.Count = n
	return r
}

func testTogether(t *testing.T, w World) {
	ctx := context.Background()
	r := several(t, w, "ten", 10, offering("m5.large", "us-east-1b", model.OnDemand))
	first, err := w.Cloud.Launch(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	again, err := w.Cloud.Launch(ctx, r)
	if err != nil || !slices.EqualFunc(first, again, func(x, y cloud.Instance) bool { return x.ID == y.ID }) {
		t.Errorf("%v the second time: %v, want %v", again, err, first)
	}
	w.Advance(settle)
	made, err := w.Cloud.Instances(ctx, cloud.Some{Launch: r.Token})
	if err != nil || len(made) != 10 || len(list(t, w)) != 10 {
		t.Fatalf("%d instances of the launch, %v; want ten", len(made), err)
	}
	for k, i := range made {
		if i.ID != first[k].ID || i.Launch != r.Token || i.Claim != "" {
			t.Errorf("instance %+v, want %s of the launch, and of no claim yet", i, first[k].ID)
		}
	}
	mine := made[3]
	mine.Claim = "default-mine"
	for range 2 {
		if err := w.Cloud.Tag(ctx, mine); err != nil {
			t.Fatal(err)
		}
	}
	w.Advance(settle)
	got, err := w.Cloud.Instances(ctx, cloud.Some{Claim: mine.Claim}, cloud.Some{Instance: mine.ID})
	if err != nil || len(got) != 1 || got[0].ID != mine.ID || got[0].Claim != mine.Claim || got[0].Name != string(mine.Claim) {
		t.Errorf("%+v, %v; want that the instance has its claim's name", got, err)
	}
}

func testPartly(t *testing.T, w World) {
	o := offering("m5.large", "us-east-1b", model.OnDemand)
	w.Limit(o, 6)
	made, err := w.Cloud.Launch(context.Background(), several(t, w, "partly", 10, o))
	var short *cloud.CapacityError
	if len(made) != 6 || !errors.As(err, &short) || len(short.Offerings) != 1 || short.Offerings[0].InstanceType != o.InstanceType {
		t.Errorf("%d instances, %v; want six, and that there is no more of m5.large", len(made), err)
	}
}

func testTokenMismatch(t *testing.T, w World) {
	mustLaunch(t, w, request(t, w, "token", offering("m5.large", "us-east-1b", model.OnDemand)))
	other := request(t, w, "token", offering("c5.large", "us-east-1b", model.OnDemand))
	if _, err := w.Cloud.Launch(context.Background(), other); !errors.Is(err, cloud.ErrTokenMismatch) {
		t.Errorf("error %v, want ErrTokenMismatch", err)
	}
}

func testSecondChoice(t *testing.T, w World) {
	first := offering("m5.large", "us-east-1b", model.OnDemand)
	w.Exhaust(first)
	i := mustLaunch(t, w, request(t, w, "second", first, offering("m5.xlarge", "us-east-1b", model.OnDemand)))
	if i.InstanceType != "m5.xlarge" {
		t.Errorf("launched %s, want the second choice", i.InstanceType)
	}
	if len(i.Short) != 1 || i.Short[0].InstanceType != first.InstanceType || i.Short[0].Zone != first.Zone {
		t.Errorf("short of %+v, want the first choice", i.Short)
	}
}

func testCapacity(t *testing.T, w World) {
	o := offering("m5.large", "us-east-1b", model.OnDemand)
	w.Exhaust(o)
	_, err := w.Cloud.Launch(context.Background(), request(t, w, "none", o))
	var short *cloud.CapacityError
	if !errors.As(err, &short) {
		t.Fatalf("error %v, want a CapacityError", err)
	}
	if len(short.Offerings) != 1 || short.Offerings[0].InstanceType != o.InstanceType || short.Offerings[0].Zone != o.Zone ||
		short.Offerings[0].CapacityType != o.CapacityType {
		t.Errorf("named %+v, want %+v", short.Offerings, o)
	}
}

func testSpot(t *testing.T, w World) {
	mustLaunch(t, w, request(t, w, "spot", offering("m5.large", "us-east-1b", model.Spot)))
	w.Advance(settle)
	if all := list(t, w); len(all) != 1 || all[0].CapacityType != model.Spot {
		t.Errorf("instances %+v, want one on spot", all)
	}
}

func testTerminate(t *testing.T, w World) {
	i := mustLaunch(t, w, request(t, w, "end", offering("m5.large", "us-east-1b", model.OnDemand)))
	w.Advance(settle)
	for range 2 {
		if err := w.Cloud.Terminate(context.Background(), i.ID, "i-00000000000000bad"); err != nil {
			t.Fatal(err)
		}
		w.Advance(settle)
	}
	for _, got := range list(t, w) {
		if got.State != cloud.Terminated {
			t.Errorf("instance is %s, want it terminated", got.State)
		}
	}
}

func testMarket(t *testing.T, w World) {
	ctx := context.Background()
	types, err := w.Market.InstanceTypes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	onDemand, err := w.Market.OnDemandPrices(ctx)
	if err != nil {
		t.Fatal(err)
	}
	spot, err := w.Market.SpotPrices(ctx)
	if err != nil {
		t.Fatal(err)
	}
	n := slices.IndexFunc(types, func(c catalog.Type) bool { return c.Name == "m5.large" })
	if n < 0 || types[n].VCPU != 2 || types[n].MemoryMiB != 8192 || len(types[n].Zones) == 0 {
		t.Errorf("m5.large is not described as it is")
	}
	if onDemand["m5.large"] != 96_000 {
		t.Errorf("m5.large costs %d, want 96000", onDemand["m5.large"])
	}
	if s := spot[cloud.TypeZone{InstanceType: "m5.large", Zone: "us-east-1b"}]; s <= 0 || s >= 96_000 {
		t.Errorf("spot price %d, want it between 0 and on-demand", s)
	}
}

// testTypes compares each type with the bundled catalogue, and what its node offers to pods.
func testTypes(t *testing.T, w World) {
	bundled, err := catalog.Bundled()
	if err != nil {
		t.Fatal(err)
	}
	types, err := w.Market.InstanceTypes(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for i := range types {
		want, ok := bundled.Type(types[i].Name)
		if !ok {
			t.Errorf("%s is not in the catalogue", types[i].Name)
			continue
		}
		got := types[i]
		// Other calls tell prices, and none the rest.
		got.OnDemandMicroUSD, got.SpotSavesPercent, got.Reclaimed = want.OnDemandMicroUSD, want.SpotSavesPercent, want.Reclaimed
		if !reflect.DeepEqual(want, got) {
			t.Errorf("described as\n%+v, want\n%+v", got, want)
		}
	}
	if len(types) != len(bundled.Types) {
		t.Errorf("%d types, want %d", len(types), len(bundled.Types))
	}
}

func testQueue(t *testing.T, w World) {
	w.Send("hello")
	first := receive(t, w)
	if len(first) != 1 || first[0].Body != "hello" {
		t.Fatalf("received %+v, want the message", first)
	}
	w.Advance(time.Minute)
	again := receive(t, w)
	if len(again) != 1 || again[0].ID != first[0].ID {
		t.Fatalf("received %+v, want the message again", again)
	}
	if err := w.Queue.Delete(context.Background(), []string{again[0].Receipt}); err != nil {
		t.Fatal(err)
	}
	w.Advance(time.Minute)
	if gone := receive(t, w); len(gone) != 0 {
		t.Errorf("received %+v after its deletion", gone)
	}
}

func receive(t *testing.T, w World) []cloud.Message {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	got, err := w.Queue.Receive(ctx)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	return got
}

func testSweep(t *testing.T, w World) {
	o := offering("m5.large", "us-east-1b", model.OnDemand)
	mustLaunch(t, w, request(t, w, "one", o))
	names, err := w.Classes.Sweep(context.Background(), 0)
	if err != nil || len(names) == 0 {
		t.Fatalf("swept %v, %v; want the launch's template", names, err)
	}
	mustLaunch(t, w, request(t, w, "two", o))
}

func testRelease(t *testing.T, w World) {
	mustLaunch(t, w, request(t, w, "one", offering("m5.large", "us-east-1b", model.OnDemand)))
	for range 2 {
		if err := w.Classes.Release(context.Background(), w.Spec); err != nil {
			t.Fatal(err)
		}
	}
	if names, err := w.Classes.Sweep(context.Background(), 0); err != nil || len(names) != 0 {
		t.Errorf("templates %v, %v left after the release", names, err)
	}
}

func testStatuses(t *testing.T, w World) {
	ctx := context.Background()
	made, err := w.Cloud.Launch(ctx, several(t, w, "three", 3, offering("m5.large", "us-east-1b", model.OnDemand)))
	if err != nil || len(made) != 3 {
		t.Fatalf("%d instances, %v; want three", len(made), err)
	}
	w.Advance(settle)
	if got, err := w.Checks.Statuses(ctx); err != nil || len(got) != 0 {
		t.Fatalf("%+v, %v; want that nothing is wrong", got, err)
	}
	w.Impair(made[0].ID, false)
	w.Impair(made[1].ID, true)
	w.Advance(time.Minute)
	got, err := w.Checks.Statuses(ctx)
	if err != nil || len(got) != 2 || got[0].InstanceID != made[0].ID || got[1].InstanceID != made[1].ID {
		t.Fatalf("%+v, %v; want the first two instances", got, err)
	}
	for _, s := range got {
		if !s.Impaired || s.ImpairedSince.IsZero() {
			t.Errorf("%+v, want since when its checks fail", s)
		}
	}
}
