/** Sandboxes in the same state as the recorded participant: the same offsets, packages, parties and users. */
import { authorize } from '../../../packages/ledger-sandbox/src/ledger/reassignments.ts';
import type { Command } from '../../../packages/ledger-sandbox/src/ledger/commands.ts';
import { asText, type JsonObject } from '../../../packages/ledger-sandbox/src/wire/json.ts';
import type { Ledger } from '../../../packages/ledger-sandbox/src/ledger/ledger.ts';
import type { Template } from '../../../packages/ledger-sandbox/src/contracts/model.ts';
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox, SandboxOptions } from '../../../packages/ledger-sandbox/src/server/sandbox.ts';
import type { Transaction } from '../../../packages/ledger-sandbox/src/wire/wire.ts';
import type { RecordedExchange } from './exchange.ts';

const ownedBy = ({ owner }: { readonly owner?: unknown }): string[] => [String(owner)];
const ownedTemplate = { signatories: ownedBy, observers: () => [], interfaces: [] };
const recordName = 'richtypes:RichTypes:RichRecord';

const marker: Template = { ...ownedTemplate, name: 'richtypes:RichTypes:Marker', choices: {} };
const record: Template = {
  ...ownedTemplate,
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
const otherParty = 'another::1220aa';

export const secret = 'a shared secret for tests of recorded answers';
export const users = [{ id: 'reader', rights: [{ kind: 'CanReadAsAnyParty' as const }] }];

export interface SceneOptions {
  readonly ledgerEnd: number;
  /** Recorded responses, from which the party and the contracts of the first updates are taken. */
  readonly recorded: readonly RecordedExchange[];
  readonly pruned?: number;
  readonly sandbox?: SandboxOptions;
}

/** The create argument of the first contract of a template in the recorded frames. */
function argumentOf(exchanges: readonly RecordedExchange[], entity: string): JsonObject {
  const allFrames = exchanges.flatMap(({ frames = [] }) => frames).join('\n');
  const createdPattern = new RegExp(
    `"templateId":"[^"]*:RichTypes:${entity}"[^{]*"createArgument":(\\{.*?\\}),"createdEventBlob"`,
    'u',
  );
  return JSON.parse(createdPattern.exec(allFrames)?.[1] ?? '{"owner":"someone::1220aa"}') as JsonObject;
}

const user = { userId: 'ledger-api-user', paidTrafficCost: 0 };

/** Creates the updates up to offset 52. The recordings contain the first ones. */
function replayRecordedStart(ledger: Ledger, party: string, richRecord: JsonObject): void {
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
export async function startScene({
  ledgerEnd,
  recorded: exchanges,
  pruned: prunedOffset = 0,
  sandbox = {},
}: SceneOptions): Promise<Sandbox> {
  const startedSandbox = await startSandbox({ seed: 11, participantId: 'sandbox::1220aa', ...sandbox });
  const { ledger } = startedSandbox;
  for (const template of [marker, record]) ledger.model.register(template);
  authorize(ledger, ledger.participantId, true);
  replayRecordedStart(ledger, asText(argumentOf(exchanges, 'Marker')['owner']), argumentOf(exchanges, 'RichRecord'));
  const contractData = { templateId: `#${marker.name}`, argument: { owner: otherParty } };
  const transient = { kind: 'create-and-exercise', ...contractData, choice: 'Archive', choiceArgument: {} } as const;
  const submit = (...commands: readonly Command[]): unknown =>
    ledger.submit({ commands, actAs: [otherParty], paidTrafficCost: 0 });
  submit(transient);
  while (ledger.ledgerEnd() < lastUpdate) submit(transient, { kind: 'create', ...contractData });
  ledger.skipOffsets(ledgerEnd - ledger.ledgerEnd());
  if (prunedOffset > 0) ledger.pruneTo(prunedOffset);
  return startedSandbox;
}
