/**
 * Changes random histories of tokens in every way in which the indexer changes history, while projections are filled in
 * ranges of random size. After each change, the views over the projections return the rows of their SELECTs.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Random } from '../../packages/ledger-sandbox/src/wire/random.ts';
import type { Database } from '../../src/store/connection/database.ts';
import { resetTo } from '../../src/store/history/reset.ts';
import { fillNext, invalidate, removeOutdated } from '../../src/store/projections/fill.ts';
import { builtInProjections } from '../../src/store/projections/projections.ts';
import { prune } from '../../src/store/retention/prune.ts';
import { storeLate } from '../../src/store/write/late-update.ts';
import { openSession } from '../../src/store/write/session.ts';
import { createReadDatabase, type ReadDatabase } from '../read/read-database.ts';
import { owners, TokenModel } from '../read/tokens/movement-model.ts';
import { history } from '../read/tokens/random-movements.ts';
import { printRepeatCommand, runsFor, seedFor } from '../support/chance/property.ts';
import { query } from '../support/database.ts';
import { text } from '../support/frames.ts';
import { identity } from '../support/schemas.ts';
import { needs } from '../support/skips/needs.ts';
import { limitsSkipReason } from '../support/skips/server-version.ts';
import { decodeUpdate } from '../support/wire/decode.ts';
import { limitedReaders } from './limited-readers.ts';
import { allEqual, compare, fillAll, turnJitOff, uncoveredCount, useSmallBlocks, withDatabase } from './projected.ts';

const seeds = Array.from({ length: runsFor(2) }, (_, at) => seedFor() + at);
printRepeatCommand(seeds[0] ?? 0, seeds.length);

/** A database whose history is written and changed step by step. */
class ChangingHistory {
  readonly #frames: TokenModel['frames'];
  readonly #read: ReadDatabase;
  readonly #database: Database;
  readonly #random: Random;
  /** For removals of outdated rows. */
  readonly #removals: Random;
  readonly #withheld: number[] = [];
  #written = 0;
  /** Changes that were made, by name. */
  readonly made = new Map<string, number>();

  constructor(read: ReadDatabase, database: Database, random: Random, frames: TokenModel['frames']) {
    this.#frames = frames;
    this.#read = read;
    this.#database = database;
    this.#random = random;
    this.#removals = new Random(random.between(1, 1e9));
  }

  get isComplete(): boolean {
    return this.#written === this.#frames.length;
  }

