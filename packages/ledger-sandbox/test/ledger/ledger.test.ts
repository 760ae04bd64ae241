/**
 * Consistency of the sandbox ledger. The active contracts and the later updates have no gap, shapes and filters apply,
 * commands work, and the same seed results in the same traffic.
 */
import { demoWorld, startSandbox } from '../../src/demo/sandbox.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { interfaces } from '../../src/demo/templates/names.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import type { Sandbox } from '../../src/server/sandbox.ts';
import { generateHistory, startTraffic } from '../../src/demo/traffic.ts';
import { fixture, sampleNames } from '../../../../test/support/wire/fixtures.ts';
import { anyParty, at, post, stream, updateFormat } from '../server/sockets.ts';

let sandbox: Sandbox;
beforeEach(async () => {
  sandbox = await startSandbox({ seed: 5 });
});
afterEach(async () => {
  await sandbox.close();
});

async function acs(offset: number, eventFormat: unknown = anyParty): Promise<unknown[]> {
  const { frames, code } = await stream(sandbox.url, '/v2/state/active-contracts', {
    activeAtOffset: offset,
    eventFormat,
  });
  expect(code).toBe(1000);
  return frames.map((frame) => JSON.parse(frame) as unknown);
}

async function updates(begin: number, format: unknown): Promise<unknown[]> {
  const request = { beginExclusive: begin, endInclusive: sandbox.ledger.ledgerEnd(), updateFormat: format };
  const { frames } = await stream(sandbox.url, '/v2/updates', request);
  return frames.map((frame) => JSON.parse(frame) as unknown);
}

const key = (contract: unknown, synchronizer: unknown): string => `${String(contract)}@${String(synchronizer)}`;

/** Active pairs of contract and synchronizer, counting only complete entries. */
function active(entries: readonly unknown[]): Set<string> {
  const found = entries.map((entry) => at(entry, 'contractEntry', 'JsActiveContract')).filter((e) => e !== undefined);
  return new Set(found.map((entry) => key(at(entry, 'createdEvent', 'contractId'), at(entry, 'synchronizerId'))));
}

function apply(set: Set<string>, update: unknown): void {
  const transaction = at(update, 'update', 'Transaction', 'value');
  const reassignment = at(update, 'update', 'Reassignment', 'value');
  const synchronizer = at(transaction, 'synchronizerId');
  for (const event of [at(transaction, 'events') ?? at(reassignment, 'events') ?? []].flat()) {
    const created = at(event, 'CreatedEvent');
    const exercised = at(event, 'ExercisedEvent');
    const archived = at(event, 'ArchivedEvent', 'contractId');
    const gone = at(event, 'JsUnassignedEvent', 'value');
    const come = at(event, 'JsAssignmentEvent');
    if (at(created, 'acsDelta') === true) set.add(key(at(created, 'contractId'), synchronizer));
    if (at(exercised, 'consuming') === true && at(exercised, 'acsDelta') === true)
      set.delete(key(at(exercised, 'contractId'), synchronizer));
    if (archived !== undefined) set.delete(key(archived, synchronizer));
    if (gone !== undefined) set.delete(key(at(gone, 'contractId'), at(gone, 'source')));
    if (come !== undefined) set.add(key(at(come, 'createdEvent', 'contractId'), at(come, 'target')));
  }
}

describe('the active contracts at N and the updates after N', () => {
  it.each(['LEDGER_EFFECTS', 'ACS_DELTA'] as const)(
    'add up to the active contracts of any later offset (%s)',
    async (shape) => {
      generateHistory(sandbox.ledger, { seed: 2, updates: 1500 });
      const middle = Math.floor(sandbox.ledger.ledgerEnd() / 2);
      const set = active(await acs(middle));
      for (const update of await updates(middle, updateFormat(shape))) apply(set, update);
      const end = active(await acs(sandbox.ledger.ledgerEnd()));
      expect(end.size).toBeGreaterThan(50);
      expect([...set].sort()).toEqual([...end].sort());
      const fromStart = new Set<string>();
      for (const update of await updates(0, updateFormat(shape))) apply(fromStart, update);
      expect([...fromStart].sort()).toEqual([...end].sort());
    },
  );

  it('add up for a party, which also sees creates of contracts of other parties', async () => {
    generateHistory(sandbox.ledger, { seed: 2, updates: 300 });
    let witnessed = 0;
    for (const party of sandbox.ledger.localParties().slice(-6)) {
      const format = { filtersByParty: { [party]: {} } };
      const set = new Set<string>();
      for (const update of await updates(0, updateFormat('LEDGER_EFFECTS', format))) {
        apply(set, update);
        const events = [at(update, 'update', 'Transaction', 'value', 'events') ?? []].flat();
        witnessed += events.filter((event) => at(event, 'CreatedEvent', 'acsDelta') === false).length;
      }
      expect([...set].sort()).toEqual([...active(await acs(sandbox.ledger.ledgerEnd(), format))].sort());
    }
    expect(witnessed).toBeGreaterThan(0);
  });

  it('contain a contract between two synchronizers as incomplete, and resume after the last token', async () => {
    generateHistory(sandbox.ledger, { seed: 2, updates: 1500 });
    const end = sandbox.ledger.ledgerEnd();
    const everything: unknown[] = [];
    for (let offset = end - 200; offset <= end; offset += 20) everything.push(...(await acs(offset)));
    expect(everything.some((entry) => at(entry, 'contractEntry', 'JsIncompleteUnassigned') !== undefined)).toBe(true);
    const all = await acs(end);
    const streamContinuationToken = at(all[9], 'streamContinuationToken');
    const request = { activeAtOffset: end, eventFormat: anyParty, streamContinuationToken };
    const rest = await stream(sandbox.url, '/v2/state/active-contracts', request);
    expect(rest.frames.map((frame) => JSON.parse(frame) as unknown)).toEqual(all.slice(10));
  });
});

