/** `reset` leaves the same rows as an indexer that stopped at the offset. The tests then follow the stream again. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { query } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { HistoryWorld } from './history-run.ts';

let world: HistoryWorld;
beforeEach(async () => {
  world = await HistoryWorld.open(150);
});
afterEach(async () => {
  await world.close();
});

const genesis = { INDEXER_START: 'genesis' };

describe('reset --to', () => {
  it('yields the digest of a never reset index after the stream is read again', async () => {
    await world.index('ledger', genesis);
    await world.index('never', genesis);
    const neverDigest = await digestOf(world.database.url, 'never');
    expect(await digestOf(world.database.url, 'ledger')).toBe(neverDigest);
    const end = world.sandbox.ledger.ledgerEnd();
    for (const to of [end, end - 1, Math.floor(end / 2), 3, 0]) {
      await world.command(`reset --to ${to} --yes`);
      expect(await world.checkpoint()).toBe(to);
      expect(await world.broken()).toEqual([]);
      await world.index('ledger', genesis);
      expect(await digestOf(world.database.url, 'ledger'), `after going back to ${to}`).toBe(neverDigest);
    }
  });

  it('leaves the rows of an indexer that stopped at the offset, except in dictionaries', async () => {
    await world.index('short', genesis);
    const end = world.sandbox.ledger.ledgerEnd();
    world.grow(200);
    await world.index('ledger', genesis);
    await world.command(`reset --to ${end} --yes`);
    for (const table of [
      'updates',
      'contracts',
      'exercises',
      'live',
      'ended',
      'activity_hourly',
      'active_counts',
      'coverage',
    ]) {
      const skippedColumnSql =
        table === 'updates' ? ` - 'batch_offset'` : table === 'coverage' ? ` - 'recorded_at'` : '';
      const readAllRows = (schema: string) =>
        query(world.database.url, `select to_jsonb(t)${skippedColumnSql} as row from ${schema}.${table} t order by 1`);
      expect(await readAllRows('ledger'), table).toEqual(await readAllRows('short'));
    }
    const mark = (schema: string) =>
      world.row(
        `select checkpoint, checkpoint_update_offset, checkpoint_update_id, checkpoint_record_time from ${schema}.stream`,
      );
    expect(await mark('ledger')).toEqual(await mark('short'));
  });

  it('counts the rows and changes nothing without --yes', async () => {
    await world.index();
    const seedCheckpoint = await world.checkpoint();
    world.grow(50);
    await world.index();
    const digestBefore = await digestOf(world.database.url, 'ledger');
    const output = await world.command(`reset --to ${seedCheckpoint}`);
    expect(output).toMatch(/updates +50\b/);
    expect(output).toContain(`run: ledger-indexer reset --to ${seedCheckpoint} --yes`);
    expect(await digestOf(world.database.url, 'ledger')).toBe(digestBefore);
  });

  it('warns about stored updates that the participant has pruned', async () => {
    await world.index('ledger', genesis);
    const end = await world.checkpoint();
    expect(await world.command('reset --to 5')).not.toContain('pruned');
    const prunedOffset = end - 3;
    world.sandbox.ledger.pruneTo(prunedOffset);
    expect(await world.command('reset --to 5')).toContain(
      `the participant is pruned up to ${prunedOffset}: stored history of offsets 6 to ${prunedOffset} cannot be read again\n` +
        `from 5 the indexer cannot continue (LEDGER_PRUNED): choose ${prunedOffset} or a later offset\n`,
    );
    expect(await world.command(`reset --to ${prunedOffset}`)).not.toContain('pruned');
    expect(await world.command('reset --all')).toContain(
      `stored history of offsets 1 to ${prunedOffset} cannot be read again\n`,
    );
  });

  it('refuses offsets before the seed or after the checkpoint, and fails while an indexer runs', async () => {
    await world.index();
    const seedCheckpoint = await world.checkpoint();
    await expect(world.command(`reset --to ${seedCheckpoint - 1} --yes`)).rejects.toMatchObject({
      code: 'RESET_REFUSED',
    });
    await expect(world.command(`reset --to ${seedCheckpoint + 1} --yes`)).rejects.toMatchObject({
      code: 'RESET_REFUSED',
    });
    await expect(world.command('reset')).rejects.toMatchObject({ code: 'USAGE', exitCode: 2 });
    await using indexer = await world.run();
    await indexer.reaches(seedCheckpoint);
    await expect(world.command(`reset --to ${seedCheckpoint} --yes`)).rejects.toMatchObject({ code: 'WRITER_ACTIVE' });
  });

  it('increments the epoch', async () => {
    await world.index();
    const epochBefore = await world.row('select epoch from ledger.stream');
    await world.command(`reset --to ${await world.checkpoint()} --yes`);
    expect(Number((await world.row('select epoch from ledger.stream'))['epoch'])).toBe(
      Number(epochBefore['epoch']) + 1,
    );
  });
});

describe('reset --all', () => {
  it('counts the rows to delete in each table without --yes', async () => {
    await world.index('ledger', genesis);
    const rowsOf = async (): Promise<ReadonlyMap<string, number>> => {
      const tables = await query(
        world.database.url,
        `select c.relname as name from pg_class c
          where c.relnamespace = 'ledger'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`,
      );
      const counts = new Map<string, number>();
      for (const { name } of tables) {
        const { rows } = await world.row(`select count(*)::int as rows from ledger."${String(name)}"`);
        counts.set(String(name), Number(rows));
      }
      return counts;
    };
    const rowsBefore = await rowsOf();
    const output = await world.command('reset --all');
    await world.command('reset --all --yes');
    const rowsAfter = await rowsOf();
    const deletedRows = [...rowsBefore].filter(([name, rows]) => rows !== rowsAfter.get(name));
    expect(deletedRows.map(([name]) => name)).toEqual(
      expect.arrayContaining(['updates', 'contracts', 'coverage', 'templates']),
    );
    expect(deletedRows.every(([name]) => rowsAfter.get(name) === 0)).toBe(true);
    const deletedCounts = [...output.matchAll(/^ {2}(\w+) +(\d+)$/gm)].map(
      ([, name, rows]) => `${name ?? ''} ${rows ?? ''}`,
    );
    expect(deletedCounts.toSorted()).toEqual(deletedRows.map(([name, rows]) => `${name} ${String(rows)}`).toSorted());
  });

  it('empties the schema, and the next start can seed from another participant', async () => {
    await world.index();
    world.grow(20);
    await world.index();
    world.sandbox.ledger.participantId = 'participant2::1220bb';
    expect(await world.command('reset --all')).toContain('nothing was changed');
    await world.command('reset --all --yes');
    await world.index();
    await world.index('fresh');
    expect(await digestOf(world.database.url, 'ledger')).toBe(await digestOf(world.database.url, 'fresh'));
  });
});
