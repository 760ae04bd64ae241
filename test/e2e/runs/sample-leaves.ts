/** The column of every field of the wire format: one table per message, and a check of all fields. */
import { isDeepStrictEqual } from 'node:util';
import type { Database } from '../../../src/store/connection/database.ts';

export type Message = Readonly<Record<string, unknown>>;
type Row = Readonly<Record<string, unknown>>;

const time = (column: string): string =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as ${column.split('.').at(-1)}`;
const id = (alias: string, roleName: string): string =>
  `${alias}.package_id || ':' || ${alias}.module_name || ':' || ${alias}.entity_name as ${roleName}`;

const queries = {
  updates: `select u.*, s.synchronizer_id, ${time('u.record_time')}, ${time('u.effective_at')}
    from decoded_updates u join synchronizers s using (synchronizer_pk)`,
  contracts: `select c.*, s.synchronizer_id, ${id('t', 'template_id')}, t.package_name, ${time('c.created_at')}
    from decoded_contracts c join synchronizers s using (synchronizer_pk) join templates t using (template_pk)`,
  exercises: `select e.*, h.choice, ${id('t', 'template_id')}, t.package_name, ${id('i', 'interface_id')}
    from decoded_exercises e join choices h using (choice_pk) join templates t on t.template_pk = e.template_pk
    left join templates i on i.template_pk = h.interface_pk`,
  archives: `select a.*, ${id('t', 'template_id')}, t.package_name from decoded_archives a join templates t using (template_pk)`,
  views: `select v.*, ${id('t', 'interface_id')} from decoded_interface_views v join templates t on t.template_pk = v.interface_pk`,
  reassignments: `select r.*, ${id('t', 'template_id')}, t.package_name, a.synchronizer_id as source,
    b.synchronizer_id as target, ${time('r.assignment_exclusivity')} from decoded_reassignments r join templates t using (template_pk)
    join synchronizers a on a.synchronizer_pk = r.source_pk join synchronizers b on b.synchronizer_pk = r.target_pk`,
  topology: 'select * from topology_events',
} as const;

/** Maps fields to columns: those in `sharedField` to their names in snake case, `otherFields` as given. */
function fields(
  sharedField: string,
  otherFields: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const snake = (field: string): string => field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return { ...Object.fromEntries(sharedField.split(' ').map((field) => [field, snake(field)])), ...otherFields };
}

const event = 'offset nodeId contractId templateId packageName witnessParties';
/**
 * The column in the queries above for each field of a message. `#` marks a field that is compared separately. `none: …`
 * states why a field has no column.
 */
const columns: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  update: fields(
    'offset updateId commandId workflowId effectiveAt recordTime synchronizerId externalTransactionHash transactionHash paidTrafficCost',
    { events: '#', traceContext: '#' },
  ),
  trace: { traceparent: 'trace_parent', tracestate: 'trace_state' },
  created: fields(
    `${event} representativePackageId contractKey contractKeyHash createdEventBlob signatories observers createdAt acsDelta`,
    { createArgument: 'payload', interfaceViews: '#' },
  ),
  view: fields('interfaceId implementationPackageId', { viewValue: 'view', viewStatus: '#' }),
  status: { code: 'status_code', message: 'status_message', details: 'status_details' },
  exercised: fields(
    `${event} interfaceId choice actingParties consuming lastDescendantNodeId acsDelta implementedInterfaces`,
    { choiceArgument: 'argument', exerciseResult: 'result' },
  ),
  archived: fields(`${event} implementedInterfaces`),
  reassigned: fields(`${event} reassignmentId source target submitter reassignmentCounter assignmentExclusivity`, {
    createdEvent: '#',
  }),
  topology: fields('partyId participantId participantPermission'),
  active: fields('synchronizerId reassignmentCounter', { createdEvent: '#' }),
  incompleteUnassigned: { createdEvent: '#', unassignedEvent: '#' },
  incompleteAssigned: { assignedEvent: '#' },
  entry: {
    workflowId: 'workflow_id',
    contractEntry: '#',
    streamContinuationToken: 'none: spent when the seed is published',
  },
};
const times = new Set(['effective_at', 'record_time', 'created_at', 'assignment_exclusivity']);
const daml = new Set(['payload', 'contract_key', 'argument', 'result', 'view', 'status_details']);

/** On this interface, absent fields, null, empty text and empty lists have the same meaning. */
function withoutWrappers(value: unknown): unknown {
  if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) return null;
  return value;
}

function microseconds(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  return value.replace(/(?:\.(\d+))?Z$/, (_, digits?: string) => `.${(digits ?? '').padEnd(6, '0')}Z`);
}

const object = (value: unknown): Message => (value ?? {}) as Message;
const list = (value: unknown): readonly Message[] => (value ?? []) as readonly Message[];

/**
 * Compares wire messages with the stored rows. `problems` lists fields that were not found, `leaves` counts the fields
 * that were.
 */
export class LeafCheck {
  readonly problems: string[] = [];
  leaves = 0;
  readonly #stored: Readonly<Record<keyof typeof queries, readonly Row[]>>;
  #sample = '';

  private constructor(storedRows: Readonly<Record<keyof typeof queries, readonly Row[]>>) {
    this.#stored = storedRows;
  }

