package awssim

import "github.com/kerf-dev/kerf/services/actuator/catalog"

// networkInterface is one network interface of a launch template.
type networkInterface struct {
	card, device int64
	efa          bool
	publicIP     bool // something is said of a public address
}

// readInterface reads one network interface; the first one places the instance.
func readInterface(f *form, n string, first bool, d *templateData) {
	f.ignore(n+".DeleteOnTermination", n+".Description", n+".ConnectionTrackingSpecification", n+".Ipv4PrefixCount",
		n+".Ipv6PrefixCount", n+".Ipv6AddressCount", n+".PrimaryIpv6")
	groups, subnetID := f.list(n+".SecurityGroupId"), f.str(n+".SubnetId")
	if first {
		d.securityGroups, d.subnetID = append(d.securityGroups, groups...), subnetID
	}
	i := networkInterface{
		card: f.int(n+".NetworkCardIndex", 0), device: f.int(n+".DeviceIndex", -1), publicIP: f.has(n + ".AssociatePublicIpAddress"),
	}
	f.bool(n + ".AssociatePublicIpAddress")
	switch kind := f.str(n + ".InterfaceType"); kind {
	case "", "interface":
	case "efa", "efa-only":
		i.efa = true
	default:
		f.reject(n+".InterfaceType", kind)
	}
	d.interfaces = append(d.interfaces, i)
}

// checkInterfaces refuses what an instance of the type could not have.
func checkInterfaces(all []networkInterface, t *catalog.Type) error {
	used := map[networkInterface]bool{}
	perCard, adapters := map[int64]int64{}, int64(0)
	for _, i := range all {
		place := networkInterface{card: i.card, device: i.device}
		perCard[i.card]++
		if i.efa {
			adapters++
		}
		switch {
		case i.device < 0:
			return fail("InvalidParameterValue", "Each network interface requires a device index.")
		case i.card < 0 || i.card >= max(t.NetworkCards, 1):
			return fail("InvalidParameterValue", "Network card index %d is not valid for instance type %s.", i.card, t.Name)
		case used[place]:
			return fail("InvalidParameterValue", "Each network interface requires a unique device index.")
		case perCard[i.card] > t.DefaultENIs:
			return fail("AttachmentLimitExceeded", "Interface count exceeds the limit for %s", t.Name)
		case i.efa && !takesEFA(t, i.card):
			return fail("InvalidParameterCombination", "Interface type efa is not supported on network card %d of %s.", i.card, t.Name)
		case i.publicIP && len(all) > 1:
			return fail("InvalidParameterCombination", "The associatePublicIPAddress parameter cannot be specified when launching with multiple network interfaces.")
		}
		used[place] = true
	}
	if adapters > t.EFAInterfaces {
		return fail("AttachmentLimitExceeded", "EFA interface count %d exceeds the limit of %d for %s", adapters, t.EFAInterfaces, t.Name)
	}
	return nil
}

// adapters is how many elastic fabric adapters there are.
func adapters(all []networkInterface) int64 {
	var n int64
	for _, i := range all {
		if i.efa {
			n++
		}
	}
	return n
}
