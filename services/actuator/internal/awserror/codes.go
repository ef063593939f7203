package awserror

// exceptions are codes that mean something else where AWS adds certain words.
var exceptions = []struct { //nolint:gochecknoglobals // a constant table
	code, words string
	kind        Kind
}{
	// What EC2 says of an instance profile that it does not know.
	{"InvalidParameterValue", "IAM Instance Profile", Profile},
	// Of an account on AWS's free plan, which may have some types alone.
	{"InvalidParameterCombination", "instance type is not eligible for Free Tier", Capacity},
	// A fleet's way to say that a type is not sold in a zone, which for other launches is Unsupported.
	{"InvalidFleetConfiguration", "not supported in your requested Availability Zone", Capacity},
	{"InvalidFleetConfig", "not supported in your requested Availability Zone", Capacity},
}

// codes are those that AWS documents for the calls that Kerf makes, and for all calls.
var codes = map[string]Kind{ //nolint:gochecknoglobals // a constant table
	// An offering, at this moment.
	"InsufficientCapacity":                              Capacity,
	"InsufficientCapacityOnHost":                        Capacity,
	"InsufficientCidrBlocks":                            Addresses, // in one piece, for the prefixes of an interface
	"InsufficientFreeAddressesInSubnet":                 Addresses,
	"InsufficientHostCapacity":                          Capacity,
	"InsufficientInstanceCapacity":                      Capacity,
	"InsufficientReservedInstanceCapacity":              Capacity,
	"InsufficientReservedInstancesCapacity":             Capacity,
	"InsufficientVolumeCapacity":                        Capacity,
	"AttachmentLimitExceeded":                           Capacity, // of volumes and interfaces, which is the type's
	"EncryptedVolumesNotSupported":                      Capacity, // by the type
	"IncompatibleHostRequirements":                      Capacity,
	"InvalidCapacityReservationState":                   Capacity, // it has ended
	"InvalidCapacityReservationState.PendingActivation": Capacity, // a block that has not begun
	"PrivateIpAddressLimitExceeded":                     Capacity, // of an interface, which is the type's
	"ReservationCapacityExceeded":                       Capacity,
	"SpotMaxPriceTooLow":                                Capacity,
	"UnfulfillableCapacity":                             Capacity,
	"Unsupported":                                       Capacity, // the type, in this zone
	"UnsupportedHostConfiguration":                      Capacity,
	"UnavailableHostRequirements":                       Capacity,
	"UnsupportedInstanceTypeOnHost":                     Capacity,
	"VolumeTypeNotAvailableInZone":                      Capacity,

	// The account's quotas of instances.
	"InstanceLimitExceeded":                             Quota,
	"MaxSpotInstanceCountExceeded":                      Quota,
	"SpotInstanceCountExceeded":                         Quota,
	"VcpuLimitExceeded":                                 Quota,
	"MaxFleetCountExceeded":                             Market,
	"FleetCapacityLimitExceeded":                        Market,
	"MaxSpotFleetRequestCountLimit":                     Market,
	"MaxSpotFleetRequestCountExceeded":                  Market,
	"AuthFailure.ServiceLinkedRoleCreationNotPermitted": Market, // no spot until the account has its role

	// Too many calls.
	"BandwidthLimitExceeded":                 Throttled,
	"EC2ThrottledException":                  Throttled,
	"KmsThrottled":                           Throttled,
	"OverLimit":                              Throttled, // of a queue's messages in flight
	"PriorRequestNotComplete":                Throttled,
	"ProvisionedThroughputExceededException": Throttled,
	"RequestLimitExceeded":                   Throttled,
	"RequestThrottled":                       Throttled,
	"RequestThrottledException":              Throttled,
	"ResourceCountLimitExceeded":             Throttled,
	"SlowDown":                               Throttled,
	"ThrottledException":                     Throttled,
	"Throttling":                             Throttled,
	"ThrottlingException":                    Throttled,
	"TooManyRequestsException":               Throttled,
	"TransactionInProgressException":         Throttled,

	// AWS's own faults.
	"InternalError":               Server,
	"InternalErrorException":      Server,
	"InternalFailure":             Server,
	"InternalServerError":         Server,
	"InternalServerException":     Server,
	"RequestTimeout":              Server,
	"RequestTimeoutException":     Server,
	"RetryableError":              Server,
	"ServerException":             Server,
	"ServerInternal":              Server,
	"ServiceFailure":              Server,
	"ServiceUnavailable":          Server,
	"ServiceUnavailableException": Server,
	"Unavailable":                 Server,

	// What passes, or ends when something else does.
	"ConcurrentModification":       Later,
	"ConcurrentTagAccess":          Later,
	"DeleteConflict":               Later,
	"DependencyViolation":          Later,
	"ExpiredNextTokenException":    Later,
	"InsufficientAddressCapacity":  Later, // public addresses
	"LimitExceeded":                Later,
	"RequestResourceCountExceeded": Later,
	"ResourceCountExceeded":        Later,
	"UnmodifiableEntity":           Later,
	"VolumeIOPSLimit":              Later,

	// Launch templates.
	"InvalidLaunchTemplateId.NotFound":                 Template,
	"InvalidLaunchTemplateId.VersionNotFound":          Template,
	"InvalidLaunchTemplateName.NotFoundException":      Template,
	"InvalidLaunchTemplateName.AlreadyExistsException": Exists,

	// Rights, credentials and the account.
	"AccessDenied":                      Unauthorized,
	"AccessDeniedException":             Unauthorized,
	"AccountDisabled":                   Unauthorized,
	"AuthFailure":                       Unauthorized,
	"Blocked":                           Unauthorized,
	"CustomerKeyHasBeenRevoked":         Unauthorized,
	"ExpiredToken":                      Unauthorized,
	"ExpiredTokenException":             Unauthorized,
	"IncompleteSignature":               Unauthorized,
	"IDPCommunicationError":             Server, // STS does not reach who signs the tokens
	"IDPRejectedClaim":                  Unauthorized,
	"InvalidClientTokenId":              Unauthorized,
	"InvalidIdentityToken":              Unauthorized, // also where STS can't get the keys of who signs the tokens
	"InvalidSecurity":                   Unauthorized,
	"InvalidSecurity.RequestHasExpired": Unauthorized,
	"KmsAccessDenied":                   Unauthorized,
	"KmsDisabled":                       Unauthorized,
	"KmsInvalidKeyUsage":                Unauthorized,
	"KmsInvalidState":                   Unauthorized,
	"KmsNotFound":                       Unauthorized,
	"KmsOptInRequired":                  Unauthorized,
	"MissingAuthenticationToken":        Unauthorized,
	"NotAuthorized":                     Unauthorized,
	"OperationNotPermitted":             Unauthorized, // of an instance whose end somebody forbade
	"OptInRequired":                     Unauthorized,
	"PendingVerification":               Unauthorized,
	"RegionDisabledException":           Unauthorized,
	"RequestExpired":                    Unauthorized, // the clock is wrong
	"SignatureDoesNotMatch":             Unauthorized,
	"UnauthorizedOperation":             Unauthorized,
	"UnrecognizedClientException":       Unauthorized,

	// Requests that stay wrong.
	"BatchEntryIdsNotDistinct":                Invalid,
	"BootForVolumeTypeUnsupported":            Invalid,
	"SecurityGroupsPerInstanceLimitExceeded":  Invalid,
	"SecurityGroupsPerInterfaceLimitExceeded": Invalid,
	"ClientException":                         Invalid,
	"ClientInvalidParameterValue":             Invalid,
	"DefaultVpcDoesNotExist":                  Invalid,
	"EmptyBatchRequest":                       Invalid,
	"NoSuchVersion":                           Invalid,
	"NonEBSInstance":                          Invalid,
	"TagLimitExceeded":                        Invalid,
	"TagPolicyViolation":                      Invalid,
	"TooManyEntriesInBatchRequest":            Invalid,
	"UnknownParameter":                        Invalid,
	"UnknownVolumeType":                       Invalid,
	"VPCIdNotSpecified":                       Invalid,
	"VPCResourceNotSpecified":                 Invalid,
	"ZonesMismatched":                         Invalid,
	"ValidationError":                         Invalid,
	"ValidationException":                     Invalid,

	// What is named and is not there.
	"AWS.SimpleQueueService.NonExistentQueue": NotFound,
	"InvalidAMIID.Unavailable":                NotFound,
	"InvalidPlacementGroup.Unknown":           NotFound,
	"NoSuchEntity":                            NotFound,
	"NotFoundException":                       NotFound,
	"ParameterNotFound":                       NotFound,
	"ParameterVersionNotFound":                NotFound,
	"QueueDoesNotExist":                       NotFound,
	"ResourceNotFoundException":               NotFound,

	"EntityAlreadyExists":          Exists,
	"IdempotentParameterMismatch":  Mismatch,
	"IdempotentInstanceTerminated": Mismatch, // the token's instance has been ended: it never makes another
}

// families are codes that AWS makes by a pattern: the first that fits counts.
var families = []struct { //nolint:gochecknoglobals // a constant table
	prefix, suffix string
	kind           Kind
}{
	{"", ".NotFound", NotFound},
	{"", ".Duplicate", Exists},
	{"", "LimitExceeded", Later}, // of volumes, addresses, templates: whatever an instance needs beside itself
	{"Incorrect", "", Later},     // a state that passes
	{"Invalid", "", Invalid},
	{"Malformed", "", Invalid},
	{"Missing", "", Invalid},
	{"Unsupported", "", Invalid},
}
