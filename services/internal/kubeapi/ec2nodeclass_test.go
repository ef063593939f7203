package kubeapi_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
)

// tries are what users may write into one field of a class: patches of its spec.
type tries struct {
	good []string
	// bad are refused by the API server and by Kerf, or where later is set by Kerf alone. The value is the field that
	// Validate names, below spec; "" where the value is not of the field's type.
	bad   map[string]string
	later bool
}

func many(n int, each string) string { return strings.TrimSuffix(strings.Repeat(each+", ", n), ", ") }

// pairs are n tags.
func pairs(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("k%d: v", i))
	}
	return strings.Join(out, ", ")
}

// selectors are the fields that select what is there.
func selectors() map[string]tries {
	const (
		subnets, groups, reserved = "subnetSelectorTerms", "securityGroupSelectorTerms", "capacityReservationSelectorTerms"
		images                    = "amiSelectorTerms"
	)
	custom := func(term string) string { return "{amiFamily: Custom, amiSelectorTerms: [" + term + "]}" }
	return map[string]tries{
		subnets: {
			good: []string{`subnetSelectorTerms: [{id: subnet-1}, {tags: {a: b}}]`, `subnetSelectorTerms: [` + many(30, "{id: subnet-1}") + `]`},
			bad: map[string]string{
				`subnetSelectorTerms: null`: subnets, `subnetSelectorTerms: []`: subnets, `subnetSelectorTerms: [{}]`: subnets + "[0]",
				`subnetSelectorTerms: [` + many(31, "{id: subnet-1}") + `]`: subnets, `subnetSelectorTerms: subnet-1`: "",
			},
		},
		subnets + "[].tags": {
			good: []string{`subnetSelectorTerms: [{tags: {a: "*", b: c}}]`, `subnetSelectorTerms: [{tags: {` + pairs(20) + `}}]`},
			bad: map[string]string{
				`subnetSelectorTerms: [{tags: {}}]`:                    subnets + "[0]",
				`subnetSelectorTerms: [{tags: {a: ""}}]`:               subnets + "[0].tags[a]",
				`subnetSelectorTerms: [{tags: {"": a}}]`:               subnets + "[0].tags[]",
				`subnetSelectorTerms: [{tags: {` + pairs(21) + `}}]`:   subnets + "[0].tags",
				`subnetSelectorTerms: [{tags: {a: 1}}]`:                "",
				`subnetSelectorTerms: [{id: subnet-1, tags: {a: b}}]`:  subnets + "[0].id",
				`subnetSelectorTerms: [{tags: {a: b}}, {tags: {a: }}]`: subnets + "[1].tags[a]",
			},
		},
		subnets + "[].id": {
			good: []string{`subnetSelectorTerms: [{id: subnet-0123456789abcdef0}]`},
			bad: map[string]string{
				`subnetSelectorTerms: [{id: sg-1}]`: subnets + "[0].id", `subnetSelectorTerms: [{id: subnet-}]`: subnets + "[0].id",
				`subnetSelectorTerms: [{id: subnet-A}]`: subnets + "[0].id",
			},
		},
		groups: {
			good: []string{`securityGroupSelectorTerms: [{id: sg-1}, {name: nodes}, {tags: {a: b}}]`},
			bad: map[string]string{
				`securityGroupSelectorTerms: null`: groups, `securityGroupSelectorTerms: []`: groups, `securityGroupSelectorTerms: [{}]`: groups + "[0]",
				`securityGroupSelectorTerms: [` + many(31, "{id: sg-1}") + `]`: groups,
			},
		},
		groups + "[].tags": {
			good: []string{`securityGroupSelectorTerms: [{tags: {a: "*"}}]`},
			bad: map[string]string{
				`securityGroupSelectorTerms: [{tags: {a: ""}}]`:             groups + "[0].tags[a]",
				`securityGroupSelectorTerms: [{tags: {` + pairs(21) + `}}]`: groups + "[0].tags",
			},
		},
		groups + "[].id": {
			good: []string{`securityGroupSelectorTerms: [{id: sg-0a1}]`},
			bad: map[string]string{
				`securityGroupSelectorTerms: [{id: subnet-1}]`: groups + "[0].id", `securityGroupSelectorTerms: [{id: sg-1, name: nodes}]`: groups + "[0].id",
				`securityGroupSelectorTerms: [{id: sg-1, tags: {a: b}}]`: groups + "[0].id",
			},
		},
		groups + "[].name": {
			good: []string{`securityGroupSelectorTerms: [{name: my nodes}]`},
			bad: map[string]string{
				`securityGroupSelectorTerms: [{name: nodes, tags: {a: b}}]`: groups + "[0].name", `securityGroupSelectorTerms: [{name: ""}]`: groups + "[0]",
			},
		},
		reserved: {
			good: []string{`capacityReservationSelectorTerms: []`, `capacityReservationSelectorTerms: [{id: cr-1}, {tags: {a: b}}]`},
			bad: map[string]string{
				`capacityReservationSelectorTerms: [` + many(31, "{id: cr-1}") + `]`: reserved, `capacityReservationSelectorTerms: [{}]`: reserved + "[0]",
			},
		},
		reserved + "[].tags": {
			good: []string{`capacityReservationSelectorTerms: [{tags: {a: "*"}, ownerID: "123456789012", instanceMatchCriteria: open}]`},
			bad: map[string]string{
				`capacityReservationSelectorTerms: [{tags: {a: ""}}]`:             reserved + "[0].tags[a]",
				`capacityReservationSelectorTerms: [{tags: {` + pairs(21) + `}}]`: reserved + "[0].tags",
			},
		},
		reserved + "[].id": {
			good: []string{`capacityReservationSelectorTerms: [{id: cr-0123456789abcdef0}]`},
			bad: map[string]string{
				`capacityReservationSelectorTerms: [{id: r-1}]`:                                   reserved + "[0].id",
				`capacityReservationSelectorTerms: [{id: cr-1, ownerID: "123456789012"}]`:         reserved + "[0].id",
				`capacityReservationSelectorTerms: [{id: cr-1, instanceMatchCriteria: targeted}]`: reserved + "[0].id",
			},
		},
		reserved + "[].ownerID": {
			good: []string{`capacityReservationSelectorTerms: [{ownerID: "123456789012", tags: {a: b}}]`},
			bad: map[string]string{
				`capacityReservationSelectorTerms: [{ownerID: "123456789012"}]`:            reserved + "[0]", // alone
				`capacityReservationSelectorTerms: [{ownerID: me, tags: {a: b}}]`:          reserved + "[0].ownerID",
				`capacityReservationSelectorTerms: [{ownerID: 123456789012, tags: {a: }}]`: "",
			},
		},
		reserved + "[].instanceMatchCriteria": {
			good: []string{`capacityReservationSelectorTerms: [{instanceMatchCriteria: open}, {instanceMatchCriteria: targeted}]`},
			bad:  map[string]string{`capacityReservationSelectorTerms: [{instanceMatchCriteria: any}]`: reserved + "[0].instanceMatchCriteria"},
		},
		"placementGroupSelector": {
			good: []string{`placementGroupSelector: {name: near}`},
			bad:  map[string]string{`placementGroupSelector: {}`: "placementGroupSelector", `placementGroupSelector: {name: a, id: pg-1}`: "placementGroupSelector"},
		},
		"placementGroupSelector.name": {
			good: []string{`placementGroupSelector: {name: ` + strings.Repeat("n", 255) + `}`},
			bad: map[string]string{
				`placementGroupSelector: {name: ` + strings.Repeat("n", 256) + `}`: "placementGroupSelector.name", `placementGroupSelector: {name: ""}`: "placementGroupSelector",
			},
		},
		"placementGroupSelector.id": {
			good: []string{`placementGroupSelector: {id: pg-0123456789abcdef0}`},
			bad:  map[string]string{`placementGroupSelector: {id: near}`: "placementGroupSelector.id"},
		},
		images: {
			good: []string{custom(`{id: ami-1}, {name: "a-*"}, {tags: {a: b}}, {ssmParameter: p}`)},
			bad: map[string]string{
				`amiSelectorTerms: null`: images, `amiSelectorTerms: []`: images, custom(`{}`): images + "[0]", custom(many(31, "{id: ami-1}")): images,
			},
		},
		images + "[].alias": {
			good: []string{
				`amiSelectorTerms: [{alias: al2@latest}]`, `amiSelectorTerms: [{alias: al2023@v20250101}]`, `amiSelectorTerms: [{alias: bottlerocket@1.20.0}]`,
				`amiSelectorTerms: [{alias: windows2019@latest}]`, `amiSelectorTerms: [{alias: windows2022@latest}]`, `amiSelectorTerms: [{alias: windows2025@latest}]`,
			},
			bad: map[string]string{
				`amiSelectorTerms: [{alias: windows2022@v1}]`:                         images + "[0].alias",
				`amiSelectorTerms: [{alias: ubuntu@latest}]`:                          images + "[0].alias",
				`amiSelectorTerms: [{alias: AL2023@latest}]`:                          images + "[0].alias",
				`amiSelectorTerms: [{alias: al2023}]`:                                 images + "[0].alias",
				`amiSelectorTerms: [{alias: al2023@` + strings.Repeat("1", 24) + `}]`: images + "[0].alias",
				`amiSelectorTerms: [{alias: al2023@latest}, {id: ami-1}]`:             images + "[0].alias",
				`amiSelectorTerms: [{alias: al2023@latest, id: ami-1}]`:               images + "[0].alias",
			},
		},
		images + "[].tags": {
			good: []string{custom(`{tags: {a: "*"}, owner: self, name: nodes}`)},
			bad:  map[string]string{custom(`{tags: {a: ""}}`): images + "[0].tags[a]", custom(`{tags: {` + pairs(21) + `}}`): images + "[0].tags"},
		},
		images + "[].id": {
			good: []string{custom(`{id: ami-0123456789abcdef0}`)},
			bad: map[string]string{
				custom(`{id: i-1}`): images + "[0].id", custom(`{id: ami-1, name: nodes}`): images + "[0].id", custom(`{id: ami-1, tags: {a: b}}`): images + "[0].id",
				custom(`{id: ami-1, owner: self}`): images + "[0].id",
			},
		},
		images + "[].name": {
			good: []string{custom(`{name: "al2023-*"}`), custom(`{name: nodes, owner: "123456789012"}`)},
			bad:  map[string]string{custom(`{name: ""}`): images + "[0]", custom(`{name: [n]}`): ""},
		},
		images + "[].owner": {
			good: []string{custom(`{name: nodes, owner: amazon}`), custom(`{tags: {a: b}, owner: self}`)},
			bad:  map[string]string{custom(`{owner: self}`): images + "[0]", custom(`{owner: 123456789012, name: nodes}`): ""},
		},
		images + "[].ssmParameter": {
			good: []string{
				custom(`{ssmParameter: /golden/ami}`), custom(`{ssmParameter: "arn:aws:ssm:us-east-1:123456789012:parameter/golden/ami"}`),
				custom(`{ssmParameter: p, tags: {a: b}}`), custom(`{ssmParameter: p, name: nodes, owner: self}`),
			},
			bad: map[string]string{
				custom(`{ssmParameter: ""}`): images + "[0]", custom(`{ssmParameter: p, id: ami-1}`): images + "[0].id",
			},
		},
		"amiFamily": {
			good: []string{
				`amiFamily: AL2023`, `amiFamily: Custom`, `{amiFamily: AL2, amiSelectorTerms: [{id: ami-1}]}`,
				`{amiFamily: Bottlerocket, amiSelectorTerms: [{id: ami-1}]}`, `{amiFamily: Windows2025, amiSelectorTerms: [{id: ami-1}]}`,
			},
			bad: map[string]string{
				`{amiFamily: Ubuntu, amiSelectorTerms: [{id: ami-1}]}`: "amiFamily", `amiSelectorTerms: [{id: ami-1}]`: "amiFamily", `amiFamily: AL2`: "amiFamily",
			},
		},
	}
}

