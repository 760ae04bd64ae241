{{- define "ledger-indexer.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "ledger-indexer.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "ledger-indexer.labels" -}}
{{ include "ledger-indexer.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end -}}

{{- define "ledger-indexer.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "ledger-indexer.secretName" -}}
{{- .Values.secret.existing | default (include "ledger-indexer.fullname" .) -}}
{{- end -}}

{{- define "ledger-indexer.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "ledger-indexer.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{/* The value of an environment variable: integers without an exponent, because YAML reads them as floats. */}}
{{- define "ledger-indexer.text" -}}
{{- if kindIs "float64" . -}}{{ int64 . }}{{- else -}}{{ . }}{{- end -}}
{{- end -}}

{{/* Options of the program. The templates that include this add the options that the chart sets. */}}
{{- define "ledger-indexer.env" -}}
{{- range $variable, $value := omit .Values.config "INDEXER_HTTP_ALLOWED_HOSTS" }}
- name: {{ $variable }}
  value: {{ include "ledger-indexer.text" $value | quote }}
{{- end }}
{{- range $variable, $key := .Values.secret.files }}
{{- if not (and (eq $variable "DATABASE_URL_FILE") $.databaseUrlKey) }}
- name: {{ $variable }}
  value: /run/secrets/ledger-indexer/{{ $key }}
{{- end }}
{{- end }}
{{- if .databaseUrlKey }}
- name: DATABASE_URL_FILE
  value: /run/secrets/ledger-indexer/{{ .databaseUrlKey }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "ledger-indexer.volumeMounts" -}}
- name: secrets
  mountPath: /run/secrets/ledger-indexer
  readOnly: true
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Parts of a pod shared by the indexer and the migration job. */}}
{{- define "ledger-indexer.pod" -}}
serviceAccountName: {{ include "ledger-indexer.serviceAccountName" . }}
automountServiceAccountToken: false
# Variables such as LEDGER_INDEXER_PORT=tcp://… are not needed.
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
volumes:
  - name: secrets
    secret:
      secretName: {{ include "ledger-indexer.secretName" . }}
      defaultMode: 0440
  {{- with .Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Contradictions that a schema cannot detect. */}}
{{- define "ledger-indexer.refusals" -}}
{{- if not .Values.config.LEDGER_URL -}}
{{- fail "config.LEDGER_URL is empty: name the participant, e.g. https://participant.example:7575" -}}
{{- end -}}
{{- if and .Values.secret.existing .Values.secret.data -}}
{{- fail "secret.existing and secret.data exclude each other: set one of them: an existing Secret, or the contents of a new one" -}}
{{- end -}}
{{- if and (not .Values.secret.existing) (not .Values.secret.data) -}}
{{- fail "there is no Secret: set secret.existing to yours or, for a trial, put its contents into secret.data" -}}
{{- end -}}
{{- if not .Values.secret.existing -}}
{{- range $variable, $key := .Values.secret.files -}}
{{- if not (hasKey $.Values.secret.data $key) -}}
{{- fail (printf "secret.data has no key %s, which secret.files names for %s" $key $variable) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $variable, $key := .Values.secret.files -}}
{{- if hasKey $.Values.config $variable -}}
{{- fail (printf "%s is in config and in secret.files: set it in one of them" $variable) -}}
{{- end -}}
{{- end -}}
{{- if and (eq .Values.migrations.mode "job") (not .Values.secret.existing) -}}
{{- fail "migrations.mode job runs before the release has objects: it needs an existing Secret, secret.existing" -}}
{{- end -}}
{{- if and (eq .Values.migrations.mode "job") .Values.serviceAccount.create -}}
{{- fail "migrations.mode job runs before the release has objects: set serviceAccount.create to false, and name an existing service account" -}}
{{- end -}}
{{- end -}}

{{/* Accepted host names of requests: the names of the service in all spellings. */}}
{{- define "ledger-indexer.httpAllowedHosts" -}}
{{- $name := include "ledger-indexer.fullname" . -}}
{{- $inNamespace := printf "%s.%s" $name .Release.Namespace -}}
{{- $names := list $name $inNamespace (printf "%s.svc" $inNamespace) (printf "%s.svc.cluster.local" $inNamespace) -}}
{{- with .Values.config.INDEXER_HTTP_ALLOWED_HOSTS }}{{ $names = append $names . }}{{ end -}}
{{- join "," $names -}}
{{- end -}}
