/**
 * Expected contents of the tables, computed only from the history, value by value: payloads, choices, parties, times,
 * counters, views, keys, dictionaries and sums. The indexer does not process any of these values, so the comparison
 * also detects a value that every run computes wrong in the same way.
 */
import type { Client } from 'pg';
import { compareRelations } from '../../recordings/comparison.ts';
import { addSummaries } from '../../recordings/expected-summaries.ts';
import { ExpectedRows } from '../../recordings/expected.ts';
import { asObject, JsonObject, type Json as Tree } from '../../recordings/json.ts';
import { integer, postgresTime, type Row, type Rows } from '../../recordings/rows.ts';
import { tables } from '../../recordings/stored.ts';
import type { Fields } from '../history/history-events.ts';
import { activeContractsAt, type History, type Item } from '../history/history.ts';
import { modelParticipant } from './model-ledger.ts';
import { StoredJson } from './stored-json.ts';

/** Maximum number of reported differences. It is enough to recognize the problem. */
const maxReported = 8;

/** The differences, one sentence each; empty if there are none. */
export async function differingValues(client: Client, history: History, seedOffset: number): Promise<string[]> {
  const rows = await expectedRows(client, history, seedOffset);
  const { all: differenceTexts } = await compareRelations(client, rows, tables);
  const omittedCount = differenceTexts.length - maxReported;
  return [
    ...differenceTexts.slice(0, maxReported),
    ...(omittedCount > 0 ? [`and ${String(omittedCount)} more values`] : []),
  ];
}

/** The rows of an indexer that seeded at `seedOffset` and then read the rest of the history. */
async function expectedRows(client: Client, history: History, seedOffset: number): Promise<Rows> {
  const entries = activeContractsAt(history, seedOffset);
  const items = history.items.filter(({ offset }) => offset > seedOffset);
  const updates = items.filter(({ kind }) => kind !== 'checkpoint');
  const messages = [...entries.map((entry) => entry.contractEntry), ...updates.map(({ value }) => value)];
  const storedJson = await StoredJson.of(client, messages);
  const expected = new ExpectedRows();
  for (const entry of entries) {
    const fields = { workflowId: entry.workflowId, contractEntry: entry.contractEntry, streamContinuationToken: '' };
    expected.entry({ json: storedJson.tree(fields) });
  }
  for (const { kind, name, value } of updates) {
    // The complete message is stored only if its kind is unknown.
    const update = kind === 'unknown' ? storedJson.kept({ [name]: { value } }) : null;
    const json = new JsonObject(new Map([['update', update]]));
    expected.update({ kind: name, value: asObject(storedJson.tree(value)), json });
  }
  const { unplaced: unplacedPaths } = expected.tally;
  if (unplacedPaths.length > 0) throw new Error(`no place for ${unplacedPaths.join(', ')}`);
  addSummaries(expected);
  const { rows } = expected;
  rows.add('coverage', {
    from_offset: integer(seedOffset),
    origin: 'seed',
    complete: true,
    transaction_shape: 'LEDGER_EFFECTS',
  });
  rows.add('stream', {
    ...progressOf(items),
    participant_id: modelParticipant,
    transaction_shape: 'LEDGER_EFFECTS',
    seed_offset: integer(seedOffset),
    seed_contracts: integer(entries.length),
    checkpoint: integer(history.items.at(-1)?.offset ?? 0),
  });
  return rows;
}

/** Expected progress columns of the stream row after all items. */
function progressOf(items: readonly Item[]): Row {
  const times = new Map<string, string>();
  let last: Row = {};
  for (const { kind, offset, updateId, value } of items) {
    const synchronizerTimes = kind === 'checkpoint' ? (value['synchronizerTimes'] as readonly Fields[]) : [value];
    for (const { synchronizerId, recordTime } of synchronizerTimes)
      times.set(textOf(synchronizerId), textOf(recordTime));
    if (updateId !== undefined) last = { checkpoint_update_offset: integer(offset), checkpoint_update_id: updateId };
  }
  const newestTime = [...times.values()].map(comparable).sort().at(-1);
  return {
    ...last,
    checkpoint_record_time: newestTime === undefined ? null : postgresTime(newestTime),
    record_times: new JsonObject(new Map<string, Tree>(times)),
  };
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new Error('expected a text');
}

/** A time with six fractional digits, so that the order of the texts is the order of the times. */
function comparable(time: string): string {
  const [wholeSeconds = '', fraction = ''] = time.slice(0, -1).split('.');
  return `${wholeSeconds}.${fraction.padEnd(6, '0')}Z`;
}
