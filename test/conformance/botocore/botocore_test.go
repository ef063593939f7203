package botocore

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func models() Models {
	one := 1.0
	shapes := map[string]*Shape{
		"String": {Type: "string"}, "Int": {Type: "integer", Min: &one}, "Bool": {Type: "boolean"}, "Time": {Type: "timestamp"},
		"Blob": {Type: "blob"}, "Double": {Type: "double"}, "State": {Type: "string", Enum: []string{"on", "off"}},
		"ID":      {Type: "string", Pattern: "i-[a-f]+"},
		"Strings": {Type: "list", Member: Ref{Shape: "String", LocationName: "item"}},
		"Members": {Type: "list", Member: Ref{Shape: "String"}},
		"Map":     {Type: "map", Key: Ref{Shape: "String"}, Value: Ref{Shape: "Int"}},
		"Filter":  {Type: "structure", Members: map[string]Ref{"Name": {Shape: "String"}, "Values": {Shape: "Strings", LocationName: "Value"}}},
		"Filters": {Type: "list", Member: Ref{Shape: "Filter", LocationName: "Filter"}},
		"In": {Type: "structure", Required: []string{"Ids"}, Members: map[string]Ref{
			"Ids": {Shape: "Strings", LocationName: "id"}, "Count": {Shape: "Int"}, "State": {Shape: "State", QueryName: "TheState"},
			"Data": {Shape: "Blob"}, "From": {Shape: "Time"},
			"Filters": {Shape: "Filters", LocationName: "Filter", Documentation: "<li> <code>tag:&lt;key&gt;</code> <code>vpc-id</code>"},
		}},
		"Out": {Type: "structure", Members: map[string]Ref{
			"Set": {Shape: "Strings", LocationName: "set"}, "Id": {Shape: "ID", LocationName: "id"}, "Rate": {Shape: "Double", LocationName: "rate"},
		}},
		"QueryIn":  {Type: "structure", Members: map[string]Ref{"Names": {Shape: "Members"}}},
		"QueryOut": {Type: "structure", Members: map[string]Ref{"Names": {Shape: "Members"}}},
		"JSON":     {Type: "structure", Required: []string{"Name"}, Members: map[string]Ref{"Name": {Shape: "String"}, "At": {Shape: "Time"}, "Sizes": {Shape: "Map"}}},
		"Gone":     {Type: "structure", Error: struct{ Code string }{"NoSuch"}},
		"Closed":   {Type: "structure"},
	}
	service := func(name, protocol, prefix, version string, ops map[string]Operation) *Service {
		s := &Service{Name: name, Shapes: shapes, Operations: ops}
		s.Metadata.Protocol, s.Metadata.TargetPrefix, s.Metadata.APIVersion = protocol, prefix, version
		return s
	}
	return Models{
		"ec2": service("ec2", "ec2", "", "v1", map[string]Operation{"Do": {Input: &Ref{Shape: "In"}, Output: &Ref{Shape: "Out"}}}),
		"iam": service("iam", "query", "", "v2", map[string]Operation{
			"Do": {Input: &Ref{Shape: "QueryIn"}, Output: &Ref{Shape: "QueryOut", ResultWrapper: "DoResult"}, Errors: []Ref{{Shape: "Gone"}, {Shape: "Closed"}}},
		}),
		"sqs": service("sqs", "json", "SQS", "v3", map[string]Operation{"Do": {Input: &Ref{Shape: "JSON"}, Output: &Ref{Shape: "JSON"}}}),
	}
}

