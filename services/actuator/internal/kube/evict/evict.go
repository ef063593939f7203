// Package evict takes pods off their nodes, by the Eviction API or by force, and says what the API server's answers
// mean. Start reading at Evict.
package evict

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/apiserver"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

// reason is what the condition DisruptionTarget says of pods that are deleted by force; those that others set name
// their setter, too.
const reason = "DeletionByKerf"

// markTime bounds how long a deletion waits for its pod to be marked: what it takes is taken from the pod's grace.
const markTime = 2 * time.Second

// Evict removes a pod by the Eviction API, or by deletion when it is forced. The uid makes sure that it is this pod and
// not its successor of the same name.
func Evict(ctx context.Context, pods apiserver.PodClient, e cluster.Eviction, now time.Time) error {
	uid := types.UID(e.UID)
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}

	var err error
	if e.Force {
		if !e.Again {
			mark(ctx, pods, e, now)
		}
		grace := int64(e.Grace.Seconds())
		options.GracePeriodSeconds = &grace
		err = pods.Delete(ctx, e.Name, options)
	} else {
		err = pods.EvictV1(ctx, &policyv1.Eviction{
			ObjectMeta: metav1.ObjectMeta{Name: e.Name, Namespace: e.Namespace}, DeleteOptions: &options,
		})
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("evict pod %s/%s: %w", e.Namespace, e.Name, answer(err))
}

// mark says on a pod that it did not fail by itself, as the Eviction API does of those that it takes: a Job whose
// podFailurePolicy asks for that counts no failure. A pod that can't be marked is deleted all the same.
func mark(ctx context.Context, pods apiserver.PodClient, e cluster.Eviction, now time.Time) {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": e.UID},
		"status": map[string]any{"conditions": []corev1.PodCondition{{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.NewTime(now),
			Message: fmt.Sprintf("Kerf: node %s goes (%s), and there is no time to wait for disruption budgets and annotations", e.Node, e.Why),
		}}},
	})
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, markTime)
	defer cancel()
	_ = pods.Patch(ctx, e.Name, apiserver.PodPatch{
		Type: types.StrategicMergePatchType, Data: patch, FieldManager: reader.ActuatorManager, Subresource: "status",
	})
}

// severalBudgets is in the API server's answer for a pod that has more than one budget: the Eviction API knows no
// answer for these but a broken server's.
const severalBudgets = "more than one PodDisruptionBudget"

// answer classifies the API server's answers to an eviction. Only what it says of a budget is one's: a webhook that
// can't be reached, or one that asks to wait, and a server that has too much to do answer alike but for that.
func answer(err error) error {
	status, ok := err.(apierrors.APIStatus)
	if !ok {
		return err
	}
	s := status.Status()
	if cause, ok := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause); ok {
		return &cluster.Blocked{Says: cmp.Or(cause.Message, s.Message)}
	}
	switch {
	case s.Code == http.StatusNotFound, s.Code == http.StatusConflict:
		return cluster.ErrNotFound
	case s.Code == http.StatusInternalServerError && strings.Contains(s.Message, severalBudgets):
		return &cluster.Blocked{Says: s.Message}
	default:
		return err
	}
}
