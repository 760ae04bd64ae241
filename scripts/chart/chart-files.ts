/** Generated parts of the chart: copies of alerts and dashboards, names of options, and the table of values. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, type Options } from 'prettier';
import { parse } from 'yaml';
import { optionList } from '../../src/config/option-table.ts';

/** The folder of the chart, relative to the project. */
export const chartFolder = 'docs/deploy/helm/ledger-indexer';

/** Contents by path, relative to the project. */
export type Files = ReadonlyMap<string, string>;

/** A part of values.schema.json. */
export interface ValueSchema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, ValueSchema>>;
  readonly [keyword: string]: unknown;
}

/**
 * The generated files of the chart with their current contents.
 * @param root the project's folder, which contains the chart
 */
export async function chartFiles(root: string): Promise<Files> {
  const readFile = (path: string): string => readFileSync(join(root, path), 'utf8');
  const style = JSON.parse(readFile('.prettierrc.json')) as Options;
  const copies = [
    ['grafana/alerts/ledger-indexer.rules.yaml', 'files/ledger-indexer.rules.yaml'],
    ...readdirSync(join(root, 'grafana/dashboards')).map((name) => [
      `grafana/dashboards/${name}`,
      `files/dashboards/${name}`,
    ]),
  ];
  const schemaPath = `${chartFolder}/values.schema.json`;
  const schema = withOptions(JSON.parse(readFile(schemaPath)) as ValueSchema);
  const values: unknown = parse(readFile(`${chartFolder}/values.yaml`));
  const readme = `${chartFolder}/README.md`;
  return new Map([
    ...copies.map(([from = '', to = '']) => [`${chartFolder}/${to}`, readFile(from)] as const),
    [schemaPath, await format(JSON.stringify(schema, undefined, 2), { ...style, parser: 'json' })],
    [readme, await format(withTable(readFile(readme), valuesTable(schema, values)), { ...style, parser: 'markdown' })],
  ]);
}

/** Options that the chart or the image sets, or that make no sense in a pod that runs without end. */
const settledVariables = /^(?:INDEXER_(?:HTTP_HOST|HTTP_PORT|DATA_DIR|STOP_AT|DEMO_.*)|POSTGRES_MIGRATE)$/;

/** The schema, with the program's own options inserted where it lists options. */
function withOptions(schema: ValueSchema): ValueSchema {
  const publicOptions = optionList.filter(({ env, secret }) => secret === 'no' && !settledVariables.test(env));
  const files = optionList.flatMap(({ env, doc, fileVariant }) => {
    if (fileVariant) return [[`${env}_FILE`, { description: doc, ...key }]];
    return env.endsWith('_FILE') ? [[env, { description: doc, ...key }]] : [];
  });
  const { config, secret, ...otherProperties } = schema.properties ?? {};
  const properties = {
    ...otherProperties,
    config: {
      ...config,
      properties: Object.fromEntries(
        publicOptions.map(({ env, doc, type }) => [env, { description: doc, ...valueOf(type) }]),
      ),
    },
    secret: {
      ...secret,
      properties: {
        ...secret?.properties,
        files: { ...secret?.properties?.['files'], properties: Object.fromEntries(files) },
      },
    },
  };
  // In the original order.
  const schemaOrder = Object.keys(schema.properties ?? {}).map((name) => [
    name,
    (properties as Record<string, unknown>)[name],
  ]);
  return { ...schema, properties: Object.fromEntries(schemaOrder) as Record<string, ValueSchema> };
}

/**
 * Accepted values of an option. YAML reads `off` as false, which no option accepts.
 * @param type its name in the table of options
 */
function valueOf(type: string): object {
  if (type.includes(', ')) return { enum: type.split(', ') };
  return { type: ['string', type === 'boolean' ? 'boolean' : 'integer'] };
}

const key = { type: 'string', pattern: '^[-._a-zA-Z0-9]+$' };

/** The values as a Markdown table: name, default and meaning of each. @param values from values.yaml */
export function valuesTable(schema: ValueSchema, values: unknown): string {
  const rows = schemaLeaves(schema, values, '').map(({ name, initial: initialValue, description }) => {
    const defaultText = JSON.stringify(initialValue)?.replaceAll('|', String.raw`\|`);
    return `| \`${name}\` | ${defaultText === undefined ? '' : `\`${defaultText}\``} | ${description} |`;
  });
  return ['| Value | Default | Meaning |', '| --- | --- | --- |', ...rows].join('\n');
}

interface ValueLeaf {
  readonly name: string;
  readonly initial: unknown;
  readonly description: string;
}

/** Values that have a description. If a value has none, its parts are described instead. */
function schemaLeaves(schema: ValueSchema, initialValue: unknown, path: string): readonly ValueLeaf[] {
  if (schema.description !== undefined) return [{ name: path, initial: initialValue, description: schema.description }];
  return Object.entries(schema.properties ?? {}).flatMap(([name, propertySchema]) =>
    schemaLeaves(
      propertySchema,
      (initialValue as Readonly<Record<string, unknown>> | undefined)?.[name],
      path === '' ? name : `${path}.${name}`,
    ),
  );
}

function withTable(page: string, table: string): string {
  const [valuesStart, valuesEnd] = ['<!-- values -->', '<!-- /values -->'];
  const [head, tail] = [page.indexOf(valuesStart), page.indexOf(valuesEnd)];
  if (head < 0 || tail < head)
    throw new Error(`the page of the chart has no place between ${valuesStart} and ${valuesEnd}`);
  return `${page.slice(0, head + valuesStart.length)}\n\n${table}\n\n${page.slice(tail)}`;
}
