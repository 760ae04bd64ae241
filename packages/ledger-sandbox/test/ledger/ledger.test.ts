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
import { anyParty, valueAt, post, stream, updateFormat } from '../server/sockets.ts';

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

async function updates(beginOffset: number, format: unknown): Promise<unknown[]> {
  const request = { beginExclusive: beginOffset, endInclusive: sandbox.ledger.ledgerEnd(), updateFormat: format };
  const { frames } = await stream(sandbox.url, '/v2/updates', request);
  return frames.map((frame) => JSON.parse(frame) as unknown);
}

const key = (contract: unknown, synchronizer: unknown): string => `${String(contract)}@${String(synchronizer)}`;

/** Active pairs of contract and synchronizer, counting only complete entries. */
function activeContractIds(entries: readonly unknown[]): Set<string> {
  const contractEntries = entries
    .map((entry) => valueAt(entry, 'contractEntry', 'JsActiveContract'))
    .filter((e) => e !== undefined);
  return new Set(
    contractEntries.map((entry) => key(valueAt(entry, 'createdEvent', 'contractId'), valueAt(entry, 'synchronizerId'))),
  );
}

function apply(set: Set<string>, update: unknown): void {
  const transaction = valueAt(update, 'update', 'Transaction', 'value');
  const reassignment = valueAt(update, 'update', 'Reassignment', 'value');
  const synchronizer = valueAt(transaction, 'synchronizerId');
  for (const event of [valueAt(transaction, 'events') ?? valueAt(reassignment, 'events') ?? []].flat()) {
    const createdEvent = valueAt(event, 'CreatedEvent');
    const exercisedEvent = valueAt(event, 'ExercisedEvent');
    const archivedContract = valueAt(event, 'ArchivedEvent', 'contractId');
    const unassignedEvent = valueAt(event, 'JsUnassignedEvent', 'value');
    const assignmentEvent = valueAt(event, 'JsAssignmentEvent');
    if (valueAt(createdEvent, 'acsDelta') === true) set.add(key(valueAt(createdEvent, 'contractId'), synchronizer));
    if (valueAt(exercisedEvent, 'consuming') === true && valueAt(exercisedEvent, 'acsDelta') === true)
      set.delete(key(valueAt(exercisedEvent, 'contractId'), synchronizer));
    if (archivedContract !== undefined) set.delete(key(archivedContract, synchronizer));
    if (unassignedEvent !== undefined)
      set.delete(key(valueAt(unassignedEvent, 'contractId'), valueAt(unassignedEvent, 'source')));
    if (assignmentEvent !== undefined)
      set.add(key(valueAt(assignmentEvent, 'createdEvent', 'contractId'), valueAt(assignmentEvent, 'target')));
  }
}

describe('the active contracts at N and the updates after N', () => {
  it.each(['LEDGER_EFFECTS', 'ACS_DELTA'] as const)(
    'add up to the active contracts of any later offset (%s)',
    async (shape) => {
      generateHistory(sandbox.ledger, { seed: 2, updates: 1500 });
      const middle = Math.floor(sandbox.ledger.ledgerEnd() / 2);
      const set = activeContractIds(await acs(middle));
      for (const update of await updates(middle, updateFormat(shape))) apply(set, update);
      const end = activeContractIds(await acs(sandbox.ledger.ledgerEnd()));
      expect(end.size).toBeGreaterThan(50);
      expect([...set].sort()).toEqual([...end].sort());
      const fromStart = new Set<string>();
      for (const update of await updates(0, updateFormat(shape))) apply(fromStart, update);
      expect([...fromStart].sort()).toEqual([...end].sort());
    },
  );

  it('add up for a party, which also sees creates of contracts of other parties', async () => {
    generateHistory(sandbox.ledger, { seed: 2, updates: 300 });
    let witnessedCount = 0;
    for (const party of sandbox.ledger.localParties().slice(-6)) {
      const format = { filtersByParty: { [party]: {} } };
      const set = new Set<string>();
      for (const update of await updates(0, updateFormat('LEDGER_EFFECTS', format))) {
        apply(set, update);
        const events = [valueAt(update, 'update', 'Transaction', 'value', 'events') ?? []].flat();
        witnessedCount += events.filter((event) => valueAt(event, 'CreatedEvent', 'acsDelta') === false).length;
      }
      expect([...set].sort()).toEqual([...activeContractIds(await acs(sandbox.ledger.ledgerEnd(), format))].sort());
    }
    expect(witnessedCount).toBeGreaterThan(0);
  });

  it('contain a contract between two synchronizers as incomplete, and resume after the last token', async () => {
    generateHistory(sandbox.ledger, { seed: 2, updates: 1500 });
    const end = sandbox.ledger.ledgerEnd();
    const allUpdates: unknown[] = [];
    for (let offset = end - 200; offset <= end; offset += 20) allUpdates.push(...(await acs(offset)));
    expect(allUpdates.some((entry) => valueAt(entry, 'contractEntry', 'JsIncompleteUnassigned') !== undefined)).toBe(
      true,
    );
    const allContracts = await acs(end);
    const streamContinuationToken = valueAt(allContracts[9], 'streamContinuationToken');
    const request = { activeAtOffset: end, eventFormat: anyParty, streamContinuationToken };
    const remainingContracts = await stream(sandbox.url, '/v2/state/active-contracts', request);
    expect(remainingContracts.frames.map((frame) => JSON.parse(frame) as unknown)).toEqual(allContracts.slice(10));
  });
});