  static async of(database: Database): Promise<LeafCheck> {
    const storedRows: { -readonly [Table in keyof typeof queries]?: readonly Row[] } = {};
    for (const [name, sql] of Object.entries(queries)) {
      storedRows[name as keyof typeof queries] = await database.withClient(
        async (client) => (await client.query<Row>(sql)).rows,
      );
    }
    return new LeafCheck(storedRows as Required<typeof storedRows>);
  }

  update(sample: string, kind: string, value: Message): void {
    this.#sample = sample;
    const row = this.#row('updates', { offset: value['offset'] });
    this.#compare('update', value, row);
    this.#compare('trace', object(value['traceContext']), row);
    const events = list(value['events']);
    if (row?.['event_count'] !== events.length) this.problems.push(`${sample}: event_count is not ${events.length}`);
    for (const [index, event] of events.entries()) this.#event(kind, Number(value['offset']), index, event);
  }

  entry(sample: string, frame: Message): void {
    this.#sample = sample;
    const contractEntry = object(frame['contractEntry']);
    const [kind = ''] = Object.keys(contractEntry);
    const value = object(contractEntry[kind]);
    if (kind === 'JsEmpty') {
      this.#compare('entry', frame, { workflow_id: null });
    } else if (kind === 'JsIncompleteAssigned') {
      this.#compare('incompleteAssigned', value, {});
      const assignedEvent = object(value['assignedEvent']);
      const row = this.#half(assignedEvent, Number(object(assignedEvent['createdEvent'])['offset']), 'assign');
      this.#compare('entry', frame, row);
      this.leaves += 1;
      if (!isDeepStrictEqual(row?.['created_event'], assignedEvent['createdEvent']))
        this.problems.push(`${sample}: createdEvent`);
    } else {
      this.#compare(kind === 'JsActiveContract' ? 'active' : 'incompleteUnassigned', value, this.#created(value));
      this.#compare('entry', frame, this.#created(value));
      const unassignedEvent = object(value['unassignedEvent']);
      if (kind === 'JsIncompleteUnassigned') this.#half(unassignedEvent, Number(unassignedEvent['offset']), 'unassign');
    }
  }

  #event(kind: string, offset: number, index: number, event: Message): void {
    const [name = ''] = Object.keys(event);
    const value = object(event[name]);
    if (kind === 'TopologyTransaction') {
      const [type = ''] = Object.keys(value);
      const row = this.#row('topology', { offset, event_index: index, kind: type });
      this.#compare('topology', object(object(value[type])['value']), row);
    } else if (name === 'CreatedEvent') this.#created({ createdEvent: { offset, ...value } });
    else if (name === 'ExercisedEvent' || name === 'ArchivedEvent') {
      const key = { offset, node_id: value['nodeId'] ?? index };
      const row = this.#row(name === 'ExercisedEvent' ? 'exercises' : 'archives', key);
      this.#compare(name === 'ExercisedEvent' ? 'exercised' : 'archived', value, row);
    } else if (name === 'JsUnassignedEvent') this.#half(object(value['value']), offset, 'unassign');
    else if (name === 'JsAssignmentEvent') {
      this.#half(value, offset, 'assign');
      this.#created(value);
    } else this.problems.push(`${this.#sample}: no mapping for event ${name}`);
  }

  /** Compares `createdEvent` of a message with its stored row, including all views. Returns the row. */
  #created(holder: Message): Row | undefined {
    const event = object(holder['createdEvent']);
    const { contractId: contract_id, offset } = event;
    const row = this.#row('contracts', { contract_id, offset });
    this.#compare('created', event, row);
    for (const view of list(event['interfaceViews'])) {
      const storedView = this.#row('views', { contract_id, offset, interface_id: view['interfaceId'] });
      this.#compare('view', view, storedView);
      this.#compare('status', object(view['viewStatus']), storedView);
    }
    return row;
  }

  #half(reassignmentEvent: Message, offset: number, kind: string): Row | undefined {
    const contract = reassignmentEvent['contractId'] ?? object(reassignmentEvent['createdEvent'])['contractId'];
    const row = this.#row('reassignments', { offset, kind, contract_id: contract });
    this.#compare('reassigned', reassignmentEvent, row);
    return row;
  }

  #row(table: keyof typeof queries, key: Row): Row | undefined {
    const matchesKey = (row: Row): boolean => Object.entries(key).every(([column, value]) => row[column] === value);
    const storedRow = this.#stored[table].find(matchesKey);
    if (storedRow === undefined) this.problems.push(`${this.#sample}: no row in ${table} for ${JSON.stringify(key)}`);
    return storedRow;
  }

  #compare(message: string, value: Message, row: Row | undefined): void {
    for (const [field, sentValue] of Object.entries(value)) {
      const column = columns[message]?.[field];
      if (column === undefined) this.problems.push(`${this.#sample}: no mapping for ${message}.${field}`);
      if (column === undefined || column === '#' || column.startsWith('none')) continue;
      this.leaves += 1;
      const storedValue = row?.[column];
      const expected = times.has(column) ? microseconds(withoutWrappers(sentValue)) : withoutWrappers(sentValue);
      const isSameColumn =
        daml.has(column) && column !== 'status_details'
          ? isDeepStrictEqual(storedValue ?? null, sentValue ?? null)
          : isDeepStrictEqual(withoutWrappers(storedValue), expected);
      if (!isSameColumn) this.problems.push(`${this.#sample}: ${message}.${field} is not in column ${column}`);
    }
  }
}
