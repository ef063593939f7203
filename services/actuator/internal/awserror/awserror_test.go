package awserror

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
)

// modelled are the errors that AWS's own service models list for the calls that Kerf makes. EC2's model lists none.
var modelled = map[string][]string{
	"iam GetInstanceProfile":            {"NoSuchEntity", "ServiceFailure"},
	"iam CreateInstanceProfile":         {"EntityAlreadyExists", "InvalidInput", "LimitExceeded", "ConcurrentModification", "ServiceFailure"},
	"iam AddRoleToInstanceProfile":      {"NoSuchEntity", "EntityAlreadyExists", "LimitExceeded", "UnmodifiableEntity", "ServiceFailure"},
	"iam RemoveRoleFromInstanceProfile": {"NoSuchEntity", "LimitExceeded", "UnmodifiableEntity", "ServiceFailure"},
	"iam ListInstanceProfiles":          {"ServiceFailure"},
	"iam DeleteInstanceProfile":         {"NoSuchEntity", "DeleteConflict", "LimitExceeded", "ServiceFailure"},
	"ssm GetParameter":                  {"InternalServerError", "InvalidKeyId", "ParameterNotFound", "ParameterVersionNotFound"},
	"eks DescribeCluster":               {"ResourceNotFoundException", "ClientException", "ServerException", "ServiceUnavailableException"},
	"sqs GetQueueUrl":                   {"RequestThrottled", "QueueDoesNotExist", "InvalidAddress", "InvalidSecurity", "UnsupportedOperation"},
	"sqs ReceiveMessage": {
		"OverLimit", "KmsDisabled", "KmsInvalidState", "KmsNotFound", "KmsOptInRequired", "KmsThrottled", "KmsAccessDenied", "KmsInvalidKeyUsage",
		"RequestThrottled", "QueueDoesNotExist", "InvalidSecurity", "InvalidAddress", "UnsupportedOperation",
	},
	"sqs DeleteMessageBatch": {
		"TooManyEntriesInBatchRequest", "EmptyBatchRequest", "BatchEntryIdsNotDistinct", "InvalidBatchEntryId", "RequestThrottled",
		"QueueDoesNotExist", "InvalidSecurity", "InvalidAddress", "UnsupportedOperation",
	},
	"pricing GetProducts": {
		"InvalidParameterException", "InvalidNextTokenException", "NotFoundException", "AccessDeniedException", "InternalErrorException",
		"ExpiredNextTokenException", "ThrottlingException",
	},
	"throttling of any service": {
		"Throttling", "ThrottlingException", "ThrottledException", "RequestThrottledException", "TooManyRequestsException",
		"ProvisionedThroughputExceededException", "RequestLimitExceeded", "BandwidthLimitExceeded", "RequestThrottled", "SlowDown",
		"PriorRequestNotComplete", "EC2ThrottledException", "TransactionInProgressException",
	},
	"STS as documented for web identities": {
		"ExpiredTokenException", "IDPCommunicationError", "IDPRejectedClaim", "InvalidIdentityToken", "RegionDisabledException",
	},
	"EC2 as documented for all calls": {
		"AccountDisabled", "AuthFailure", "Blocked", "IdempotentParameterMismatch", "IncompleteSignature", "InvalidAction", "InvalidCharacter",
		"InvalidClientTokenId", "InvalidPaginationToken", "InvalidParameter", "InvalidParameterCombination", "InvalidParameterValue",
		"InvalidQueryParameter", "MalformedQueryString", "MissingAction", "MissingAuthenticationToken", "MissingParameter", "OptInRequired",
		"PendingVerification", "RequestExpired", "UnauthorizedOperation", "UnknownParameter", "UnsupportedInstanceAttribute",
		"UnsupportedOperation", "UnsupportedProtocol", "ValidationError", "InternalError", "InternalFailure", "ServiceUnavailable",
		"Unavailable", "InsufficientInstanceCapacity", "InsufficientCapacity", "InsufficientHostCapacity", "InvalidParameterDependency",
		"TagPolicyViolation", "ServerInternal",
	},
	"EC2 as documented for launches and what they need": {
		"AttachmentLimitExceeded", "BootForVolumeTypeUnsupported", "ClientInvalidParameterValue", "CustomerKeyHasBeenRevoked",
		"DefaultVpcDoesNotExist", "DependencyViolation", "EncryptedVolumesNotSupported", "FilterLimitExceeded", "HostLimitExceeded",
		"IdempotentInstanceTerminated", "IncompatibleHostRequirements", "IncorrectInstanceState", "IncorrectState", "InstanceLimitExceeded",
		"InsufficientAddressCapacity", "InsufficientCapacityOnHost", "InsufficientFreeAddressesInSubnet", "InsufficientReservedInstanceCapacity",
		"InsufficientReservedInstancesCapacity", "InsufficientVolumeCapacity", "InvalidAMIID.Malformed", "InvalidAMIID.NotFound",
		"InvalidAMIID.Unavailable", "InvalidAvailabilityZone", "InvalidBlockDeviceMapping", "InvalidCapacityReservationState.PendingActivation",
		"InvalidClientToken", "InvalidGroup.NotFound", "InvalidInstanceID.NotFound", "InvalidInterface.IpAddressLimitExceeded",
		"InvalidPlacementGroup.Unknown", "InvalidSecurity.RequestHasExpired", "InvalidSecurityGroupID.NotFound", "InvalidSnapshot.NotFound",
		"InvalidSubnetID.NotFound", "InvalidTenancy", "MaxSpotFleetRequestCountExceeded", "MaxSpotInstanceCountExceeded",
		"NetworkInterfaceLimitExceeded", "NonEBSInstance", "NoSuchVersion", "OperationNotPermitted", "PlacementGroupLimitExceeded",
		"PrivateIpAddressLimitExceeded", "RequestResourceCountExceeded", "ReservationCapacityExceeded", "ResourceCountExceeded",
		"ResourceLimitExceeded", "RetryableError", "SecurityGroupsPerInstanceLimitExceeded", "SecurityGroupsPerInterfaceLimitExceeded",
		"SpotMaxPriceTooLow", "UnavailableHostRequirements", "UnfulfillableCapacity", "UnknownVolumeType", "Unsupported",
		"UnsupportedInstanceTypeOnHost", "UnsupportedTenancy", "VcpuLimitExceeded", "VolumeIOPSLimit", "VolumeLimitExceeded",
		"VolumeTypeNotAvailableInZone", "VPCIdNotSpecified", "VPCResourceNotSpecified", "ZonesMismatched",
	},
	"EC2 as documented for tags": {"ConcurrentTagAccess", "TagLimitExceeded"},
}

