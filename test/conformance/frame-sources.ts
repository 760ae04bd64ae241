/** Defines for each sample how to make the sandbox send the same message, and which differences are permitted. */
import { assign, assignAhead, authorize, unassign } from '../../packages/ledger-sandbox/src/ledger/reassignments.ts';
import type { FailureName } from '../../packages/ledger-sandbox/src/faults/named-failures.ts';
import type { Release } from '../../packages/ledger-sandbox/src/wire/release.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { sharedSigner, startSecured } from '../../packages/ledger-sandbox/test/identity/callers.ts';
import { anyParty, valueAt, stream, updateFormat } from '../../packages/ledger-sandbox/test/server/sockets.ts';
import { token } from '../support/tokens.ts';
import type { ShapeOptions } from './frame-shape.ts';

export interface Source extends ShapeOptions {
  /** Path relative to the folder of the samples. */
  readonly sample: string;
  /** Release of the sandbox; 3.5 by default. */
  readonly release?: Release;
  /** Returns the messages to compare, which must all be of one kind. */
  readonly messages: (sandbox: Sandbox) => Promise<readonly unknown[]>;
  /** Kinds in the sample that the sandbox does not produce, each with the reason. */
  readonly without?: Readonly<Record<string, string>>;
  /** Keys of the error context that only the sample or only the sandbox has, each with the reason. */
  readonly context?: Readonly<Record<string, string>>;
}

const [alice, bob] = ['Alice::1220aa', 'Bob::1220bb'];
const iou = (ledger: Sandbox['ledger']): string => {
  const argument = { issuer: alice, owner: bob, currency: 'USD', amount: '60', observers: [] };
  return ledger.create('#model-tests:Iou:Iou', argument, [alice, bob]).contractId;
};

function changeHosting({ ledger }: Sandbox, kind: 'Changed' | 'Onboarding'): void {
  const participantPermission = 'PARTICIPANT_PERMISSION_OBSERVATION';
  const value = { partyId: bob, participantId: ledger.participantId, participantPermission };
  const event = { [`ParticipantAuthorization${kind}`]: { value } };
  ledger.append({ TopologyTransaction: { value: { events: [{ event }] } } });
}

/** A sandbox whose history contains every kind of message in the samples. */
export async function busySandbox(release: Release): Promise<Sandbox> {
  const sandbox = await startSandbox({ seed: 9, release });
  const { ledger } = sandbox;
  generateHistory(ledger, { seed: 4, updates: 120 });
  const account = { bank: alice, owner: bob, number: '1', balance: '1', version: '1' };
  ledger.create('#sandbox-test:Keyed:Account', account, [alice]);
  ledger.exercise(iou(ledger), 'Archive', {}, [alice, bob]);
  assign(ledger, unassign(ledger, iou(ledger)));
  unassign(ledger, iou(ledger));
  authorize(ledger, bob, true);
  authorize(ledger, bob, false);
  changeHosting(sandbox, 'Changed');
  if (release !== '3.4') changeHosting(sandbox, 'Onboarding');
  assignAhead(ledger, iou(ledger));
  const commands = [{ kind: 'create' as const, templateId: '#sandbox-test:Keyed:Account', argument: account }];
  ledger.submit({ commands, actAs: [alice], commandId: 'c', submissionId: 's', userId: 'app' });
  return sandbox;
}

const parseFrames = (frames: readonly string[]): unknown[] => frames.map((frame) => JSON.parse(frame) as unknown);

async function updates(
  { url, ledger }: Sandbox,
  kind: string,
  shape: 'LEDGER_EFFECTS' | 'ACS_DELTA',
): Promise<unknown[]> {
  const identifierFilter = {
    InterfaceFilter: {
      value: {
        interfaceId: '#splice-api-token-holding-v1:Splice.Api.Token.HoldingV1:Holding',
        includeInterfaceView: true,
      },
    },
  };
  const wildcard = { WildcardFilter: { value: { includeCreatedEventBlob: true } } };
  const cumulative = [{ identifierFilter }, { identifierFilter: wildcard }];
  const format = updateFormat(shape, { filtersByParty: {}, filtersForAnyParty: { cumulative } });
  const request = { beginExclusive: 0, endInclusive: ledger.ledgerEnd(), updateFormat: format };
  const { frames } = await stream(url, '/v2/updates', request);
  return parseFrames(frames).filter((frame) => valueAt(frame, 'update', kind) !== undefined);
}

