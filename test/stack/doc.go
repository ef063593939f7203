// Package stack holds what deploy/aws makes in AWS against the code that needs it: the calls that the actuator makes
// are those that its policies allow, and the events that it reads those that reach its queue. CloudFormation's form and
// Terraform's are both worked out for the same clusters, and make the same.
//
// Start reading at TestThePoliciesAllowWhatTheCodeCalls, then TestBothFormsMakeTheSame.
package stack
