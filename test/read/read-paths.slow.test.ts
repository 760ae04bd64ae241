/** Compares current and earlier active contracts with models that scan all rows. */
import { array, asyncProperty, constantFrom, integer, nat, oneof, option, pre, record, tuple } from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as frames from '../support/frames.ts';
import { createReadDatabase, type ReadDatabase } from './read-database.ts';
import { expectProperty } from '../support/chance/property.ts';

const { created, here: homeSynchronizer, there: awaySynchronizer } = frames;

interface Lifetime {
  readonly id: string;
  readonly template: number;
  readonly from: number;
  readonly to: number | null;
}

/** Ids of the contracts that are active right after `offset`, of one template or of all templates. */
function activeAt(lifetimes: readonly Lifetime[], offset: number, template?: number): readonly string[] {
  return lifetimes
    .filter(({ from, to }) => from <= offset && (to === null || to > offset))
    .filter((lifetime) => template === undefined || lifetime.template === template)
    .map(({ id }) => id)
    .sort();
}

/** The active contracts that the database returns at each offset for a template. */
async function readAll(
  database: ReadDatabase,
  offsets: readonly number[],
  template: string | null,
): Promise<readonly (readonly string[])[]> {
  const rows = await database.query<{ ids: string[] }>(
    `select array(select contract_id from explore.active_at(o, $2) order by contract_id collate "C") as ids
       from unnest($1::bigint[]) with ordinality as asked (o, place) order by place`,
    [offsets, template],
  );
  return rows.map(({ ids }) => ids);
}

describe('active_at over lifetimes of any length', () => {
  let database: ReadDatabase;
  beforeAll(async () => {
    database = await createReadDatabase();
    await database.query(`
      insert into templates values (1, 'p', 'M', 'A', 'n'), (2, 'p', 'M', 'B', 'n');
      insert into synchronizers values (1, 'here')`);
  });
  afterAll(async () => {
    await database[Symbol.asyncDispose]();
  });

  // Lengths around powers of two, where lifetime classes end and rounding could be wrong.
  const length = tuple(integer({ min: 0, max: 45 }), integer({ min: -2, max: 2 })).map(([power, difference]) =>
    Math.max(1, 2 ** power + difference),
  );
  const lifetime = record({
    template: constantFrom(1, 2),
    from: oneof(integer({ min: 1, max: 200 }), integer({ min: 1, max: 2 ** 46 })),
    length: option(length, { freq: 4 }),
  });

  it('returns the expected contracts at both ends of every lifetime', async () => {
    await expectProperty(
      asyncProperty(array(lifetime, { minLength: 1, maxLength: 40 }), async (steps) => {
        const lifetimes = steps.map(({ template, from, length: lifeLength }, index) => {
          return { id: `c${String(index)}`, template, from, to: lifeLength === null ? null : from + lifeLength };
        });
        await store(lifetimes);
        const edges = lifetimes.flatMap(({ from, to }) => [from, ...(to === null ? [] : [to])]);
        const last = Math.max(...edges);
        const offsets = [...new Set(edges.flatMap((edge) => [edge - 1, edge, Math.min(edge + 1, last)]))];
        expect(await readAll(database, offsets, 'M:A')).toEqual(
          offsets.map((offset) => activeAt(lifetimes, offset, 1)),
        );
        expect(await readAll(database, offsets, null)).toEqual(offsets.map((offset) => activeAt(lifetimes, offset)));
        const now = await database.query<{ contract_id: string }>(`select contract_id from explore.active('M:B')`);
        expect(now.map((row) => row.contract_id).sort()).toEqual(activeAt(lifetimes, Infinity, 2));
      }),
      60,
    );
  });

  async function store(lifetimes: readonly Lifetime[]): Promise<void> {
    await database.query('truncate live, ended');
    await database.query(
      `with drawn as (
         select '\\xff' || convert_to(id, 'UTF8') as id, template, "from", "to"
           from jsonb_to_recordset($1) as x (id text, template integer, "from" bigint, "to" bigint)),
       lasting as (
         insert into live ("offset", node_id, template_pk, synchronizer_pk, parties_pk, contract_id)
           select "from", 0, template, 1, 1, id from drawn where "to" is null)
       insert into ended ("offset", ended_offset, node_id, template_pk, synchronizer_pk, parties_pk, class, ended_by, contract_id)
         select "from", "to", 0, template, 1, 1, lifetime_class("from", "to"), 'a', id from drawn where "to" is not null`,
      [JSON.stringify(lifetimes)],
    );
    const last = Math.max(...lifetimes.map(({ from, to }) => to ?? from));
    await database.query('update stream set checkpoint = $1', [last]);
  }
});

