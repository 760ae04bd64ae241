/**
 * Templates, choices and interfaces whose fields share names and differ in type. Their values fail in casts to another
 * type. The contents are known, so that every result can be compared.
 */
import type { Random } from '../../../packages/ledger-sandbox/src/wire/random.ts';
import type { DamlField, DamlType, PackageModel } from '../../../src/daml/package-model.ts';
import { openDatabase } from '../../../src/store/connection/database.ts';
import { storePackage } from '../../../src/store/typed/package-store.ts';
import { syncTypedViews } from '../../../src/store/typed/views.ts';
import * as frames from '../../support/frames.ts';
import type { ReadDatabase } from '../read-database.ts';

const packageId = 'ab'.repeat(32);
export const packageName = 'mix';
/** Key hash of every contract, in all templates. */
export const keyHash = 'aGFzaA==';

/** A type of a field: the ledger value for number `n`, and the cast that readers use for it. */
export interface FieldKind {
  readonly daml: DamlType;
  readonly cast: string;
  value(n: number): frames.Json;
}

const builtin = (name: 'int64' | 'text' | 'bool' | 'timestamp' | 'date'): DamlType => ({ kind: 'builtin', name });
const day = (n: number): string => new Date(Date.UTC(2020, 0, 1 + n)).toISOString();

export const kinds: Readonly<Record<string, FieldKind>> = {
  int64: { daml: builtin('int64'), cast: 'bigint', value: (n) => String(n) },
  numeric: { daml: { kind: 'numeric', scale: 10 }, cast: 'numeric', value: (n) => `${n}.5000000000` },
  // A text of digits. Only the readers of this template cast it to a number.
  digits: { daml: builtin('text'), cast: 'numeric', value: (n) => String(n) },
  words: { daml: builtin('text'), cast: 'text', value: (n) => `ten of ${n}` },
  bool: { daml: builtin('bool'), cast: 'boolean', value: (n) => n % 2 === 0 },
  timestamp: { daml: builtin('timestamp'), cast: 'timestamptz', value: (n) => day(n) },
  date: { daml: builtin('date'), cast: 'date', value: (n) => day(n).slice(0, 10) },
  record: {
    daml: { kind: 'named', name: `${packageId}:M:Inner`, arguments: [] },
    cast: 'text',
    value: (n) => ({ inner: String(n) }),
  },
};

export const fieldNames = ['amount', 'note', 'at', 'flag'] as const;
export type Fields = Readonly<Record<string, keyof typeof kinds>>;

export interface MixedTemplate {
  readonly entity: string;
  readonly fields: Fields;
  /** Fields of the argument of the choice Give. */
  readonly argument: Fields;
  /** Fields of the interface that only this template implements. */
  readonly view: Fields;
  /** Numbers of all contracts of the template, and of the active ones. */
  readonly contracts: readonly number[];
  readonly active: readonly number[];
}

export interface MixedWorld {
  readonly templates: readonly MixedTemplate[];
  /** The last offset. */
  readonly end: number;
}

/** Writes `count` templates with `each` contracts. If `archives` is set, most contracts are archived. */
export async function writeMixedWorld(
  database: Pick<ReadDatabase, 'url' | 'writeTogether'>,
  random: Random,
  shape: { readonly count: number; readonly each: number; readonly archives: boolean },
): Promise<MixedWorld> {
  const templates = Array.from({ length: shape.count }, (_, i) => drawTemplate(random, i, shape));
  const updates: frames.JsonRecord[] = [];
  for (let n = 0; n < shape.each; n += 1) {
    for (const template of templates) updates.push(...lifeOf(template, n, updates.length + 1));
  }
  for (let from = 0; from < updates.length; from += 500) {
    // oxlint-disable-next-line no-await-in-loop -- one batch after the other
    await database.writeTogether(updates.slice(from, from + 500));
  }
  await makeViews(database.url, templates);
  return { templates, end: updates.length };
}

function drawTemplate(
  random: Random,
  i: number,
  shape: { readonly each: number; readonly archives: boolean },
): MixedTemplate {
  const draw = (): Fields =>
    Object.fromEntries(fieldNames.map((name) => [name, Object.keys(kinds)[random.between(0, 7)] ?? 'words']));
  const contracts = Array.from({ length: shape.each }, (_, n) => n);
  const isActive = (n: number): boolean => !shape.archives || n % 10 === 0;
  const activeContracts = contracts.filter(isActive);
  return { entity: `T${i}`, fields: draw(), argument: draw(), view: draw(), contracts, active: activeContracts };
}

