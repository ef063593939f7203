// Package deploy holds the manifests of deploy/ against real parts. Each overlay is applied to an API server,
// scheduled, and judged by its pod security admission; each service checks the config that an overlay mounts for it;
// and the API server says what each service account may write. Then the pods of the overlays run as processes: the
// demo's story is played on them, each caller calls each method, certificates are renewed meanwhile, and
// docs/install.md is followed command by command.
//
// Start reading at TestEachOverlayIsScheduled, then TestTheOverlayKindRuns; kubelet is what makes processes of pods.
package deploy
