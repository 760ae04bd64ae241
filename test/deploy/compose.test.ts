/**
 * Checks docker-compose.yml and Dockerfile as text. `.ci/compose-test` starts them. This test finds mistakes that a run
 * would not detect: an image without a version, a port that is open to the network, or an option that no longer exists.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { optionList } from '../../src/config/option-table.ts';

interface Service {
  readonly image: string;
  readonly environment?: readonly string[] | Readonly<Record<string, string>>;
  readonly entrypoint?: readonly string[];
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly security_opt?: readonly string[];
}

const root = fileURLToPath(new URL('../../', import.meta.url));
const readFile = (name: string): string => readFileSync(join(root, name), 'utf8');
const file = parse(readFile('docker-compose.yml'), { merge: true }) as { services: Record<string, Service> };
const services = Object.entries(file.services);
const indexer = file.services['ledger-indexer'];

/** Options that docker-compose.yml does not pass, each with the reason. */
const defaultSettings: Readonly<Record<string, string>> = {
  POSTGRES_SCHEMA: 'roles, passwords and dashboards of the file are made for the schema `ledger`',
  INDEXER_HTTP_HOST: 'the image listens on every address of the container; what is published is for this machine only',
  INDEXER_HTTP_PORT: 'inside the container it stays as it is; INDEXER_PORT is the one that is published',
  INDEXER_QUERY_PAGE: 'the query page serves the machine it runs on, and no user works in the container',
  INDEXER_QUERY_PAGE_DATABASE_URL: 'the same',
  INDEXER_STOP_AT: 'the service is started again whenever it ends; `docker compose run` is for commands with an end',
  INDEXER_PROGRESS_TIMEOUT: 'the same',
  INDEXER_DATA_DIR: 'nothing is embedded in the container; the sandbox has a volume of its own',
};

describe('docker-compose.yml', () => {
  it.each(services)('sets an image version for %s and publishes only local ports', (_name, service) => {
    expect(service.image).toMatch(/:-[a-z/-]+:(?:v?\d+\.\d+(?:\.\d+)?|local)\}$/);
    for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:\$\{[A-Z_]+:-\d+\}:\d+$/);
    expect(service.security_opt).toEqual(['no-new-privileges:true']);
  });

  it.each(services)(
    'contains no password for %s and mounts only existing files',
    (_name, { environment = [], volumes = [] }) => {
      const values = Array.isArray(environment)
        ? environment
        : Object.entries(environment).map((pair) => pair.join('='));
      for (const value of values) expect(value).not.toMatch(/(?:PASSWORD|SECRET|TOKEN)=./);
      for (const [source = ''] of volumes.map((volume) => volume.split(':'))) {
        if (source.startsWith('./')) expect(existsSync(join(root, source)), source).toBe(true);
      }
    },
  );

  it('passes only existing options', () => {
    const knownVariables = new Set(optionList.flatMap(({ env }) => [env, `${env}_FILE`]));
    const variableNames = ((indexer?.environment ?? []) as readonly string[]).map((entry) => entry.replace(/=.*/, ''));
    expect(variableNames.filter((name) => !knownVariables.has(name))).toEqual(['NODE_OPTIONS']);
  });

  it('passes INDEXER_EXERCISE_JSON to the migration script', () => {
    expect(file.services['setup']?.environment).toContain('INDEXER_EXERCISE_JSON');
    expect(readFile('scripts/compose/set-up.mjs')).toMatch(/const env = \{[^}]*INDEXER_EXERCISE_JSON/);
  });

  it('passes every option except the listed exceptions', () => {
    const variableNames = ['ledger-indexer', 'sandbox'].flatMap((name) => {
      const entries = (file.services[name]?.environment ?? []) as readonly string[];
      return entries.map((entry) => entry.replace(/=.*/, ''));
    });
    const isPassedThrough = (env: string): boolean =>
      variableNames.includes(env) || variableNames.includes(`${env}_FILE`);
    const missingVariables = optionList.map(({ env }) => env).filter((env) => !isPassedThrough(env));
    expect(missingVariables.sort()).toEqual(Object.keys(defaultSettings).sort());
  });

  it('allows the host name that Prometheus uses in its requests', () => {
    const scrapedHost = /targets: \['(.+):7580'\]/.exec(readFile('grafana/prometheus.yml'))?.[1] ?? '';
    expect(Object.keys(file.services)).toContain(scrapedHost);
    const names = ((indexer?.environment ?? []) as readonly string[]).find((entry) =>
      entry.startsWith('INDEXER_HTTP_ALLOWED_HOSTS='),
    );
    expect(names?.replace(/^.*=/, '').split(',')).toContain(scrapedHost);
  });

  it('sets LEDGER_INTERFACES to the token interfaces', () => {
    const script = indexer?.entrypoint?.at(-1) ?? '';
    expect(/LEDGER_INTERFACES=(\S*)/.exec(script)?.[1]).toBe('tokens');
  });

  it('passes the variables of the provisioning files to Grafana', () => {
    const references = [...readFile('grafana/provisioning/datasources/ledger-indexer.yaml').matchAll(/\$\{(\w+)\}/g)];
    const { environment = {}, entrypoint = [] } = file.services['grafana'] ?? {};
    const grafanaConfig = [...Object.keys(environment), ...entrypoint].join(' ');
    for (const [, name = ''] of references) expect(grafanaConfig).toContain(name);
  });
});

describe('make-secrets.mjs', () => {
  it('creates random, readable secrets, and keeps existing secrets', () => {
    const folder = mkdtempSync(join(tmpdir(), 'secrets-'));
    for (const name of ['postgres', 'roles', 'indexer', 'grafana']) mkdirSync(join(folder, name));
    const make = (password: string): string =>
      spawnSync(process.execPath, [join(root, 'scripts/compose/make-secrets.mjs')], {
        env: { SECRETS_DIR: folder, POSTGRES_PASSWORD: password },
        encoding: 'utf8',
      }).stdout;
    const secret = (name: string): string => readFileSync(join(folder, name), 'utf8');
    expect(make('')).toBe('7 secrets created\n');
    expect(secret('roles/reader')).toMatch(/^[\w-]{32}$/);
    expect(secret('grafana/reader')).toBe(secret('roles/reader'));
    expect(secret('indexer/database-url')).toContain(`:${secret('roles/migrator')}@`);
    expect(new Set([secret('postgres/password'), secret('roles/reader'), secret('roles/migrator')]).size).toBe(3);
    expect(statSync(join(folder, 'postgres/password')).mode & 0o777).toBe(0o444);
    const passwordBefore = secret('postgres/password');
    expect(make('another')).toBe('the passwords exist\n');
    expect(secret('postgres/password')).toBe(passwordBefore);
    rmSync(folder, { recursive: true });
  });
});

describe('Dockerfile', () => {
  it('starts the program with the same arguments as `npm start`', () => {
    const { scripts } = JSON.parse(readFile('package.json')) as { scripts: { start: string } };
    const [, ...args] = scripts.start.replace('dist/main.js', '/app/dist/main.js').split(' ');
    expect(args).toHaveLength(3);
    expect(readFile('Dockerfile')).toContain(`ENTRYPOINT [${args.map((word) => JSON.stringify(word)).join(', ')}]`);
  });
});
