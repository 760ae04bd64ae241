/** Expected rows of the views in schema explore, derived from the rows of the tables. */
import { asInteger, asText, JsonNumber, JsonObject, type Json } from './json.ts';
import type { ExpectedRows } from './expected.ts';
import type { Recording } from './recording.ts';
import { integer, keyOf, type Row } from './rows.ts';

interface VisibleRows {
  readonly update: (offset: Json | undefined) => Row;
  /** Offset at which the contract's activation ended: null while active, undefined if it was never active. */
  readonly deactivated: (contract: Row) => Json | undefined;
  /** Offset of the newest activation of a contract up to an offset; null if there is none. */
  readonly activated: (contractId: Json | undefined, offset: Json | undefined) => Json;
}

export function addViews(expected: ExpectedRows, second: Recording['second']): void {
  const { rows, lifetimes } = expected;
  const updates = new Map(rows.of('updates').map((row) => [keyOf(row, ['offset']), row]));
  const endedByContract = new Map(
    lifetimes.map(({ row, deactivated: deactivatedAt }) => [
      keyOf(row, ['contract_id', 'synchronizer_id', 'activated_offset']),
      deactivatedAt,
    ]),
  );
  const activations = new Map<string, Json[]>();
  const orderedContracts = [...rows.of('contracts')].toSorted((a, b) =>
    asInteger(a['offset']) < asInteger(b['offset']) ? -1 : 1,
  );
  for (const row of orderedContracts) {
    const key = keyOf(row, ['contract_id']);
    activations.set(key, [...(activations.get(key) ?? []), row['offset'] ?? null]);
  }
  const visibleRows: VisibleRows = {
    update: (offset = null) => updates.get(keyOf({ offset }, ['offset'])) ?? {},
    deactivated: (contract) => endedByContract.get(keyOf(contract, ['contract_id', 'synchronizer_id', 'offset'])),
    activated: (contract_id = null, offset) => {
      const activation = activations.get(keyOf({ contract_id }, ['contract_id'])) ?? [];
      return activation.filter((currentOffset) => asInteger(currentOffset) <= asInteger(offset)).at(-1) ?? null;
    },
  };
  const contracts = new Map<string, Row>();
  for (const row of rows.of('updates'))
    rows.add('explore.updates', { ...row, ...participantColumns(row['offset'], second) });
  for (const row of rows.of('contracts')) {
    contracts.set(keyOf(row, ['contract_id', 'offset']), row);
    rows.add('explore.contracts', contractRow(row, visibleRows));
  }
  for (const row of rows.of('exercises')) rows.add('explore.exercises', exerciseRow(row, visibleRows));
  for (const row of rows.of('interface_views')) {
    const contract = contracts.get(keyOf(row, ['contract_id', 'offset']));
    if (contract !== undefined) rows.add('explore.interface_views', viewRow(row, contract, visibleRows));
  }
  for (const row of rows.of('reassignments')) rows.add('explore.reassignments', reassignmentRow(row, visibleRows));
  for (const row of events(expected, visibleRows)) rows.add('explore.events', row);
}

/** The participant that sent an update, and its offset there. */
function participantColumns(offset: Json | undefined, second: Recording['second']): Row {
  const offsetNumber = asInteger(offset);
  const isFromSecond = second !== undefined && offsetNumber > second.from;
  return {
    participant_number: integer(isFromSecond ? 2 : 1),
    participant_offset: integer(isFromSecond ? offsetNumber - second.shift : offsetNumber),
  };
}

/** Name and name parts of a template, from its id and its package name. */
function names({ template_id, package_name = null }: Row): Row {
  const [package_id = '', module_name = '', entity_name = ''] = asText(template_id).split(':');
  const template_fqn = [asText(package_name), module_name, entity_name].join(':');
  return { template_fqn, package_name, module_name, entity_name, package_id };
}

function pickColumns(row: Row, ...columns: readonly string[]): Row {
  return Object.fromEntries(columns.map((column) => [column, row[column] ?? null]));
}