// hardware are the fields of instances: what they are, and what is attached to them.
func hardware() map[string]tries {
	const disk, ebs, nics = "blockDeviceMappings[0]", "blockDeviceMappings[0].ebs", "networkInterfaces"
	volume := func(more string) string { return `blockDeviceMappings: [{ebs: {` + more + `}}]` }
	sized := func(more string) string { return volume("volumeSize: 20Gi, " + more) }
	nic := func(more ...string) string {
		return `networkInterfaces: [{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}` + strings.Join(append([]string{""}, more...), ", ") + `]`
	}
	return map[string]tries{
		"associatePublicIPAddress": {good: []string{`associatePublicIPAddress: true`, `associatePublicIPAddress: false`}, bad: map[string]string{`associatePublicIPAddress: maybe`: ""}},
		"ipPrefixCount":            {good: []string{`ipPrefixCount: 0`, `ipPrefixCount: 8`}, bad: map[string]string{`ipPrefixCount: -1`: "ipPrefixCount", `ipPrefixCount: x`: ""}},
		"blockDeviceMappings": {
			good: []string{`blockDeviceMappings: []`, `blockDeviceMappings: [` + many(50, "{deviceName: a}") + `]`},
			bad:  map[string]string{`blockDeviceMappings: [` + many(51, "{deviceName: a}") + `]`: "blockDeviceMappings"},
		},
		"blockDeviceMappings[].deviceName": {good: []string{`blockDeviceMappings: [{deviceName: /dev/xvda}]`}, bad: map[string]string{`blockDeviceMappings: [{deviceName: 1}]`: ""}},
		"blockDeviceMappings[].rootVolume": {
			good: []string{`blockDeviceMappings: [{rootVolume: true}, {rootVolume: false}]`},
			bad:  map[string]string{`blockDeviceMappings: [{rootVolume: true}, {rootVolume: true}]`: "blockDeviceMappings[1].rootVolume", `blockDeviceMappings: [{rootVolume: x}]`: ""},
		},
		"blockDeviceMappings[].ebs": {
			good: []string{sized("volumeType: gp3, iops: 3000")},
			bad:  map[string]string{volume(""): ebs + ".volumeSize", volume("volumeType: gp3"): ebs + ".volumeSize"},
		},
		"blockDeviceMappings[].ebs.deleteOnTermination": {good: []string{sized("deleteOnTermination: false")}, bad: map[string]string{sized("deleteOnTermination: x"): ""}},
		"blockDeviceMappings[].ebs.encrypted":           {good: []string{sized("encrypted: true")}, bad: map[string]string{sized("encrypted: x"): ""}},
		"blockDeviceMappings[].ebs.iops":                {good: []string{sized("iops: 16000")}, bad: map[string]string{sized("iops: fast"): ""}},
		"blockDeviceMappings[].ebs.kmsKeyID":            {good: []string{sized("kmsKeyID: alias/nodes")}, bad: map[string]string{sized("kmsKeyID: 1"): ""}},
		"blockDeviceMappings[].ebs.snapshotID":          {good: []string{volume("snapshotID: snap-1")}, bad: map[string]string{sized(`snapshotID: ""`): ebs + ".snapshotID"}},
		"blockDeviceMappings[].ebs.throughput":          {good: []string{sized("throughput: 1000")}, bad: map[string]string{sized("throughput: fast"): ""}},
		"blockDeviceMappings[].ebs.volumeInitializationRate": {
			good: []string{volume("snapshotID: snap-1, volumeInitializationRate: 100"), volume("snapshotID: snap-1, volumeInitializationRate: 300")},
			bad: map[string]string{
				volume("snapshotID: snap-1, volumeInitializationRate: 99"):  ebs + ".volumeInitializationRate",
				volume("snapshotID: snap-1, volumeInitializationRate: 301"): ebs + ".volumeInitializationRate",
				sized("volumeInitializationRate: 100"):                      ebs + ".volumeInitializationRate",
			},
		},
		"blockDeviceMappings[].ebs.volumeSize": {
			good: []string{volume("volumeSize: 1Gi"), volume("volumeSize: 59000Gi"), volume("volumeSize: 64000G"), volume("volumeSize: 58Ti"), volume("volumeSize: 64T")},
			bad: map[string]string{
				volume("volumeSize: 59001Gi"): ebs + ".volumeSize", volume("volumeSize: 64001G"): ebs + ".volumeSize", volume("volumeSize: 59Ti"): ebs + ".volumeSize",
				volume("volumeSize: 65T"): ebs + ".volumeSize", volume("volumeSize: 0Gi"): ebs + ".volumeSize", volume(`volumeSize: "20"`): ebs + ".volumeSize",
				volume("volumeSize: 20Mi"): ebs + ".volumeSize", volume("volumeSize: 1.5Gi"): ebs + ".volumeSize", volume("volumeSize: 20"): "",
			},
		},
		"blockDeviceMappings[].ebs.volumeType": {
			good: []string{
				sized("volumeType: standard"), sized("volumeType: io1"), sized("volumeType: io2"), sized("volumeType: gp2"), sized("volumeType: gp3"),
				sized("volumeType: sc1"), sized("volumeType: st1"),
			},
			bad: map[string]string{sized("volumeType: gp4"): ebs + ".volumeType"},
		},
		"instanceStorePolicy": {good: []string{`instanceStorePolicy: RAID0`}, bad: map[string]string{`instanceStorePolicy: RAID1`: "instanceStorePolicy"}},
		nics: {
			good: []string{`networkInterfaces: []`, nic()},
			bad: map[string]string{
				`networkInterfaces: [{networkCardIndex: 1, deviceIndex: 0, interfaceType: interface}]`: nics,
				nic(`{networkCardIndex: 0, deviceIndex: 0, interfaceType: efa-only}`):                  nics + "[1]",
			},
		},
		nics + "[].networkCardIndex": {
			good: []string{nic(`{networkCardIndex: 31, deviceIndex: 1, interfaceType: interface}`)},
			bad:  map[string]string{nic(`{networkCardIndex: -1, deviceIndex: 1, interfaceType: interface}`): nics + "[1].networkCardIndex"},
		},
		nics + "[].deviceIndex": {
			good: []string{nic(`{networkCardIndex: 0, deviceIndex: 1, interfaceType: interface}`)},
			bad:  map[string]string{nic(`{networkCardIndex: 0, deviceIndex: -1, interfaceType: interface}`): nics + "[1].deviceIndex"},
		},
		nics + "[].interfaceType": {
			good: []string{nic(`{networkCardIndex: 0, deviceIndex: 1, interfaceType: efa-only}`, `{networkCardIndex: 1, deviceIndex: 1, interfaceType: efa-only}`)},
			bad: map[string]string{
				nic(`{networkCardIndex: 1, deviceIndex: 1, interfaceType: efa}`):                                                                        nics + "[1].interfaceType",
				`networkInterfaces: [{networkCardIndex: 0, deviceIndex: 0, interfaceType: efa-only}]`:                                                   nics,
				nic(`{networkCardIndex: 0, deviceIndex: 1, interfaceType: efa-only}`, `{networkCardIndex: 0, deviceIndex: 2, interfaceType: efa-only}`): nics + "[2].interfaceType",
			},
		},
		"detailedMonitoring":               {good: []string{`detailedMonitoring: true`}, bad: map[string]string{`detailedMonitoring: 1m`: ""}},
		"metadataOptions":                  {good: []string{`metadataOptions: {}`, `metadataOptions: null`}, bad: map[string]string{`metadataOptions: required`: ""}},
		"metadataOptions.httpEndpoint":     {good: []string{`metadataOptions: {httpEndpoint: disabled}`}, bad: map[string]string{`metadataOptions: {httpEndpoint: "off"}`: "metadataOptions.httpEndpoint"}},
		"metadataOptions.httpProtocolIPv6": {good: []string{`metadataOptions: {httpProtocolIPv6: enabled}`}, bad: map[string]string{`metadataOptions: {httpProtocolIPv6: "on"}`: "metadataOptions.httpProtocolIPv6"}},
		"metadataOptions.httpPutResponseHopLimit": {
			good: []string{`metadataOptions: {httpPutResponseHopLimit: 1}`, `metadataOptions: {httpPutResponseHopLimit: 64}`},
			bad: map[string]string{
				`metadataOptions: {httpPutResponseHopLimit: 0}`: "metadataOptions.httpPutResponseHopLimit", `metadataOptions: {httpPutResponseHopLimit: 65}`: "metadataOptions.httpPutResponseHopLimit",
			},
		},
		"metadataOptions.httpTokens": {good: []string{`metadataOptions: {httpTokens: optional}`}, bad: map[string]string{`metadataOptions: {httpTokens: maybe}`: "metadataOptions.httpTokens"}},
		"connectionTracking":         {good: []string{`connectionTracking: {udpTimeout: 30, udpStreamTimeout: 60}`}, bad: map[string]string{`connectionTracking: {}`: "connectionTracking"}},
		"connectionTracking.tcpEstablishedTimeout": {
			good: []string{`connectionTracking: {tcpEstablishedTimeout: 60}`, `connectionTracking: {tcpEstablishedTimeout: 432000}`},
			bad: map[string]string{
				`connectionTracking: {tcpEstablishedTimeout: 59}`: "connectionTracking.tcpEstablishedTimeout", `connectionTracking: {tcpEstablishedTimeout: 432001}`: "connectionTracking.tcpEstablishedTimeout",
			},
		},
		"connectionTracking.udpStreamTimeout": {
			good: []string{`connectionTracking: {udpStreamTimeout: 60}`, `connectionTracking: {udpStreamTimeout: 180}`},
			bad: map[string]string{
				`connectionTracking: {udpStreamTimeout: 59}`: "connectionTracking.udpStreamTimeout", `connectionTracking: {udpStreamTimeout: 181}`: "connectionTracking.udpStreamTimeout",
			},
		},
		"connectionTracking.udpTimeout": {
			good: []string{`connectionTracking: {udpTimeout: 30}`, `connectionTracking: {udpTimeout: 60}`},
			bad:  map[string]string{`connectionTracking: {udpTimeout: 29}`: "connectionTracking.udpTimeout", `connectionTracking: {udpTimeout: 61}`: "connectionTracking.udpTimeout"},
		},
		"cpuOptions": {good: []string{`cpuOptions: {}`}, bad: map[string]string{`cpuOptions: nested`: ""}},
		"cpuOptions.nestedVirtualization": {
			good: []string{`cpuOptions: {nestedVirtualization: enabled}`, `cpuOptions: {nestedVirtualization: disabled}`},
			bad:  map[string]string{`cpuOptions: {nestedVirtualization: "yes"}`: "cpuOptions.nestedVirtualization"},
		},
	}
}

