/**
 * Compares docs/reference/coverage.md with the migrations and with the samples of participants. Every column in it
 * exists, and every field of a sample has a row.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fixture, sampleNames } from '../support/wire/fixtures.ts';

const root = join(import.meta.dirname, '../..');

/** Keys whose value is a message, with the name of the message in the table. */
const messages: Readonly<Record<string, string>> = {
  Transaction: 'Transaction',
  transaction: 'Transaction',
  Reassignment: 'Reassignment',
  TopologyTransaction: 'TopologyTransaction',
  OffsetCheckpoint: 'OffsetCheckpoint',
  synchronizerTimes: 'SynchronizerTime',
  CreatedEvent: 'CreatedEvent',
  createdEvent: 'CreatedEvent',
  interfaceViews: 'InterfaceView',
  viewStatus: 'ViewStatus',
  ArchivedEvent: 'ArchivedEvent',
  archivedEvent: 'ArchivedEvent',
  ExercisedEvent: 'ExercisedEvent',
  JsAssignmentEvent: 'JsAssignmentEvent',
  assignedEvent: 'JsAssignmentEvent',
  JsUnassignedEvent: 'JsUnassignedEvent',
  unassignedEvent: 'JsUnassignedEvent',
  ParticipantAuthorizationAdded: 'TopologyEvent',
  ParticipantAuthorizationChanged: 'TopologyEvent',
  ParticipantAuthorizationRevoked: 'TopologyEvent',
  ParticipantAuthorizationOnboarding: 'TopologyEvent',
  JsActiveContract: 'JsActiveContract',
  JsIncompleteUnassigned: 'JsIncompleteUnassigned',
  JsIncompleteAssigned: 'JsIncompleteAssigned',
  JsEmpty: 'JsEmpty',
  traceContext: 'TraceContext',
  Completion: 'Completion',
  synchronizerTime: 'SynchronizerTime',
  status: 'Status',
  deduplicationPeriod: 'DeduplicationPeriod',
};
/** Fields with Daml values or with contents that the ledger does not define. Each is stored as one value. */
const opaque = new Set(['createArgument', 'contractKey', 'choiceArgument', 'exerciseResult', 'viewValue', 'details']);

interface Row {
  readonly field: string;
  readonly columns: readonly string[];
}

function tableRows(): readonly Row[] {
  const text = readFileSync(join(root, 'docs/reference/coverage.md'), 'utf8');
  return [...text.matchAll(/^\| ([A-Z]\w+\.\w+)\s*\| (.*?)\s*\|/gm)].map(([, field = '', target = '']) => ({
    field,
    columns: target.startsWith('none') ? [] : target.split(', '),
  }));
}

function columnsOfMigrations(): ReadonlySet<string> {
  const folder = join(root, 'migrations');
  const files = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  const sql = files.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');
  const foundFields = new Set<string>();
  for (const [, table = '', body = ''] of sql.matchAll(/^create table (\w+) \(\n(.*?)^\)/gms)) {
    for (const [, column = ''] of body.matchAll(/^ {2}"?(\w+)"? (?!key\b|\()/gm)) foundFields.add(`${table}.${column}`);
  }
  return foundFields;
}

/** Adds `Message.field` for every leaf in `value`. `message` is undefined outside of the messages of the table. */
function collect(value: unknown, message: string | undefined, foundFields: Set<string>): void {
  if (Array.isArray(value)) {
    for (const element of value) collect(element, message, foundFields);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  if ('contractEntry' in value) message = 'ActiveContractEntry';
  for (const [key, nestedValue] of Object.entries(value)) {
    const next = Object.hasOwn(messages, key) ? messages[key] : undefined;
    if (opaque.has(key)) {
      if (message !== undefined) foundFields.add(`${message}.${key}`);
    } else if (next !== undefined) collect(nestedValue, next, foundFields);
    else if (isLeaf(nestedValue)) {
      if (message !== undefined) foundFields.add(`${message}.${key}`);
    } else collect(nestedValue, message, foundFields);
  }
}

/** Scalars and lists of scalars. An empty list counts as a leaf too, because the type of its elements is unknown. */
function isLeaf(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((element) => typeof element !== 'object' || element === null);
  return typeof value !== 'object' || value === null;
}

describe('docs/reference/coverage.md', () => {
  it('names each field once', () => {
    const fields = tableRows().map(({ field }) => field);
    expect(fields.length).toBeGreaterThan(80);
    expect(fields.filter((field, index) => fields.indexOf(field) !== index)).toEqual([]);
  });

  it('names only columns that the migrations create', () => {
    const migrationColumns = columnsOfMigrations();
    expect(migrationColumns.size).toBeGreaterThan(100);
    const missingColumns = tableRows().flatMap(({ columns }) =>
      columns.filter((column) => !migrationColumns.has(column)),
    );
    expect(missingColumns).toEqual([]);
  });

  it('has a row for every field of the samples', () => {
    const documentedFields = new Set(tableRows().map(({ field }) => field));
    const foundFields = new Set<string>();
    for (const name of sampleNames()) collect(JSON.parse(fixture(`samples/${name}`)), undefined, foundFields);
    expect(foundFields).toContain('CreatedEvent.contractId');
    expect([...foundFields].filter((field) => !documentedFields.has(field)).sort()).toEqual([]);
  });
});