const framesOfKind =
  (kind: string, shape: 'LEDGER_EFFECTS' | 'ACS_DELTA' = 'LEDGER_EFFECTS'): Source['messages'] =>
  (sandbox) =>
    updates(sandbox, kind, shape);

const entries =
  (kind: string): Source['messages'] =>
  async ({ url, ledger }) => {
    const request = { activeAtOffset: ledger.ledgerEnd(), eventFormat: anyParty };
    const { frames } = await stream(url, '/v2/state/active-contracts', request);
    return parseFrames(frames).filter((frame) => valueAt(frame, 'contractEntry', kind) !== undefined);
  };

async function requestFrames(
  url: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<unknown> {
  const method = body === undefined ? 'GET' : 'POST';
  const response = await fetch(`${url}${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return await response.json();
}

const respond =
  (path: string, body?: (sandbox: Sandbox) => unknown): Source['messages'] =>
  async (sandbox) => [await requestFrames(sandbox.url, path, body?.(sandbox))];

const checkpoint: Source['messages'] = async ({ url, ledger }) => {
  const request = { beginExclusive: ledger.ledgerEnd() - 1, updateFormat: {} };
  return parseFrames((await stream(url, '/v2/updates', request, (frames) => frames.length > 0)).frames);
};

const frameOf =
  (path: string, request: unknown): Source['messages'] =>
  async ({ url }) =>
    parseFrames((await stream(url, path, request)).frames);

const scripted =
  (failure: FailureName): Source['messages'] =>
  async (sandbox) => {
    sandbox.faults.streamFailure = { failure, times: 1 };
    return await frameOf('/v2/updates', { beginExclusive: 0, updateFormat: updateFormat('ACS_DELTA') })(sandbox);
  };

const effects = updateFormat('LEDGER_EFFECTS');
const submitAndWait = '/v2/commands/submit-and-wait';
const createOverdraft = ({ ledger }: Sandbox): object => {
  const argument = { bank: alice, owner: bob, number: '2', balance: '1', version: '1' };
  const { contractId } = ledger.create('#sandbox-test:Keyed:Account', argument, [alice]);
  const exercise = { templateId: '#sandbox-test:Keyed:Account', contractId, choice: 'Account_Withdraw' };
  const command = { ExerciseCommand: { ...exercise, choiceArgument: { amount: '2' } } };
  return { commands: [command], commandId: 'c', actAs: [bob] };
};
const sameSynchronizer = ({ ledger }: Sandbox): object => {
  const [{ id }] = ledger.synchronizers;
  const value = { contractId: '00ff', source: id, target: id };
  const commands = [{ command: { UnassignCommand: { value } } }];
  return { reassignmentCommands: { commands, commandId: 'c', submitter: alice } };
};
const archiveOfNothing = (): object => {
  const templateId = '#model-tests:Iou:Iou';
  const exercise = { templateId, contractId: '00ff', choice: 'Archive', choiceArgument: {} };
  return { commands: [{ ExerciseCommand: exercise }], commandId: 'c', actAs: [alice] };
};

const withoutToken: Source['messages'] = async () => {
  await using sandbox = await startSecured();
  const request = { beginExclusive: 0, updateFormat: effects };
  return parseFrames((await stream(sandbox.url, '/v2/updates', request)).frames);
};

const withoutRight: Source['messages'] = async () => {
  await using sandbox = await startSecured();
  const authorization = `Bearer ${await token(sharedSigner)}`;
  return [await requestFrames(sandbox.url, '/v2/parties', undefined, { authorization })];
};

const prunedContracts: Source['messages'] = async () => {
  await using sandbox = await busySandbox('3.5');
  sandbox.ledger.pruneTo(20);
  return [
    await requestFrames(sandbox.url, '/v2/state/active-contracts', { activeAtOffset: 15, eventFormat: anyParty }),
  ];
};

const views = 'updates/transaction-views.json';

export const sources: readonly Source[] = [
  { sample: 'updates/assigned.json', messages: framesOfKind('Reassignment') },
  { sample: 'updates/unassigned.json', messages: framesOfKind('Reassignment') },
  { sample: 'updates/offset-checkpoint.json', messages: checkpoint },
  { sample: 'updates/topology-added.json', messages: framesOfKind('TopologyTransaction') },
  { sample: 'updates/topology-revoked.json', messages: framesOfKind('TopologyTransaction') },
  { sample: 'updates/topology-onboarding.json', messages: framesOfKind('TopologyTransaction') },
  { sample: 'updates/transaction-acs-delta.json', messages: framesOfKind('Transaction', 'ACS_DELTA') },
  { sample: 'updates/transaction-ledger-effects.json', messages: framesOfKind('Transaction') },
  { sample: 'updates/transaction-key.json', messages: framesOfKind('Transaction') },
  { sample: views, messages: framesOfKind('Transaction') },
  { sample: 'updates/transaction-3.6.json', release: '3.6', messages: framesOfKind('Transaction') },
  { sample: 'entries/active.json', messages: entries('JsActiveContract') },
  { sample: 'entries/incomplete-assigned.json', messages: entries('JsIncompleteAssigned') },
  { sample: 'entries/incomplete-unassigned.json', messages: entries('JsIncompleteUnassigned') },
  { sample: 'entries/empty.json', messages: entries('JsEmpty'), without: { JsEmpty: 'no entry is ever empty' } },
  {
    sample: 'answers/completions.json',
    messages: respond('/v2/commands/completions?limit=2', ({ ledger }) => ({
      userId: 'app',
      parties: [alice],
      beginExclusive: ledger.ledgerEnd() - 1,
    })),
    without: { DeduplicationDuration: 'the sandbox returns the offset instead, as a participant was recorded to' },
    except: ['$[].completionResponse.Completion.value.deduplicationPeriod'],
  },
  {
    sample: 'answers/connected-synchronizers.json',
    messages: respond('/v2/state/connected-synchronizers'),
  },
  { sample: 'answers/latest-pruned-offsets.json', messages: respond('/v2/state/latest-pruned-offsets') },
  { sample: 'answers/ledger-end.json', messages: respond('/v2/state/ledger-end') },
  { sample: 'answers/ledger-end-3.6.json', release: '3.6', messages: respond('/v2/state/ledger-end') },
  {
    sample: 'answers/updates-page.json',
    messages: respond('/v2/updates/get-updates-page', () => ({ updateFormat: effects, maxPageSize: 3 })),
  },
];

export const refusals: readonly Source[] = [
  { sample: 'refusals/permission-denied.json', messages: withoutRight },
  { sample: 'refusals/unauthenticated.json', messages: withoutToken },
  {
    sample: 'refusals/list-limit.json',
    messages: async () => {
      await using sandbox = await startSandbox();
      generateHistory(sandbox.ledger, { seed: 4, updates: 210 });
      return [await requestFrames(sandbox.url, '/v2/updates', { beginExclusive: 0, updateFormat: effects })];
    },
  },
  {
    sample: 'refusals/contract-not-found-3.4.json',
    release: '3.4',
    messages: respond(submitAndWait, archiveOfNothing),
  },
  { sample: 'refusals/daml-failure.json', messages: respond(submitAndWait, createOverdraft), ordered: false },
  {
    sample: 'refusals/same-synchronizer.json',
    messages: respond('/v2/commands/submit-and-wait-for-reassignment', sameSynchronizer),
    ordered: false,
    context: { test: 'a participant has it only under test' },
  },
  { sample: 'refusals/stale-stream-authorization.json', messages: scripted('STALE_STREAM_AUTHORIZATION') },
  { sample: 'refusals/service-not-running.json', messages: scripted('SERVICE_NOT_RUNNING') },
  {
    sample: 'refusals/acs-pruned.json',
    messages: prunedContracts,
    context: { filters: 'a participant was recorded to send it' },
  },
  {
    sample: 'refusals/deprecated-api-disabled.json',
    release: '3.6',
    messages: frameOf('/v2/state/active-contracts', { activeAtOffset: 0, filter: anyParty }),
  },
  {
    sample: 'refusals/both-formats.json',
    messages: frameOf('/v2/updates', { beginExclusive: 0, updateFormat: effects, verbose: true }),
  },
  { sample: 'refusals/neither-format.json', messages: frameOf('/v2/updates', { beginExclusive: 0 }) },
  {
    sample: 'refusals/offset-after-ledger-end.json',
    messages: frameOf('/v2/updates', { beginExclusive: 500_000, updateFormat: effects }),
  },
  {
    sample: 'refusals/offset-out-of-range.json',
    messages: frameOf('/v2/updates', { beginExclusive: 10, endInclusive: 5, updateFormat: effects }),
  },
];
