// Package fetch tests `kerf catalog fetch` as users run it, against a local AWS.
package fetch

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/test/awssim"
	"github.com/kerf-dev/kerf/test/harness/assets"
)

const region = "eu-central-1"

// programs builds kerf and kerf-up, and is where they are.
func programs(t *testing.T) (root, bin string) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds kerf, which -short leaves out")
	}
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	bin = filepath.Join(root, "bin")
	if err := assets.Programs(t.Context(), root, bin, os.Stderr, "./services/kerf/cmd/kerf", "./services/kerf/cmd/kerf-up"); err != nil {
		t.Fatal(err)
	}
	return root, bin
}

// simulated is an AWS that sells what is bundled of the region, but for a type that no list prices.
func simulated(t *testing.T) *awssim.Server {
	t.Helper()
	c, err := catalog.BundledFor(region)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Types {
		if c.Types[i].Name == "m5.xlarge" {
			c.Types[i].OnDemandMicroUSD = 0
		}
	}
	aws, err := awssim.Start("127.0.0.1:0", awssim.Config{Cluster: "demo", Catalog: c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = aws.Close() }) // the process ends with it
	return aws
}

// command is a program in a folder of its own, with credentials and nothing else of AWS's.
func command(t *testing.T, dir, program string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, args...)
	c.Dir = dir
	c.Env = []string{"HOME=" + dir, "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_EC2_METADATA_DISABLED=true"}
	return c
}

// run runs it to its end.
func run(c *exec.Cmd) (out, said string, code int) {
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		code = -1
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			code = exit.ExitCode()
		}
	}
	return stdout.String(), stderr.String(), code
}

