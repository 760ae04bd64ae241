/** Projections that users could add, for measurements of their effect. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from './server.ts';

/** Value of INDEXER_PROJECTIONS; with `all`, the projections of this file are added. */
export type ProjectionSetting = 'all' | 'built-in' | 'off';

interface OwnProjection {
  readonly name: string;
  readonly text: string;
  readonly options: readonly string[];
}

const inRange = 'e."offset" > :from and e."offset" <= :to';

/** Counts by day, rows with a look-up, rows by party, rows of the token views, and rows with contents. */
const usual: readonly OwnProjection[] = [
  {
    name: 'days',
    text: `select e."offset", date_trunc('day', e.record_time) as day, e.template_fqn, count(*) as events
             from explore.events e where ${inRange} group by 1, 2, 3`,
    options: ['--key', 'template_fqn'],
  },
  {
    name: 'ends',
    text: `select e."offset", e.node_id, e.choice, c.contract_id, c.created_at_offset, c.payload
             from explore.events e join explore.contracts c on c.contract_id = e.contract_id
            where e.choice is not null and ${inRange}`,
    options: ['--index', 'contract_id'],
  },
  {
    name: 'members',
    text: `select e."offset", e.node_id, e.template_fqn, p.party
             from explore.events e cross join unnest(e.parties) p (party)
            where e.event_type = 'created' and ${inRange}`,
    options: ['--party-column', 'party'],
  },
  {
    name: 'volumes',
    text: `select e."offset", e.instrument_id, date_trunc('day', e.record_time) as day, e.amount
             from explore.token_transfers e where ${inRange}`,
    options: ['--index', 'instrument_id'],
  },
  {
    name: 'contents',
    text: `select e."offset", e.node_id, e.contract_id, e.payload
             from explore.events e where e.event_type = 'created' and ${inRange}`,
    options: ['--no-look-ups', '--key', 'node_id'],
  },
];

export const mostUserProjections = usual.length;

/** After an offset, one fails and the other takes seconds for an update. */
function hostile(after: number): readonly OwnProjection[] {
  return [
    {
      name: 'failing',
      text: `select e."offset", e.node_id, 1 / greatest(${String(after + 1)} - e."offset", 0) as share
               from explore.events e where ${inRange}`,
      options: [],
    },
    {
      name: 'slow',
      text: `select e."offset", e.node_id,
                    case when e."offset" > ${String(after)}
                         then (select count(*) from generate_series(1, 3000000) g (n) where g.n <> e."offset") end as counted
               from explore.events e where ${inRange}`,
      options: [],
    },
  ];
}

/** SQL: whether a row of `projections` must be complete. It is true for all but hostile ones. */
export const isUsual = `coalesce(p.view_name, '') not in ('failing', 'slow')`;

export interface OwnProjections {
  readonly count: number;
  /** Offset after which two more projections fail or are slow; undefined for none. */
  readonly hostileAfter: number | undefined;
}

/** Adds them with the command that users run. */
export async function addOwnProjections(databaseUrl: string, { count, hostileAfter }: OwnProjections): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-projections-'));
  try {
    const others = hostileAfter === undefined ? [] : hostile(hostileAfter);
    for (const { name, text, options } of [...usual.slice(0, count), ...others]) {
      const file = join(folder, `${name}.sql`);
      writeFileSync(file, text);
      await runProgram(['projection', 'add', name, '--sql', file, ...options], databaseUrl);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}
