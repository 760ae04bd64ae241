/** Queries of active contracts at offsets and times return a complete result, or fail if it is not known. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createReadDatabase, type ReadDatabase } from './read-database.ts';

let database: ReadDatabase;
beforeAll(async () => {
  database = await createReadDatabase();
  await database.query(`
    insert into templates values (1, 'p', 'M', 'A', 'n');
    insert into synchronizers values (1, 'here')`);
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
});

/** The stream was seeded at 100 and followed up to 344. It was seeded again at 574 and followed up to 584. */
const withGap = `
  update stream set seed_offset = 574, seeded_at = now(), checkpoint = 584, pruned_to_offset = null, checkpoint_record_time = null;
  delete from coverage;
  insert into coverage (from_offset, to_offset, origin, filter_hash, transaction_shape, reason, recorded_at) values
    (100, 344, 'seed', 'f', 'LEDGER_EFFECTS', null, '2026-03-01 10:05'),
    (574, null, 'reseed', 'f', 'LEDGER_EFFECTS', 'the participant pruned', '2026-03-01 12:05');
  truncate updates, live, ended;
  insert into updates ("offset", batch_offset, kind, synchronizer_pk, effective_at, record_time, event_count) values
    (110, 0, 't', 1, '2026-03-01 10:10', '2026-03-01 10:10:01', 1),
    (344, 0, 't', 1, '2026-03-01 10:44', '2026-03-01 10:44:01', 1),
    (580, 0, 't', 1, '2026-03-01 12:40', '2026-03-01 12:40:01', 1),
    (582, 0, 'r', 1, null, '2026-03-01 12:50', 1);
  insert into ended ("offset", ended_offset, node_id, template_pk, synchronizer_pk, parties_pk, class, ended_by, contract_id)
    values (90, 344, 0, 1, 1, 1, lifetime_class(90, 344), 'a', '\\xff' || 'old'::bytea);
  insert into live ("offset", node_id, template_pk, synchronizer_pk, parties_pk, contract_id)
    select "offset", 0, 1, 1, 1, '\\xff' || id::bytea
      from (values (110, 'lasting'), (400, 'unseen'), (580, 'new'), (582, 'moved')) drawn ("offset", id)`;

const inTransaction = async <T>(setup: string, work: () => Promise<T>): Promise<T> => {
  await database.query(`begin; ${setup}`);
  try {
    return await work();
  } finally {
    await database.query('rollback');
  }
};

type Answer = string | readonly string[];

/** Returns the contract ids, or the error. */
async function callFunction(call: string, values: unknown[] = []): Promise<Answer> {
  await database.query('savepoint asked');
  try {
    const rows = await database.query<{ contract_id: string }>(`select contract_id from ${call} order by 1`, values);
    return rows.map((row) => row.contract_id);
  } catch (error) {
    await database.query('rollback to asked');
    const { code, message } = error as { readonly code?: string; readonly message: string };
    return `${String(code)}: ${message}`;
  }
}

const coverageText = 'history is known from 100 to 344 and from 574 to 584';