describe('filters', () => {
  const onlyFilter = (identifierFilter: unknown): unknown => ({
    filtersByParty: {},
    filtersForAnyParty: { cumulative: [{ identifierFilter }] },
  });

  it('select by interface and render its view only on request', async () => {
    generateHistory(sandbox.ledger, { seed: 2, updates: 300 });
    const value = { interfaceId: `#${interfaces.holding}`, includeInterfaceView: true, includeCreatedEventBlob: true };
    const createdEvents = (await acs(sandbox.ledger.ledgerEnd(), onlyFilter({ InterfaceFilter: { value } }))).map((e) =>
      valueAt(e, 'contractEntry', 'JsActiveContract', 'createdEvent'),
    );
    expect(new Set(createdEvents.filter((e) => e !== undefined).map((e) => valueAt(e, 'packageName')))).toEqual(
      new Set(['splice-amulet', 'harbor-stablecoin', 'meridian-bonds', 'tidewater-deposits']),
    );
    expect(valueAt(createdEvents[0], 'interfaceViews', 0, 'viewValue', 'amount')).toMatch(/^\d+\.\d{10}$/);
    expect(valueAt(createdEvents[0], 'createdEventBlob')).not.toBe('');
    const plainContracts = await acs(sandbox.ledger.ledgerEnd());
    expect(valueAt(plainContracts[0], 'contractEntry', 'JsActiveContract', 'createdEvent')).toMatchObject({
      interfaceViews: [],
      createdEventBlob: '',
    });
  });

  it('select by template, and limit witnesses to the requested parties', async () => {
    generateHistory(sandbox.ledger, { seed: 2, updates: 300 });
    const templateId = '#splice-amulet:Splice.Amulet:Amulet';
    const entries = await acs(sandbox.ledger.ledgerEnd(), onlyFilter({ TemplateFilter: { value: { templateId } } }));
    const owner = valueAt(
      entries[0],
      'contractEntry',
      'JsActiveContract',
      'createdEvent',
      'createArgument',
      'owner',
    ) as string;
    const visibleContracts = await acs(sandbox.ledger.ledgerEnd(), { filtersByParty: { [owner]: {} } });
    expect(visibleContracts.length).toBeGreaterThan(0);
    for (const entry of visibleContracts) {
      const createdEvent =
        valueAt(entry, 'contractEntry', 'JsActiveContract', 'createdEvent') ??
        valueAt(entry, 'contractEntry', 'JsIncompleteUnassigned', 'createdEvent');
      expect(valueAt(createdEvent, 'witnessParties')).toEqual([owner]);
    }
    expect(await updates(0, {})).toEqual([]);
  });
});

