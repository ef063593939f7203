package awssim_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	pricingtypes "github.com/aws/aws-sdk-go-v2/service/pricing/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kerf-dev/kerf/test/awssim"
)

func TestInstanceProfiles(t *testing.T) {
	w := newWorld(t)
	ctx, name := t.Context(), aws.String("p")
	get := func() *iamtypes.InstanceProfile {
		return must(w.iam.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: name}))(t).InstanceProfile
	}
	_, err := w.iam.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: name})
	wantCode(t, err, "NoSuchEntity")
	create := &iam.CreateInstanceProfileInput{
		InstanceProfileName: name, Path: aws.String("/karpenter/us-east-1/c1/"), Tags: []iamtypes.Tag{{Key: aws.String("a"), Value: aws.String("b")}},
	}
	must(w.iam.CreateInstanceProfile(ctx, create))(t)
	_, err = w.iam.CreateInstanceProfile(ctx, create)
	wantCode(t, err, "EntityAlreadyExists")
	must(w.iam.TagInstanceProfile(ctx, &iam.TagInstanceProfileInput{InstanceProfileName: name, Tags: []iamtypes.Tag{{Key: aws.String("c"), Value: aws.String("d")}}}))(t)
	add := &iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: aws.String("absent")}
	_, err = w.iam.AddRoleToInstanceProfile(ctx, add)
	wantCode(t, err, "NoSuchEntity")
	add.RoleName = aws.String(role)
	must(w.iam.AddRoleToInstanceProfile(ctx, add))(t)
	_, err = w.iam.AddRoleToInstanceProfile(ctx, add)
	wantCode(t, err, "LimitExceeded")

	p := get()
	if *p.Path != "/karpenter/us-east-1/c1/" || len(p.Roles) != 1 || *p.Roles[0].RoleName != role || len(p.Tags) != 2 ||
		*p.Arn != "arn:aws:iam::111122223333:instance-profile/karpenter/us-east-1/c1/p" {
		t.Errorf("profile %+v", p)
	}
	listed := must(w.iam.ListInstanceProfiles(ctx, &iam.ListInstanceProfilesInput{PathPrefix: aws.String("/karpenter/")}))(t)
	if len(listed.InstanceProfiles) != 1 || listed.IsTruncated {
		t.Errorf("profiles %v", listed.InstanceProfiles)
	}
	_, err = w.iam.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: name})
	wantCode(t, err, "DeleteConflict")
	must(w.iam.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: name, RoleName: aws.String(role)}))(t)
	must(w.iam.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: name}))(t)
	if n := len(w.State().InstanceProfiles); n != 0 {
		t.Errorf("%d profiles left", n)
	}
	if got := must(w.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String(role)}))(t); *got.Role.RoleName != role {
		t.Errorf("role %v", got.Role)
	}
	_, err = w.iam.ListRoles(ctx, &iam.ListRolesInput{})
	wantCode(t, err, "InvalidAction")
}

func TestInstanceProfilesArePaged(t *testing.T) {
	w := newWorld(t)
	for i := range 5 {
		must(w.iam.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: aws.String(fmt.Sprint("p", i))}))(t)
	}
	var names []string
	p := iam.NewListInstanceProfilesPaginator(w.iam, &iam.ListInstanceProfilesInput{MaxItems: aws.Int32(2)})
	for p.HasMorePages() {
		for _, ip := range must(p.NextPage(t.Context()))(t).InstanceProfiles {
			names = append(names, *ip.InstanceProfileName)
		}
	}
	if d := cmp.Diff([]string{"p0", "p1", "p2", "p3", "p4"}, names); d != "" {
		t.Error(d)
	}
}

func TestTheClusterIsDescribed(t *testing.T) {
	w := newWorld(t, func(c *awssim.Config) { c.Endpoint, c.CertificateAuthority = "https://c1.example", "Y2E=" })
	c := must(w.eks.DescribeCluster(t.Context(), &eks.DescribeClusterInput{Name: aws.String(cluster)}))(t).Cluster
	if *c.Endpoint != "https://c1.example" || *c.CertificateAuthority.Data != "Y2E=" || *c.Version != "1.37" || c.Status != "ACTIVE" ||
		*c.KubernetesNetworkConfig.ServiceIpv4Cidr != "10.100.0.0/16" {
		t.Errorf("cluster %+v", c)
	}
	_, err := w.eks.DescribeCluster(t.Context(), &eks.DescribeClusterInput{Name: aws.String("nowhere")})
	wantCode(t, err, "ResourceNotFoundException")
	_, err = w.eks.ListClusters(t.Context(), &eks.ListClustersInput{})
	wantCode(t, err, "UnknownOperationException")
}