describe.each(['active_at', 'lifetimes_at'])('%s', (name) => {
  it.each<readonly [number, Answer]>([
    [99, `LI003: Active contracts at offset 99 are not known: ${coverageText}`],
    [100, ['old']],
    [343, ['lasting', 'old']],
    [344, ['lasting']],
    [345, `LI003: Active contracts at offset 345 are not known: ${coverageText}`],
    [573, `LI003: Active contracts at offset 573 are not known: ${coverageText}`],
    [574, ['lasting', 'unseen']],
    [584, ['lasting', 'moved', 'new', 'unseen']],
    [585, `LI003: Active contracts at offset 585 are not known yet: ${coverageText}`],
  ])('returns the contracts at offset %i, or LI003 if they are not known', async (offset, expected) => {
    await inTransaction(withGap, async () => {
      expect(await callFunction(`explore.${name}(${String(offset)})`)).toEqual(expected);
      expect(await callFunction(`explore.${name}($1::bigint, 'n:M:A')`, [offset])).toEqual(expected);
    });
  });

  it('fails at an unknown offset in any query, even if no row would match', async () => {
    await inTransaction(withGap, async () => {
      for (const offsetSql of ['400', '900', 'null::bigint', 'explore.nearest_offset(timestamptz $$2020-01-01$$)']) {
        const call = `explore.${name}(${offsetSql})`;
        for (const from of [
          `(select contract_id from ${call} limit 1) x`,
          `(select contract_id from ${call} where contract_id = 'nothing') x`,
          `(select count(*)::text as contract_id from ${call}) x`,
          `(select c.contract_id from ${call} c join synchronizers s on true) x`,
          `synchronizers s left join ${call} on true`,
          `synchronizers s left join ${call} c on c.contract_id = 'nothing'`,
          `(select s.synchronizer_id as contract_id from synchronizers s where not exists (select from ${call})) x`,
        ])
          expect([from, await callFunction(from)]).toEqual([from, expect.stringMatching(/^LI003: /)]);
      }
      await database.query('truncate live, ended');
      expect(await callFunction(`explore.${name}(400)`)).toMatch(/^LI003: /);
      expect(await callFunction(`explore.${name}($1::bigint)`, [null])).toMatch(/^LI003: No offset was given/);
      expect(await callFunction(`explore.${name}(584)`)).toEqual([]);
    });
  });

  it('fails at pruned offsets, and at any offset before the seed is complete', async () => {
    await inTransaction(`${withGap}; update stream set pruned_to_offset = 579`, async () => {
      expect(await callFunction(`explore.${name}(578)`)).toBe(
        'LI003: Active contracts at offset 578 are not known: history is known from 579 to 584',
      );
      expect(await callFunction(`explore.${name}(120)`)).toMatch(/^LI003: /);
      expect(await callFunction(`explore.${name}(579)`)).toEqual(['lasting', 'unseen']);
    });
    await inTransaction(`${withGap}; update stream set pruned_to_offset = 200`, async () => {
      expect(await callFunction(`explore.${name}(199)`)).toMatch(/from 200 to 344 and from 574 to 584$/);
      expect(await callFunction(`explore.${name}(200)`)).toEqual(['lasting', 'old']);
    });
    await inTransaction(
      `${withGap}; update stream set checkpoint = null, seed_offset = 700, seeded_at = null; delete from coverage`,
      async () => {
        expect(await callFunction(`explore.${name}(700)`)).toBe(
          'LI003: Active contracts at offset 700 are not known: no history is known until the seed is complete',
        );
      },
    );
  });
});

