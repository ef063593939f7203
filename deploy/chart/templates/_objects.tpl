{{/* The objects of one of deploy/'s files, with the values put in: (dict "root" $ "file" "files/planner.yaml"). */}}
{{- define "kerf.file" -}}
{{- $text := .root.Files.Get .file | replace "kerf-system" .root.Release.Namespace -}}
{{- range $part := splitList "\n---\n" (printf "\n%s" $text) -}}
{{- $o := fromYaml $part -}}
{{- if and $o.kind (ne $o.kind "Namespace") (or $.root.Values.networkPolicy.enabled (ne $o.kind "NetworkPolicy")) }}
---
{{ include "kerf.object" (dict "root" $.root "o" $o) }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "kerf.object" -}}
{{- $v := .root.Values -}}
{{- $o := .o -}}
{{- $_ := set $o.metadata "labels" (merge (dict "app.kubernetes.io/name" "kerf") ($o.metadata.labels | default dict)) -}}
{{- if not (hasPrefix "Cluster" $o.kind) -}}
{{- $_ := set $o.metadata "namespace" .root.Release.Namespace -}}
{{- end -}}
{{- if eq $o.kind "Deployment" -}}
{{- include "kerf.workload" . -}}
{{- else if eq $o.kind "StatefulSet" -}}
{{- include "kerf.etcd" . -}}
{{- else if and (eq $o.kind "PodDisruptionBudget") (ne $o.metadata.name "kerf-etcd") -}}
{{- $_ := set $o.spec "maxUnavailable" $v.podDisruptionBudget.maxUnavailable -}}
{{- else if has $o.kind (list "PodMonitor" "PrometheusRule") -}}
{{- with $v.serviceMonitor.additionalLabels -}}{{- $_ := set $o.metadata "labels" (merge $o.metadata.labels .) -}}{{- end -}}
{{- range $o.spec.podMetricsEndpoints -}}{{- $_ := mergeOverwrite . (deepCopy $v.serviceMonitor.endpointConfig) -}}{{- end -}}
{{- else if and (eq $o.kind "ServiceAccount") (eq $o.metadata.name "kerf-actuator") $v.serviceAccount.annotations -}}
{{- $_ := set $o.metadata "annotations" $v.serviceAccount.annotations -}}
{{- end -}}
{{ toYaml $o }}
{{- end -}}

{{/* What all pods have in common. */}}
{{- define "kerf.pod" -}}
{{- $v := .root.Values -}}
{{- $pod := .pod -}}
{{- $_ := set $pod "priorityClassName" $v.priorityClassName -}}
{{- range $key := list "affinity" "nodeSelector" "tolerations" "imagePullSecrets" -}}
{{- with index $v $key -}}{{- $_ := set $pod $key . -}}{{- end -}}
{{- end -}}
{{- end -}}

{{- define "kerf.workload" -}}
{{- $v := .root.Values -}}
{{- $spec := .o.spec -}}
{{- $pod := $spec.template.spec -}}
{{- $c := index $pod.containers 0 -}}
{{- $own := index $v $c.name -}}
{{- include "kerf.pod" (dict "root" .root "pod" $pod) -}}
{{- $_ := set $spec "replicas" ($own.replicas | default $v.replicas) -}}
{{- $_ := set $pod "terminationGracePeriodSeconds" $v.terminationGracePeriodSeconds -}}
{{- with $v.topologySpreadConstraints -}}{{- $_ := set $pod "topologySpreadConstraints" . -}}{{- end -}}
{{- $image := printf "kerf-%s:%s" $c.name ($v.image.tag | default .root.Chart.AppVersion) -}}
{{- $_ := set $c "image" (ternary $image (printf "%s/%s" $v.image.registry $image) (empty $v.image.registry)) -}}
{{- $_ := set $c "imagePullPolicy" $v.image.pullPolicy -}}
{{- with $own.resources | default $v.controller.resources -}}{{- $_ := set $c "resources" . -}}{{- end -}}
{{- /* Where the container names AWS_REGION, EKS does not give it the cluster's. */ -}}
{{- if not $v.settings.region -}}
{{- $env := list -}}
{{- range $c.env -}}{{- if ne .name "AWS_REGION" -}}{{- $env = append $env . -}}{{- end -}}{{- end -}}
{{- $_ := set $c "env" $env -}}
{{- end -}}
{{- if $v.otlp.endpoint -}}{{- $_ := set $c "env" (concat $c.env (include "kerf.otlp" . | fromYamlArray)) -}}{{- end -}}
{{- $_ := set $c "env" (concat $c.env ($v.controller.env | default list) ($own.env | default list)) -}}
{{- $sum := printf "%s%s" (include "kerf.config" (dict "root" .root "service" $c.name)) (include "kerf.settings" .root) | sha256sum -}}
{{- $annotations := merge (dict "kerf.dev/config" $sum) ($v.podAnnotations | default dict) ($spec.template.metadata.annotations | default dict) -}}
{{- $_ := set $spec.template.metadata "annotations" $annotations -}}
{{- with $v.podLabels -}}{{- $_ := set $spec.template.metadata "labels" (merge $spec.template.metadata.labels .) -}}{{- end -}}
{{- end -}}

