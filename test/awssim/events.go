package awssim

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// event is the envelope that EventBridge puts around what happened.
type event struct {
	Version    string    `json:"version"`
	ID         string    `json:"id"`
	DetailType string    `json:"detail-type"`
	Source     string    `json:"source"`
	Account    string    `json:"account"`
	Time       time.Time `json:"time"`
	Region     string    `json:"region"`
	Resources  []string  `json:"resources"`
	Detail     any       `json:"detail"`
}

type instanceDetail struct {
	InstanceID string `json:"instance-id"`
	Action     string `json:"instance-action,omitempty"`
	State      string `json:"state,omitempty"`
}

type healthDetail struct {
	ARN         string           `json:"eventArn"`
	Service     string           `json:"service"`
	TypeCode    string           `json:"eventTypeCode"`
	Category    string           `json:"eventTypeCategory"`
	Start       string           `json:"startTime"`
	End         string           `json:"endTime"`
	Description []healthText     `json:"eventDescription"`
	Entities    []map[string]any `json:"affectedEntities"`
}

type healthText struct {
	Language string `json:"language"`
	Text     string `json:"latestDescription"`
}

// InterruptSpot takes a spot instance back: the warning is on the queue when it returns, and the instance ends after
// Config.SpotWarning. The pool does not get the capacity back.
func (s *Sim) InterruptSpot(instanceID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.instance(instanceID)
	switch {
	case err != nil:
		return err
	case i.pool.CapacityType != Spot:
		return fmt.Errorf("instance %s is no spot instance", instanceID)
	case i.ended():
		return fmt.Errorf("instance %s is already %s", instanceID, i.state())
	case i.interrupted:
		return fmt.Errorf("instance %s was already interrupted", instanceID)
	}
	i.interrupted = true
	s.sendInstanceEvent(i, "EC2 Spot Instance Interruption Warning", instanceDetail{InstanceID: i.id, Action: "terminate"})
	s.after(s.cfg.SpotWarning, func() {
		s.end(i, "Server.SpotInstanceTermination", "Server.SpotInstanceTermination: Spot instance termination", false)
	})
	return nil
}

// RecommendRebalance puts a rebalance recommendation for a spot instance on the queue.
func (s *Sim) RecommendRebalance(instanceID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.instance(instanceID)
	if err != nil {
		return err
	}
	s.sendInstanceEvent(i, "EC2 Instance Rebalance Recommendation", instanceDetail{InstanceID: i.id})
	return nil
}

// SendHealth puts an AWS Health event of category scheduledChange on the queue that names the instances.
func (s *Sim) SendHealth(typeCode string, instanceIDs ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Health writes its times as mail does, not as EventBridge does.
	const layout = "Mon, 02 Jan 2006 15:04:05 GMT"
	now := s.clock.Now()
	d := healthDetail{
		ARN: "arn:aws:health:" + s.cfg.Region + "::event/EC2/" + typeCode + "/1", Service: "EC2", TypeCode: typeCode,
		Category: "scheduledChange", Start: now.Add(24 * time.Hour).Format(layout), End: now.Add(26 * time.Hour).Format(layout),
		Description: []healthText{{"en_US", "The instance is scheduled for a change."}},
	}
	var arns []string
	for _, id := range instanceIDs {
		if _, err := s.instance(id); err != nil {
			return err
		}
		arns = append(arns, s.instanceARN(id))
		d.Entities = append(d.Entities, map[string]any{"entityValue": id, "tags": map[string]string{}})
	}
	s.send(event{DetailType: "AWS Health Event", Source: "aws.health", Resources: arns, Detail: d})
	return nil
}

// SendRaw puts any text on the event queue, for instance a message of wrong shape.
func (s *Sim) SendRaw(body string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.cfg.Queues) == 0 {
		return errors.New("the world has no queue")
	}
	s.queues[s.cfg.Queues[0]].put(s, body)
	return nil
}

func (s *Sim) sendStateChange(i *instance, state string) {
	s.sendInstanceEvent(i, "EC2 Instance State-change Notification", instanceDetail{InstanceID: i.id, State: state})
}

func (s *Sim) sendInstanceEvent(i *instance, detailType string, d instanceDetail) {
	arn := s.instanceARN(i.id)
	if strings.Contains(detailType, "Spot") { // the warning's ARN names the zone and no account
		arn = "arn:aws:ec2:" + i.pool.Zone + ":instance/" + i.id
	}
	s.send(event{DetailType: detailType, Source: "aws.ec2", Resources: []string{arn}, Detail: d})
}

func (s *Sim) instanceARN(id string) string { return s.arn("ec2", "instance/"+id) }

// send puts an event on the first queue; without a queue no one listens.
func (s *Sim) send(e event) {
	if len(s.cfg.Queues) == 0 {
		return
	}
	e.Version, e.ID, e.Account, e.Region = "0", s.newUUID(), s.cfg.AccountID, s.cfg.Region
	e.Time = s.clock.Now().Truncate(time.Second)
	body, err := json.Marshal(e)
	if err != nil {
		s.cfg.Log.Error("encode event", "detail_type", e.DetailType, "error", err)
		return
	}
	s.queues[s.cfg.Queues[0]].put(s, string(body))
}
