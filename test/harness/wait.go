package harness

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// pollEvery is how often a Check is asked: seldom enough for two cores, often enough that no test is slow by it.
const pollEvery = 50 * time.Millisecond

// Check looks at the world once. The state is a short text for people about what it saw, used when the wait fails; done
// ends the wait.
type Check func(ctx context.Context) (state string, done bool)

// Until asks the check again and again until it is done, the timeout is over or the context ends. The error says what
// was waited for, how long, and what was seen last.
func Until(ctx context.Context, what string, timeout time.Duration, check Check) error {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	last := "nothing"
	for {
		state, done := check(ctx)
		if done {
			return nil
		}
		if ctx.Err() == nil { // else the state is only that the context has ended
			last = state
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited %s for %s; last seen: %s", time.Since(began).Round(time.Millisecond), what, last)
		case <-tick.C:
		}
	}
}

// Eventually is Until for tests: the test ends where the wait fails.
func Eventually(tb testing.TB, what string, timeout time.Duration, check Check) {
	tb.Helper()
	if err := Until(tb.Context(), what, timeout, check); err != nil {
		tb.Fatal(err)
	}
}

// Answers is done when an address answers 200.
func Answers(url string) Check {
	return func(ctx context.Context) (string, bool) {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err.Error(), false
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err.Error(), false
		}
		_ = resp.Body.Close()
		return fmt.Sprint(url, " answers ", resp.Status), resp.StatusCode == http.StatusOK
	}
}

// Pods is done when exactly n pods match the label selector in the namespace, all in the phase and none on its way out.
// Its state counts the pods by phase.
func Pods(client kubernetes.Interface, namespace, selector string, n int, phase corev1.PodPhase) Check {
	return func(ctx context.Context) (string, bool) {
		list, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return err.Error(), false
		}
		phases := map[string]int{}
		for i := range list.Items {
			phases[podState(&list.Items[i])]++
		}
		return counts(phases), len(list.Items) == n && phases[string(phase)] == n
	}
}

func podState(pod *corev1.Pod) string {
	if pod.DeletionTimestamp != nil {
		return "Terminating"
	}
	return string(pod.Status.Phase)
}

func counts(m map[string]int) string {
	if len(m) == 0 {
		return "no pods"
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%d %s", m[k], k))
	}
	return strings.Join(parts, ", ")
}

// waitForServiceAccount waits for the account without which no pod can be made in the namespace.
func (c *Cluster) waitForServiceAccount(ctx context.Context, namespace string) error {
	client, err := c.Client(Admin)
	if err != nil {
		return err
	}
	what := "service account default in namespace " + namespace
	return Until(ctx, what, startTimeout, func(ctx context.Context) (string, bool) {
		_, err := client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		return fmt.Sprint(err), err == nil
	})
}

// Namespace makes a namespace of the test's own, ready for pods, and deletes it with its pods when the test ends. Its
// name is the prefix and something unique, and is returned.
func (c *Cluster) Namespace(tb testing.TB, prefix string) string {
	tb.Helper()
	client, err := c.Client(Admin)
	if err != nil {
		tb.Fatal(err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}}
	ns, err = client.CoreV1().Namespaces().Create(tb.Context(), ns, metav1.CreateOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	name := ns.Name
	tb.Cleanup(func() {
		ctx := context.WithoutCancel(tb.Context()) // a test's own context has ended by now
		if err := client.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			tb.Error(err)
		}
	})
	if err := c.waitForServiceAccount(tb.Context(), name); err != nil {
		tb.Fatal(err)
	}
	return name
}
