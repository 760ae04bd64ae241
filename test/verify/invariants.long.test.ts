/** `verify --invariants` finds nothing in valid histories, and each of its rules detects a violation of that rule. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { filterFingerprint } from '../../src/ledger/api/request-format.ts';
import { decodeCompletion } from '../../src/ledger/frames/decode-completion.ts';
import type { Completion } from '../../src/model/update.ts';
import { decodeActiveContract, decodeUpdate } from '../support/wire/decode.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { openSession } from '../../src/store/write/session.ts';
import { brokenRules, invariants } from '../../src/store/verify/broken-rules.ts';
import { randomHistory } from '../read/random-history.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import * as frames from '../support/frames.ts';

const filter = {
  parties: [],
  templates: ['#a:B:C'],
  wantedInterfaces: ['#i:J:K', '#é"\\:L:M'],
  createdEventBlobs: false,
  shape: 'LEDGER_EFFECTS',
  topology: true,
} as const;
const { json, hash } = filterFingerprint(filter);
const identity = { participantId: 'p::1220', filter: json, filterHash: hash, shape: filter.shape };
const seedOffset = 100;

let testDatabase: TestDatabase;
let database: Database;

/** Fills a schema with a seed of a few contracts and a random history. Resolves to the checkpoint. */
async function filled(seed: number, length: number): Promise<number> {
  const session = await openSession(database, identity);
  await session.beginSeed(seedOffset);
  const seedBatch = session.newBatch(seedOffset);
  for (const [index, contractId] of ['s1', 's2', 's3'].entries()) {
    seedBatch.addEntry(decodeActiveContract(frames.text(frames.activeEntry({ contractId, offset: 10 + index }))));
  }
  await session.writeSeed(seedBatch, 0);
  await session.publishSeed(seedOffset, 'seed');
  let checkpoint = seedOffset;
  const history = randomHistory(seed, length).map((frame) => shiftFrame(frames.text(frame)));
  history.push(shiftFrame(frames.text(frames.topology(length + 1))));
  for (const frame of history) {
    const batch = session.newBatch(checkpoint);
    batch.add(decodeUpdate(frame));
    await session.writeBatch(batch, checkpoint);
    checkpoint = batch.offset;
  }
  const from = await session.completions.open({ begin: seedOffset, parties: [] });
  await session.completions.write(history.flatMap(completionOf), from, checkpoint);
  return checkpoint;
}

/**
 * Creates the completion of a transaction's command. It has the fields of the transaction, so that the same reader may
 * read it.
 */
function completionOf(frame: string): readonly Completion[] {
  const { update } = JSON.parse(frame) as { update: { Transaction?: { value: Record<string, unknown> } } };
  if (update.Transaction === undefined) return [];
  const { synchronizerId, recordTime, ...facts } = update.Transaction.value;
  const value = { ...facts, synchronizerTime: { synchronizerId, recordTime }, actAs: [frames.alice], userId: 'u' };
  const completion = decodeCompletion(JSON.stringify({ completionResponse: { Completion: { value } } }));
  return completion.kind === 'completion' ? [completion] : [];
}

/** The same frame with offsets after the seed. Its record time is later than all others. */
function shiftFrame(frame: string): string {
  return frame
    .replaceAll(/"offset":(\d+)/g, (_, offset: string) => `"offset":${String(Number(offset) + seedOffset)}`)
    .replaceAll(frames.recordTime, '2026-08-16T11:01:00.100001Z');
}

async function countViolations(): Promise<ReadonlyMap<string, number>> {
  const { broken: violatedRules } = await database.withClient((client) => brokenRules(client, () => undefined));
  return new Map(violatedRules.map(({ rule, count }) => [rule, count]));
}

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const options = { schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'test' };
  database = openDatabase({ url: testDatabase.url, ...options });
  await migrate(database);
  await filled(7, 300);
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

