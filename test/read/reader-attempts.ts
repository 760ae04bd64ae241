/**
 * Contracts of two owners on one ledger, and every relation and function call by which a role could try to read them.
 */
import type { ClientBase } from 'pg';
import type { PackageModel } from '../../src/daml/package-model.ts';
import { readSchemas } from '../../src/store/connection/read-schemas.ts';
import { query } from '../support/database.ts';
import * as frames from '../support/frames.ts';

const names = Object.values(readSchemas('ledger'));
const schemaList = names.map((name) => `'${name}'`).join(', ');

/** Updates with all kinds of data of a contract, for one of two owners. Their texts contain `owner`. */
export function historyOf(owner: string, party: string, from: number): readonly frames.JsonRecord[] {
  const parties = { signatories: [party], observers: [], witnessParties: [party] };
  const contract = (eventNumber: number, offset: number): frames.JsonRecord =>
    frames.created({ ...parties, offset, contractId: `${owner}-${eventNumber}`, createArgument: { secret: owner } });
  const ids = { workflowId: owner, commandId: owner };
  const event = (eventNumber: number): frames.JsonRecord => ({ ...parties, contractId: `${owner}-${eventNumber}` });
  const exercisedFrame = frames.exercised({
    ...event(1),
    actingParties: [party],
    choiceArgument: owner,
    exerciseResult: owner,
  });
  const unassignedFrame = frames.unassigned({ ...event(3), submitter: party });
  const assignedFrame = frames.assigned({ createdEvent: contract(3, from + 4), submitter: party });
  return [
    frames.transaction(
      from,
      [1, 2, 3].map((eventNumber) => ({ CreatedEvent: { ...contract(eventNumber, from), nodeId: eventNumber } })),
      ids,
    ),
    frames.transaction(from + 1, [{ ExercisedEvent: exercisedFrame }], ids),
    frames.transaction(from + 2, [{ ArchivedEvent: frames.archived(event(2)) }], ids),
    frames.reassignment(from + 3, { JsUnassignedEvent: { value: unassignedFrame } }),
    frames.reassignment(from + 4, { JsAssignmentEvent: assignedFrame }, frames.there),
    frames.transaction(from + 5, [{ CreatedEvent: { ...contract(4, from + 5) } }], ids),
  ];
}

/** The package of the contracts above, with the parts that views need. */
export const iou: PackageModel = {
  packageId: 'ab'.repeat(32),
  name: 'iou',
  version: '1.0.0',
  languageVersion: '2.1',
  templates: [{ moduleName: 'Main.Iou', entityName: 'Iou', choices: [], implements: [], key: undefined }],
  interfaces: [],
  dataTypes: {
    'Main.Iou:Iou': {
      kind: 'record',
      parameters: [],
      fields: [{ name: 'secret', type: { kind: 'builtin', name: 'text' } }],
    },
  },
  dependencies: [],
};

export interface Relation {
  readonly name: string;
  readonly kind: string;
}

/** Tables and views of the four schemas. */
export async function relations(url: string): Promise<readonly Relation[]> {
  return (await query(
    url,
    `select format('%I.%I', n.nspname, c.relname) as name, c.relkind::text as kind
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname in (${schemaList}) and c.relkind in ('r', 'v', 'm', 'p', 'f') order by 1`,
  )) as unknown as readonly Relation[];
}

/** Decodes the bytes of ids that are not hexadecimal, which are stored as the byte ff and the text. */
function readableText(line: string): string {
  return line.replaceAll(/\\+xff((?:[0-9a-f]{2})+)/g, (_, digits: string) => Buffer.from(digits, 'hex').toString());
}

/** The rows as text, or the SQLSTATE of the error. */
export async function rowsOf(client: ClientBase, sql: string): Promise<readonly string[] | string> {
  try {
    const { rows } = await client.query<{ line: string | null }>(sql);
    return rows.map(({ line }) => readableText(line ?? ''));
  } catch (error) {
    return (error as { code?: string }).code ?? 'unknown';
  }
}

/** Values to try for a parameter of a function. */
const candidates: Readonly<Record<string, readonly string[]>> = {
  text: [`'foreign-1'`, `'iou:Main.Iou:Iou'`, `'Main.Iou:Iou'`, `'Iou'`, `'Transfer'`, 'null'],
  bigint: ['7', '12', 'null'],
  integer: ['1', '2'],
  'timestamp with time zone': ['now()', `'2026-08-14T12:00Z'`],
  interval: [`'1 day'`],
};

export interface Callable {
  readonly name: string;
  readonly types: readonly string[];
}

/** Functions of the four schemas. */
export async function callables(url: string): Promise<readonly Callable[]> {
  return (await query(
    url,
    `select format('%I.%I', n.nspname, p.proname) as name,
            array(select format_type(t, null) from unnest(p.proargtypes::oid[]) with ordinality u (t, n) order by n) as types
       from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname in (${schemaList}) and p.prokind = 'f' order by 1`,
  )) as unknown as readonly Callable[];
}

/** One call for each combination of values to try. */
export function callsOf({ name, types }: Callable): readonly string[] {
  const lists = types.reduce<readonly (readonly string[])[]>(
    (knownTypes, type) =>
      knownTypes.flatMap((list) => (candidates[type] ?? ['null']).map((value) => [...list, `${value}::${type}`])),
    [[]],
  );
  return lists.map((list) => `select f::text as line from ${name}(${list.join(', ')}) f`);
}