describe('commands', () => {
  const iou = { issuer: 'Bank::1220aa', owner: 'Alice::1220aa', currency: 'USD', amount: '999.99', observers: [] };
  let submissionCount = 0;
  const submit = (command: unknown, actAs: string[]): ReturnType<typeof post> => {
    submissionCount += 1;
    return post(sandbox.url, '/v2/commands/submit-and-wait-for-transaction', {
      commands: { commands: [command], commandId: `c-${submissionCount}`, actAs },
    });
  };

  it('create, exercise and archive contracts', async () => {
    const CreateCommand = { templateId: '#model-tests:Iou:Iou', createArguments: iou };
    const createResponse = await submit({ CreateCommand }, ['Bank::1220aa', 'Alice::1220aa']);
    const event = valueAt(createResponse.body, 'transaction', 'events', 0, 'CreatedEvent');
    expect(Object.keys(event as object)).toEqual(
      'offset nodeId contractId templateId contractKey contractKeyHash createArgument createdEventBlob interfaceViews witnessParties signatories observers createdAt packageName representativePackageId acsDelta'.split(
        ' ',
      ),
    );
    expect(valueAt(event, 'createArgument', 'amount')).toBe('999.9900000000');
    const contractId = valueAt(event, 'contractId');
    const templateId = valueAt(event, 'templateId');
    const transfer = { templateId, contractId, choice: 'Iou_Transfer', choiceArgument: { newOwner: 'Bob::1220aa' } };
    const moveResponse = await submit({ ExerciseCommand: transfer }, ['Alice::1220aa']);
    expect(valueAt(moveResponse.body, 'transaction', 'events', 0, 'ArchivedEvent', 'contractId')).toBe(contractId);
    const next = valueAt(moveResponse.body, 'transaction', 'events', 1, 'CreatedEvent');
    const [nextTemplate, nextId] = [valueAt(next, 'templateId'), valueAt(next, 'contractId')];
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
    const createAndExercise = { templateId, createArguments, choice: 'Mint', choiceArgument: {} };
    expect(
      valueAt(
        (await submit({ CreateAndExerciseCommand: createAndExercise }, ['DSO::1220aa'])).body,
        'transaction',
        'events',
        'length',
      ),
    ).toBe(1);
    const [effects] = await updates(0, updateFormat('LEDGER_EFFECTS'));
    expect(valueAt(effects, 'update', 'Transaction', 'value', 'events')).toMatchObject([
      { CreatedEvent: { nodeId: 0, acsDelta: false } },
      { ExercisedEvent: { nodeId: 1, lastDescendantNodeId: 2, acsDelta: false, choice: 'Mint' } },
      { CreatedEvent: { nodeId: 2, acsDelta: true } },
    ]);
  });
});

describe('generated traffic', () => {
  it('has the same frames, byte for byte, for the same seed', async () => {
    await using twinSandbox = await startSandbox({ seed: 5 });
    const request = (end: number): unknown => ({
      beginExclusive: 0,
      endInclusive: end,
      updateFormat: updateFormat('LEDGER_EFFECTS'),
    });
    const frames: string[][] = [];
    for (const testSandbox of [sandbox, twinSandbox]) {
      generateHistory(testSandbox.ledger, { seed: 9, updates: 400 });
      frames.push((await stream(testSandbox.url, '/v2/updates', request(testSandbox.ledger.ledgerEnd()))).frames);
    }
    expect(frames[0]).toHaveLength(400);
    expect(frames[0]).toEqual(frames[1]);
  });

  it('can run live, and can be stopped', async () => {
    const ledger = new Ledger(demoWorld(), { seed: 1 });
    const traffic = startTraffic(ledger, { seed: 1, updatesPerSecond: 200, history: 50 });
    const endBefore = ledger.ledgerEnd();
    await new Promise<void>((resolve) => {
      const stop = ledger.onChange(() => {
        if (ledger.ledgerEnd() < endBefore + 10) return;
        stop();
        resolve();
      });
    });
    traffic.stop();
    expect(ledger.ledgerEnd()).toBeGreaterThan(endBefore);
  });
});

describe('samples of frames', () => {
  it('are returned exactly as they were added, whatever the filter', async () => {
    const bodies = sampleNames().map((name) => JSON.parse(fixture(`samples/${name}`)) as Record<string, never>);
    const recordedText = bodies.filter((body) => body['update'] !== undefined).map((body) => JSON.stringify(body));
    const entries = bodies
      .flat()
      .filter((body) => body['contractEntry'] !== undefined)
      .map((body) => JSON.stringify(body));
    expect(recordedText.length).toBeGreaterThan(3);
    expect(entries.length).toBeGreaterThan(1);
    for (const [i, raw] of recordedText.entries()) sandbox.ledger.appendRaw(raw, i + 1);
    for (const raw of entries) sandbox.ledger.addAcsEntryRaw(raw);
    const end = sandbox.ledger.ledgerEnd();
    const request = { beginExclusive: 0, endInclusive: end, updateFormat: updateFormat('ACS_DELTA') };
    expect((await stream(sandbox.url, '/v2/updates', request)).frames).toEqual(recordedText);
    const contracts = await stream(sandbox.url, '/v2/state/active-contracts', {
      activeAtOffset: end,
      eventFormat: anyParty,
    });
    expect(contracts.frames.slice(0, entries.length)).toEqual(entries);
  });
});