{{- define "kerf.etcd" -}}
{{- $v := .root.Values.etcd -}}
{{- $pod := .o.spec.template.spec -}}
{{- $c := index $pod.containers 0 -}}
{{- include "kerf.pod" (dict "root" .root "pod" $pod) -}}
{{- $_ := set $c "image" $v.image -}}
{{- with $v.resources -}}{{- $_ := set $c "resources" . -}}{{- end -}}
{{- $claim := (index .o.spec.volumeClaimTemplates 0).spec -}}
{{- $_ := set $claim.resources.requests "storage" $v.storage.size -}}
{{- with $v.storage.className -}}{{- $_ := set $claim "storageClassName" . -}}{{- end -}}
{{- end -}}

{{/* A service's config file: deploy/base's, what settings say, and the service's own config over it. */}}
{{- define "kerf.config" -}}
{{- $v := .root.Values -}}
{{- $s := $v.settings -}}
{{- $c := .root.Files.Get (printf "files/config/%s.yaml" .service) | fromYaml -}}
{{- with $v.logLevel -}}{{- $_ := set $c "log" (dict "level" .) -}}{{- end -}}
{{- if eq .service "actuator" -}}
{{- with $v.etcd.endpoints -}}{{- $_ := set $c.etcd "endpoints" . -}}{{- end -}}
{{- $api := dict -}}
{{- with $s.clusterEndpoint -}}{{- $_ := set $api "endpoint" . -}}{{- end -}}
{{- with $s.clusterCABundle -}}{{- $_ := set $api "ca" . -}}{{- end -}}
{{- $aws := dict -}}
{{- with $api -}}{{- $_ := set $aws "api" . -}}{{- end -}}
{{- if $s.enableZonalShift -}}{{- $_ := set $aws "zonal_shift" "on" -}}{{- end -}}
{{- with $aws -}}{{- $_ := set $c "aws" . -}}{{- end -}}
{{- $nodes := dict -}}
{{- with $s.vmMemoryOverheadPercent -}}{{- $_ := set $nodes "vm_memory_overhead_percent" . -}}{{- end -}}
{{- with $s.reservedENIs -}}{{- $_ := set $nodes "reserved_enis" . -}}{{- end -}}
{{- with $nodes -}}{{- $_ := set $c "nodes" . -}}{{- end -}}
{{- with $v.policy.repair -}}{{- $_ := set $c "repair" . -}}{{- end -}}
{{- else if eq .service "watcher" -}}
{{- $batch := dict -}}
{{- with $s.batchIdleDuration -}}{{- $_ := set $batch "idle" . -}}{{- end -}}
{{- with $s.batchMaxDuration -}}{{- $_ := set $batch "max" . -}}{{- end -}}
{{- with $batch -}}{{- $_ := set $c "batch" . -}}{{- end -}}
{{- $policy := deepCopy $v.policy -}}
{{- with $s.preferencePolicy -}}{{- $_ := set $policy "preferences" (get (dict "Respect" "enforced" "Ignore" "ignored") . | default .) -}}{{- end -}}
{{- with $s.minValuesPolicy -}}{{- $_ := set $policy "min_values" (get (dict "Strict" "strict" "BestEffort" "best-effort") . | default .) -}}{{- end -}}
{{- with $policy -}}{{- $_ := set $c "policy" . -}}{{- end -}}
{{- end -}}
{{- $own := index $v .service -}}
{{ mergeOverwrite $c (deepCopy ($own.config | default dict)) | toYaml }}
{{- end -}}

{{- define "kerf.settings" -}}
KERF_CLUSTER: {{ required "settings.clusterName: the cluster's name, as its instances are tagged with it" .Values.settings.clusterName | quote }}
KERF_QUEUE: {{ .Values.settings.interruptionQueue | quote }}
{{- with .Values.settings.region }}
AWS_REGION: {{ . | quote }}
{{- end }}
{{- with .Values.otlp.endpoint }}
OTEL_EXPORTER_OTLP_ENDPOINT: {{ . | quote }}
{{- end }}
{{- if .Values.otlp.logs }}
OTEL_LOGS_EXPORTER: otlp
{{- end }}
{{- end -}}

{{- define "kerf.otlp" -}}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  valueFrom:
    configMapKeyRef:
      name: kerf-settings
      key: OTEL_EXPORTER_OTLP_ENDPOINT
- name: OTEL_LOGS_EXPORTER
  valueFrom:
    configMapKeyRef:
      name: kerf-settings
      key: OTEL_LOGS_EXPORTER
      optional: true
{{- end -}}