// inflate are the manifests of the README's first example.
func inflate(t *testing.T, root, capacity, dir string) []string {
	t.Helper()
	from := filepath.Join(root, "deploy/examples/inflate")
	pool, err := os.ReadFile(filepath.Join(from, "nodepool.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(pool), `values: ["on-demand"]`, `values: ["`+capacity+`"]`, 1)
	if capacity != "on-demand" && changed == string(pool) {
		t.Fatal("the example's pool does not say on-demand")
	}
	name := filepath.Join(dir, capacity+".yaml")
	if err := os.WriteFile(name, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"-f", filepath.Join(from, "nodeclass.yaml"), "-f", filepath.Join(from, "inflate-5.yaml"), "-f", name}
}

// bought is what a plan's first claim is to be.
func bought(t *testing.T, text string) (price int64, estimated bool) {
	t.Helper()
	var p struct {
		Plan struct {
			NodeClaims []struct {
				Offerings []struct {
					Price     int64 `json:"priceMicroUsdPerHour,string"`
					Estimated bool  `json:"priceEstimated"`
				} `json:"offerings"`
			} `json:"nodeClaims"`
		} `json:"plan"`
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if len(p.Plan.NodeClaims) != 1 || len(p.Plan.NodeClaims[0].Offerings) == 0 {
		t.Fatalf("want one claim with offerings: %s", text)
	}
	o := p.Plan.NodeClaims[0].Offerings[0]
	return o.Price, o.Estimated
}

// TestWhatIsFetchedIsPlannedWith is the round trip: EC2's spot prices are the plan's, and no estimates.
func TestWhatIsFetchedIsPlannedWith(t *testing.T) {
	root, bin := programs(t)
	aws := simulated(t)
	for _, zone := range []string{"a", "b", "c"} {
		if err := aws.SetSpotPrice("m5.large", region+zone, 7_770); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	_, said, code := run(command(t, dir, filepath.Join(bin, "kerf"), "catalog", "fetch", "--region", region, "--endpoint", aws.URL))
	const file = "catalog-" + region + ".json"
	if code != 0 || !strings.Contains(said, file+": ") || !strings.Contains(said, "3 zones") || !strings.Contains(said, "1 list prices are the bundled ones") {
		t.Fatalf("code %d: %s", code, said)
	}
	f, err := os.Open(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // opened for reading only
	c, err := catalog.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	large, _ := c.Type("m5.large")
	xlarge, _ := c.Type("m5.xlarge")
	if c.Region != region || large.SpotMicroUSD[region+"b"] != 7_770 || large.PriceEstimated || large.Reclaimed == 0 || !xlarge.PriceEstimated {
		t.Errorf("region %s, %+v, %+v", c.Region, large, xlarge)
	}
	for capacity, want := range map[string]int64{"on-demand": large.OnDemandMicroUSD, "spot": 7_770} {
		args := append([]string{"plan", "--catalog", file, "--advice", "0", "-o", "json"}, inflate(t, root, capacity, dir)...)
		out, said, code := run(command(t, dir, filepath.Join(bin, "kerf"), args...))
		if code != 0 {
			t.Fatalf("code %d: %s", code, said)
		}
		if price, estimated := bought(t, out); price != want || estimated {
			t.Errorf("%s: %d, estimated %v; want %d as fetched", capacity, price, estimated, want)
		}
	}
}

// TestWithoutAPriceListTheBundledPricesAreMarked is of a network that nothing leads out of, and of where the file goes.
func TestWithoutAPriceListTheBundledPricesAreMarked(t *testing.T) {
	root, bin := programs(t)
	aws := simulated(t)
	dir := t.TempDir()
	out, said, code := run(command(t, dir, filepath.Join(bin, "kerf"), "catalog", "fetch", "--region", region, "--endpoint", aws.URL, "--no-price-list", "-o", "json"))
	c, err := catalog.Read(strings.NewReader(out))
	if code != 0 || err != nil {
		t.Fatalf("code %d, %v: %s", code, err, said)
	}
	for _, ty := range c.Types {
		if ty.OnDemandMicroUSD > 0 && !ty.PriceEstimated {
			t.Fatalf("%s has a list price that was not asked for", ty.Name)
		}
	}
	if n := aws.Calls().Counts["pricing:GetProducts"]; n != 0 {
		t.Errorf("the price list was asked %d times", n)
	}
	if _, said, code := run(command(t, dir, filepath.Join(bin, "kerf"), "catalog", "fetch", "--region", region, "--endpoint", aws.URL, "--no-price-list", "-o", "c.json.gz")); code != 0 {
		t.Fatal(said)
	}
	args := append([]string{"plan", "--catalog", "c.json.gz", "--advice", "0", "-o", "json"}, inflate(t, root, "on-demand", dir)...)
	out, said, code = run(command(t, dir, filepath.Join(bin, "kerf"), args...))
	if code != 0 {
		t.Fatal(said)
	}
	if _, estimated := bought(t, out); !estimated {
		t.Error("a bundled price is not marked as an estimate")
	}
}

// TestErrorsOfFetchSayWhatToDo leaves no file behind either.
func TestErrorsOfFetchSayWhatToDo(t *testing.T) {
	_, bin := programs(t)
	aws := simulated(t)
	dir := t.TempDir()
	fetch := func(args ...string) *exec.Cmd {
		return command(t, dir, filepath.Join(bin, "kerf"), append([]string{"catalog", "fetch"}, args...)...)
	}
	expect := func(c *exec.Cmd, words ...string) {
		t.Helper()
		_, said, code := run(c)
		for _, want := range words {
			if code != 1 || !strings.Contains(said, want) {
				t.Errorf("code %d, want 1 and %q: %s", code, want, said)
			}
		}
	}
	here := []string{"--region", region, "--endpoint", aws.URL}
	for action, fault := range map[string]struct{ code, also string }{
		"ec2:DescribeAvailabilityZones":     {"UnauthorizedOperation", ""},
		"ec2:DescribeInstanceTypes":         {"UnauthorizedOperation", ""},
		"ec2:DescribeInstanceTypeOfferings": {"UnauthorizedOperation", ""},
		"ec2:DescribeSpotPriceHistory":      {"UnauthorizedOperation", ""},
		"pricing:GetProducts":               {"AccessDeniedException", "--no-price-list"},
	} {
		aws.Fail(awssim.Fault{Action: action, Code: fault.code})
		expect(fetch(here...), "allow "+action+" ", fault.also)
	}
	aws.Fail(awssim.Fault{Action: "ec2:DescribeAvailabilityZones", Code: "AuthFailure"})
	expect(fetch(here...), "does not take the credentials in "+region)
	aws.Fail(awssim.Fault{Action: "pricing:GetProducts", Code: awssim.CodeDrop, Times: 10})
	expect(fetch(here...), "price list", "--no-price-list")

	none := fetch(here...)
	none.Env = []string{"HOME=" + dir, "AWS_EC2_METADATA_DISABLED=true"}
	expect(none, "no AWS credentials: set AWS_PROFILE")
	expect(fetch(), "no region: name it with --region")
	expect(fetch("--regoin", "x"), "-regoin", "kerf catalog fetch --help")
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v left, %v", left, err)
	}
}

// TestAnInterruptedFetchEnds is of an AWS that does not answer.
func TestAnInterruptedFetchEnds(t *testing.T) {
	_, bin := programs(t)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // the test ends with it
	asked := make(chan net.Conn, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			asked <- c
		}
	}()
	dir := t.TempDir()
	c := command(t, dir, filepath.Join(bin, "kerf"), "catalog", "fetch", "--region", region, "--endpoint", "http://"+l.Addr().String())
	var said bytes.Buffer
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case held := <-asked:
		defer held.Close() //nolint:errcheck // the test ends with it
	case <-t.Context().Done():
		t.Fatal("nothing was asked")
	}
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // the code says more
	left, err := os.ReadDir(dir)
	if code := c.ProcessState.ExitCode(); code != 130 || !strings.Contains(said.String(), "interrupted") || err != nil || len(left) > 0 {
		t.Errorf("code %d, %v left, %v: %s", code, left, err, said.String())
	}
}
