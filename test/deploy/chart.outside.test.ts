/** Renders the Helm chart with Helm and checks the result against the schemas of Kubernetes. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { helm, helmInstallCommand, isHelmInstalled, plainFile, renderManifests } from '../../scripts/chart/helm.ts';
import { loadConfig } from '../../src/config/config.ts';
import { root } from '../docs/pages.ts';
import { needs } from '../support/skips/needs.ts';
import { KubernetesRelease, kubernetesSkipReason, type KubernetesObject } from './kubernetes-schemas.ts';

const readFile = (path: string): string => readFileSync(join(root, path), 'utf8');
const helmSkipReason = isHelmInstalled() ? undefined : `needs helm 3 (${helmInstallCommand}; HELM names it)`;

/** Values of a release that override the defaults of the chart. */
type Values = Readonly<Record<string, unknown>>;

const existingSecretValues: Values = {
  config: { LEDGER_URL: 'https://participant.example:7575' },
  secret: { existing: 'mine' },
};
const completeValues: Values = {
  fullnameOverride: 'indexer',
  replicas: 3,
  image: { repository: 'registry.example/ledger-indexer', digest: `sha256:${'0'.repeat(64)}` },
  imagePullSecrets: [{ name: 'registry' }],
  config: {
    LEDGER_URL: 'https://participant.example:7575',
    LEDGER_PARTIES: 'alice::1220ab,bob::1220cd',
    LEDGER_CA_FILE: '/etc/authorities/ledger.pem',
    INDEXER_HTTP_ALLOWED_HOSTS: 'indexer.example',
    INDEXER_BATCH_UPDATES: 1000,
    INDEXER_BUFFER_UPDATES: 100_000,
    INDEXER_COMPLETIONS: 'off',
    INDEXER_NOTIFY: false,
  },
  secret: { existing: 'mine', files: { DATABASE_URL_FILE: 'writer-url', LEDGER_TOKEN_FILE: 'token' } },
  migrations: { mode: 'job', databaseUrlKey: 'migrator-url' },
  extraEnv: [{ name: 'NODE_OPTIONS', value: '--max-old-space-size=768' }],
  extraVolumes: [{ name: 'authorities', configMap: { name: 'authorities' } }],
  extraVolumeMounts: [{ name: 'authorities', mountPath: '/etc/authorities', readOnly: true }],
  podLabels: { team: 'ledger' },
  podAnnotations: { 'example.com/owner': 'ledger' },
  serviceAccount: { name: 'indexer' },
  service: { type: 'LoadBalancer', port: 80, annotations: { 'example.com/internal': 'true' } },
  networkPolicy: {
    enabled: true,
    ingressFrom: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
    egress: [{ ports: [{ port: 5432, protocol: 'TCP' }] }, { ports: [{ port: 7575, protocol: 'TCP' }] }],
  },
  serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
  prometheusRule: { enabled: true, labels: { release: 'prometheus' } },
  dashboards: { enabled: true, annotations: { grafana_folder: 'Ledger' } },
  nodeSelector: { disk: 'fast' },
  tolerations: [{ key: 'ledger', operator: 'Exists', effect: 'NoSchedule' }],
  affinity: { nodeAffinity: {} },
  priorityClassName: 'high',
  extraObjects: [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: '{{ include "ledger-indexer.fullname" . }}-mine' },
      data: { of: '{{ .Release.Name }}' },
    },
  ],
};
const singleAccountValues: Values = {
  ...existingSecretValues,
  serviceAccount: { create: true, annotations: { 'example.com/role': 'reader' } },
};

interface Pod extends KubernetesObject {
  readonly spec: {
    readonly replicas: number;
    readonly strategy: unknown;
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>>; readonly annotations: object };
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly containers: readonly [
          { readonly image: string; readonly args: readonly string[]; readonly env: readonly Variable[] },
        ];
      };
    };
  };
}
interface Variable {
  readonly name: string;
  readonly value: string;
}

let files = 0;