function contractRow(row: Row, visibleRows: VisibleRows): Row {
  const end = visibleRows.deactivated(row);
  const endEvent = visibleRows.update(end);
  const endKind = endEvent['kind'] === 'transaction' ? 'archived' : 'unassigned';
  return {
    ...names(row),
    ...pickColumns(row, 'contract_id', 'payload', 'contract_key', 'signatories', 'observers', 'created_at', 'origin'),
    ...pickColumns(row, 'synchronizer_id', 'reassignment_counter', 'node_id'),
    ...pickColumns(visibleRows.update(row['offset']), 'record_time', 'update_id'),
    status: end === undefined ? 'witnessed' : end === null ? 'active' : endKind,
    is_active: end === null,
    witnesses: row['witness_parties'] ?? null,
    created_at_offset: row['offset'] ?? null,
    archived_at_offset: end ?? null,
    archived_at: endEvent['effective_at'] ?? endEvent['record_time'] ?? null,
    unhosted_since: null,
  };
}

function exerciseRow(row: Row, visibleRows: VisibleRows): Row {
  return {
    ...names(row),
    ...pickColumns(
      row,
      'offset',
      'node_id',
      'contract_id',
      'choice',
      'argument',
      'result',
      'acting_parties',
      'consuming',
    ),
    ...pickColumns(row, 'last_descendant_node_id'),
    ...pickColumns(visibleRows.update(row['offset']), 'effective_at', 'record_time', 'synchronizer_id', 'update_id'),
    // No package of the recording is known, so the name of an interface contains its package id.
    interface_fqn: row['interface_id'] ?? null,
    witnesses: row['witness_parties'] ?? null,
    contract_created_at_offset: visibleRows.activated(row['contract_id'], row['offset']),
  };
}

function viewRow(row: Row, contract: Row, visibleRows: VisibleRows): Row {
  const end = visibleRows.deactivated(contract);
  return {
    ...pickColumns(row, 'contract_id', 'offset', 'view', 'status_code', 'status_message', 'status_details'),
    ...pickColumns(row, 'implementation_package_id'),
    ...pickColumns(contract, 'created_at'),
    interface_fqn: row['interface_id'] ?? null,
    template_fqn: names(contract)['template_fqn'] ?? null,
    is_active: end === null,
    archived_at_offset: end ?? null,
  };
}

function reassignmentRow(row: Row, visibleRows: VisibleRows): Row {
  return {
    ...pickColumns(
      row,
      'offset',
      'node_id',
      'kind',
      'contract_id',
      'reassignment_id',
      'reassignment_counter',
      'source',
    ),
    ...pickColumns(row, 'target', 'submitter', 'assignment_exclusivity', 'incomplete'),
    ...pickColumns(visibleRows.update(row['offset']), 'record_time', 'update_id'),
    template_fqn: names(row)['template_fqn'] ?? null,
    witnesses: row['witness_parties'] ?? null,
  };
}

function* events({ rows }: ExpectedRows, visibleRows: VisibleRows): Generator<Row> {
  const eventRow = (row: Row, event_type: string, synchronizer?: Json): Row => ({
    event_type,
    ...pickColumns(row, 'offset', 'node_id', 'contract_id', 'choice', 'payload', 'argument', 'result'),
    ...pickColumns(visibleRows.update(row['offset']), 'effective_at', 'record_time', 'synchronizer_id', 'update_id'),
    ...(synchronizer === undefined ? {} : { synchronizer_id: synchronizer }),
    parties: row['witness_parties'] ?? null,
    ...(row['template_id'] === undefined ? {} : names(row)),
  });
  for (const row of rows.of('contracts')) {
    if (row['origin'] === 'create') yield eventRow(row, 'created', row['synchronizer_id']);
    if (row['origin'] === 'assign') yield eventRow(row, 'assigned', row['synchronizer_id']);
  }
  for (const row of rows.of('exercises')) yield eventRow(row, row['consuming'] === true ? 'archived' : 'exercised');
  for (const row of rows.of('archives')) yield eventRow(row, 'archived');
  for (const row of rows.of('reassignments')) {
    if (row['kind'] === 'unassign' && row['incomplete'] === false) yield eventRow(row, 'unassigned', row['source']);
  }
  for (const row of rows.of('topology_events')) {
    const hosting = { participant: row['participant_id'] ?? null, permission: row['participant_permission'] ?? null };
    yield {
      ...eventRow(row, 'topology'),
      node_id: row['event_index'] ?? new JsonNumber('0'),
      choice: row['kind'] ?? null,
      parties: [row['party_id'] ?? null],
      argument: new JsonObject(new Map(Object.entries(hosting))),
    };
  }
}
