/**
 * Table `works`: what somebody asked for that takes long and is done beside the stream. Whoever does it writes here how far
 * it is, and looks here before each step whether it should rest; so it can be stopped, resumed and gone on with by
 * another process.
 */
import type { ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Work, WorkName, WorkProgress, WorkState } from '../../model/stream.ts';
import { tablesOf, type Change } from '../connection/query-builder.ts';

/** The last of each name, in order of names. */
export async function listWorks(client: ClientBase): Promise<readonly Work[]> {
  const rows = await tablesOf(client).selectFrom('works').selectAll().orderBy('name').execute();
  return rows.map(({ per_second: perSecond, asked_at: askedAt, changed_at: changedAt, ...row }) => ({
    ...row,
    perSecond,
    askedAt,
    changedAt,
  }));
}

/** The work of this name, if there ever was one. */
export async function findWork(client: ClientBase, name: WorkName): Promise<Work | undefined> {
  return (await listWorks(client)).find((work) => work.name === name);
}

/** Whether it is to be done now: asked for or under way, and not stopped. */
export function isDue(work: Work | undefined): work is Work {
  return work !== undefined && (work.state === 'asked' || work.state === 'working');
}

/** Each would undo what the other does: a storage that is made anew has the filter it was asked for with. */
const apart: Readonly<Record<WorkName, readonly WorkName[]>> = {
  widen: ['rebuild'],
  history: ['rebuild'],
  rebuild: ['widen', 'history'],
};

/** @throws IndexerError WORK_REFUSED while a work is unfinished that cannot be done beside this one */
async function refuseBeside(client: ClientBase, name: WorkName): Promise<void> {
  const other = (await listWorks(client)).find(
    (work) => apart[name].includes(work.name) && work.state !== 'done' && work.state !== 'failed',
  );
  if (other !== undefined) throw unfinished(`a ${other.name} is not finished, and ${name} would undo it`, other.name);
}

function unfinished(found: string, name: WorkName): IndexerError {
  return new IndexerError(found, {
    code: 'WORK_REFUSED',
    remedy: `let it finish (ledger-indexer works), or give it up: ledger-indexer works cancel ${name}`,
  });
}

/**
 * Asks for a work. What is asked for again as it was asked for before goes on.
 * @throws IndexerError WORK_REFUSED while another of this name, or one that it cannot be done beside, is unfinished
 */
export async function askWork(client: ClientBase, name: WorkName, wanted: object): Promise<void> {
  await refuseBeside(client, name);
  const { rowCount } = await client.query(
    `insert into works (name, state, wanted) values ($1, 'asked', $2)
     on conflict (name) do update set state = 'asked', wanted = excluded.wanted, step = null, unit = null, done = 0,
       total = null, per_second = null, problem = null, asked_at = now(), changed_at = now()
      where works.state in ('done', 'failed') or works.wanted = excluded.wanted`,
    [name, JSON.stringify(wanted)],
  );
  if (rowCount === 1) return;
  throw unfinished(`another ${name} was asked for and is not finished`, name);
}

/** Says how far a work is. What was stopped, or is gone, stays so: resolves to whether it is still to be done. */
export async function noteWork(
  client: ClientBase,
  name: WorkName,
  progress: Partial<WorkProgress> & { readonly state?: 'working' | 'done' | 'failed' },
): Promise<boolean> {
  const { step, unit, done, total, perSecond, problem, state = 'working' } = progress;
  // What is not said stays.
  const said: Change<'works'> = { step, unit, done, total, per_second: perSecond, problem, state };
  const { numUpdatedRows } = await tablesOf(client)
    .updateTable('works')
    .set(said)
    .set('changed_at', (e) => e.fn('now'))
    .where('name', '=', name)
    .where('state', 'in', ['asked', 'working'])
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Makes it wait, or go on. @throws IndexerError WORK_REFUSED where there is no such work to do that with, or not now */
export async function changeWork(client: ClientBase, name: WorkName, change: 'stop' | 'resume'): Promise<void> {
  if (change === 'resume') await refuseBeside(client, name);
  const [from, to]: readonly [WorkState[], WorkState] =
    change === 'stop' ? [['asked', 'working'], 'stopped'] : [['stopped', 'failed'], 'asked'];
  const { numUpdatedRows } = await tablesOf(client)
    .updateTable('works')
    .set({ state: to, per_second: null })
    .set('changed_at', (e) => e.fn('now'))
    .where('name', '=', name)
    .where('state', 'in', from)
    .executeTakeFirst();
  if (numUpdatedRows === 1n) return;
  throw new IndexerError(`there is no ${name} to ${change}`, {
    code: 'WORK_REFUSED',
    remedy: 'ledger-indexer works lists what there is, and what it is doing',
  });
}

/**
 * Gives a work up. What it has gathered is removed by who does it, or by the next one. Whether there was one to give up.
 * @throws IndexerError WORK_REFUSED where it has come so far that it can only be finished
 */
export async function cancelWork(client: ClientBase, name: WorkName): Promise<boolean> {
  if (name === 'rebuild') await refuseHandedOver(client);
  const { numDeletedRows } = await tablesOf(client)
    .deleteFrom('works')
    .where('name', '=', name)
    .where('state', '<>', 'done')
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** Between the two commits of a hand-over, one server does not know whether the other has made the second. */
async function refuseHandedOver(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ peer: string }>(
    `select s.handover_peer as peer from stream s, works w
      where s.handover = 'handed over' and w.name = 'rebuild' and w.state <> 'done'`,
  );
  if (rows[0] === undefined) return;
  throw new IndexerError(
    `the stream was handed over to database ${rows[0].peer}, and the rebuild ended before it said so`,
    {
      code: 'WORK_REFUSED',
      remedy: 'run the same rebuild command again: it finishes the hand-over',
    },
  );
}