func TestPricesAreTheCataloguesInPages(t *testing.T) {
	w := newWorld(t)
	match := func(field, value string) pricingtypes.Filter {
		return pricingtypes.Filter{Field: &field, Value: &value, Type: pricingtypes.FilterTypeTermMatch}
	}
	prices := map[string]string{}
	list := func(family, tenancy string) {
		p := pricing.NewGetProductsPaginator(w.pricing, &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), Filters: []pricingtypes.Filter{
			match("regionCode", "us-east-1"), match("serviceCode", "AmazonEC2"), match("preInstalledSw", "NA"), match("operatingSystem", "Linux"),
			match("capacitystatus", "Used"), match("marketoption", "OnDemand"), match("tenancy", tenancy), match("productFamily", family),
		}})
		for p.HasMorePages() {
			for _, text := range must(p.NextPage(t.Context()))(t).PriceList {
				var record struct {
					Product struct{ Attributes struct{ InstanceType string } }
					Terms   struct {
						OnDemand map[string]struct {
							PriceDimensions map[string]struct{ PricePerUnit struct{ USD string } }
						}
					}
				}
				must(0, json.Unmarshal([]byte(text), &record))(t)
				for _, term := range record.Terms.OnDemand {
					for _, d := range term.PriceDimensions {
						prices[record.Product.Attributes.InstanceType] = d.PricePerUnit.USD
					}
				}
			}
		}
	}
	list("Compute Instance", "Shared")
	list("Compute Instance (bare metal)", "Dedicated")
	want := map[string]string{}
	for _, it := range must(bundled())(t).Types {
		if it.OnDemandMicroUSD > 0 && it.SupportsOnDemand {
			want[it.Name] = fmt.Sprintf("%d.%06d0000", it.OnDemandMicroUSD/1e6, it.OnDemandMicroUSD%1e6)
		}
	}
	if d := cmp.Diff(want, prices); d != "" {
		t.Error(d)
	}
	if prices["m5.large"] != "0.0960000000" {
		t.Errorf("m5.large costs %s", prices["m5.large"])
	}
	_, err := w.pricing.GetProducts(t.Context(), &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), Filters: []pricingtypes.Filter{match("colour", "red")}})
	wantCode(t, err, "InvalidParameterException")
}

func TestRequestsThatNoClientSends(t *testing.T) {
	w := newWorld(t, func(c *awssim.Config) { c.MaxBodyBytes = 4096 })
	const form, signature = "application/x-www-form-urlencoded", "AWS4-HMAC-SHA256 Credential=x/20260501/us-east-1/ec2/aws4_request"
	cases := map[string]struct {
		headers map[string]string
		body    string
		status  int
		says    string
	}{
		"an unknown action":   {map[string]string{"Content-Type": form, "Authorization": signature}, "Action=MakeCoffee&Version=2016-11-15", 400, "<Code>InvalidAction</Code>"},
		"an unknown version":  {map[string]string{"Content-Type": form, "Authorization": signature}, "Action=DescribeSubnets&Version=1999-01-01", 400, "<Code>InvalidAction</Code>"},
		"no signature":        {map[string]string{"Content-Type": form}, "Action=DescribeSubnets&Version=2016-11-15", 403, "MissingAuthenticationToken"},
		"a broken form":       {map[string]string{"Content-Type": form, "Authorization": signature}, "Action=%zz", 400, "MalformedQueryString"},
		"a body too large":    {map[string]string{"Content-Type": form, "Authorization": signature}, "Action=" + strings.Repeat("x", 5000), 413, "RequestEntityTooLarge"},
		"an unknown target":   {map[string]string{"X-Amz-Target": "AmazonSQS.MakeCoffee", "Authorization": signature}, "{}", 400, `"__type":"UnknownOperationException"`},
		"an unknown member":   {map[string]string{"X-Amz-Target": "AmazonSSM.GetParameter", "Authorization": signature}, `{"Nam":"x"}`, 400, "SerializationException"},
		"no service at all":   {map[string]string{}, "", 400, "UnknownOperationException"},
		"JSON not signed":     {map[string]string{"X-Amz-Target": "AmazonSSM.GetParameter"}, `{"Name":"x"}`, 403, "MissingAuthenticationToken"},
		"a foreign signature": {map[string]string{"Content-Type": form, "Authorization": "Basic eDp5"}, "Action=DescribeSubnets&Version=2016-11-15", 401, "AuthFailure"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := must(http.NewRequestWithContext(t.Context(), http.MethodPost, w.URL+"/", strings.NewReader(c.body)))(t)
			for k, v := range c.headers {
				r.Header.Set(k, v)
			}
			resp := must(http.DefaultClient.Do(r))(t)
			defer func() { must(0, resp.Body.Close())(t) }()
			text := string(must(io.ReadAll(resp.Body))(t))
			if resp.StatusCode != c.status || !strings.Contains(text, c.says) {
				t.Errorf("status %d: %s", resp.StatusCode, text)
			}
		})
	}
}

