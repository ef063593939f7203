package awserror

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/smithy-go"
)

// modelled are the errors that AWS's own service models list for the calls that Kerf makes. EC2's model lists none.
var modelled = map[string][]string{
	"IAM GetInstanceProfile":            {"NoSuchEntity", "ServiceFailure"},
	"IAM CreateInstanceProfile":         {"EntityAlreadyExists", "InvalidInput", "LimitExceeded", "ConcurrentModification", "ServiceFailure"},
	"IAM AddRoleToInstanceProfile":      {"NoSuchEntity", "EntityAlreadyExists", "LimitExceeded", "UnmodifiableEntity", "ServiceFailure"},
	"IAM RemoveRoleFromInstanceProfile": {"NoSuchEntity", "LimitExceeded", "UnmodifiableEntity", "ServiceFailure"},
	"IAM DeleteInstanceProfile":         {"NoSuchEntity", "DeleteConflict", "LimitExceeded", "ServiceFailure"},
	"SSM GetParameter":                  {"InternalServerError", "InvalidKeyId", "ParameterNotFound", "ParameterVersionNotFound"},
	"EKS DescribeCluster":               {"ResourceNotFoundException", "ClientException", "ServerException", "ServiceUnavailableException"},
	"SQS GetQueueUrl":                   {"RequestThrottled", "QueueDoesNotExist", "InvalidAddress", "InvalidSecurity", "UnsupportedOperation"},
	"SQS ReceiveMessage": {
		"OverLimit", "KmsDisabled", "KmsInvalidState", "KmsNotFound", "KmsOptInRequired", "KmsThrottled", "KmsAccessDenied", "KmsInvalidKeyUsage",
	},
	"SQS DeleteMessageBatch": {"TooManyEntriesInBatchRequest", "EmptyBatchRequest", "BatchEntryIdsNotDistinct", "InvalidBatchEntryId"},
	"Pricing GetProducts": {
		"InvalidParameterException", "InvalidNextTokenException", "NotFoundException", "AccessDeniedException", "InternalErrorException",
		"ExpiredNextTokenException", "ThrottlingException",
	},
	"throttling of any service": {
		"Throttling", "ThrottlingException", "ThrottledException", "RequestThrottledException", "TooManyRequestsException",
		"ProvisionedThroughputExceededException", "RequestLimitExceeded", "BandwidthLimitExceeded", "RequestThrottled", "SlowDown",
		"PriorRequestNotComplete", "EC2ThrottledException",
	},
	"EC2 as documented for all calls": {
		"AccountDisabled", "AuthFailure", "Blocked", "IdempotentParameterMismatch", "IncompleteSignature", "InvalidAction", "InvalidCharacter",
		"InvalidClientTokenId", "InvalidPaginationToken", "InvalidParameter", "InvalidParameterCombination", "InvalidParameterValue",
		"InvalidQueryParameter", "MalformedQueryString", "MissingAction", "MissingAuthenticationToken", "MissingParameter", "OptInRequired",
		"PendingVerification", "RequestExpired", "UnauthorizedOperation", "UnknownParameter", "UnsupportedInstanceAttribute",
		"UnsupportedOperation", "UnsupportedProtocol", "ValidationError", "InternalError", "InternalFailure", "ServiceUnavailable",
		"Unavailable", "InsufficientInstanceCapacity", "InsufficientCapacity", "InsufficientHostCapacity",
	},
}

func TestEveryErrorOfTheCallsIsSorted(t *testing.T) {
	for call, codes := range modelled {
		for _, c := range codes {
			if OfCode(c, "") == Unknown {
				t.Errorf("%s: %s means nothing to us", call, c)
			}
		}
	}
}

func TestWhatAnErrorMeans(t *testing.T) {
	tests := map[string]struct {
		code, words string
		want        Kind
	}{
		"no stock":                            {"InsufficientInstanceCapacity", "", Capacity},
		"a subnet without free addresses":     {"InsufficientFreeAddressesInSubnet", "", Addresses},
		"a type that the zone does not sell":  {"Unsupported", "", Capacity},
		"the same in a fleet":                 {"InvalidFleetConfiguration", "Your requested instance type (m5.large) is not supported in your requested Availability Zone (us-east-1e).", Capacity},
		"a fleet that is wrong otherwise":     {"InvalidFleetConfiguration", "The fleet configuration contains duplicate instance pools", Invalid},
		"no spot without the account's role":  {"AuthFailure.ServiceLinkedRoleCreationNotPermitted", "", Market},
		"the vCPU quota":                      {"VcpuLimitExceeded", "", Quota},
		"a volume quota":                      {"VolumeLimitExceeded", "", Later},
		"too many tags":                       {"TagLimitExceeded", "", Invalid},
		"a profile that EC2 has not heard of": {"InvalidParameterValue", "Value (x) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name", Later},
		"another parameter":                   {"InvalidParameterValue", "Value (x) for parameter y is invalid.", Invalid},
		"an image that is gone":               {"InvalidAMIID.NotFound", "", NotFound},
		"an image that is not available":      {"InvalidAMIID.Unavailable", "", NotFound},
		"an image id that is none":            {"InvalidAMIID.Malformed", "", Invalid},
		"a security group that is gone":       {"InvalidSecurityGroupID.NotFound", "", NotFound},
		"a template that is gone":             {"InvalidLaunchTemplateName.NotFoundException", "", Template},
		"a template of that name":             {"InvalidLaunchTemplateName.AlreadyExistsException", "", Exists},
		"a queue that is not there":           {"AWS.SimpleQueueService.NonExistentQueue", "", NotFound},
		"a code of tomorrow":                  {"SomethingElse", "", Unknown},
		"no code":                             {"", "connection reset", Unknown},
	}
	for name, tt := range tests {
		if got := OfCode(tt.code, tt.words); got != tt.want {
			t.Errorf("%s: %s is kind %d, want %d", name, tt.code, got, tt.want)
		}
	}
}

func TestErrorsAreUnwrapped(t *testing.T) {
	err := fmt.Errorf("describe: %w", &smithy.GenericAPIError{Code: "ThrottledException", Message: "slow"})
	if Of(err) != Throttled || Code(err) != "ThrottledException" || Of(errors.New("no answer")) != Unknown || Code(errors.New("x")) != "" {
		t.Errorf("kind %d of %s", Of(err), Code(err))
	}
}