export function valuesOf(fields: Fields, n: number): frames.JsonRecord {
  return Object.fromEntries(Object.entries(fields).map(([name, kind]) => [name, kinds[kind]?.value(n) ?? null]));
}

/** Create and exercise of a contract, and its archive if it ends. */
function lifeOf(template: MixedTemplate, n: number, offset: number): readonly frames.JsonRecord[] {
  const contractFields = {
    contractId: `${template.entity}c${n}`,
    templateId: `${packageId}:M:${template.entity}`,
    packageName,
  };
  const interfaceId = `${packageId}:M:I${template.entity}`;
  const interfaceViews = [
    {
      interfaceId,
      viewStatus: { code: 0, message: '', details: [] },
      viewValue: valuesOf(template.view, n),
      implementationPackageId: packageId,
    },
  ];
  const createArgument = valuesOf(template.fields, n);
  const viewFields = {
    ...contractFields,
    offset,
    interfaceId: null,
    implementedInterfaces: [],
    nodeId: 1,
    lastDescendantNodeId: 1,
  };
  const events: frames.Json[] = [
    {
      CreatedEvent: frames.created({
        ...contractFields,
        offset,
        createArgument,
        interfaceViews,
        contractKey: {},
        contractKeyHash: keyHash,
      }),
    },
    {
      ExercisedEvent: frames.exercised({
        ...viewFields,
        choice: 'Give',
        choiceArgument: valuesOf(template.argument, n),
        consuming: false,
      }),
    },
  ];
  const create = frames.transaction(offset, events);
  if (template.active.includes(n)) return [create];
  const archive = {
    ...viewFields,
    offset: offset + 1,
    choice: 'Archive',
    choiceArgument: {},
    nodeId: 0,
    lastDescendantNodeId: 0,
  };
  return [create, frames.transaction(offset + 1, [{ ExercisedEvent: frames.exercised(archive) }])];
}

async function makeViews(url: string, templates: readonly MixedTemplate[]): Promise<void> {
  const database = openDatabase({ url, schema: 'ledger', statementTimeoutMs: 120_000, applicationName: 'test' });
  try {
    const model = packageOf(templates);
    await storePackage(database, model);
    const { failed: failedViews } = await syncTypedViews(database, [model]);
    if (failedViews.length > 0) throw new Error(`views failed: ${failedViews.map(({ view }) => view).join(', ')}`);
  } finally {
    await database.close();
  }
}

function packageOf(templates: readonly MixedTemplate[]): PackageModel {
  const record = (fields: Fields): PackageModel['dataTypes'][string] => ({
    kind: 'record',
    parameters: [],
    fields: Object.entries(fields).map(([name, kind]): DamlField => ({
      name,
      type: kinds[kind]?.daml ?? builtin('text'),
    })),
  });
  const namedType = (name: string): DamlType => ({ kind: 'named', name: `${packageId}:M:${name}`, arguments: [] });
  const ownTypes = templates.flatMap((template): [string, PackageModel['dataTypes'][string]][] => [
    [`M:${template.entity}`, record(template.fields)],
    [`M:${template.entity}Give`, record(template.argument)],
    [`M:V${template.entity}`, record(template.view)],
  ]);
  return {
    packageId,
    name: packageName,
    version: '1.0.0',
    languageVersion: '2.1',
    templates: templates.map(({ entity }) => ({
      moduleName: 'M',
      entityName: entity,
      choices: [{ name: 'Give', consuming: false, argument: namedType(`${entity}Give`), result: builtin('text') }],
      implements: [],
      key: undefined,
    })),
    interfaces: templates.map(({ entity }) => ({
      moduleName: 'M',
      entityName: `I${entity}`,
      choices: [],
      requires: [],
      view: namedType(`V${entity}`),
    })),
    dataTypes: { 'M:Inner': record({ inner: 'digits' }), ...Object.fromEntries(ownTypes) },
    dependencies: [],
  };
}
