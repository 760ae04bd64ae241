/** Rows that the writer derives from events: lifetimes, dictionaries, and counts by template and hour. */
import { asInteger, asText, JsonNumber, type Json } from './json.ts';
import type { ExpectedRows } from './expected.ts';
import { integer, keyOf, type Row } from './rows.ts';

export function addSummaries(expected: ExpectedRows): void {
  addLifetimes(expected);
  addDictionaries(expected);
  addActivity(expected);
}

/**
 * Adds lifetimes with the time and kind of their end, from the update and event that ended them. No recording has an
 * offboarded party.
 */
function addLifetimes({ rows, lifetimes }: ExpectedRows): void {
  const updates = new Map(rows.of('updates').map((row) => [keyOf(row, ['offset']), row]));
  const archives = [...rows.of('archives'), ...rows.of('exercises').filter(({ consuming }) => consuming === true)];
  const nodes = new Map(archives.map((row) => [keyOf(row, ['contract_id', 'offset']), row['node_id'] ?? null]));
  for (const { row, deactivated: deactivatedAt } of lifetimes) {
    const endEvent = { offset: deactivatedAt, contract_id: row['contract_id'] ?? null };
    const update = updates.get(keyOf(endEvent, ['offset']));
    const { effective_at = null, record_time = null } = update ?? {};
    rows.add('lifetimes', {
      ...row,
      deactivated_offset: deactivatedAt,
      unhosted_since: null,
      ended_by: deactivatedAt === null ? null : update?.['kind'] === 'transaction' ? 'a' : 'r',
      ended_at: effective_at ?? record_time,
      ended_node_id: nodes.get(keyOf(endEvent, ['contract_id', 'offset'])) ?? null,
    });
  }
}

function addDictionaries({ rows, lifetimes }: ExpectedRows): void {
  const templates = new Map<string, Json>();
  for (const table of ['contracts', 'exercises', 'archives', 'reassignments']) {
    for (const row of rows.of(table)) templates.set(asText(row['template_id']), row['package_name'] ?? null);
  }
  const interfaces = [...rows.of('interface_views'), ...rows.of('exercises')].map((row) => row['interface_id'] ?? null);
  for (const interfaceId of interfaces) if (interfaceId !== null) templates.set(asText(interfaceId), null);
  for (const [template_id, package_name] of templates) {
    const templateLifetimes = lifetimes.filter(({ row }) => row['template_id'] === template_id);
    const activated = integer(templateLifetimes.length);
    const deactivatedCount = integer(templateLifetimes.filter((lifetime) => lifetime.deactivated !== null).length);
    rows.add('templates', { template_id, package_name, activated, deactivated: deactivatedCount });
  }
  const synchronizers = new Set<Json>();
  for (const row of [...rows.of('updates'), ...rows.of('contracts')]) synchronizers.add(row['synchronizer_id'] ?? null);
  for (const row of rows.of('reassignments')) synchronizers.add(row['source'] ?? null).add(row['target'] ?? null);
  for (const synchronizer_id of synchronizers) rows.add('synchronizers', { synchronizer_id });
  const choices = new Map<string, Row>();
  for (const { template_id = null, interface_id = null, choice = null } of rows.of('exercises')) {
    choices.set([template_id, interface_id, choice].map(String).join(' '), {
      template_id,
      interface_id,
      choice,
      own: interface_id === null,
    });
  }
  for (const choice of choices.values()) rows.add('choices', choice);
}

const zeroCounts = {
  creates: 0n,
  archives: 0n,
  exercises: 0n,
  transactions: 0n,
  paid_traffic_cost: 0n,
  delay_units: 0n,
  total_creates: 0n,
  total_archives: 0n,
  total_exercises: 0n,
};
type Counter = keyof typeof zeroCounts;

interface HourRow {
  readonly names: Row;
  readonly counts: Record<Counter, bigint>;
}

type CounterValues = Partial<Record<Counter, number | bigint>>;

class Hours {
  readonly #rows = new Map<string, HourRow>();

  /** Adds to the counts of the names, and adds events to the counts of all templates. */
  count(names: Row, counters: CounterValues): void {
    const key = Object.values(names).map(String).join(' ');
    const row = this.#rows.get(key) ?? { names, counts: { ...zeroCounts } };
    this.#rows.set(key, row);
    for (const [counter, increment] of Object.entries(counters)) row.counts[counter as Counter] += BigInt(increment);
    if (names['template_id'] === null) return;
    const { creates = 0, archives = 0, exercises = 0 } = counters;
    const totals = { total_creates: creates, total_archives: archives, total_exercises: exercises };
    this.count({ ...names, template_id: null, interface_id: null, choice: null }, totals);
  }

  *rows(): Generator<Row> {
    for (const { names, counts } of this.#rows.values()) {
      const { delay_units: units, ...otherCounts } = counts;
      const numbers = Object.entries(otherCounts).map(
        ([name, value]) => [name, new JsonNumber(String(value))] as const,
      );
      const [of_all, of_none] = [names['template_id'] === null, names['choice'] === null];
      yield {
        ...names,
        of_all,
        of_none,
        ...Object.fromEntries(numbers),
        delay_seconds: integer(Number(units) / 2 ** 20),
      };
    }
  }
}

function addActivity({ rows }: ExpectedRows): void {
  const updates = new Map(rows.of('updates').map((row) => [asInteger(row['offset']), row]));
  const hours = new Hours();
  const namesOf = (update: Row, names: Row): Row => ({
    hour: `${asText(update['record_time']).slice(0, 13)}:00:00+00:00`,
    synchronizer_id: update['synchronizer_id'] ?? null,
    template_id: names['template_id'] ?? null,
    interface_id: names['interface_id'] ?? null,
    choice: names['choice'] ?? null,
  });
  for (const update of updates.values()) {
    const cost = update['paid_traffic_cost'];
    const paid_traffic_cost = cost instanceof JsonNumber ? BigInt(cost.text) : 0;
    const transaction = update['kind'] === 'transaction';
    if (!transaction && cost === null) continue;
    const delay_units = transaction ? delayUnits(asText(update['effective_at']), asText(update['record_time'])) : 0;
    hours.count(namesOf(update, {}), { transactions: transaction ? 1 : 0, paid_traffic_cost, delay_units });
  }
  const event = (row: Row, names: Row, counters: CounterValues): void => {
    const update = updates.get(asInteger(row['offset']));
    if (update !== undefined) hours.count(namesOf(update, names), counters);
  };
  for (const row of rows.of('contracts')) {
    if (row['origin'] === 'create') event(row, { template_id: row['template_id'] ?? null }, { creates: 1 });
  }
  for (const row of rows.of('archives')) event(row, { template_id: row['template_id'] ?? null }, { archives: 1 });
  for (const row of rows.of('exercises'))
    event(row, row, { exercises: 1, archives: row['consuming'] === true ? 1 : 0 });
  for (const row of hours.rows()) rows.add('activity_hourly', row);
}

/** Delay between two times, in units of 2^-20 seconds. */
function delayUnits(from: string, to: string): number {
  return Math.round(((microseconds(to) - microseconds(from)) * 2 ** 20) / 1e6);
}

function microseconds(time: string): number {
  const [integerPart = '', fraction = ''] = time.replace('+00:00', '').split('.');
  return Date.parse(`${integerPart}Z`) * 1000 + Number(fraction.padEnd(6, '0'));
}