// TestBotocoreListsTheSameErrors compares the list above with the models in folder $KERF_BOTOCORE, for the calls
// $KERF_CALLS, and has all that botocore retries as throttling be so.
func TestBotocoreListsTheSameErrors(t *testing.T) {
	data := os.Getenv("KERF_BOTOCORE")
	if data == "" {
		t.Skip("needs botocore: make conformance gets it")
	}
	for call := range strings.SplitSeq(os.Getenv("KERF_CALLS"), ",") {
		want := botocores(t, data, call)
		got := slices.Sorted(slices.Values(modelled[call]))
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: add or remove what differs, botocore's first: %s", call, d)
		}
	}
	text, err := os.ReadFile(filepath.Join(data, "_retry.json"))
	if err != nil {
		t.Fatal(err)
	}
	retried := regexp.MustCompile(`"service_error_code": "(\w+)"`).FindAllSubmatch(text, -1)
	if len(retried) == 0 {
		t.Error("botocore retries nothing")
	}
	for _, m := range retried {
		if got := OfCode(string(m[1]), ""); got != Throttled && got != otherwise[string(m[1])] {
			t.Errorf("botocore retries %s, which is kind %d to us", m[1], got)
		}
	}
}

// otherwise are codes that botocore retries and that are not throttling here.
var otherwise = map[string]Kind{
	"RequestTimeout": Server, "RequestTimeoutException": Server,
	"LimitExceededException":           Unknown, // of Kinesis
	"ReplicatedWriteConflictException": Unknown, // of DynamoDB
	"BadDigest":                        Unknown, // of S3
	"IDPCommunicationError":            Unknown, // of STS, for web identities: the SDK's own credentials retry it
}

