package answer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/answer"
)

// reply answers each call with the same.
type reply struct {
	code int
	body string
	err  error // after the body
}

func (r reply) Do(req *http.Request) (*http.Response, error) {
	end := r.err
	if end == nil {
		end = io.EOF
	}
	return &http.Response{
		StatusCode: r.code, Header: http.Header{}, Request: req,
		Body: io.NopCloser(io.MultiReader(strings.NewReader(r.body), failing{end})),
	}, nil
}

type failing struct{ error }

func (f failing) Read([]byte) (int, error) { return 0, f.error }

func (r reply) client() *sdk.Client {
	return sdk.New(sdk.Options{
		Region: "us-east-1", HTTPClient: r, Retryer: aws.NopRetryer{}, Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	})
}

// both asks for the same in the SDK's way and in ours.
func both[In, Out any](t *testing.T, call func(*In, ...func(*sdk.Options)) (*Out, error)) (*Out, error) {
	t.Helper()
	want, wantErr := call(new(In))
	got, err := call(new(In), answer.Of[Out]())
	if fmt.Sprint(wantErr) != fmt.Sprint(err) {
		t.Fatalf("error %v, and the SDK's is %v", err, wantErr)
	}
	if diff := cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true }), cmpopts.IgnoreFields(*new(Out), "ResultMetadata")); diff != "" {
		t.Fatalf("the SDK's answer (-) and ours (+):\n%s", diff)
	}
	return got, err
}

func describeTypes(t *testing.T, r reply) (*sdk.DescribeInstanceTypesOutput, error) {
	t.Helper()
	client := r.client()
	return both(t, func(in *sdk.DescribeInstanceTypesInput, o ...func(*sdk.Options)) (*sdk.DescribeInstanceTypesOutput, error) {
		return client.DescribeInstanceTypes(t.Context(), in, o...)
	})
}

func describePrices(t *testing.T, r reply) (*sdk.DescribeSpotPriceHistoryOutput, error) {
	t.Helper()
	client := r.client()
	return both(t, func(in *sdk.DescribeSpotPriceHistoryInput, o ...func(*sdk.Options)) (*sdk.DescribeSpotPriceHistoryOutput, error) {
		return client.DescribeSpotPriceHistory(t.Context(), in, o...)
	})
}

// document writes an answer as EC2 does, from what the SDK makes of one.
func document(v any) string {
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	write(&b, ` xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"`, "Response", reflect.ValueOf(v))
	return b.String()
}

func write(b *bytes.Buffer, attributes, name string, v reflect.Value) {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !v.IsValid() || v.Kind() == reflect.Slice && v.IsNil() || v.Kind() == reflect.String && v.Len() == 0 {
		return
	}
	fmt.Fprintf(b, "<%s%s>", name, attributes)
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			called := strings.ToLower(field.Name[:1]) + field.Name[1:]
			if set, ok := map[string]string{"InstanceTypes": "instanceTypeSet", "InterfaceTypes": "interfaceTypeSet", "EbsCards": "ebsCardSet", "Workloads": "workloadSet"}[field.Name]; ok {
				called = set
			}
			if field.IsExported() && field.Name != "ResultMetadata" {
				write(b, "", called, v.Field(i))
			}
		}
	case reflect.Slice:
		item := "item"
		if v.Type() == reflect.TypeFor[[]types.InferenceDeviceInfo]() {
			item = "member"
		}
		for i := range v.Len() {
			write(b, "", item, v.Index(i))
		}
	default:
		fmt.Fprint(b, v.Interface())
	}
	fmt.Fprintf(b, "</%s>\n", name)
}

func described(t *testing.T) *sdk.DescribeInstanceTypesOutput {
	t.Helper()
	text, err := os.ReadFile("../testdata/instance_types.json")
	if err != nil {
		t.Fatal(err)
	}
	out := &sdk.DescribeInstanceTypesOutput{NextToken: aws.String("bmV4dA==")}
	if err := json.Unmarshal(text, &out.InstanceTypes); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTypesAreReadAsTheSDKReadsThem(t *testing.T) {
	t.Parallel()
	want := described(t)
	got, err := describeTypes(t, reply{code: 200, body: document(want)})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.InstanceTypes) != len(want.InstanceTypes) || *got.NextToken != *want.NextToken {
		t.Errorf("%d types of %d, next %v", len(got.InstanceTypes), len(want.InstanceTypes), got.NextToken)
	}
}

