package awsv1

// SubnetSelectorTerm selects subnets by tags or by id.
//
// +kubebuilder:validation:XValidation:rule="has(self.tags) || has(self.id)",message="set tags or id"
// +kubebuilder:validation:XValidation:rule="!has(self.id) || !has(self.tags)",message="id can't be combined with tags"
type SubnetSelectorTerm struct {
	// Tags that a subnet must have; the value * means any value.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '' && self[k] != '')",message="a tag needs a key and a value"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// The subnet's id.
	// +kubebuilder:validation:Pattern=`^subnet-[0-9a-z]+$`
	// +optional
	ID string `json:"id,omitempty"`
}

// SecurityGroupSelectorTerm selects security groups by tags, id or name.
//
// +kubebuilder:validation:XValidation:rule="has(self.tags) || has(self.id) || has(self.name)",message="set tags, id or name"
// +kubebuilder:validation:XValidation:rule="!has(self.id) || !(has(self.tags) || has(self.name))",message="id can't be combined with tags or name"
// +kubebuilder:validation:XValidation:rule="!has(self.name) || !has(self.tags)",message="name can't be combined with tags"
type SecurityGroupSelectorTerm struct {
	// Tags that a group must have; the value * means any value.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '' && self[k] != '')",message="a tag needs a key and a value"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// The group's id.
	// +kubebuilder:validation:Pattern=`^sg-[0-9a-z]+$`
	// +optional
	ID string `json:"id,omitempty"`
	// The group's own name, which is not its tag Name.
	// +kubebuilder:validation:MinLength=1
	// +optional
	Name string `json:"name,omitempty"`
}

// CapacityReservationSelectorTerm selects capacity reservations by tags, id, owner
// or the launches that they match.
//
// +kubebuilder:validation:XValidation:rule="has(self.tags) || has(self.id) || has(self.instanceMatchCriteria)",message="set tags, id or instanceMatchCriteria; ownerID alone is not enough"
// +kubebuilder:validation:XValidation:rule="!has(self.id) || !(has(self.tags) || has(self.ownerID) || has(self.instanceMatchCriteria))",message="id can't be combined with other fields"
type CapacityReservationSelectorTerm struct {
	// Tags that a reservation must have; the value * means any value.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '' && self[k] != '')",message="a tag needs a key and a value"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// The reservation's id.
	// +kubebuilder:validation:Pattern=`^cr-[0-9a-z]+$`
	// +optional
	ID string `json:"id,omitempty"`
	// The account that owns the reservation.
	// +kubebuilder:validation:Pattern=`^[0-9]{12}$`
	// +optional
	OwnerID string `json:"ownerID,omitempty"`
	// Which launches the reservation accepts.
	// +kubebuilder:validation:Enum=open;targeted
	// +optional
	InstanceMatchCriteria string `json:"instanceMatchCriteria,omitempty"`
}

// PlacementGroupSelector names one placement group.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.id)",message="set exactly one of name and id"
type PlacementGroupSelector struct {
	// The group's name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Name string `json:"name,omitempty"`
	// The group's id.
	// +kubebuilder:validation:Pattern=`^pg-[0-9a-z]+$`
	// +optional
	ID string `json:"id,omitempty"`
}

// AMISelectorTerm selects images by alias, tags, id, name and owner, or by an SSM
// parameter.
//
// +kubebuilder:validation:XValidation:rule="has(self.alias) || has(self.tags) || has(self.id) || has(self.name) || has(self.ssmParameter)",message="set alias, tags, id, name or ssmParameter; owner alone is not enough"
// +kubebuilder:validation:XValidation:rule="!has(self.alias) || !(has(self.tags) || has(self.id) || has(self.name) || has(self.owner) || has(self.ssmParameter))",message="alias can't be combined with other fields"
// +kubebuilder:validation:XValidation:rule="!has(self.id) || !(has(self.tags) || has(self.name) || has(self.owner) || has(self.ssmParameter))",message="id can't be combined with other fields"
type AMISelectorTerm struct {
	// An image that AWS publishes for EKS, as family@version, for example
	// al2023@latest. Windows has the version latest only.
	// +kubebuilder:validation:MaxLength=30
	// +kubebuilder:validation:XValidation:rule="self.matches('^((al2|al2023|bottlerocket)@.+|windows(2019|2022|2025)@latest)$')",message="want family@version with one of the families al2, al2023, bottlerocket, windows2019, windows2022, windows2025; Windows has the version latest only"
	// +optional
	Alias string `json:"alias,omitempty"`
	// Tags that an image must have; the value * means any value.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '' && self[k] != '')",message="a tag needs a key and a value"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// The image's id.
	// +kubebuilder:validation:Pattern=`^ami-[0-9a-z]+$`
	// +optional
	ID string `json:"id,omitempty"`
	// The image's own name, which is not its tag Name; * and ? match any text and any
	// character.
	// +kubebuilder:validation:MinLength=1
	// +optional
	Name string `json:"name,omitempty"`
	// The image's owner: an account, self, amazon or aws-marketplace. Absent with a
	// name means self and amazon.
	// +optional
	Owner string `json:"owner,omitempty"`
	// The name or ARN of an SSM parameter that holds an image's id. Tags, name and owner count for nothing beside it.
	// +kubebuilder:validation:MinLength=1
	// +optional
	SSMParameter string `json:"ssmParameter,omitempty"`
}
