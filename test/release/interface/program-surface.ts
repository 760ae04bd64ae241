/** The public interface of the program: commands, options, codes, metrics and HTTP. */
import { commands } from '../../../src/cli/commands.ts';
import type { CommandFlag, Operand } from '../../../src/cli/command-line/parse.ts';
import { verbs } from '../../../src/cli/ledger/verbs.ts';
import { commonFlags } from '../../../src/cli/ledger/verb.ts';
import { optionList } from '../../../src/config/option-table.ts';
import { catalogue } from '../../../src/errors/catalogue.ts';
import { ExitCode } from '../../../src/errors/exit-code.ts';
import { openApiDocument } from '../../../src/observe/api/openapi.ts';
import { routesOf, type RouteHandlers } from '../../../src/observe/http/routes.ts';
import { metricGroups } from '../../../src/observe/metrics/catalogue/catalogue.ts';
import { storedRoutes } from '../../../src/store/api/routes.ts';
import { surfaceOf, type Surface } from './surface.ts';

type Pair = readonly [name: string, description: string];

/** All surfaces of the program, by title. */
export function programSurfaces(): Readonly<Record<string, Surface>> {
  return {
    commands: surfaceOf([...commands.flatMap(commandPairs), ...verbs.flatMap(verbPairs)]),
    options: surfaceOf(optionList.flatMap(optionPairs)),
    'error codes': surfaceOf(
      Object.entries(catalogue).map(([code, { exitCode }]) => [code, `exit code ${String(exitCode)}`]),
    ),
    'exit codes': surfaceOf(Object.values(ExitCode).map((code) => [String(code), 'exit code'])),
    metrics: surfaceOf(metricPairs()),
    endpoints: surfaceOf([...endpointPairs(), ...apiPairs()]),
  };
}

function commandPairs({ name, operands, flags }: (typeof commands)[number]): readonly Pair[] {
  return [
    [name, 'command'],
    ...operands.flatMap((operand, index) => operandPairs(name, operand, index)),
    ...flagPairs(name, flags),
  ];
}

function operandPairs(command: string, operand: Operand, index: number): readonly Pair[] {
  const name = `${command} operand ${String(index + 1)}`;
  const form = `${operand.optional ? 'optional' : 'required'}${operand.repeated ? ', repeated' : ''}`;
  return [[name, form], ...(operand.words ?? []).map((word): Pair => [`${name}: ${word}`, 'word'])];
}

function flagPairs(command: string, flags: readonly CommandFlag[]): readonly Pair[] {
  return flags.map(({ name, value, list }) => {
    const form = value === undefined ? 'switch' : value.startsWith('[') ? 'optional value' : 'value';
    return [`${command} --${name}`, `${form}${list ? ', repeated' : ''}`];
  });
}

function verbPairs({ name, operands, flags }: (typeof verbs)[number]): readonly Pair[] {
  const command = `ledger ${name}`;
  const forms = operands.map((operand, index): Pair => [
    `${command} operand ${String(index + 1)}`,
    operand.startsWith('[') ? 'optional' : 'required',
  ]);
  return [[command, 'command'], ...forms, ...flagPairs(command, [...commonFlags, ...flags])];
}

/** Defaults of numbers are left out: they may be tuned. */
function optionPairs({ env, name, type, fileVariant, default: initial }: (typeof optionList)[number]): readonly Pair[] {
  const words = type.includes(', ') ? type.split(', ') : [];
  return [
    [env, words.length > 0 ? 'word' : type],
    [`--${name}`, env],
    ...words.map((word): Pair => [`${env}: ${word}`, 'accepted']),
    ...(fileVariant ? [[`${env}_FILE`, 'file'] as const] : []),
    ...((words.length > 0 || type === 'boolean') && initial !== undefined
      ? [[`${env} default`, initial] as const]
      : []),
  ];
}

function metricPairs(): readonly Pair[] {
  return metricGroups
    .flatMap(({ metrics }) => metrics)
    .flatMap(({ name, type, labels }) => {
      const values = Object.entries(labels).flatMap(([label, known]): readonly Pair[] => [
        [`indexer_${name}{${label}}`, 'label'],
        ...('words' in known ? (known.first ?? []) : known).map((value): Pair => [
          `indexer_${name}{${label}="${value}"}`,
          'series',
        ]),
      ]);
      return [[`indexer_${name}`, type] as const, ...values];
    });
}

/** Paths that only the pages of the indexer use. */
const ofPages: ReadonlySet<string> = new Set(['/events', '/update', '/query', '/query/']);

/** Routes outside of `/api`, whose paths do not depend on their sources. */
function endpointPairs(): readonly Pair[] {
  const source = {} as never;
  const handlers: RouteHandlers = {
    status: source,
    verdict: source,
    waiters: source,
    page: source,
    console: source,
    changes: source,
    api: source,
    exposition: source,
    unsent: source,
  };
  return routesOf(handlers)
    .filter(({ path }) => !path.startsWith('/api') && !ofPages.has(path))
    .flatMap(({ path, methods }) => (methods ?? ['its own']).map((method): Pair => [`${method} ${path}`, 'endpoint']));
}

interface Description {
  readonly paths: Readonly<Record<string, { readonly get: Operation }>>;
}
interface Operation {
  readonly parameters: readonly {
    readonly name: string;
    readonly required?: true;
    readonly schema: { readonly type: string; readonly enum?: readonly string[] };
  }[];
  readonly responses: {
    readonly 200: { readonly content: { readonly 'application/json': { readonly schema: Schema } } };
  };
}
interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

/** Paths, parameters and fields of the OpenAPI document. */
function apiPairs(): readonly Pair[] {
  const { paths } = openApiDocument(storedRoutes, '') as unknown as Description;
  return Object.entries(paths).flatMap(([path, { get }]) => [
    [`GET ${path}`, 'endpoint'] as const,
    ...get.parameters.flatMap(({ name, required, schema }): readonly Pair[] => [
      [`GET ${path} ?${name}`, `${required ? 'required' : 'optional'} ${schema.type}`],
      ...(schema.enum ?? []).map((word): Pair => [`GET ${path} ?${name}=${word}`, 'accepted']),
    ]),
    ...fieldPairs(`GET ${path} returns`, get.responses[200].content['application/json'].schema),
  ]);
}

function fieldPairs(path: string, { properties, items }: Schema): readonly Pair[] {
  const fields = Object.entries(properties ?? {}).flatMap(([name, schema]) => {
    const field = `${path}${path.endsWith('returns') ? ' ' : '.'}${name}`;
    return [[field, [schema.type ?? 'any'].flat().join(' or ')] as const, ...fieldPairs(field, schema)];
  });
  return [...fields, ...(items === undefined ? [] : fieldPairs(path, items))];
}
