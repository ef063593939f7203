// Package filter writes the filters of EC2's Describe calls. It is a function of values: who asks what is its callers'
// business. Start reading at Of and Tags.
package filter

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-dev/kerf/services/core/model"
)

// Of takes what has one of the values.
func Of(name string, values ...string) types.Filter {
	return types.Filter{Name: aws.String(name), Values: values}
}

// Tags takes what has all of the tags; the value * means any.
func Tags(tags model.Labels) []types.Filter {
	out := make([]types.Filter, 0, len(tags))
	for _, t := range tags {
		if t.Value == "*" {
			out = append(out, Of("tag-key", t.Key))
			continue
		}
		out = append(out, Of("tag:"+t.Key, t.Value))
	}
	return out
}
