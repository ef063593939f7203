// Package deploy holds the manifests of deploy/ against real parts: each overlay is applied to an API server, scheduled,
// and judged by its pod security admission; each service checks the config that an overlay mounts for it; and the API
// server says what each service account may write.
//
// Start reading at TestEachOverlayIsScheduled.
package deploy