// botocores are the codes of a call's errors, sorted.
func botocores(t *testing.T, data, call string) []string {
	t.Helper()
	service, name, _ := strings.Cut(call, " ")
	files, err := filepath.Glob(filepath.Join(data, service, "*", "service-2.json.gz"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d models of %s, %v; want one", len(files), service, err)
	}
	f, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var model struct {
		Operations map[string]struct{ Errors []struct{ Shape string } }
		Shapes     map[string]struct{ Error struct{ Code string } }
	}
	if err := json.NewDecoder(r).Decode(&model); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range model.Operations[name].Errors {
		code := model.Shapes[e.Shape].Error.Code
		if code == "" {
			code = e.Shape
		}
		out = append(out, code)
	}
	slices.Sort(out)
	return out
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
		"no stock": {"InsufficientInstanceCapacity", "", Capacity},
		"a type that a free account may not have": {
			"InvalidParameterCombination",
			"The specified instance type is not eligible for Free Tier. For a list of Free Tier instance types, run 'describe-instance-types' with the filter 'free-tier-eligible=true'.",
			Capacity,
		},
		"a subnet without free addresses":        {"InsufficientFreeAddressesInSubnet", "", Addresses},
		"a subnet without a block for prefixes":  {"InsufficientCidrBlocks", "", Addresses},
		"a type that the zone does not sell":     {"Unsupported", "", Capacity},
		"the same in a fleet":                    {"InvalidFleetConfiguration", "Your requested instance type (m5.large) is not supported in your requested Availability Zone (us-east-1e).", Capacity},
		"a fleet that is wrong otherwise":        {"InvalidFleetConfiguration", "The fleet configuration contains duplicate instance pools", Invalid},
		"no spot without the account's role":     {"AuthFailure.ServiceLinkedRoleCreationNotPermitted", "", Market},
		"the vCPU quota":                         {"VcpuLimitExceeded", "", Quota},
		"a volume quota":                         {"VolumeLimitExceeded", "", Later},
		"more volumes than the type takes":       {"AttachmentLimitExceeded", "", Capacity},
		"more addresses than the type takes":     {"PrivateIpAddressLimitExceeded", "", Capacity},
		"more groups than an interface takes":    {"SecurityGroupsPerInterfaceLimitExceeded", "", Invalid},
		"too many tags":                          {"TagLimitExceeded", "", Invalid},
		"a profile that EC2 has not heard of":    {"InvalidParameterValue", "Value (x) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name", Profile},
		"another parameter":                      {"InvalidParameterValue", "Value (x) for parameter y is invalid.", Invalid},
		"an image that is gone":                  {"InvalidAMIID.NotFound", "", NotFound},
		"an image that is not available":         {"InvalidAMIID.Unavailable", "", NotFound},
		"an image id that is none":               {"InvalidAMIID.Malformed", "", Invalid},
		"a security group that is gone":          {"InvalidSecurityGroupID.NotFound", "", NotFound},
		"a template that is gone":                {"InvalidLaunchTemplateName.NotFoundException", "", Template},
		"a template of that name":                {"InvalidLaunchTemplateName.AlreadyExistsException", "", Exists},
		"a queue that is not there":              {"AWS.SimpleQueueService.NonExistentQueue", "", NotFound},
		"a block of capacity that has not begun": {"InvalidCapacityReservationState.PendingActivation", "", Capacity},
		"a token whose instance was ended":       {"IdempotentInstanceTerminated", "", Mismatch},
		"a signature that is too old":            {"InvalidSecurity.RequestHasExpired", "", Unauthorized},
		"a token that STS can't check now":       {"InvalidIdentityToken", "", Unauthorized},
		"a group of instances that is gone":      {"InvalidPlacementGroup.Unknown", "", NotFound},
		"a code of tomorrow":                     {"SomethingElse", "", Unknown},
		"no code":                                {"", "connection reset", Unknown},
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