/** SQL that violates each rule. `also` contains the rules that the same change necessarily violates. */
const violations: Readonly<Record<string, { readonly sql: string; readonly also?: readonly string[] }>> = {
  I01: { sql: `update stream set checkpoint = checkpoint - 1`, also: ['I41'] },
  I02: { sql: `update stream set seed_offset = checkpoint + 1, pruned_to_offset = checkpoint + 1`, also: ['I27'] },
  I03: { sql: `update stream set seeded_at = null, checkpoint = null`, also: ['I41'] },
  I04: {
    sql: `update updates set update_id = (select update_id from updates order by "offset" limit 1)
           where "offset" = (select "offset" from updates order by "offset" offset 1 limit 1)`,
    also: ['I42'],
  },
  I05: {
    sql: `delete from exercises where ("offset", node_id) =
            (select "offset", node_id from exercises where not exists (select from lifetimes l where l.contract_id = id_text(exercises.contract_id)) limit 1)`,
    also: ['I21'],
  },
  I06: {
    sql: `update topology_events set "offset" = 99 where event_index = 0`,
    also: ['I05'],
  },
  I07: {
    sql: `insert into archives ("offset", node_id, template_pk, parties_pk, contract_id)
          select "offset", node_id, template_pk, parties_pk, '\\x0123' from exercises limit 1`,
    also: ['I05', 'I21'],
  },
  I08: {
    sql: `update contracts set origin = 'c' where origin = 'a'
           and contract_id = (select contract_id from contracts where origin = 'a' limit 1)`,
    also: ['I21'],
  },
  I09: {
    sql: `update exercises set contract_id = (select contract_id from exercises order by "offset", node_id limit 1)
           where ("offset", node_id) = (select "offset", node_id from exercises e where not exists
                   (select from lifetimes l where l.contract_id = id_text(e.contract_id)) order by 1 desc, 2 limit 1)`,
    also: ['I10'],
  },
  I10: {
    sql: `update ended set ended_offset = ended_offset + 1, class = lifetime_class("offset", ended_offset + 1)
           where ctid = (select ctid from ended where ended_by <> 'w' order by "offset" limit 1)`,
    also: ['I32'],
  },
  I11: { sql: `update live set "offset" = "offset" - 1 where id_text(contract_id) = 's1'` },
  I12: {
    sql: `update exercises e set contract_id = c.contract_id, acs_delta = false
            from (select c."offset", c.contract_id, x.node_id from contracts c join exercises x using ("offset")
                   where x.node_id < c.node_id and id_text(x.contract_id) like 'unseen%'
                     and not exists (select from exercises y where y.contract_id = c.contract_id) limit 1) c
           where e."offset" = c."offset" and e.node_id = c.node_id`,
  },
  I13: { sql: `update stream set seed_offset = 10`, also: ['I27'] },
  I14: { sql: `update coverage set from_offset = from_offset + 1`, also: ['I27'] },
  I15: {
    sql: `update updates set record_time = record_time - interval '1 microsecond' - (select max(record_time) - min(record_time) from updates)
           where "offset" = (select max("offset") from updates where kind = 'p')`,
  },
  I16: { sql: `update batches set epoch = epoch - 1 where batch_offset = (select max(batch_offset) from batches)` },
  I17: { sql: `update stream set epoch = 0` },
  I18: { sql: `update stream set checkpoint_update_id = 'another'` },
  I19: {
    sql: `insert into quarantine ("offset", code, problem, frame, epoch)
          select checkpoint, 'C', 'f', '', 1 from stream`,
  },
  I20: { sql: `update active_counts set deactivated = deactivated + 1 where template_pk = 1` },
  I21: {
    sql: `update activity_hourly set creates = creates + 1, archives = archives - 1
           where (hour, template_pk, choice_pk, synchronizer_pk) =
                 (select hour, template_pk, choice_pk, synchronizer_pk from activity_hourly where template_pk > 0 limit 1)`,
    also: ['I22'],
  },
  I22: { sql: `update activity_hourly set transactions = transactions + 1 where template_pk = 0` },
  I23: {
    sql: `insert into redactions (redaction_id, subject, reason, requested_by) values ('r', 'contract', '', '');
          update contracts set redaction_id = 'r' where id_text(contract_id) = 's1'`,
    also: ['I36'],
  },
  I24: {
    sql: `insert into coverage (from_offset, origin, filter_hash, transaction_shape) select max(from_offset) + 1, 'reset', 'f', 'LEDGER_EFFECTS' from coverage`,
    also: ['I26', 'I28'],
  },
  I25: {
    sql: `delete from templates where template_pk = (select interface_pk from interface_views limit 1)`,
  },
  I26: { sql: `update stream set filter = jsonb_set(filter, '{interfaces}', '[]')` },
  I27: { sql: `update stream set seeded_at = seeded_at + interval '1 microsecond'` },
  I28: { sql: `update coverage set reason = 'planted'` },
  I29: { sql: `update stream set checkpoint_record_time = checkpoint_record_time + interval '1 microsecond'` },
  I30: { sql: `update activity_hourly set delay_seconds = delay_seconds + 0.001 where template_pk = 0` },
  I31: { sql: `update activity_hourly set paid_traffic_cost = 1 where template_pk > 0` },
  I32: {
    sql: `with gone as (delete from live where ctid = (select ctid from live where "offset" > 100 limit 1) returning *)
          insert into ended ("offset", ended_offset, node_id, template_pk, synchronizer_pk, parties_pk, class, ended_by, contract_id)
          select "offset", checkpoint, node_id, template_pk, synchronizer_pk, parties_pk, lifetime_class("offset", checkpoint),
                 'e', contract_id from gone cross join stream`,
    also: ['I20'],
  },
  I33: { sql: `update choices set template_pk = interface_pk where choice_pk = 1` },
  I34: { sql: `delete from template_interfaces` },
  I35: { sql: `update contracts set reassignment_counter = reassignment_counter + 1 where origin = 'assign'` },
  I36: {
    sql: `insert into redactions (redaction_id, subject, reason, requested_by) values ('r', 'contract', '', '');
          insert into redacted_contracts (contract_id, redaction_id) values ('s1', 'r')`,
  },
  I37: {
    sql: `insert into packages (package_id, package_name, package_version, language_version, model)
          values ('p', 'name', '1.0.0', '2.1', '{"packageId": "p", "name": "another", "version": "1.0.0", "languageVersion": "2.1"}')`,
  },
  I38: { sql: `update live set unhosted_since = "offset" + 1 where id_text(contract_id) = 's1'` },
  I39: { sql: `update ended set ended_at = ended_at + interval '1 microsecond' where ended_by = 'a'` },
  I40: {
    sql: `update updates set batch_offset = batch_offset + 1 where "offset" = (select max("offset") from updates)`,
  },
  I41: { sql: `update completion_ranges set from_offset = from_offset + 30` },
  I42: { sql: `update completions set update_id = '\\xabcd' where status_code = 0` },
  I43: { sql: `update completions set error_code = 'PLANTED' where status_code = 0` },
  I44: { sql: `insert into submitters (submitters_key, party) values ('\\x00', 'p')` },
  I45: {
    sql: `insert into participants (participant_number, participant_id, from_offset, offset_shift, overlap_to_offset) values (1, 'another', 0, 0, 0)`,
  },
};