func TestTheAdminAPIDrivesTheWorld(t *testing.T) {
	w := newWorld(t)
	call := func(method, path, body string) (int, map[string]any) {
		t.Helper()
		r := must(http.NewRequestWithContext(t.Context(), method, w.URL+"/_sim/"+path, strings.NewReader(body)))(t)
		resp := must(http.DefaultClient.Do(r))(t)
		defer func() { must(0, resp.Body.Close())(t) }()
		var out map[string]any
		must(0, json.NewDecoder(resp.Body).Decode(&out))(t)
		return resp.StatusCode, out
	}
	ok := func(path, body string) {
		t.Helper()
		if status, out := call(http.MethodPost, path, body); status != http.StatusOK {
			t.Errorf("%s: %d %v", path, status, out)
		}
	}
	template := w.template(userData)
	ok("stock", `{"instanceType":"m5.large","capacityType":"spot","count":0}`)
	out := must(w.ec2.CreateFleet(t.Context(), fleet(template, "spot", 1, "m5.large")))(t)
	if d := cmp.Diff([]string{"InsufficientInstanceCapacity m5.large"}, summary(out)); d != "" {
		t.Error(d)
	}
	ok("stock", `{"count":-1}`)
	ok("price", `{"instanceType":"m5.large","zone":"us-east-1a","microUSD":5}`)
	id := w.launch(fleet(template, "spot", 1, "m5.large"))[0]
	ok("advance", `{"duration":"1m"}`)
	ok("interrupt", `{"instanceId":"`+id+`"}`)
	ok("rebalance", `{"instanceId":"`+id+`"}`)
	ok("health", `{"typeCode":"X","instanceIds":["`+id+`"]}`)
	ok("message", `{"body":"junk"}`)
	ok("impair", `{"instanceId":"`+id+`","system":true}`)
	ok("addresses", `{"subnetId":"`+subnetA+`","free":1}`)
	ok("parameter", `{"name":"/x","value":"y"}`)
	ok("images", `{"stamp":"20260501"}`)
	ok("pool-fail", `{"instanceType":"m5.large","code":"UnfulfillableCapacity"}`)
	ok("limit", `{"action":"ec2:DescribeImages","burst":1}`)
	ok("fail", `{"action":"ec2:DescribeSubnets","code":"Unavailable"}`)
	_, err := w.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
	wantCode(t, err, "Unavailable")
	ok("advance", `{"duration":"2m"}`)

	var state awssim.State
	resp := must(http.Get(w.URL + "/_sim/state"))(t)
	must(0, json.NewDecoder(resp.Body).Decode(&state))(t)
	must(0, resp.Body.Close())(t)
	if d := cmp.Diff(w.State(), state, cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
	if i := state.Instances[0]; i.PriceMicro != 5 || !i.Interrupted || i.State != "shutting-down" || state.HourlyMicroUSD != 0 {
		t.Errorf("instance %+v", i)
	}
	if _, calls := call(http.MethodGet, "calls", ""); calls["counts"].(map[string]any)["ec2:CreateFleet"] != 2.0 {
		t.Errorf("calls %v", calls["counts"])
	}

	for path, body := range map[string]string{
		"stock": `{"instanceType":"m5.enormous","count":1}`, "interrupt": `{"instanceId":"i-0"}`, "advance": `{"duration":"-1s"}`,
		"fail": `{"action":"ec2:CreateFleet"}`, "message": `{"text":"x"}`, "price": `{"instanceType":"m5.large","zone":"nowhere","microUSD":1}`,
		"images": `{"stamp":"20260501"}`,
	} {
		if status, _ := call(http.MethodPost, path, body); status != http.StatusBadRequest {
			t.Errorf("%s %s: status %d", path, body, status)
		}
	}
	if status, _ := call(http.MethodGet, "coffee", ""); status != http.StatusNotFound {
		t.Errorf("status %d for a path that is not there", status)
	}
}

func TestConfigIsChecked(t *testing.T) {
	types := must(bundled())(t)
	cases := map[string]func(*awssim.Config){
		"Cluster is missing":        func(c *awssim.Config) { c.Cluster = "" },
		"Region eu-west-1":          func(c *awssim.Config) { c.Region = "eu-west-1" },
		"KubernetesVersion":         func(c *awssim.Config) { c.KubernetesVersion = "v1.37.1" },
		"zone \"moon-1a\"":          func(c *awssim.Config) { c.Subnets[0].Zone = "moon-1a" },
		"CIDR \"10.0.0.0/99\"":      func(c *awssim.Config) { c.Subnets[0].CIDR = "10.0.0.0/99" },
		"is empty or twice":         func(c *awssim.Config) { c.Subnets[1].ID = c.Subnets[0].ID },
		"LaunchLatency is negative": func(c *awssim.Config) { c.LaunchLatency = -time.Second },
		"MemoryOverheadPercent":     func(c *awssim.Config) { c.MemoryOverheadPercent = 100 },
		"CertificateAuthority":      func(c *awssim.Config) { c.CertificateAuthority = "%" },
	}
	for says, change := range cases {
		t.Run(says, func(t *testing.T) {
			c := awssim.Default(cluster)
			c.Catalog = types
			change(&c)
			if _, err := awssim.New(c); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("error %v", err)
			}
		})
	}
}