func TestWhatIsNotAsTheModelSaysIsFound(t *testing.T) {
	const goodEC2 = `<DoResponse xmlns="x"><requestId>r</requestId><set><item>a</item></set><id>i-a</id><rate>1.5</rate></DoResponse>`
	const goodIAM = `<DoResponse><DoResult><Names><member>a</member></Names></DoResult><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></DoResponse>`
	ec2 := func(form, answer string) Exchange {
		return Exchange{Request: []byte("Action=Do&Version=v1" + form), Status: 200, Answer: []byte(answer)}
	}
	iam := func(form string, status int, answer string) Exchange {
		return Exchange{Request: []byte("Action=Do&Version=v2" + form), Status: status, Answer: []byte(answer)}
	}
	sqs := func(body string, status int, answer string) Exchange {
		return Exchange{Target: "SQS.Do", Request: []byte(body), Status: status, Answer: []byte(answer)}
	}
	const ids = "&Id.1=a"
	tests := map[string]struct {
		x    Exchange
		want []string
	}{
		"all that is right":                  {ec2(ids+"&Id.2=b&Count=3&TheState=on&Data=YQ%3D%3D&From=2026-01-02T03:04:05Z&Filter.1.Name=tag:a&Filter.1.Value.1=b", goodEC2), nil},
		"a dropped connection has no answer": {Exchange{Request: []byte("Action=Do&Version=v1&Id.1=a")}, nil},
		"a call that is not there":           {Exchange{Request: []byte("Action=Undo&Version=v1"), Status: 200}, []string{"ec2 Undo request: the model has no such call"}},
		"what is required":                   {ec2("", goodEC2), []string{"ec2 Do request Ids: is required"}},
		"a member":                           {ec2(ids+"&Ids.1=a", goodEC2), []string{"ec2 Do request Ids: there is no such member"}},
		"the name of another protocol":       {ec2(ids+"&State=on", goodEC2), []string{"ec2 Do request State: there is no such member"}},
		"a number":                           {ec2(ids+"&Count=x", goodEC2), []string{"ec2 Do request Count: has 0 as its value, outside of what the model allows", `ec2 Do request Count: "x" is no integer`}},
		"an enum's value":                    {ec2(ids+"&TheState=maybe", goodEC2), []string{`ec2 Do request State: "maybe" is none of the values that the model has`}},
		"a list that begins with 2":          {ec2("&Id.2=a", goodEC2), []string{"ec2 Do request Ids: want a list"}},
		"a blob":                             {ec2(ids+"&Data=-", goodEC2), []string{`ec2 Do request Data: "-" is no blob`}},
		"a time":                             {ec2(ids+"&From=now", goodEC2), []string{`ec2 Do request From: "now" is no timestamp`}},
		"a filter":                           {ec2(ids+"&Filter.1.Name=vpc", goodEC2), []string{"ec2 Do request Filters: the model does not name the filter vpc"}},
		"an answer's member":                 {ec2(ids, `<DoResponse><requestId>r</requestId><more/></DoResponse>`), []string{"ec2 Do answer more: there is no such member"}},
		"an answer's list":                   {ec2(ids, `<DoResponse><requestId>r</requestId><set><member>a</member></set></DoResponse>`), []string{"ec2 Do answer Set: want a list"}},
		"an answer's pattern":                {ec2(ids, `<DoResponse><requestId>r</requestId><id>7</id></DoResponse>`), []string{`ec2 Do answer Id: "7" does not match i-[a-f]+`}},
		"an answer's number":                 {ec2(ids, `<DoResponse><requestId>r</requestId><rate>a</rate></DoResponse>`), []string{`ec2 Do answer Rate: "a" is no double`}},
		"a member that is there twice":       {ec2(ids, `<DoResponse><requestId>r</requestId><id>i-a</id><id>i-b</id></DoResponse>`), []string{"ec2 Do answer: want a structure, each member once"}},
		"an answer without its id":           {ec2(ids, `<DoResponse/>`), []string{"ec2 Do answer: want one requestId"}},
		"another answer":                     {ec2(ids, `<UndoResponse/>`), []string{"ec2 Do answer: it is a UndoResponse, want a DoResponse"}},

		"IAM's protocol":               {iam("&Names.member.1=a", 200, goodIAM), nil},
		"a list of the other protocol": {iam("&Names.1=a", 200, goodIAM), []string{"iam Do request Names: want a list"}},
		"an answer without its result": {iam("", 200, `<DoResponse><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></DoResponse>`), []string{"iam Do answer: it has no DoResult"}},
		"an error that is listed":      {iam("", 404, `<ErrorResponse><Error><Code>NoSuch</Code></Error></ErrorResponse>`), nil},
		"an error of any call":         {iam("", 400, `<ErrorResponse><Error><Code>Throttling</Code></Error></ErrorResponse>`), nil},
		"another error":                {iam("", 404, `<ErrorResponse><Error><Code>Oops</Code></Error></ErrorResponse>`), []string{"iam Do error: Oops is none of NoSuch, Closed"}},
		"an error of EC2's shape":      {iam("", 404, `<Response><Errors/></Response>`), []string{"iam Do error: it is a Response, want a ErrorResponse"}},

		"JSON":                   {sqs(`{"Name":"a","At":1.5,"Sizes":{"a":1}}`, 200, `{"Name":"a"}`), nil},
		"a number that is text":  {sqs(`{"Name":"a","Sizes":{"a":"1"}}`, 200, `{"Name":"a"}`), []string{"sqs Do request Sizes{}: want a integer"}},
		"a time that is text":    {sqs(`{"Name":"a","At":"2026-01-02T03:04:05Z"}`, 200, `{"Name":"a"}`), []string{"sqs Do request At: want a timestamp"}},
		"a null":                 {sqs(`{"Name":"a"}`, 200, `{"Name":null}`), []string{"sqs Do answer Name: is null: members without a value are left out"}},
		"another case":           {sqs(`{"Name":"a"}`, 200, `{"Name":"a","at":1}`), []string{"sqs Do answer at: there is no such member"}},
		"an error without words": {sqs(`{"Name":"a"}`, 400, `{"__type":"Throttling"}`), []string{"sqs Do error: want __type and message"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, found, err := models().Check(tt.x)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range found {
				got = append(got, f.String())
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