const price = `<spotPriceHistorySet><item><instanceType>m5.large</instanceType><productDescription>Linux/UNIX</productDescription>` +
	`<spotPrice>0.034700</spotPrice><timestamp>2026-11-24T12:00:00.000Z</timestamp><availabilityZone>us-east-1a</availabilityZone></item></spotPriceHistorySet>`

// What is not of the form that EC2's answers have is the SDK's to read, or to refuse.
func TestAnswersOfAnyFormAreReadAsTheSDKReadsThem(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"as EC2 writes them":     `<A xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r</requestId>` + price + `</A>`,
		"nothing":                ``,
		"an empty root":          `<A/>`,
		"an empty list":          `<A><spotPriceHistorySet/><nextToken></nextToken></A>`,
		"two lists":              `<A>` + price + price + `</A>`,
		"what the SDK knows not": `<A><newSet><item><a/></item></newSet>` + price + `</A>`,
		"entities":               `<A><nextToken>a&amp;b</nextToken></A>`,
		"a comment":              `<A><!-- > -->` + price + `</A>`,
		"CDATA":                  `<A><nextToken><![CDATA[<a>]]></nextToken></A>`,
		"other encodings":        `<A><nextToken>` + "\xff" + `</nextToken></A>`,
		"letters":                `<A><nextToken>ü</nextToken></A>`,
		"prefixes":               `<e:A xmlns:e="x">` + price + `</e:A>`,
		"text among elements":    `<A>x` + price + `</A>`,
		"an element in a text":   `<A><nextToken>a<b/></nextToken></A>`,
		"a time that is none":    `<A><spotPriceHistorySet><item><timestamp>noon</timestamp></item></spotPriceHistorySet></A>`,
		"an end too early":       `<A>` + price,
		"another end":            `<A><nextToken>a</next></A>`,
		"no XML":                 `no`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _ = describePrices(t, reply{code: 200, body: body})
		})
	}
}

func TestErrorsAreTheSDKs(t *testing.T) {
	t.Parallel()
	refused := `<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>slower</Message></Error></Errors><RequestID>r</RequestID></Response>`
	_, err := describePrices(t, reply{code: 503, body: refused})
	if api, ok := errors.AsType[smithy.APIError](err); !ok || api.ErrorCode() != "RequestLimitExceeded" {
		t.Errorf("error %v", err)
	}
}

func TestAnAnswerThatBreaksOffIsAnError(t *testing.T) {
	t.Parallel()
	off := errors.New("connection reset")
	client := reply{code: 200, body: `<A>` + price, err: off}.client()
	for name, option := range map[string]func(*sdk.Options){"the SDK's": func(*sdk.Options) {}, "ours": answer.Of[sdk.DescribeSpotPriceHistoryOutput]()} {
		_, err := client.DescribeSpotPriceHistory(t.Context(), &sdk.DescribeSpotPriceHistoryInput{}, option)
		if _, ok := errors.AsType[*smithy.DeserializationError](err); !ok || !errors.Is(err, off) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestWhatAPageSaidStaysWhileTheNextIsRead(t *testing.T) {
	t.Parallel()
	read := answer.Of[sdk.DescribeSpotPriceHistoryOutput]()
	var pages []*sdk.DescribeSpotPriceHistoryOutput
	for _, next := range []string{"aaaa", "bbbb"} {
		client := reply{code: 200, body: `<A><nextToken>` + next + `</nextToken></A>`}.client()
		page, err := client.DescribeSpotPriceHistory(t.Context(), &sdk.DescribeSpotPriceHistoryInput{}, read)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, page)
	}
	if *pages[0].NextToken != "aaaa" || *pages[1].NextToken != "bbbb" {
		t.Errorf("next %s, then %s", *pages[0].NextToken, *pages[1].NextToken)
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add(`<A>` + price + `</A>`)
	f.Add(`<A xmlns="<></A>`)
	f.Add(`<A xmlns="b"><instanceTypeSet><item><vCpuInfo><defaultVCpus>2</defaultVCpus><validCores><item>1</item></validCores></vCpuInfo>` +
		`<bareMetal>false</bareMetal><processorInfo><sustainedClockSpeedInGhz>3.1</sustainedClockSpeedInGhz></processorInfo></item></instanceTypeSet></A>`)
	f.Fuzz(func(t *testing.T, body string) {
		if strings.Contains(body, "<member") { // which lists call their entries that is the SDK's to know
			t.Skip()
		}
		_, _ = describeTypes(t, reply{code: 200, body: body})
		_, _ = describePrices(t, reply{code: 200, body: body})
	})
}
