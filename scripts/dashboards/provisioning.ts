/** Provisioning files of Grafana. Checks that they are complete and match the dashboards. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { queryOf, type DashboardFile } from './dashboard.ts';

interface Source {
  readonly name?: unknown;
  readonly uid?: unknown;
  readonly type?: unknown;
  readonly url?: unknown;
  readonly user?: unknown;
  readonly editable?: unknown;
  readonly jsonData?: Readonly<Record<string, unknown>>;
  readonly secureJsonData?: Readonly<Record<string, unknown>>;
}

interface Provider {
  readonly name?: unknown;
  readonly type?: unknown;
  readonly options?: { readonly path?: unknown };
}

export interface Provisioning {
  readonly datasources: readonly unknown[];
  readonly providers: readonly unknown[];
}

/** Reads the YAML files in `folder`, which is grafana/provisioning, and in its subfolders. */
export async function readProvisioning(folder: string): Promise<Provisioning> {
  const readProvisioned = async (folderName: string): Promise<readonly unknown[]> => {
    const files = (await readdir(join(folder, folderName))).filter((file) => /\.ya?ml$/.test(file)).sort();
    return Promise.all(
      files.map(async (file) => parse(await readFile(join(folder, folderName, file), 'utf8')) as unknown),
    );
  };
  return { datasources: await readProvisioned('datasources'), providers: await readProvisioned('dashboards') };
}

/** The problems of the files, one sentence each. Pure. */
export function lintProvisioning(files: Provisioning, dashboards: readonly DashboardFile[]): readonly string[] {
  const sources = files.datasources.flatMap((file) => listOf(file, 'datasources') as readonly Source[]);
  const providers = files.providers.flatMap((file) => listOf(file, 'providers') as readonly Provider[]);
  return [
    ...[...files.datasources, ...files.providers].flatMap((file) =>
      (file as { apiVersion?: unknown } | null)?.apiVersion === 1 ? [] : ['a file without apiVersion: 1'],
    ),
    ...sources.flatMap(sourceProblems),
    ...providers.flatMap(providerProblems),
    ...(providers.length > 0 ? [] : ['no provider of dashboards']),
    ...dashboards.flatMap(({ name, dashboard }) =>
      dashboard.templating.list
        .filter(({ type }) => type === 'datasource')
        .map(queryOf)
        .filter((pluginType) => !sources.some(({ type }) => plugin(type) === plugin(pluginType)))
        .map((pluginType) => `no data source of type ${pluginType}, which dashboard ${name} wants`),
    ),
    ...dashboards.flatMap(({ name, dashboard }) =>
      dashboard.templating.list
        .filter(({ type, current }) => type === 'datasource' && !sources.some(({ uid }) => uid === current?.value))
        .map(() => `dashboard ${name} begins with a data source that has no such uid`),
    ),
  ];
}

function sourceProblems({ name, uid, type, url, user, editable, jsonData, secureJsonData }: Source): readonly string[] {
  const sourceText = `data source ${String(name)}`;
  const fromEnvironment = (value: unknown): boolean => typeof value === 'string' && /^\$(?:\{\w+\}|\w+)$/.test(value);
  const problemsIf = (isTrue: boolean, problem: string): readonly string[] =>
    isTrue ? [] : [`${sourceText}: ${problem}`];
  const commonProblems = [
    ...problemsIf(typeof uid === 'string' && /^[a-z0-9-]{1,40}$/.test(uid), 'no uid'),
    ...problemsIf(fromEnvironment(url), 'its url is not taken from the environment'),
    ...problemsIf(editable === false, 'editable is not false'),
  ];
  if (plugin(type) !== plugin('postgres')) return commonProblems;
  return [
    ...commonProblems,
    ...problemsIf(fromEnvironment(user), 'its user is not taken from the environment'),
    ...problemsIf(fromEnvironment(jsonData?.['database']), 'no database in jsonData, taken from the environment'),
    ...problemsIf(
      fromEnvironment(secureJsonData?.['password']),
      'no password in secureJsonData, taken from the environment',
    ),
  ];
}

function providerProblems({ name, type, options }: Provider): readonly string[] {
  if (type === 'file' && typeof options?.path === 'string') return [];
  return [`provider ${String(name)}: not of type file with options.path`];
}

/** Grafana also accepts the plugin's old name. */
function plugin(type: unknown): unknown {
  return type === 'postgres' ? 'grafana-postgresql-datasource' : type;
}

function listOf(file: unknown, key: string): readonly unknown[] {
  const dataSources = (file as Readonly<Record<string, unknown>> | null)?.[key];
  return Array.isArray(dataSources) ? (dataSources as readonly unknown[]) : [];
}
