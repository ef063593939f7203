package awssim

import (
	"context"
	"crypto/md5" //nolint:gosec // SQS's own checksum, which the SDK compares; it protects nothing
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

func (s *Sim) sqsCalls() map[string]func(context.Context, []byte) (any, error) {
	return map[string]func(context.Context, []byte) (any, error){
		"GetQueueUrl":             s.getQueueURL,
		"GetQueueAttributes":      s.getQueueAttributes,
		"SendMessage":             s.sendMessage,
		"ReceiveMessage":          s.receiveMessage,
		"DeleteMessage":           s.deleteMessage,
		"DeleteMessageBatch":      s.deleteMessageBatch,
		"ChangeMessageVisibility": s.changeMessageVisibility,
	}
}

func (s *Sim) queueURL(name string) string {
	return "https://sqs." + s.cfg.Region + ".amazonaws.com/" + s.cfg.AccountID + "/" + name
}

// queueByURL finds a queue; only the last part of the URL counts, for callers may reach the simulator by any name.
func (s *Sim) queueByURL(url string) (*queue, error) {
	if q := s.queues[url[strings.LastIndex(url, "/")+1:]]; q != nil {
		return q, nil
	}
	return nil, fail("QueueDoesNotExist", "The specified queue does not exist.")
}

func (s *Sim) getQueueURL(_ context.Context, body []byte) (any, error) {
	var in struct{ QueueName, QueueOwnerAWSAccountID string }
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queues[in.QueueName] == nil {
		return nil, fail("QueueDoesNotExist", "The specified queue does not exist.")
	}
	return map[string]string{"QueueUrl": s.queueURL(in.QueueName)}, nil
}

func (s *Sim) getQueueAttributes(_ context.Context, body []byte) (any, error) {
	var in struct {
		QueueURL       string
		AttributeNames []string
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.queueByURL(in.QueueURL)
	if err != nil {
		return nil, err
	}
	visible, inFlight := q.depth(s.clock.Now())
	all := map[string]string{
		"ApproximateNumberOfMessages":           strconv.Itoa(visible),
		"ApproximateNumberOfMessagesNotVisible": strconv.Itoa(inFlight),
		"MessageRetentionPeriod":                strconv.Itoa(int(s.cfg.QueueRetention.Seconds())),
		"QueueArn":                              s.arn("sqs", q.name),
	}
	out := map[string]string{}
	for _, name := range in.AttributeNames {
		if v, ok := all[name]; ok {
			out[name] = v
		} else if name == "All" {
			out = all
		} else {
			return nil, fail("InvalidAttributeName", "Unknown Attribute %s.", name)
		}
	}
	return map[string]any{"Attributes": out}, nil
}

const maxMessageBytes = 1 << 20

func (s *Sim) sendMessage(_ context.Context, body []byte) (any, error) {
	var in struct{ QueueURL, MessageBody string }
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	if in.MessageBody == "" || len(in.MessageBody) > maxMessageBytes {
		return nil, fail("InvalidParameterValue", "One or more parameters are invalid. Reason: Message must have between 1 and %d bytes.", maxMessageBytes)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.queueByURL(in.QueueURL)
	if err != nil {
		return nil, err
	}
	m := q.put(s, in.MessageBody)
	return map[string]string{"MessageId": m.id, "MD5OfMessageBody": md5Hex(m.body)}, nil
}

type receiveRequest struct {
	QueueURL                    string
	MaxNumberOfMessages         *int
	WaitTimeSeconds             int
	VisibilityTimeout           *int
	AttributeNames              []string
	MessageAttributeNames       []string
	MessageSystemAttributeNames []string
	ReceiveRequestAttemptID     string
}

func (r receiveRequest) check() error {
	switch {
	case r.MaxNumberOfMessages != nil && (*r.MaxNumberOfMessages < 1 || *r.MaxNumberOfMessages > 10):
		return fail("InvalidParameterValue", "Value %d for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.", *r.MaxNumberOfMessages)
	case r.WaitTimeSeconds < 0 || r.WaitTimeSeconds > 20:
		return fail("InvalidParameterValue", "Value %d for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided.", r.WaitTimeSeconds)
	case r.VisibilityTimeout != nil && (*r.VisibilityTimeout < 0 || *r.VisibilityTimeout > 43200):
		return fail("InvalidParameterValue", "Value %d for parameter VisibilityTimeout is invalid. Reason: Must be >= 0 and <= 43200, if provided.", *r.VisibilityTimeout)
	}
	return nil
}

type receivedMessage struct {
	MessageID  string            `json:"MessageId"`
	Handle     string            `json:"ReceiptHandle"`
	MD5        string            `json:"MD5OfBody"`
	Body       string            `json:"Body"`
	Attributes map[string]string `json:"Attributes,omitempty"`
}

// receiveMessage waits by the simulator's clock until there is a message, the wait is over or the caller has gone.
func (s *Sim) receiveMessage(ctx context.Context, body []byte) (any, error) {
	var in receiveRequest
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	n, hide := 1, 30*time.Second
	if in.MaxNumberOfMessages != nil {
		n = *in.MaxNumberOfMessages
	}
	if in.VisibilityTimeout != nil {
		hide = time.Duration(*in.VisibilityTimeout) * time.Second
	}
	over := make(chan struct{})
	if in.WaitTimeSeconds > 0 {
		timer := s.clock.AfterFunc(time.Duration(in.WaitTimeSeconds)*time.Second, func() { close(over) })
		defer timer.Stop()
	} else {
		close(over)
	}
	for {
		got, more, err := s.receive(in.QueueURL, n, hide)
		if err != nil || len(got) > 0 {
			return map[string]any{"Messages": got}, err
		}
		select {
		case <-over:
			return map[string]any{}, nil
		case <-ctx.Done():
			return nil, fail(CodeDrop, "The caller has gone.")
		case <-more:
		}
	}
}

// receive takes what there is now; when there is nothing, the channel is closed once there may be.
func (s *Sim) receive(url string, n int, hide time.Duration) ([]receivedMessage, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.queueByURL(url)
	if err != nil {
		return nil, nil, err
	}
	if s.closed {
		return nil, nil, fail("ServiceUnavailable", "The simulator is closed.")
	}
	var out []receivedMessage
	for _, m := range q.take(s, n, hide) {
		out = append(out, receivedMessage{
			MessageID: m.id, Handle: m.handle(), MD5: md5Hex(m.body), Body: m.body,
			Attributes: map[string]string{
				"SentTimestamp":                    strconv.FormatInt(m.sent.UnixMilli(), 10),
				"ApproximateReceiveCount":          strconv.Itoa(m.received),
				"ApproximateFirstReceiveTimestamp": strconv.FormatInt(m.firstSeen.UnixMilli(), 10),
				"SenderId":                         "AIDAAWSSIM",
			},
		})
	}
	if len(out) > 0 {
		return out, nil, nil
	}
	return nil, q.wait(), nil
}

func (s *Sim) deleteMessage(_ context.Context, body []byte) (any, error) {
	var in struct{ QueueURL, ReceiptHandle string }
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.queueByURL(in.QueueURL)
	if err != nil {
		return nil, err
	}
	return struct{}{}, q.remove(in.ReceiptHandle)
}

func (q *queue) remove(handle string) error {
	m, ok := q.find(handle)
	if !ok {
		return fail("ReceiptHandleIsInvalid", "The input receipt handle \"%s\" is not a valid receipt handle.", handle)
	}
	if m != nil {
		delete(q.messages, m.id)
	}
	return nil
}

type batchFailure struct {
	ID          string `json:"Id"`
	Code        string `json:"Code"`
	Message     string `json:"Message"`
	SenderFault bool   `json:"SenderFault"`
}

func (s *Sim) deleteMessageBatch(_ context.Context, body []byte) (any, error) {
	var in struct {
		QueueURL string
		Entries  []struct{ ID, ReceiptHandle string }
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	switch {
	case len(in.Entries) == 0:
		return nil, fail("EmptyBatchRequest", "There should be at least one DeleteMessageBatchRequestEntry in the request.")
	case len(in.Entries) > 10:
		return nil, fail("TooManyEntriesInBatchRequest", "Maximum number of entries per request are 10. You have sent %d.", len(in.Entries))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.queueByURL(in.QueueURL)
	if err != nil {
		return nil, err
	}
	done, failed, seen := []map[string]string{}, []batchFailure{}, map[string]bool{}
	for _, e := range in.Entries {
		if seen[e.ID] {
			return nil, fail("BatchEntryIdsNotDistinct", "Id %s repeated.", e.ID)
		}
		seen[e.ID] = true
	}
	for _, e := range in.Entries {
		if err := q.remove(e.ReceiptHandle); err != nil {
			failed = append(failed, batchFailure{e.ID, asAPIError(err).code, asAPIError(err).message, true})
			continue
		}
		done = append(done, map[string]string{"Id": e.ID})
	}
	return map[string]any{"Successful": done, "Failed": failed}, nil
}

func (s *Sim) changeMessageVisibility(_ context.Context, body []byte) (any, error) {
	var in struct {
		QueueURL, ReceiptHandle string
		VisibilityTimeout       int
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	if in.VisibilityTimeout < 0 || in.VisibilityTimeout > 43200 {
		return nil, fail("InvalidParameterValue", "Value %d for parameter VisibilityTimeout is invalid.", in.VisibilityTimeout)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.queueByURL(in.QueueURL)
	if err != nil {
		return nil, err
	}
	m, ok := q.find(in.ReceiptHandle)
	switch {
	case !ok:
		return nil, fail("ReceiptHandleIsInvalid", "The input receipt handle is invalid.")
	case m == nil || !m.visible.After(s.clock.Now()):
		return nil, fail("MessageNotInflight", "The message is not in flight.")
	}
	q.hide(s, m, time.Duration(in.VisibilityTimeout)*time.Second)
	if in.VisibilityTimeout == 0 {
		q.wake()
	}
	return struct{}{}, nil
}

func md5Hex(s string) string {
	sum := md5.Sum([]byte(s)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}