type Step = { readonly act: 'create' | 'archive' | 'unassign' | 'assign'; readonly pick: number; readonly gap: number };

/** The reference model of a ledger: where each contract is, and all lifetimes so far. */
class ModelLedger {
  readonly lifetimes: { id: string; template: number; from: number; to: number | null }[] = [];
  readonly #active: { id: string; at: string }[] = [];
  readonly #travelling: { id: string; to: string }[] = [];
  #made = 0;
  offset = 0;

  /** The frame of a step; undefined if the step is not possible. */
  frame({ act, pick: pickIndex, gap }: Step): frames.JsonRecord | undefined {
    const offset = this.offset + gap;
    const stepFrame = this.#frame(act, pickIndex, offset);
    if (stepFrame !== undefined) this.offset = offset;
    return stepFrame;
  }

  #frame(act: Step['act'], pickIndex: number, offset: number): frames.JsonRecord | undefined {
    if (act === 'create') {
      const id = `c${String((this.#made += 1))}`;
      this.#begin(id, homeSynchronizer, offset);
      return frames.transaction(offset, [{ CreatedEvent: createdEvent(id, offset) }]);
    }
    if (act === 'assign') {
      const [inFlightContract] = this.#travelling.splice(pickIndex % Math.max(1, this.#travelling.length), 1);
      if (inFlightContract === undefined) return undefined;
      this.#begin(inFlightContract.id, inFlightContract.to, offset);
      const assignedEvent = frames.assigned({
        createdEvent: createdEvent(inFlightContract.id, offset),
        target: inFlightContract.to,
      });
      return frames.reassignment(offset, { JsAssignmentEvent: assignedEvent }, inFlightContract.to);
    }
    const [endedContract] = this.#active.splice(pickIndex % Math.max(1, this.#active.length), 1);
    if (endedContract === undefined) return undefined;
    const lifetime = this.lifetimes.find(({ id, to }) => id === endedContract.id && to === null);
    if (lifetime !== undefined) lifetime.to = offset;
    if (act === 'archive') {
      const event = frames.exercised({
        offset,
        nodeId: 0,
        contractId: endedContract.id,
        templateId: templateOf(endedContract.id),
      });
      return frames.transaction(offset, [{ ExercisedEvent: event }], { synchronizerId: endedContract.at });
    }
    const target = endedContract.at === homeSynchronizer ? awaySynchronizer : homeSynchronizer;
    this.#travelling.push({ id: endedContract.id, to: target });
    const change = {
      offset,
      contractId: endedContract.id,
      templateId: templateOf(endedContract.id),
      source: endedContract.at,
      target,
    };
    return frames.reassignment(offset, { JsUnassignedEvent: { value: frames.unassigned(change) } }, endedContract.at);
  }

  #begin(id: string, startSql: string, from: number): void {
    this.#active.push({ id, at: startSql });
    this.lifetimes.push({ id, template: Number(id.slice(1)) % 2, from, to: null });
  }
}

/** Contracts with an even number have template Main.Iou:Iou. The others have a second version of Main.Iou:Other. */
function templateOf(id: string): string {
  return Number(id.slice(1)) % 2 === 0 ? frames.template : `${'ef'.repeat(32)}:Main.Iou:Other`;
}

function createdEvent(contractId: string, offset: number): frames.JsonRecord {
  return created({ contractId, offset, templateId: templateOf(contractId), interfaceViews: [] });
}

describe('active_at over random ledger histories', () => {
  const step = record({
    act: constantFrom<Step['act']>('create', 'create', 'archive', 'unassign', 'assign'),
    pick: nat(1000),
    gap: integer({ min: 1, max: 3 }),
  });

  it('returns the contracts of the model at every offset', { timeout: 240_000 }, async () => {
    await expectProperty(
      asyncProperty(array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
        await using database = await createReadDatabase();
        const model = new ModelLedger();
        const stepFrames = steps.map((nextStep) => model.frame(nextStep)).filter((frame) => frame !== undefined);
        pre(new Set(model.lifetimes.map(({ template }) => template)).size === 2);
        await database.write(...stepFrames);
        const offsets = Array.from({ length: model.offset + 1 }, (_, offset) => offset);
        for (const [name, template] of [
          ['#iou:Main.Iou:Iou', 0] as const,
          ['Other', 1] as const,
          [null, undefined] as const,
        ])
          expect(await readAll(database, offsets, name)).toEqual(
            offsets.map((offset) => activeAt(model.lifetimes, offset, template)),
          );
      }),
      6,
    );
  });
});