describe('rendered Helm chart', needs(helmSkipReason), () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ledger-indexer-chart-'));
  });
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  async function file(values: Values): Promise<string> {
    const path = join(folder, `${String((files += 1))}.yaml`);
    await writeFile(path, JSON.stringify(values));
    return path;
  }

  async function renderChart(values: Values): Promise<readonly KubernetesObject[]> {
    const { status, stdout, stderr } = helm(root, 'template', [
      '--namespace',
      'ledger',
      '--values',
      await file(values),
    ]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    return parseAllDocuments(stdout).map((document) => {
      expect(document.errors).toEqual([]);
      return document.toJS() as KubernetesObject;
    });
  }
  function findObject(objects: readonly KubernetesObject[], kind: string, name: string): Pod {
    const matchedObject = objects.find((object) => object.kind === kind && object.metadata.name === name);
    if (matchedObject === undefined) throw new Error(`there is no ${kind} ${name}`);
    return matchedObject as Pod;
  }
  const environmentOf = (object: KubernetesObject): Readonly<Record<string, string>> =>
    Object.fromEntries((object as Pod).spec.template.spec.containers[0].env.map(({ name, value }) => [name, value]));

  it('passes lint without findings', async () => {
    for (const values of [existingSecretValues, completeValues]) {
      const { status, stdout } = helm(root, 'lint', ['--values', await file(values)]);
      expect(status, stdout).toBe(0);
      expect(stdout).not.toMatch(/\[(?:WARNING|ERROR)\]/);
    }
  });

  it.each([
    ['an existing Secret', existingSecretValues, ['Deployment', 'PodDisruptionBudget', 'Service']],
    ['a service account', singleAccountValues, ['Deployment', 'PodDisruptionBudget', 'Service', 'ServiceAccount']],
    [
      'all values',
      completeValues,
      [
        ...Array.from({ length: 7 }, () => 'ConfigMap'),
        'Deployment',
        'Job',
        'NetworkPolicy',
        'PodDisruptionBudget',
        'PrometheusRule',
        'Service',
        'Service',
        'ServiceMonitor',
      ],
    ],
  ])('contains the expected objects with unique names for %s', async (_, values, kinds) => {
    const objects = await renderChart(values);
    expect(objects.map(({ kind }) => kind).toSorted()).toEqual(kinds);
    const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
  });

  it.each(['1.27', '1.37'])('is accepted by Kubernetes %s', needs(kubernetesSkipReason), async (release) => {
    const kubernetes = new KubernetesRelease(release);
    const objects = (
      await Promise.all([existingSecretValues, singleAccountValues, completeValues].map(renderChart))
    ).flat();
    const kubernetesObjects = objects.filter(({ apiVersion }) => !apiVersion.startsWith('monitoring.coreos.com/'));
    const plainManifests = parseAllDocuments(readFile(plainFile)).map(
      (document) => document.toJS() as KubernetesObject,
    );
    expect([...kubernetesObjects, ...plainManifests].flatMap((object) => kubernetes.problemsOf(object))).toEqual([]);
    // Verifies that the check can fail.
    const [first] = plainManifests.filter(({ kind }) => kind === 'Deployment');
    expect(kubernetes.problemsOf({ ...first, replica: 2 } as unknown as KubernetesObject)).toHaveLength(1);
  });

  it('passes numbers unchanged in a valid environment', async () => {
    const objects = await renderChart(completeValues);
    const env = environmentOf(findObject(objects, 'Deployment', 'indexer'));
    expect(env).toMatchObject({
      DATABASE_URL_FILE: '/run/secrets/ledger-indexer/writer-url',
      POSTGRES_MIGRATE: 'never',
      INDEXER_BUFFER_UPDATES: '100000',
      INDEXER_NOTIFY: 'false',
      INDEXER_HTTP_ALLOWED_HOSTS:
        'indexer,indexer.ledger,indexer.ledger.svc,indexer.ledger.svc.cluster.local,indexer.example',
    });
    const ownVariables = Object.entries(env).filter(([name]) => name !== 'NODE_OPTIONS' && !name.endsWith('_FILE'));
    const { indexer, ledger } = loadConfig(Object.fromEntries(ownVariables));
    expect(indexer).toMatchObject({ bufferUpdates: 100_000, notify: false });
    expect(ledger.parties).toEqual(['alice::1220ab', 'bob::1220cd']);
  });

  it('migrates the schema in a Job with another role, or in the pods', async () => {
    const objects = await renderChart(completeValues);
    const job = findObject(objects, 'Job', 'indexer-migrate');
    expect(job.metadata).toMatchObject({ annotations: { 'helm.sh/hook': 'pre-install,pre-upgrade' } });
    expect(job.spec.template.spec.containers[0].args).toEqual(['migrate']);
    expect(environmentOf(job)['DATABASE_URL_FILE']).toBe('/run/secrets/ledger-indexer/migrator-url');
    const defaultObjects = await renderChart(existingSecretValues);
    expect(environmentOf(findObject(defaultObjects, 'Deployment', 'ledger-indexer'))['POSTGRES_MIGRATE']).toBe('auto');
  });

  it('selects existing pods in services, budget, policy and monitor', async () => {
    const objects = await renderChart(completeValues);
    const { labels } = findObject(objects, 'Deployment', 'indexer').spec.template.metadata;
    const selectors = objects.flatMap(({ kind, spec }: KubernetesObject & { readonly spec?: unknown }) => {
      const { selector, podSelector } = (spec ?? {}) as Readonly<Record<string, unknown>>;
      const chosenSelector = (podSelector ?? selector) as Readonly<Record<string, unknown>> | undefined;
      return chosenSelector === undefined || kind === 'ServiceMonitor'
        ? []
        : [chosenSelector['matchLabels'] ?? chosenSelector];
    });
    expect(selectors).toHaveLength(5);
    for (const selector of selectors) expect(labels).toMatchObject(selector);
    const monitor = findObject(objects, 'ServiceMonitor', 'indexer') as unknown as {
      spec: { selector: { matchLabels: object }; endpoints: readonly [{ relabelings: readonly unknown[] }] };
    };
    expect(findObject(objects, 'Service', 'indexer-metrics').metadata.labels).toMatchObject(
      monitor.spec.selector.matchLabels,
    );
    expect(findObject(objects, 'Service', 'indexer').metadata.labels).not.toMatchObject(
      monitor.spec.selector.matchLabels,
    );
    // This is the job name in the queries of the alerts.
    expect(readFile('grafana/alerts/ledger-indexer.rules.yaml')).toContain('up{job="ledger-indexer"}');
    expect(monitor.spec.endpoints[0].relabelings).toEqual([{ targetLabel: 'job', replacement: 'ledger-indexer' }]);
  });

  it('contains alerts and dashboards unchanged', async () => {
    const objects = await renderChart(completeValues);
    const rule = findObject(objects, 'PrometheusRule', 'indexer') as unknown as { spec: unknown };
    expect(rule.spec).toEqual(parse(readFile('grafana/alerts/ledger-indexer.rules.yaml')));
    const dashboardMap = findObject(objects, 'ConfigMap', 'indexer-operations') as unknown as {
      data: Readonly<Record<string, string>>;
    };
    expect(dashboardMap.data['indexer-operations.json']?.trim()).toBe(
      readFile('grafana/dashboards/operations.json').trim(),
    );
  });

  it.each<readonly [string, Values, RegExp]>([
    ['a missing LEDGER_URL', { secret: { existing: 'mine' } }, /config\.LEDGER_URL is empty/],
    ['a missing Secret', { config: existingSecretValues['config'] }, /there is no Secret/],
    [
      'two Secrets',
      { ...existingSecretValues, secret: { existing: 'mine', data: { 'database-url': 'x' } } },
      /exclude each other/,
    ],
    ['an unknown key', { ...existingSecretValues, secret: { data: { other: 'x' } } }, /has no key database-url/],
    ['an unknown option', { ...existingSecretValues, config: { LEDGER_URI: 'x' } }, /LEDGER_URI/],
    ['a secret among the options', { ...existingSecretValues, config: { LEDGER_TOKEN: 'x' } }, /LEDGER_TOKEN/],
    [
      'the YAML boolean off',
      { ...existingSecretValues, config: { INDEXER_COMPLETIONS: false } },
      /INDEXER_COMPLETIONS/,
    ],
    [
      'an option that the chart sets',
      { ...existingSecretValues, config: { INDEXER_HTTP_PORT: 1 } },
      /INDEXER_HTTP_PORT/,
    ],
    [
      'a duplicate option',
      { ...completeValues, config: { LEDGER_URL: 'https://x', LEDGER_TOKEN_FILE: '/x' } },
      /LEDGER_TOKEN_FILE is in config and in secret\.files/,
    ],
    [
      'a Job without an existing Secret',
      { ...existingSecretValues, secret: { data: { 'database-url': 'x' } }, migrations: { mode: 'job' } },
      /needs an existing Secret/,
    ],
    ['an invalid value', { ...existingSecretValues, replica: 2 }, /replica/],
  ])('rejects %s with a message', async (_, values, pattern) => {
    const { status, stderr } = helm(root, 'template', ['--values', await file(values)]);
    expect(status).not.toBe(0);
    expect(stderr).toMatch(pattern);
  });

  it('equals the plain YAML file (update: npm run docs:chart)', () => {
    expect(readFile(plainFile)).toBe(renderManifests(root));
  });
});