describe('active_at with a time', () => {
  const offsetErrorAt = (time: string) => `LI003: Active contracts at ${time} are not known: ${coverageText}`;

  it.each<readonly [string, string, Answer]>([
    ['a time before the seed', '2026-03-01 10:04:59+00', offsetErrorAt('2026-03-01 10:04:59+00')],
    ['the time when the seed was recorded', '2026-03-01 10:05+00', ['old']],
    ['a time between two updates', '2026-03-01 10:43+00', ['lasting', 'old']],
    ['a time in the gap', '2026-03-01 11:00+00', offsetErrorAt('2026-03-01 11:00:00+00')],
    ['the time when the end of the gap was recorded', '2026-03-01 12:06+00', ['lasting', 'unseen']],
    ['the time of a transaction', '2026-03-01 12:40+00', ['lasting', 'new', 'unseen']],
    ['the record time of a reassignment', '2026-03-01 12:50+00', ['lasting', 'moved', 'new', 'unseen']],
    ['a time after all updates', '2030-01-01+00', ['lasting', 'moved', 'new', 'unseen']],
  ])('returns the contracts, or LI003 if they are not known, for %s', async (_caseName, time, expected) => {
    await inTransaction(`${withGap}; set local time zone 'UTC'`, async () => {
      expect(await callFunction(`explore.active_at(timestamptz '${time}')`)).toEqual(expected);
      expect(await callFunction(`explore.active_at(now() - timestamptz '${time}', 'M:A')`)).toEqual(expected);
      const joinedTimes = await callFunction(
        `synchronizers s left join explore.active_at(timestamptz '${time}') on true`,
      );
      expect(joinedTimes).toEqual(expected);
    });
  });

  it('returns the contracts at the checkpoint for the current time', async () => {
    await inTransaction(withGap, async () => {
      const now = await callFunction('explore.active()');
      expect(await callFunction('explore.active_at(now())')).toEqual(now);
      expect(await callFunction(`explore.active_at(interval '0')`)).toEqual(now);
      expect(await callFunction('explore.active_at(null::timestamptz)')).toMatch(/^LI003: Active contracts at null /);
    });
  });

  it('fails for a time in pruned history, even if an update at that time remains', async () => {
    await inTransaction(`${withGap}; update stream set pruned_to_offset = 200; set local time zone 'UTC'`, async () => {
      // The update at 110 remains, because it created a contract that is still active.
      expect(await callFunction(`explore.active_at(timestamptz '2026-03-01 10:10+00')`)).toMatch(/^LI003: /);
      expect(await callFunction(`explore.active_at(timestamptz '2026-03-01 10:30+00')`)).toMatch(/^LI003: /);
      expect(
        await callFunction(`explore.active_at(explore.nearest_offset(timestamptz '2026-03-01 10:10+00'))`),
      ).toMatch(/^LI003: /);
    });
    // Everything except active contracts was pruned, and the ledger has reported a later time.
    const setPruned = `update stream set pruned_to_offset = 584, checkpoint_record_time = '2026-03-01 13:00';
                 delete from updates where "offset" > 110`;
    await inTransaction(`${withGap}; ${setPruned}`, async () => {
      expect(await callFunction(`explore.active_at(timestamptz '2026-03-01 12:59')`)).toMatch(/^LI003: /);
      expect(await callFunction(`explore.active_at(timestamptz '2026-03-01 13:00')`)).toHaveLength(4);
    });
  });

  it('returns no rows for a time before the first update of the ledger', async () => {
    const genesis = `delete from coverage;
      update stream set seed_offset = 0;
      insert into coverage (from_offset, origin, filter_hash, transaction_shape) values (0, 'genesis', 'f', 'ACS_DELTA')`;
    await inTransaction(`${withGap}; ${genesis}`, async () => {
      expect(await callFunction(`explore.active_at(timestamptz '1970-01-01')`)).toEqual([]);
      expect(await callFunction('explore.active_at(0)')).toEqual([]);
    });
  });
});

describe('explore.coverage', () => {
  const coverageLines = async (): Promise<readonly string[]> =>
    (
      await database.query<{ line: string }>(
        `select concat_ws(' ', from_offset, to_offset, status) as line from explore.coverage`,
      )
    ).map(({ line }) => line);

  it('lists each offset from 0 to the checkpoint once, with a reason', async () => {
    await inTransaction(withGap, async () => {
      expect(await coverageLines()).toEqual([
        '0 100 before_start',
        '100 344 complete',
        '344 574 gap',
        '574 584 complete',
      ]);
      const [, , gap] = await database.query<{ reason: string }>('select reason from explore.coverage');
      expect(gap?.reason).toBe('these updates are not known: the participant pruned');
    });
  });

  it('lists pruned ranges, a changed filter, and a quarantined update', async () => {
    const coverageSql = `
      update coverage set to_offset = 580 where to_offset is null;
      insert into coverage (from_offset, origin, filter_hash, transaction_shape, reason)
        values (580, 'filter', 'g', 'LEDGER_EFFECTS', 'parties: also bob');
      update stream set pruned_to_offset = 200;
      insert into quarantine ("offset", code, problem, frame, epoch) values (583, 'DECODE_FAILED', 'x', '', 1)`;
    await inTransaction(`${withGap}; ${coverageSql}`, async () => {
      expect(await coverageLines()).toEqual([
        '0 100 before_start',
        '100 200 pruned',
        '200 344 complete',
        '344 574 gap',
        '574 580 complete',
        '580 584 partial',
        '582 583 quarantined',
      ]);
      // The filter change causes no gap: active contracts are known before and after it.
      expect(await callFunction('explore.active_at(579)')).toEqual(['lasting', 'unseen']);
      expect(await callFunction('explore.active_at(581)')).toEqual(['lasting', 'new', 'unseen']);
      for (const offset of [199, 345])
        expect(await callFunction(`explore.active_at(${String(offset)})`)).toMatch(/^LI003: /);
    });
  });

  it('is empty before the seed is complete', async () => {
    await inTransaction(
      `${withGap}; delete from coverage; update stream set checkpoint = null, seeded_at = null`,
      async () => expect(await coverageLines()).toEqual([]),
    );
  });
});
