package sqs

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// TestAQueueThatIsNotThereIsFoundOnceItIs: an actuator that did not start for want of its queue launched nothing either.
func TestAQueueThatIsNotThereIsFoundOnceItIs(t *testing.T) {
	there, finds := false, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		switch target := r.Header.Get("X-Amz-Target"); {
		case !there:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"__type": "com.amazonaws.sqs#QueueDoesNotExist", "message": "The specified queue does not exist."}`)
		case strings.HasSuffix(target, "GetQueueUrl"):
			finds++
			fmt.Fprint(w, `{"QueueUrl": "http://`+r.Host+`/1/prod"}`)
		default:
			fmt.Fprint(w, `{"Messages": [{"MessageId": "m", "ReceiptHandle": "r", "Body": "b", "MD5OfBody": "92eb5ffee6ae2fec3ad71c777531578f"}]}`)
		}
	}))
	defer server.Close()
	q := New(aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	}, "prod")
	if _, err := q.Receive(t.Context()); err == nil || !strings.Contains(err.Error(), `queue "prod" (aws.queue in the configuration)`) {
		t.Errorf("%v, want an error that names queue and field", err)
	}
	there = true
	for range 2 {
		if got, err := q.Receive(t.Context()); err != nil || len(got) != 1 {
			t.Errorf("%v, %v; want a message", got, err)
		}
	}
	if finds != 1 {
		t.Errorf("SQS was asked for the queue %d times", finds)
	}
}
