package play

import (
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-dev/kerf/test/versus/load"
	"github.com/kerf-dev/kerf/test/versus/report"
)

// day plays the day of the seed, step by step, whatever has become of the step before.
func day(ctx context.Context, s *Stage) error {
	d := load.TheDay(s.Seed)
	ctx, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	failed := make(chan error, 1)
	run := func(do func(context.Context) error) {
		work.Go(func() {
			if err := do(ctx); err != nil && ctx.Err() == nil {
				select {
				case failed <- err:
				default: // another has failed before
				}
			}
		})
	}
	defer work.Wait()
	defer stop()
	run(s.provision)
	if err := s.open(ctx, d); err != nil {
		return err
	}
	began := time.Now()
	s.mark(report.Day)
	for _, step := range d.Steps {
		select {
		case err := <-failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Until(began.Add(seconds(step.At)))):
		}
		s.step(step, run)
	}
	return sleep(ctx, time.Until(began.Add(load.DayLength*time.Second)))
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// open makes what there is from the start.
func (s *Stage) open(ctx context.Context, d *load.Day) error {
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: load.StorageClass}, Provisioner: load.Provisioner, VolumeBindingMode: &wait,
	}
	if _, err := s.Side.Client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, b := range d.Budgets {
		if _, err := s.Side.Client.PolicyV1().PodDisruptionBudgets(b.Namespace).Create(ctx, b, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for _, set := range d.Sets {
		if _, err := s.Side.Client.AppsV1().StatefulSets(set.Namespace).Create(ctx, set, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return s.create(ctx, d.Deployments...)
}

// step starts what changes; it does not wait for it.
func (s *Stage) step(step load.Step, run func(func(context.Context) error)) {
	if len(step.Restart) > 0 {
		s.mark(report.Rollout)
	}
	run(func(ctx context.Context) error {
		for name, replicas := range step.Replicas {
			if err := s.resize(ctx, name, replicas); err != nil {
				return err
			}
		}
		return s.restart(ctx, step.Restart)
	})
	for _, b := range step.Batch {
		run(func(ctx context.Context) error { return s.batch(ctx, b) })
	}
}

func (s *Stage) patch(ctx context.Context, deployment, patch string) error {
	_, err := s.Side.Client.AppsV1().Deployments(metav1.NamespaceDefault).Patch(ctx, deployment, types.MergePatchType,
		[]byte(patch), metav1.PatchOptions{})
	return err
}

func (s *Stage) resize(ctx context.Context, deployment string, replicas int32) error {
	return s.patch(ctx, deployment, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
}

// restart changes the template of Deployments, as kubectl rollout restart does.
func (s *Stage) restart(ctx context.Context, deployments []string) error {
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"versus/restarted":%q}}}}}`, time.Now().Format(time.RFC3339Nano))
	for _, name := range deployments {
		if err := s.patch(ctx, name, patch); err != nil {
			return err
		}
	}
	return nil
}

// batch makes a pod, lets it run for its time once it has a node, ends it as its kubelet would, and deletes it.
func (s *Stage) batch(ctx context.Context, b load.Batch) error {
	pods := s.Side.Client.CoreV1().Pods(b.Pod.Namespace)
	if _, err := pods.Create(ctx, b.Pod, metav1.CreateOptions{}); err != nil {
		return err
	}
	for !s.Watch.Bound(b.Pod.Namespace + "/" + b.Pod.Name) {
		if err := sleep(ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
	if err := sleep(ctx, b.Runs); err != nil {
		return err
	}
	_, err := pods.Patch(ctx, b.Pod.Name, types.StrategicMergePatchType, []byte(`{"status":{"phase":"Succeeded"}}`),
		metav1.PatchOptions{}, "status")
	if err == nil {
		err = pods.Delete(ctx, b.Pod.Name, metav1.DeleteOptions{})
	}
	if apierrors.IsNotFound(err) {
		return nil // it was evicted, though it asked not to be, or lost with its node
	}
	return err
}

// selectedNode is the annotation by which the scheduler asks for a volume near a node.
const selectedNode = "volume.kubernetes.io/selected-node"

// provision makes volumes as a storage driver of zones does, until the context ends.
func (s *Stage) provision(ctx context.Context) error {
	for {
		list, err := s.Side.Client.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			if c := &list.Items[i]; c.Status.Phase == corev1.ClaimPending && c.Annotations[selectedNode] != "" {
				if err := s.volume(ctx, c); err != nil {
					return err
				}
			}
		}
		if err := sleep(ctx, time.Second); err != nil {
			return nil //nolint:nilerr // the day is over
		}
	}
}

// volume makes a claim's volume, in the zone of the node that was selected.
func (s *Stage) volume(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	node, err := s.Side.Client.CoreV1().Nodes().Get(ctx, claim.Annotations[selectedNode], metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil // gone again; the scheduler selects another
	}
	if err != nil {
		return err
	}
	name := "pvc-" + string(claim.UID)
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": load.Provisioner}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: claim.Spec.Resources.Requests, AccessModes: claim.Spec.AccessModes,
			StorageClassName: *claim.Spec.StorageClassName, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: load.Provisioner, VolumeHandle: name},
			},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{node.Labels[corev1.LabelTopologyZone]},
				}},
			}}}},
		},
	}
	if _, err = s.Side.Client.CoreV1().PersistentVolumes().Create(ctx, pv, metav1.CreateOptions{}); apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// dayBound is what the day costs at least: at each moment, what runs, on nodes that hold it best.
func dayBound(ctx context.Context, seed uint64) (report.Values, error) {
	d := load.TheDay(seed)
	spent := 0.0
	for at := 0.0; at < load.DayLength; at += load.DayStep {
		b, err := findBound(ctx, d.Standing(at))
		if err != nil {
			return nil, fmt.Errorf("at %.0f s: %w", at, err)
		}
		spent += b.Lower * load.DayStep / 3600
	}
	return report.Values{"spent": spent}, nil
}

// rollout lets the ramp become steady, and then replaces all its pods.
func rollout(ctx context.Context, s *Stage) error {
	deployments := load.Surging(load.Ramp(s.Seed))
	if err := s.create(ctx, deployments...); err != nil {
		return err
	}
	if err := s.steady(ctx, load.Pods(deployments)); err != nil {
		return err
	}
	s.mark(report.Rollout)
	began := time.Now()
	var all []string
	for _, d := range deployments {
		all = append(all, d.Name)
	}
	if err := s.restart(ctx, all); err != nil {
		return err
	}
	for !s.rolledOut(ctx) && time.Since(began) < report.RolloutFor*time.Second {
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	s.mark(report.RolledOut)
	return sleep(ctx, time.Until(began.Add(report.RolloutFor*time.Second)))
}

// rolledOut says whether all pods are of their Deployment's present template, and ready.
func (s *Stage) rolledOut(ctx context.Context) bool {
	list, err := s.Side.Client.AppsV1().Deployments(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false
	}
	for i := range list.Items {
		if !complete(&list.Items[i]) {
			return false
		}
	}
	return true
}

func complete(d *appsv1.Deployment) bool {
	n, st := *d.Spec.Replicas, d.Status
	return st.ObservedGeneration >= d.Generation && st.UpdatedReplicas == n && st.Replicas == n && st.AvailableReplicas == n
}

// storm lets the ramp become steady on spot capacity, and then announces to a third of the nodes at once that they go.
func storm(ctx context.Context, s *Stage) error {
	deployments := load.Ramp(s.Seed)
	if err := s.create(ctx, deployments...); err != nil {
		return err
	}
	if err := s.steady(ctx, load.Pods(deployments)); err != nil {
		return err
	}
	state, err := s.Side.Sim.State(ctx)
	if err != nil {
		return err
	}
	s.mark(report.Storm)
	for i, instance := range state.Instances { // sorted by their ids, which are random
		if i%3 == 0 && instance.Live() && instance.CapacityType == "spot" {
			if err := s.Side.Sim.Interrupt(ctx, instance.ID); err != nil {
				return err
			}
		}
	}
	return sleep(ctx, report.StormFor*time.Second)
}