// identity are the fields that are handed on as they are.
func identity() map[string]tries {
	return map[string]tries{
		"userData":        {good: []string{`userData: "#!/bin/sh"`}, bad: map[string]string{`userData: {a: b}`: ""}},
		"role":            {good: []string{`role: path/to/nodes`}, bad: map[string]string{`role: null`: "role", `role: ""`: "role", `{role: a, instanceProfile: b}`: "role"}},
		"instanceProfile": {good: []string{`{role: null, instanceProfile: p}`}, bad: map[string]string{`{role: null, instanceProfile: ""}`: "instanceProfile"}},
		"tags": {
			good: []string{`tags: {team: a, karpenter.sh/discovery: x, empty: ""}`, `tags: {` + pairs(50) + `}`},
			bad: map[string]string{
				`tags: {kubernetes.io/cluster/x: owned}`: "tags[kubernetes.io/cluster/x]", `tags: {eks:eks-cluster-name: x}`: "tags[eks:eks-cluster-name]",
				`tags: {karpenter.sh/nodepool: x}`: "tags[karpenter.sh/nodepool]", `tags: {karpenter.sh/nodeclaim: x}`: "tags[karpenter.sh/nodeclaim]",
				`tags: {karpenter.k8s.aws/ec2nodeclass: x}`: "tags[karpenter.k8s.aws/ec2nodeclass]", `tags: {"": x}`: "tags[]", `tags: {` + pairs(51) + `}`: "tags",
			},
		},
		"context": {good: []string{`context: c`}, bad: map[string]string{`context: {a: b}`: ""}},
		"kubelet": {good: []string{`kubelet: {}`, `kubelet: {topologyManagerPolicy: single-numa-node, some: {new: field}}`}, bad: map[string]string{`kubelet: 110`: "kubelet"}},
	}
}