describe('filters', () => {
  const only = (identifierFilter: unknown): unknown => ({
    filtersByParty: {},
    filtersForAnyParty: { cumulative: [{ identifierFilter }] },
  });

  it('select by interface and render its view only on request', async () => {
    generateHistory(sandbox.ledger, { seed: 2, updates: 300 });
    const value = { interfaceId: `#${interfaces.holding}`, includeInterfaceView: true, includeCreatedEventBlob: true };
    const created = (await acs(sandbox.ledger.ledgerEnd(), only({ InterfaceFilter: { value } }))).map((e) =>
      at(e, 'contractEntry', 'JsActiveContract', 'createdEvent'),
    );
    expect(new Set(created.filter((e) => e !== undefined).map((e) => at(e, 'packageName')))).toEqual(
      new Set(['splice-amulet', 'harbor-stablecoin', 'meridian-bonds', 'tidewater-deposits']),
    );
    expect(at(created[0], 'interfaceViews', 0, 'viewValue', 'amount')).toMatch(/^\d+\.\d{10}$/);
    expect(at(created[0], 'createdEventBlob')).not.toBe('');
    const plain = await acs(sandbox.ledger.ledgerEnd());
    expect(at(plain[0], 'contractEntry', 'JsActiveContract', 'createdEvent')).toMatchObject({
      interfaceViews: [],
      createdEventBlob: '',
    });
  });

  it('select by template, and limit witnesses to the requested parties', async () => {
    generateHistory(sandbox.ledger, { seed: 2, updates: 300 });
    const templateId = '#splice-amulet:Splice.Amulet:Amulet';
    const entries = await acs(sandbox.ledger.ledgerEnd(), only({ TemplateFilter: { value: { templateId } } }));
    const owner = at(
      entries[0],
      'contractEntry',
      'JsActiveContract',
      'createdEvent',
      'createArgument',
      'owner',
    ) as string;
    const mine = await acs(sandbox.ledger.ledgerEnd(), { filtersByParty: { [owner]: {} } });
    expect(mine.length).toBeGreaterThan(0);
    for (const entry of mine) {
      const created =
        at(entry, 'contractEntry', 'JsActiveContract', 'createdEvent') ??
        at(entry, 'contractEntry', 'JsIncompleteUnassigned', 'createdEvent');
      expect(at(created, 'witnessParties')).toEqual([owner]);
    }
    expect(await updates(0, {})).toEqual([]);
  });
});

