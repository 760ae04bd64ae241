/** Sandboxes in the same state as the recorded participant: the same offsets, packages, parties and users. */
import { authorize } from '../../../packages/ledger-sandbox/src/ledger/reassignments.ts';
import type { Command } from '../../../packages/ledger-sandbox/src/ledger/commands.ts';
import { asText, type JsonObject } from '../../../packages/ledger-sandbox/src/wire/json.ts';
import type { Ledger } from '../../../packages/ledger-sandbox/src/ledger/ledger.ts';
import type { Template } from '../../../packages/ledger-sandbox/src/contracts/model.ts';
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox, SandboxOptions } from '../../../packages/ledger-sandbox/src/server/sandbox.ts';
import type { Transaction } from '../../../packages/ledger-sandbox/src/wire/wire.ts';
import type { Recorded } from './exchange.ts';

const ownedBy = ({ owner }: { readonly owner?: unknown }): string[] => [String(owner)];
const owned = { signatories: ownedBy, observers: () => [], interfaces: [] };
const recordName = 'richtypes:RichTypes:RichRecord';

const marker: Template = { ...owned, name: 'richtypes:RichTypes:Marker', choices: {} };
const record: Template = {
  ...owned,
  name: recordName,
  choices: {
    Relabel: {
      consuming: false,
      controllers: ownedBy,
      run: ({ contract, argument, create }) =>
        create(recordName, { ...contract.createArgument, label: argument['newLabel'] ?? '' }),
    },
  },
};

/** Offset of the last update. Later offsets have no update. */
const lastUpdate = 400;
/** Party with more active contracts than a list response may contain. */
const another = 'another::1220aa';

export const secret = 'a shared secret for tests of recorded answers';
export const users = [{ id: 'reader', rights: [{ kind: 'CanReadAsAnyParty' as const }] }];

export interface SceneOptions {
  readonly ledgerEnd: number;
  /** Recorded responses, from which the party and the contracts of the first updates are taken. */
  readonly recorded: readonly Recorded[];
  readonly pruned?: number;
  readonly sandbox?: SandboxOptions;
}

/** The create argument of the first contract of a template in the recorded frames. */
function argumentOf(recorded: readonly Recorded[], entity: string): JsonObject {
  const allFrames = recorded.flatMap(({ frames = [] }) => frames).join('\n');
  const created = new RegExp(
    `"templateId":"[^"]*:RichTypes:${entity}"[^{]*"createArgument":(\\{.*?\\}),"createdEventBlob"`,
    'u',
  );
  return JSON.parse(created.exec(allFrames)?.[1] ?? '{"owner":"someone::1220aa"}') as JsonObject;
}

const user = { userId: 'ledger-api-user', paidTrafficCost: 0 };

/** Creates the updates up to offset 52. The recordings contain the first ones. */
function beginAsRecorded(ledger: Ledger, party: string, richRecord: JsonObject): void {
  const submitAt = (offset: number, command: Command): Transaction => {
    ledger.skipOffsets(offset - 1 - ledger.ledgerEnd());
    const ids = { commandId: `c-${offset}`, submissionId: `s-${offset}` };
    return ledger.submit({ ...user, ...ids, commands: [command], actAs: [party] });
  };
  const argument = { owner: party };
  submitAt(40, { kind: 'create', templateId: `#${marker.name}`, argument });
  const { events } = submitAt(43, {
    kind: 'create',
    templateId: `#${record.name}`,
    argument: { ...richRecord, ...argument },
  });
  const [first] = events;
  const contractId = first !== undefined && 'CreatedEvent' in first ? first.CreatedEvent.contractId : '';
  submitAt(46, { kind: 'exercise', contractId, choice: 'Relabel', argument: { newLabel: 'b' } });
  submitAt(49, { kind: 'exercise', contractId, choice: 'Archive', argument: {} });
  ledger.skipOffsets(2);
}

/** Creates the first updates of the recording one by one, then enough contracts of another party. */
export async function startScene({ ledgerEnd, recorded, pruned = 0, sandbox = {} }: SceneOptions): Promise<Sandbox> {
  const started = await startSandbox({ seed: 11, participantId: 'sandbox::1220aa', ...sandbox });
  const { ledger } = started;
  for (const template of [marker, record]) ledger.model.register(template);
  authorize(ledger, ledger.participantId, true);
  beginAsRecorded(ledger, asText(argumentOf(recorded, 'Marker')['owner']), argumentOf(recorded, 'RichRecord'));
  const of = { templateId: `#${marker.name}`, argument: { owner: another } };
  const transient = { kind: 'create-and-exercise', ...of, choice: 'Archive', choiceArgument: {} } as const;
  const submit = (...commands: readonly Command[]): unknown =>
    ledger.submit({ commands, actAs: [another], paidTrafficCost: 0 });
  submit(transient);
  while (ledger.ledgerEnd() < lastUpdate) submit(transient, { kind: 'create', ...of });
  ledger.skipOffsets(ledgerEnd - ledger.ledgerEnd());
  if (pruned > 0) ledger.pruneTo(pruned);
  return started;
}