// TestEachFieldOfAClassTakesWhatItShould goes through all fields of the Go type.
func TestEachFieldOfAClassTakesWhatItShould(t *testing.T) {
	all := map[string]tries{}
	for _, some := range []map[string]tries{selectors(), hardware(), identity(), kubelets()} {
		maps.Copy(all, some)
	}
	fields := fieldsOf(reflect.TypeFor[awsv1.EC2NodeClassSpec](), "")
	for _, name := range fields {
		if try := all[name]; len(try.good) == 0 || len(try.bad) == 0 {
			t.Errorf("spec.%s has no good value or no bad one: write both into the table", name)
		}
	}
	crds := loadCRDs(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains(fields, name) && name != "kubelet.*" {
			t.Errorf("spec.%s is no field", name)
		}
		for _, patch := range all[name].good {
			t.Run(name+" "+patch, func(t *testing.T) { judge(t, crds, object(t, baseClass, patch), fine, "") })
		}
		for patch, at := range all[name].bad {
			want := both
			if all[name].later {
				want = later
			}
			if at != "" {
				at = "spec." + at
			}
			t.Run(name+" "+patch, func(t *testing.T) { judge(t, crds, object(t, baseClass, patch), want, at) })
		}
	}
}

// fieldsOf are the paths of all fields of a type, as users write them.
func fieldsOf(typ reflect.Type, path string) (out []string) {
	switch {
	case typ == reflect.TypeFor[runtime.RawExtension](): // the kubelet's is the only one
		return fieldsOf(reflect.TypeFor[awsv1.Kubelet](), path)
	case typ.Kind() == reflect.Pointer:
		return fieldsOf(typ.Elem(), path)
	case typ.Kind() == reflect.Slice:
		return fieldsOf(typ.Elem(), path+"[]")
	case typ.Kind() != reflect.Struct:
		return nil
	}
	for f := range typ.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		at := strings.TrimPrefix(path+"."+name, ".")
		out = append(append(out, at), fieldsOf(f.Type, at)...)
	}
	return out
}

