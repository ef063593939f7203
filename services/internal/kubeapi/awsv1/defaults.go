package awsv1

// Defaults of MetadataOptions, which the API server fills in, and SetDefaults
// where there is none.
const (
	DefaultHTTPEndpoint                  = "enabled"
	DefaultHTTPProtocolIPv6              = "disabled"
	DefaultHTTPPutResponseHopLimit int64 = 1
	DefaultHTTPTokens                    = "required"
)

// SetDefaults fills in what an API server with Kerf's CustomResourceDefinitions
// would. It changes c; doing it twice changes nothing.
func (c *EC2NodeClass) SetDefaults() {
	if c.Spec.MetadataOptions == nil {
		c.Spec.MetadataOptions = &MetadataOptions{}
	}
	m := c.Spec.MetadataOptions
	m.HTTPEndpoint = orDefault(m.HTTPEndpoint, DefaultHTTPEndpoint)
	m.HTTPProtocolIPv6 = orDefault(m.HTTPProtocolIPv6, DefaultHTTPProtocolIPv6)
	m.HTTPPutResponseHopLimit = orDefault(m.HTTPPutResponseHopLimit, DefaultHTTPPutResponseHopLimit)
	m.HTTPTokens = orDefault(m.HTTPTokens, DefaultHTTPTokens)
}

func orDefault[T any](p *T, def T) *T {
	if p != nil {
		return p
	}
	return &def
}
