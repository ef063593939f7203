// Package sqs implements the queue port: AWS's notices come by an SQS queue that EventBridge writes to.
//
// It must never look into a message: interrupt parses, and inbox stores a notice before it asks for the deletion of its
// message. Start reading at Queue.
package sqs

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
)

const (
	maxMessages       = 10 // SQS's own limit
	waitSeconds       = 20 // long poll, SQS's maximum
	visibilitySeconds = 20
)

// Queue is the queue port on SQS. Safe for concurrent use.
type Queue struct {
	client *sdk.Client
	name   string
	url    atomic.Pointer[string] // nil until SQS has told it
}

var _ cloud.Queue = (*Queue)(nil)

// New makes the port to the queue of that name. SQS is asked for it with the first Receive: an actuator without its
// queue hears no notices, and does all else.
func New(c aws.Config, name string) *Queue {
	return &Queue{client: sdk.NewFromConfig(c), name: name}
}

// find is the queue's URL, which SQS is asked for until it has told it once.
func (q *Queue) find(ctx context.Context) (*string, error) {
	if url := q.url.Load(); url != nil {
		return url, nil
	}
	out, err := q.client.GetQueueUrl(ctx, &sdk.GetQueueUrlInput{QueueName: aws.String(q.name)})
	if err != nil {
		return nil, fmt.Errorf("find queue %q (aws.queue in the configuration): %w", q.name, err)
	}
	q.url.Store(out.QueueUrl)
	return out.QueueUrl, nil
}

// Receive waits up to 20 seconds for messages. A message that is not deleted within 20 seconds comes again.
func (q *Queue) Receive(ctx context.Context) ([]cloud.Message, error) {
	url, err := q.find(ctx)
	if err != nil {
		return nil, err
	}
	out, err := q.client.ReceiveMessage(ctx, &sdk.ReceiveMessageInput{
		QueueUrl: url, MaxNumberOfMessages: maxMessages, WaitTimeSeconds: waitSeconds,
		VisibilityTimeout: visibilitySeconds,
	})
	if err != nil {
		return nil, fmt.Errorf("receive messages of queue %q (aws.queue in the configuration): %w", q.name, err)
	}
	messages := make([]cloud.Message, 0, len(out.Messages))
	for _, m := range out.Messages {
		messages = append(messages, cloud.Message{
			ID: aws.ToString(m.MessageId), Receipt: aws.ToString(m.ReceiptHandle), Body: aws.ToString(m.Body),
		})
	}
	return messages, nil
}

// Delete takes messages off the queue, ten at a time. The error joins those that stayed; they come again.
func (q *Queue) Delete(ctx context.Context, receipts []string) error {
	var errs []error
	for len(receipts) > 0 {
		n := min(len(receipts), maxMessages)
		errs = append(errs, q.deleteBatch(ctx, receipts[:n]))
		receipts = receipts[n:]
	}
	return errors.Join(errs...)
}

func (q *Queue) deleteBatch(ctx context.Context, receipts []string) error {
	url, err := q.find(ctx)
	if err != nil {
		return err
	}
	entries := make([]types.DeleteMessageBatchRequestEntry, 0, len(receipts))
	for i, r := range receipts {
		entries = append(entries, types.DeleteMessageBatchRequestEntry{
			Id: aws.String(fmt.Sprintf("m%d", i)), ReceiptHandle: aws.String(r),
		})
	}
	out, err := q.client.DeleteMessageBatch(ctx, &sdk.DeleteMessageBatchInput{QueueUrl: url, Entries: entries})
	if err != nil {
		return fmt.Errorf("delete messages: %w", err)
	}
	var errs []error
	for _, f := range out.Failed {
		errs = append(errs, fmt.Errorf("delete message: %s: %s", aws.ToString(f.Code), aws.ToString(f.Message)))
	}
	return errors.Join(errs...)
}