// TestTheLargestClassIsWithinTheBudgetOfTheAPIServersRules fills every list and map with as much as the schema takes.
func TestTheLargestClassIsWithinTheBudgetOfTheAPIServersRules(t *testing.T) {
	long := strings.Repeat("x", 200)
	tags := func(n int) map[string]any {
		out := map[string]any{}
		for i := range n {
			out[fmt.Sprint(long, i)] = long
		}
		return out
	}
	list := func(n int, each func(i int) map[string]any) (out []any) {
		for i := range n {
			out = append(out, each(i))
		}
		return out
	}
	term := func(int) map[string]any { return map[string]any{"tags": tags(20)} }
	obj := object(t, baseClass, `amiFamily: Custom`)
	merge(obj["spec"].(map[string]any), map[string]any{
		"subnetSelectorTerms": list(30, term), "securityGroupSelectorTerms": list(30, term), "amiSelectorTerms": list(30, term),
		"capacityReservationSelectorTerms": list(30, term), "tags": tags(50),
		"blockDeviceMappings": list(50, func(i int) map[string]any {
			return map[string]any{"deviceName": long, "rootVolume": i == 49, "ebs": map[string]any{"volumeSize": "59000Gi", "snapshotID": long}}
		}),
		"networkInterfaces": list(150, func(i int) map[string]any {
			if i == 149 {
				return map[string]any{"networkCardIndex": int64(0), "deviceIndex": int64(0), "interfaceType": "interface"}
			}
			return map[string]any{"networkCardIndex": int64(i), "deviceIndex": int64(1), "interfaceType": "efa-only"}
		}),
	})
	judge(t, loadCRDs(t), obj, fine, "")
}
