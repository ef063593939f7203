package awssim_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/test/awssim"
)

// queueURL asks for the cluster's queue.
func (w *world) queueURL() *string {
	w.t.Helper()
	return must(w.sqs.GetQueueUrl(w.t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String(cluster)}))(w.t).QueueUrl
}

// receive takes what the queue has, hides it for 20 s and does not wait. The SDK checks MD5OfBody.
func (w *world) receive() []types.Message {
	w.t.Helper()
	out := must(w.sqs.ReceiveMessage(w.t.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: w.queueURL(), MaxNumberOfMessages: 10, VisibilityTimeout: 20,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
	}))(w.t)
	return out.Messages
}

// drain receives and deletes everything.
func (w *world) drain() []types.Message {
	w.t.Helper()
	var all []types.Message
	for {
		got := w.receive()
		if len(got) == 0 {
			return all
		}
		all = append(all, got...)
		var entries []types.DeleteMessageBatchRequestEntry
		for _, m := range got {
			entries = append(entries, types.DeleteMessageBatchRequestEntry{Id: m.MessageId, ReceiptHandle: m.ReceiptHandle})
		}
		must(w.sqs.DeleteMessageBatch(w.t.Context(), &sqs.DeleteMessageBatchInput{QueueUrl: w.queueURL(), Entries: entries}))(w.t)
	}
}

func TestASpotInterruptionWarnsTwoMinutesBefore(t *testing.T) {
	w := newWorld(t)
	id := w.launch(fleet(w.template(userData), "spot", 1, "m5.large"))[0]
	w.advance(time.Minute)
	w.drain()
	must(0, w.InterruptSpot(id))(t)

	got := w.drain()
	if len(got) != 1 {
		t.Fatalf("%d messages", len(got))
	}
	var message map[string]any
	must(0, json.Unmarshal([]byte(*got[0].Body), &message))(t)
	eventID := message["id"]
	want := map[string]any{
		"version": "0", "id": eventID, "detail-type": "EC2 Spot Instance Interruption Warning", "source": "aws.ec2",
		"account": "111122223333", "time": "2026-05-01T12:01:00Z", "region": "us-east-1",
		"resources": []any{"arn:aws:ec2:us-east-1a:instance/" + id},
		"detail":    map[string]any{"instance-id": id, "instance-action": "terminate"},
	}
	if d := cmp.Diff(want, message); d != "" {
		t.Error(d)
	}
	w.advance(2*time.Minute - time.Second)
	if s := w.state(id).State; s != "running" {
		t.Errorf("state %s before the two minutes are over", s)
	}
	w.advance(time.Second)
	if s := w.state(id); s.State != "shutting-down" || s.Reason != "Server.SpotInstanceTermination" {
		t.Errorf("state %s, reason %s", s.State, s.Reason)
	}
	if err := w.InterruptSpot(id); err == nil {
		t.Error("an instance was interrupted twice")
	}
}

func TestOnlySpotInstancesAreInterrupted(t *testing.T) {
	w := newWorld(t)
	id := w.launch(fleet(w.template(userData), "on-demand", 1, "m5.large"))[0]
	if err := w.InterruptSpot(id); err == nil {
		t.Error("an on-demand instance was interrupted")
	}
	if err := w.InterruptSpot("i-0000000000000000f"); err == nil {
		t.Error("an instance that is not there was interrupted")
	}
}