  /** Makes one random change. Returns its name. */
  async change(): Promise<string> {
    const changes = [
      () => this.#write(),
      () => this.#write(),
      () => this.#fill(),
      () => this.#fill(),
      () => this.#fill(),
      () => this.#redact(),
      () => this.#storeLate(),
      () => this.#leave(),
      () => this.#prune(),
    ];
    const name = await (changes[this.#random.between(0, changes.length - 1)] ?? changes[0])?.();
    if (name === undefined) throw new Error('no changes');
    this.made.set(name, (this.made.get(name) ?? 0) + 1);
    return name;
  }

  async #write(): Promise<string> {
    // An update that was stored late has ended the previous session.
    const session = await openSession(this.#database, identity);
    for (let left = this.#random.between(1, 6); left > 0 && !this.isComplete; left -= 1) {
      const frame = text(this.#frames[this.#written] ?? {});
      const checkpoint = this.#written;
      this.#written += 1;
      if (this.#random.chance(0.15)) {
        const update = {
          offset: this.#written,
          code: 'LEDGER_DATA_INVALID',
          problem: 'a test',
          frame: Buffer.from('{}'),
        } as const;
        await session.quarantine(update, checkpoint);
        this.#withheld.push(this.#written);
      } else {
        const batch = session.newBatch(checkpoint);
        batch.add(decodeUpdate(frame));
        await session.writeBatch(batch, checkpoint);
      }
    }
    return 'write';
  }

  async #fill(): Promise<string> {
    const projections = await builtInProjections('ledger');
    await invalidate(this.#database, projections);
    // Sums may be next before the rows that they read.
    const first = this.#removals.between(0, projections.length - 1);
    for (const projection of [...projections.slice(first), ...projections.slice(0, first)]) {
      // Sometimes some outdated rows are left.
      for (let left = this.#removals.between(0, 8); left > 0; left -= 1) {
        if (!(await removeOutdated(this.#database, projection, this.#removals.between(1, 50)))) break;
      }
      for (let left = this.#random.between(0, 20); left > 0; left -= 1) {
        if ((await fillNext(this.#database, projection, this.#random.between(1, 12))) === undefined) break;
      }
    }
    return 'fill';
  }

  async #redact(): Promise<string> {
    const [ended] = await this.#read.query<{ id: string }>(
      `select ledger.id_text(e.contract_id) as id from ledger.ended e
         join ledger.contracts c on c."offset" = e."offset" and c.node_id = e.node_id
        where c.redaction_id is null and pqs.__contract_state(ledger.id_text(e.contract_id)) = 'archived' order by md5(e.contract_id::text || $1::text) limit 1`,
      [this.#random.between(0, 1e6)],
    );
    if (ended === undefined) return 'nothing to redact';
    await this.#read.query('select pqs.redact_contract($1, $2)', [
      ended.id,
      `r${String(this.#random.between(0, 1e9))}`,
    ]);
    return 'redact';
  }

  async #storeLate(): Promise<string> {
    const offset = this.#withheld.pop();
    const frame = offset === undefined ? undefined : this.#frames[offset - 1];
    if (frame === undefined) return 'nothing withheld';
    const [stream] = await this.#read.query<{ pruned: number }>(
      'select coalesce(pruned_to_offset, 0)::int as pruned from ledger.stream',
    );
    if ((offset ?? 0) <= (stream?.pruned ?? 0)) return 'withheld is pruned';
    await storeLate(this.#database, decodeUpdate(text(frame)));
    return 'store late';
  }

  /** The parties of some active holdings left the participant at an earlier offset. */
  async #leave(): Promise<string> {
    const at = this.#random.between(1, Math.max(1, this.#written));
    await this.#read.query(
      `update ledger.live set unhosted_since = $1 where "offset" < $1 and unhosted_since is null and "offset" % 7 = $2`,
      [at, this.#random.between(0, 6)],
    );
    return 'leave';
  }

  async #prune(): Promise<string> {
    if (this.#written < 15) return 'no prune';
    const [stream] = await this.#read.query<{ pruned: number }>(
      'select coalesce(pruned_to_offset, 0)::int as pruned from ledger.stream',
    );
    const offset = (stream?.pruned ?? 0) + this.#random.between(1, 5);
    if (offset >= this.#written) return 'no prune';
    await prune(this.#database, { offset }, { stop: new AbortController().signal, batchRows: 10 });
    return 'prune';
  }
}

/** Makes changes until the history is complete, and compares the views after each of them. */
async function changeAndCompare(
  read: ReadDatabase,
  database: Database,
  model: TokenModel,
  seed: number,
): Promise<void> {
  await using readers = await limitedReaders(read.url, owners.slice(0, 2));
  const changing = new ChangingHistory(read, database, new Random(seed), model.frames);
  const kinds = ['write', 'fill', 'redact', 'store late', 'leave', 'prune'];
  const isOver = (): boolean => changing.isComplete && kinds.every((kind) => changing.made.has(kind));
  for (let turn = 0; turn < 200 && !isOver(); turn += 1) {
    const change = await changing.change();
    expect({ turn, change, ...(await compare(read.url)) }).toEqual({ turn, change, ...allEqual });
    if (turn % 10 > 0) continue;
    for (const reader of readers.urls) expect({ turn, ...(await compare(reader)) }).toEqual({ turn, ...allEqual });
  }
  expect([...changing.made.keys()]).toEqual(expect.arrayContaining(kinds));
  const [stored] = await query(read.url, 'select count(*)::int as rows from ledger.projected_token_changes');
  expect(stored?.['rows']).toBeGreaterThan(20);
  await fillAll(read.url, 12);
  expect(await uncoveredCount(read.url)).toBe(0);
  await resetTo(database, Math.floor(model.offset * 0.8), 'test');
  expect(await compare(read.url)).toEqual(allEqual);
}

describe('token projections of a changing history', needs(limitsSkipReason), () => {
  it.each(seeds)('return the rows of their SELECTs after every change (TEST_SEED=%i)', async (seed) => {
    const model = new TokenModel();
    for (const step of fc.sample(history, { seed, numRuns: 1 }).flat()) model.step(step);
    await using read = await createReadDatabase();
    await turnJitOff(read.url);
    await useSmallBlocks(read.url, 8);
    await withDatabase(read.url, (database) => changeAndCompare(read, database, model, seed));
  });
});
