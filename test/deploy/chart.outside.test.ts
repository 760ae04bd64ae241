/** Renders the Helm chart with Helm and checks the result against the schemas of Kubernetes. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { helm, howToInstall, isHelmInstalled, plainFile, plainYaml } from '../../scripts/chart/helm.ts';
import { loadConfig } from '../../src/config/config.ts';
import { root } from '../docs/pages.ts';
import { needs } from '../support/skips/needs.ts';
import { KubernetesRelease, noKubernetesSchemas, type KubernetesObject } from './kubernetes-schemas.ts';

const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const noHelm = isHelmInstalled() ? undefined : `needs helm 3 (${howToInstall}; HELM names it)`;

/** Values of a release that override the defaults of the chart. */
type Values = Readonly<Record<string, unknown>>;

const existing: Values = {
  config: { LEDGER_URL: 'https://participant.example:7575' },
  secret: { existing: 'mine' },
};
const everything: Values = {
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
const alone: Values = { ...existing, serviceAccount: { create: true, annotations: { 'example.com/role': 'reader' } } };

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

describe('rendered Helm chart', needs(noHelm), () => {
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

  async function rendered(values: Values): Promise<readonly KubernetesObject[]> {
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
  function one(objects: readonly KubernetesObject[], kind: string, name: string): Pod {
    const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
    if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
    return found as Pod;
  }
  const environmentOf = (object: KubernetesObject): Readonly<Record<string, string>> =>
    Object.fromEntries((object as Pod).spec.template.spec.containers[0].env.map(({ name, value }) => [name, value]));

  it('passes lint without findings', async () => {
    for (const values of [existing, everything]) {
      const { status, stdout } = helm(root, 'lint', ['--values', await file(values)]);
      expect(status, stdout).toBe(0);
      expect(stdout).not.toMatch(/\[(?:WARNING|ERROR)\]/);
    }
  });

  it.each([
    ['an existing Secret', existing, ['Deployment', 'PodDisruptionBudget', 'Service']],
    ['a service account', alone, ['Deployment', 'PodDisruptionBudget', 'Service', 'ServiceAccount']],
    [
      'all values',
      everything,
      [
        ...Array.from({ length: 6 }, () => 'ConfigMap'),
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
    const objects = await rendered(values);
    expect(objects.map(({ kind }) => kind).toSorted()).toEqual(kinds);
    const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
  });

  it.each(['1.27', '1.37'])('is accepted by Kubernetes %s', needs(noKubernetesSchemas), async (release) => {
    const kubernetes = new KubernetesRelease(release);
    const objects = (await Promise.all([existing, alone, everything].map(rendered))).flat();
    const own = objects.filter(({ apiVersion }) => !apiVersion.startsWith('monitoring.coreos.com/'));
    const plain = parseAllDocuments(read(plainFile)).map((document) => document.toJS() as KubernetesObject);
    expect([...own, ...plain].flatMap((object) => kubernetes.problemsOf(object))).toEqual([]);
    // Verifies that the check can fail.
    const [first] = plain.filter(({ kind }) => kind === 'Deployment');
    expect(kubernetes.problemsOf({ ...first, replica: 2 } as unknown as KubernetesObject)).toHaveLength(1);
  });

  it('passes numbers unchanged in a valid environment', async () => {
    const objects = await rendered(everything);
    const env = environmentOf(one(objects, 'Deployment', 'indexer'));
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
    const objects = await rendered(everything);
    const job = one(objects, 'Job', 'indexer-migrate');
    expect(job.metadata).toMatchObject({ annotations: { 'helm.sh/hook': 'pre-install,pre-upgrade' } });
    expect(job.spec.template.spec.containers[0].args).toEqual(['migrate']);
    expect(environmentOf(job)['DATABASE_URL_FILE']).toBe('/run/secrets/ledger-indexer/migrator-url');
    const usual = await rendered(existing);
    expect(environmentOf(one(usual, 'Deployment', 'ledger-indexer'))['POSTGRES_MIGRATE']).toBe('auto');
  });

  it('selects existing pods in services, budget, policy and monitor', async () => {
    const objects = await rendered(everything);
    const { labels } = one(objects, 'Deployment', 'indexer').spec.template.metadata;
    const selectors = objects.flatMap(({ kind, spec }: KubernetesObject & { readonly spec?: unknown }) => {
      const { selector, podSelector } = (spec ?? {}) as Readonly<Record<string, unknown>>;
      const chosen = (podSelector ?? selector) as Readonly<Record<string, unknown>> | undefined;
      return chosen === undefined || kind === 'ServiceMonitor' ? [] : [chosen['matchLabels'] ?? chosen];
    });
    expect(selectors).toHaveLength(5);
    for (const selector of selectors) expect(labels).toMatchObject(selector);
    const monitor = one(objects, 'ServiceMonitor', 'indexer') as unknown as {
      spec: { selector: { matchLabels: object }; endpoints: readonly [{ relabelings: readonly unknown[] }] };
    };
    expect(one(objects, 'Service', 'indexer-metrics').metadata.labels).toMatchObject(monitor.spec.selector.matchLabels);
    expect(one(objects, 'Service', 'indexer').metadata.labels).not.toMatchObject(monitor.spec.selector.matchLabels);
    // This is the job name in the queries of the alerts.
    expect(read('grafana/alerts/ledger-indexer.rules.yaml')).toContain('up{job="ledger-indexer"}');
    expect(monitor.spec.endpoints[0].relabelings).toEqual([{ targetLabel: 'job', replacement: 'ledger-indexer' }]);
  });

  it('contains alerts and dashboards unchanged', async () => {
    const objects = await rendered(everything);
    const rule = one(objects, 'PrometheusRule', 'indexer') as unknown as { spec: unknown };
    expect(rule.spec).toEqual(parse(read('grafana/alerts/ledger-indexer.rules.yaml')));
    const board = one(objects, 'ConfigMap', 'indexer-operations') as unknown as {
      data: Readonly<Record<string, string>>;
    };
    expect(board.data['indexer-operations.json']?.trim()).toBe(read('grafana/dashboards/operations.json').trim());
  });

  it.each<readonly [string, Values, RegExp]>([
    ['a missing LEDGER_URL', { secret: { existing: 'mine' } }, /config\.LEDGER_URL is empty/],
    ['a missing Secret', { config: existing['config'] }, /there is no Secret/],
    ['two Secrets', { ...existing, secret: { existing: 'mine', data: { 'database-url': 'x' } } }, /exclude each other/],
    ['an unknown key', { ...existing, secret: { data: { other: 'x' } } }, /has no key database-url/],
    ['an unknown option', { ...existing, config: { LEDGER_URI: 'x' } }, /LEDGER_URI/],
    ['a secret among the options', { ...existing, config: { LEDGER_TOKEN: 'x' } }, /LEDGER_TOKEN/],
    ['the YAML boolean off', { ...existing, config: { INDEXER_COMPLETIONS: false } }, /INDEXER_COMPLETIONS/],
    ['an option that the chart sets', { ...existing, config: { INDEXER_HTTP_PORT: 1 } }, /INDEXER_HTTP_PORT/],
    [
      'a duplicate option',
      { ...everything, config: { LEDGER_URL: 'https://x', LEDGER_TOKEN_FILE: '/x' } },
      /LEDGER_TOKEN_FILE is in config and in secret\.files/,
    ],
    [
      'a Job without an existing Secret',
      { ...existing, secret: { data: { 'database-url': 'x' } }, migrations: { mode: 'job' } },
      /needs an existing Secret/,
    ],
    ['an invalid value', { ...existing, replica: 2 }, /replica/],
  ])('rejects %s with a message', async (_, values, pattern) => {
    const { status, stderr } = helm(root, 'template', ['--values', await file(values)]);
    expect(status).not.toBe(0);
    expect(stderr).toMatch(pattern);
  });

  it('equals the plain YAML file (update: npm run docs:chart)', () => {
    expect(read(plainFile)).toBe(plainYaml(root));
  });
});