func TestEventsTellWhatHappens(t *testing.T) {
	w := newWorld(t)
	id := w.launch(fleet(w.template(userData), "spot", 1, "m5.large"))[0]
	w.advance(time.Minute)
	must(0, w.RecommendRebalance(id))(t)
	must(0, w.SendHealth("AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED", id))(t)
	must(0, w.SendRaw("{not JSON"))(t)
	must(0, w.Terminate(id))(t)
	w.advance(time.Minute)

	var got []string
	for _, m := range w.drain() {
		var e struct {
			Kind   string `json:"detail-type"`
			Detail struct {
				State    string
				Entities []struct{ EntityValue string } `json:"affectedEntities"`
			}
		}
		if json.Unmarshal([]byte(*m.Body), &e) != nil {
			got = append(got, *m.Body)
			continue
		}
		line := e.Kind + " " + e.Detail.State
		for _, n := range e.Detail.Entities {
			line += n.EntityValue
		}
		got = append(got, line)
	}
	want := []string{
		"EC2 Instance State-change Notification pending", "EC2 Instance State-change Notification running",
		"EC2 Instance Rebalance Recommendation ", "AWS Health Event " + id, "{not JSON",
		"EC2 Instance State-change Notification shutting-down", "EC2 Instance State-change Notification terminated",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAReceivedMessageIsHiddenAndComesBack(t *testing.T) {
	w := newWorld(t)
	ctx, url := t.Context(), w.queueURL()
	must(w.sqs.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String("hello")}))(t)
	first := w.receive()
	if len(first) != 1 || *first[0].Body != "hello" || first[0].Attributes["ApproximateReceiveCount"] != "1" {
		t.Fatalf("received %v", first)
	}
	if n := len(w.receive()); n != 0 {
		t.Errorf("%d messages while hidden", n)
	}
	w.advance(20 * time.Second)
	second := w.receive()
	if len(second) != 1 || second[0].Attributes["ApproximateReceiveCount"] != "2" {
		t.Fatalf("received %v", second)
	}

	// The first handle is stale: SQS takes it and deletes nothing.
	must(w.sqs.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: first[0].ReceiptHandle}))(t)
	if d := cmp.Diff([]awssim.QueueState{{Name: cluster, InFlight: 1}}, w.State().Queues); d != "" {
		t.Error(d)
	}
	must(w.sqs.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: url, ReceiptHandle: second[0].ReceiptHandle}))(t)
	third := w.receive()
	if len(third) != 1 {
		t.Fatalf("received %v", third)
	}
	must(w.sqs.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: third[0].ReceiptHandle}))(t)
	if d := cmp.Diff([]awssim.QueueState{{Name: cluster}}, w.State().Queues); d != "" {
		t.Error(d)
	}
}

func TestMessagesExpire(t *testing.T) {
	w := newWorld(t)
	must(0, w.SendRaw("old"))(t)
	w.advance(5 * time.Minute)
	if n := len(w.receive()); n != 0 {
		t.Errorf("%d messages after the retention", n)
	}
}

func TestALongPollEndsByMessageByTimeAndByItsCaller(t *testing.T) {
	w := newWorld(t)
	url := w.queueURL()
	poll := func(ctx context.Context) <-chan int {
		done := make(chan int, 1)
		go func() {
			out, err := w.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url, WaitTimeSeconds: 20})
			if err != nil {
				done <- -1
				return
			}
			done <- len(out.Messages)
		}()
		return done
	}

	byMessage := poll(t.Context())
	must(0, w.SendRaw("hello"))(t)
	if n := <-byMessage; n != 1 {
		t.Errorf("%d messages", n)
	}

	w.advance(time.Minute) // it was read and not deleted, so it comes back
	w.drain()
	byTime := poll(t.Context())
	for n, over := 0, false; !over; { // the poll may not have begun when the clock first moves
		select {
		case n = <-byTime:
			over = true
		default:
			w.advance(time.Second)
		}
		if over && n != 0 {
			t.Errorf("%d messages", n)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	byCaller := poll(ctx)
	cancel()
	if n := <-byCaller; n != -1 {
		t.Errorf("%d messages", n)
	}
}

func TestQueueRefusals(t *testing.T) {
	w := newWorld(t)
	ctx, url := t.Context(), w.queueURL()
	_, err := w.sqs.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("nowhere")})
	wantCode(t, err, "AWS.SimpleQueueService.NonExistentQueue")
	_, err = w.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: aws.String("http://x/1/nowhere")})
	wantCode(t, err, "AWS.SimpleQueueService.NonExistentQueue")
	_, err = w.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url, MaxNumberOfMessages: 11})
	wantCode(t, err, "InvalidParameterValue")
	_, err = w.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url, WaitTimeSeconds: 21})
	wantCode(t, err, "InvalidParameterValue")
	_, err = w.sqs.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: aws.String("junk")})
	wantCode(t, err, "ReceiptHandleIsInvalid")
	_, err = w.sqs.ListQueues(ctx, &sqs.ListQueuesInput{})
	wantCode(t, err, "UnknownOperationException")
	out := must(w.sqs.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{
		QueueUrl: url, Entries: []types.DeleteMessageBatchRequestEntry{{Id: aws.String("a"), ReceiptHandle: aws.String("junk")}},
	}))(t)
	if len(out.Failed) != 1 || *out.Failed[0].Code != "ReceiptHandleIsInvalid" || !out.Failed[0].SenderFault {
		t.Errorf("failed %v", out.Failed)
	}
	attributes := must(w.sqs.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: url, AttributeNames: []types.QueueAttributeName{"MessageRetentionPeriod"}}))(t)
	if d := cmp.Diff(map[string]string{"MessageRetentionPeriod": "300"}, attributes.Attributes); d != "" {
		t.Error(d)
	}
}