describe('verify --invariants', () => {
  it('finds no violation in valid histories', async () => {
    expect(await countViolations()).toEqual(new Map());
    for (const seed of [1, 2, 3]) {
      await using otherDatabase = await createTestDatabase();
      const originalDatabase = database;
      database = openDatabase({
        url: otherDatabase.url,
        schema: 'ledger',
        statementTimeoutMs: 60_000,
        applicationName: 'test',
      });
      try {
        await migrate(database);
        await filled(seed, 150);
        expect(await countViolations()).toEqual(new Map());
      } finally {
        await database.close();
        database = originalDatabase;
      }
    }
  });

  it('has a test for each rule', () => {
    expect(Object.keys(violations).sort()).toEqual(invariants.map(({ id }) => id));
  });

  it.each(Object.entries(violations))('detects a violation of %s', async (id, { sql, also: extraRules = [] }) => {
    const rules = await database.withClient(async (client) => {
      await client.query('begin');
      try {
        await client.query(sql);
        return (await brokenRules(client, () => undefined)).broken;
      } finally {
        await client.query('rollback');
      }
    });
    expect(rules.map(({ rule }) => rule).sort()).toEqual([id, ...extraRules].sort());
    for (const { rows, count } of rules) {
      expect(rows.length).toBeGreaterThan(0);
      expect(count).toBeGreaterThan(0);
    }
  });
});