describe('commands', () => {
  const iou = { issuer: 'Bank::1220aa', owner: 'Alice::1220aa', currency: 'USD', amount: '999.99', observers: [] };
  let submitted = 0;
  const submit = (command: unknown, actAs: string[]): ReturnType<typeof post> => {
    submitted += 1;
    return post(sandbox.url, '/v2/commands/submit-and-wait-for-transaction', {
      commands: { commands: [command], commandId: `c-${submitted}`, actAs },
    });
  };

  it('create, exercise and archive contracts', async () => {
    const CreateCommand = { templateId: '#model-tests:Iou:Iou', createArguments: iou };
    const created = await submit({ CreateCommand }, ['Bank::1220aa', 'Alice::1220aa']);
    const event = at(created.body, 'transaction', 'events', 0, 'CreatedEvent');
    expect(Object.keys(event as object)).toEqual(
      'offset nodeId contractId templateId contractKey contractKeyHash createArgument createdEventBlob interfaceViews witnessParties signatories observers createdAt packageName representativePackageId acsDelta'.split(
        ' ',
      ),
    );
    expect(at(event, 'createArgument', 'amount')).toBe('999.9900000000');
    const contractId = at(event, 'contractId');
    const templateId = at(event, 'templateId');
    const transfer = { templateId, contractId, choice: 'Iou_Transfer', choiceArgument: { newOwner: 'Bob::1220aa' } };
    const moved = await submit({ ExerciseCommand: transfer }, ['Alice::1220aa']);
    expect(at(moved.body, 'transaction', 'events', 0, 'ArchivedEvent', 'contractId')).toBe(contractId);
    const next = at(moved.body, 'transaction', 'events', 1, 'CreatedEvent');
    const [nextTemplate, nextId] = [at(next, 'templateId'), at(next, 'contractId')];
    const archive = { templateId: nextTemplate, contractId: nextId, choice: 'Archive', choiceArgument: {} };
    expect((await submit({ ExerciseCommand: archive }, ['Bank::1220aa', 'Alice::1220aa'])).status).toBe(200);
    expect(await acs(sandbox.ledger.ledgerEnd())).toEqual([]);
    expect(await submit({ ExerciseCommand: archive }, ['Alice::1220aa'])).toMatchObject({
      status: 404,
      body: { code: 'CONTRACT_NOT_FOUND' },
    });
  });

  it('are refused if the submitter may not authorize them, or no uploaded package defines their names', async () => {
    const create = (templateId: string): unknown => ({ CreateCommand: { templateId, createArguments: iou } });
    expect(await submit(create('#model-tests:Iou:Iou'), ['Eve::1220aa'])).toMatchObject({
      status: 400,
      body: { code: 'DAML_AUTHORIZATION_ERROR' },
    });
    expect(await submit(create('#nope:Iou:Iou'), ['Bank::1220aa'])).toMatchObject({
      status: 404,
      body: { code: 'PACKAGE_NAMES_NOT_FOUND' },
    });
    expect(sandbox.ledger.ledgerEnd()).toBe(0);
  });

  it('omit a transient contract in the delta shape, and include its tree in the effects shape', async () => {
    const templateId = '#harbor-stablecoin:Harbor.StableCoin:MintRequest';
    const createArguments = {
      admin: 'DSO::1220aa',
      owner: 'Alice::1220aa',
      amount: '5.0000000000',
      reason: null,
      round: '0',
    };
    const both = { templateId, createArguments, choice: 'Mint', choiceArgument: {} };
    expect(
      at((await submit({ CreateAndExerciseCommand: both }, ['DSO::1220aa'])).body, 'transaction', 'events', 'length'),
    ).toBe(1);
    const [effects] = await updates(0, updateFormat('LEDGER_EFFECTS'));
    expect(at(effects, 'update', 'Transaction', 'value', 'events')).toMatchObject([
      { CreatedEvent: { nodeId: 0, acsDelta: false } },
      { ExercisedEvent: { nodeId: 1, lastDescendantNodeId: 2, acsDelta: false, choice: 'Mint' } },
      { CreatedEvent: { nodeId: 2, acsDelta: true } },
    ]);
  });
});

describe('generated traffic', () => {
  it('has the same frames, byte for byte, for the same seed', async () => {
    await using twin = await startSandbox({ seed: 5 });
    const request = (end: number): unknown => ({
      beginExclusive: 0,
      endInclusive: end,
      updateFormat: updateFormat('LEDGER_EFFECTS'),
    });
    const frames: string[][] = [];
    for (const one of [sandbox, twin]) {
      generateHistory(one.ledger, { seed: 9, updates: 400 });
      frames.push((await stream(one.url, '/v2/updates', request(one.ledger.ledgerEnd()))).frames);
    }
    expect(frames[0]).toHaveLength(400);
    expect(frames[0]).toEqual(frames[1]);
  });

  it('can run live, and can be stopped', async () => {
    const ledger = new Ledger(demoWorld(), { seed: 1 });
    const traffic = startTraffic(ledger, { seed: 1, updatesPerSecond: 200, history: 50 });
    const before = ledger.ledgerEnd();
    await new Promise<void>((resolve) => {
      const stop = ledger.onChange(() => {
        if (ledger.ledgerEnd() < before + 10) return;
        stop();
        resolve();
      });
    });
    traffic.stop();
    expect(ledger.ledgerEnd()).toBeGreaterThan(before);
  });
});

describe('samples of frames', () => {
  it('are returned exactly as they were added, whatever the filter', async () => {
    const bodies = sampleNames().map((name) => JSON.parse(fixture(`samples/${name}`)) as Record<string, never>);
    const recorded = bodies.filter((body) => body['update'] !== undefined).map((body) => JSON.stringify(body));
    const entries = bodies
      .flat()
      .filter((body) => body['contractEntry'] !== undefined)
      .map((body) => JSON.stringify(body));
    expect(recorded.length).toBeGreaterThan(3);
    expect(entries.length).toBeGreaterThan(1);
    for (const [i, raw] of recorded.entries()) sandbox.ledger.appendRaw(raw, i + 1);
    for (const raw of entries) sandbox.ledger.addAcsEntryRaw(raw);
    const end = sandbox.ledger.ledgerEnd();
    const all = { beginExclusive: 0, endInclusive: end, updateFormat: updateFormat('ACS_DELTA') };
    expect((await stream(sandbox.url, '/v2/updates', all)).frames).toEqual(recorded);
    const contracts = await stream(sandbox.url, '/v2/state/active-contracts', {
      activeAtOffset: end,
      eventFormat: anyParty,
    });
    expect(contracts.frames.slice(0, entries.length)).toEqual(entries);
  });
});
