/** Checks the examples in docs/deploy: the files are valid, their options exist, and the indexer serves their paths. */
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { optionList } from '../../src/config/option-table.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { createTestDatabase } from '../support/database.ts';
import { startDaemon } from '../e2e/runs/daemon.ts';

const folder = join(import.meta.dirname, '../../docs/deploy');
const unit = await readFile(join(folder, 'ledger-indexer.service'), 'utf8');
const yaml = await readFile(join(folder, 'kubernetes.yaml'), 'utf8');
const documents = parseAllDocuments(yaml);

const knownVariables = new Set(
  optionList.flatMap(({ env, fileVariant }) => (fileVariant ? [env, `${env}_FILE`] : [env])),
);
const ownOptionPattern = /^(?:LEDGER|INDEXER|POSTGRES|DATABASE)_/;

interface Deployment {
  readonly spec: {
    readonly replicas: number;
    readonly template: {
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly securityContext: { readonly runAsNonRoot: boolean };
        readonly containers: readonly [
          {
            readonly env: readonly { readonly name: string; readonly value?: string }[];
            readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
            readonly securityContext: { readonly readOnlyRootFilesystem: boolean };
          } & Readonly<
            Record<
              'livenessProbe' | 'readinessProbe' | 'startupProbe',
              { readonly httpGet: { readonly path: string; readonly port: string } }
            >
          >,
        ];
      };
    };
  };
}

describe('docs/deploy/kubernetes.yaml', () => {
  const parsedDocuments = documents.map((document) => document.toJS() as { kind: string });
  const deployment = parsedDocuments.find(({ kind }) => kind === 'Deployment') as unknown as Deployment;
  const { spec } = deployment.spec.template;
  const [container] = spec.containers;

  it('is valid YAML and sets only existing options', () => {
    for (const document of documents) expect(document.errors).toEqual([]);
    expect(parsedDocuments.map(({ kind }) => kind)).toEqual(['PodDisruptionBudget', 'Secret', 'Service', 'Deployment']);
    for (const { name } of container.env) expect(knownVariables, name).toContain(name);
  });

  it('includes the service name in INDEXER_HTTP_ALLOWED_HOSTS', () => {
    const service = parsedDocuments.find(({ kind }) => kind === 'Service') as unknown as { metadata: { name: string } };
    const names = container.env.find(({ name }) => name === 'INDEXER_HTTP_ALLOWED_HOSTS')?.value;
    expect(names?.split(',')).toContain(service.metadata.name);
  });

  it('runs two replicas without root and with a read-only file system', () => {
    expect(deployment.spec.replicas).toBe(2);
    expect(spec.securityContext.runAsNonRoot).toBe(true);
    expect(container.securityContext.readOnlyRootFilesystem).toBe(true);
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(10);
  });

  it('probes only paths that the indexer serves', async () => {
    await using sandbox = await startSandbox();
    await using database = await createTestDatabase();
    const options = { ledgerUrl: sandbox.url, databaseUrl: database.url, schema: 'ledger' };
    await using daemon = startDaemon(options);
    const http = await daemon.http();
    for (const name of ['livenessProbe', 'readinessProbe', 'startupProbe'] as const) {
      const { path, port } = container[name].httpGet;
      expect(container.ports.map((containerPort) => containerPort.name)).toContain(port);
      expect([200, 503], path).toContain((await fetch(`${http}${path}`)).status);
    }
    expect((await fetch(`${http}/metrics`)).status).toBe(200);
  });
});

describe('docs/deploy/ledger-indexer.service', () => {
  const lines = unit.split('\n').filter((line) => line.includes('=') && !line.startsWith('#'));
  const values = (key: string): readonly string[] =>
    lines.filter((line) => line.startsWith(`${key}=`)).map((line) => line.slice(key.length + 1));

  it('sets only existing options and no secret', () => {
    const names = values('Environment').map((value) => value.slice(0, value.indexOf('=')));
    for (const name of names.filter((text) => ownOptionPattern.test(text)))
      expect(knownVariables, name).toContain(name);
    expect(names).toEqual(expect.arrayContaining(['LEDGER_TOKEN_FILE', 'DATABASE_URL_FILE']));
    expect(names).not.toContain('LEDGER_TOKEN');
  });

  it('waits 20 s for a stop, and does not restart after exit codes 2, 77 and 78', () => {
    expect(values('TimeoutStopSec')).toEqual(['20s']);
    expect(values('RestartPreventExitStatus')).toEqual(['2 77 78']);
  });

  it('passes systemd-analyze verify, if systemd is installed', async () => {
    if (spawnSync('systemd-analyze', ['--version']).status !== 0) {
      process.stdout.write('the unit was only parsed: no systemd-analyze here\n');
      return;
    }
    const scratchFolder = await mkdtemp(join(tmpdir(), 'ledger-indexer-unit-'));
    try {
      const file = join(scratchFolder, 'ledger-indexer.service');
      await writeFile(file, unit);
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
      const matchingLines = stderr.split('\n').filter((line) => line.includes('ledger-indexer.service'));
      expect({ status, about: matchingLines }).toEqual({ status: 0, about: [] });
    } finally {
      await rm(scratchFolder, { recursive: true });
    }
  });
});
