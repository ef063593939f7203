package kube

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Node is a node with what its drivers publish for it. It is made once, and may be in many clusters.
type Node struct {
	*corev1.Node
	// devices and attach are nil where there is nothing to say.
	devices *resourceapi.ResourceSlice
	attach  *storagev1.CSINode
}

// Less is the node with less to give, for pods that are not there.
func (n *Node) Less(taken corev1.ResourceList) *Node {
	out := *n
	out.Node = n.DeepCopy()
	for name, q := range taken {
		left := out.Status.Allocatable[name]
		left.Sub(q)
		out.Status.Allocatable[name] = left
	}
	return &out
}

// Pod is a pod with what the scheduler works out about it, which is much work to do again in each cluster.
type Pod struct {
	*corev1.Pod
	// info is nil before it is asked for.
	info *framework.PodInfo
}

// known is what the scheduler works out about a pod.
func (p *Pod) known() (*framework.PodInfo, error) {
	if p.info == nil {
		info, err := framework.NewPodInfo(p.Pod)
		if err != nil {
			return nil, fmt.Errorf("pod %s: %w", p.Name, err)
		}
		info.CalculateResource()
		p.info = info
	}
	return p.info, nil
}

// on is the pod once it is bound to a node, which changes nothing of what is known about it.
func (p *Pod) on(node string) (*Pod, error) {
	known, err := p.known()
	if err != nil {
		return nil, err
	}
	pod, info := *p.Pod, *known
	pod.Spec.NodeName, info.Pod = node, &pod
	return &Pod{Pod: &pod, info: &info}, nil
}

// cluster is what plugins see of nodes and pods. The scheduler's own snapshot is taken anew from its cache for each
// change of a node; this one changes in place.
type cluster struct {
	// Snapshot is empty: there are no pod groups, which is all that it is asked for.
	*internalcache.Snapshot
	// infos are sorted by the nodes' names.
	infos []fwk.NodeInfo
	// slices and attach are what plugins find the nodes' devices and limits in.
	slices, attach cache.Indexer
}

// clear takes all nodes away.
func (c *cluster) clear() error {
	c.infos = c.infos[:0]
	for _, index := range []cache.Indexer{c.slices, c.attach} {
		if len(index.ListKeys()) == 0 {
			continue
		}
		if err := index.Replace(nil, ""); err != nil {
			return fmt.Errorf("empty an index: %w", err)
		}
	}
	return nil
}

// at is where a node is among all, or would be.
func (c *cluster) at(name string) (int, bool) {
	return slices.BinarySearchFunc(c.infos, name, func(n fwk.NodeInfo, name string) int { return strings.Compare(n.Node().Name, name) })
}

// info is what is there on a node.
func (c *cluster) info(name string) (*framework.NodeInfo, error) {
	i, there := c.at(name)
	if !there {
		return nil, fmt.Errorf("%s is no node", name)
	}
	return c.infos[i].(*framework.NodeInfo), nil
}

// add puts a node in, without pods.
func (c *cluster) add(n *Node) error {
	i, there := c.at(n.Name)
	if there {
		return fmt.Errorf("there are two nodes %s", n.Name)
	}
	info := framework.NewNodeInfo()
	info.SetNode(n.Node)
	c.infos = slices.Insert(c.infos, i, fwk.NodeInfo(info))
	if n.devices != nil {
		if err := c.slices.Add(n.devices); err != nil {
			return fmt.Errorf("devices of node %s: %w", n.Name, err)
		}
	}
	if n.attach != nil {
		if err := c.attach.Add(n.attach); err != nil {
			return fmt.Errorf("limits of node %s: %w", n.Name, err)
		}
	}
	return nil
}

// remove takes a node away with its pods.
func (c *cluster) remove(n *Node) error {
	i, there := c.at(n.Name)
	if !there {
		return fmt.Errorf("%s is no node", n.Name)
	}
	c.infos = slices.Delete(c.infos, i, i+1)
	if n.devices != nil {
		if err := c.slices.Delete(n.devices); err != nil {
			return fmt.Errorf("devices of node %s: %w", n.Name, err)
		}
	}
	if n.attach != nil {
		if err := c.attach.Delete(n.attach); err != nil {
			return fmt.Errorf("limits of node %s: %w", n.Name, err)
		}
	}
	return nil
}

// run puts pods onto the nodes that they name.
func (c *cluster) run(pods ...*Pod) error {
	for _, p := range pods {
		known, err := p.known()
		if err != nil {
			return err
		}
		info, err := c.info(p.Spec.NodeName)
		if err != nil {
			return fmt.Errorf("pod %s: %w", p.Name, err)
		}
		info.AddPodInfo(known)
	}
	return nil
}

// NodeInfos lists the nodes.
func (c *cluster) NodeInfos() fwk.NodeInfoLister { return c }

// StorageInfos says which volumes are in use.
func (c *cluster) StorageInfos() fwk.StorageInfoLister { return c }

// List is all nodes.
func (c *cluster) List() ([]fwk.NodeInfo, error) { return c.infos, nil }

// Get is one node.
func (c *cluster) Get(name string) (fwk.NodeInfo, error) { return c.info(name) }

// HavePodsWithAffinityList is the nodes with such pods, as are the two after it.
func (c *cluster) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) {
	return c.with(fwk.NodeInfo.GetPodsWithAffinity), nil
}

// HavePodsWithRequiredAntiAffinityList is for rules that must hold.
func (c *cluster) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return c.with(fwk.NodeInfo.GetPodsWithRequiredAntiAffinity), nil
}

// HavePodsWithRequiredNonHostScopedAntiAffinityList is for those of them that reach beyond the node.
func (c *cluster) HavePodsWithRequiredNonHostScopedAntiAffinityList() ([]fwk.NodeInfo, error) {
	return c.with(fwk.NodeInfo.GetPodsWithRequiredNonHostScopedAntiAffinity), nil
}

func (c *cluster) with(pods func(fwk.NodeInfo) []fwk.PodInfo) []fwk.NodeInfo {
	var out []fwk.NodeInfo
	for _, n := range c.infos {
		if len(pods(n)) > 0 {
			out = append(out, n)
		}
	}
	return out
}

// IsPVCUsedByPods says whether a pod that runs has a volume's claim.
func (c *cluster) IsPVCUsedByPods(key string) bool {
	return slices.ContainsFunc(c.infos, func(n fwk.NodeInfo) bool { return n.GetPVCRefCounts()[key] > 0 })
}
