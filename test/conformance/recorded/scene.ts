/** Sandboxes in the state in which the participant was recorded: the same offsets, packages, parties and users. */
import { authorize } from '../../../src/sandbox/reassignments.ts';
import type { JsonObject } from '../../../src/sandbox/json.ts';
import type { Template } from '../../../src/sandbox/model.ts';
import { startSandbox, type Sandbox, type SandboxOptions } from '../../../src/sandbox/sandbox.ts';
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

/** The newest offset that has an update; what comes after it brought the participant none. */
const lastUpdate = 400;
/** More contracts than a list answer holds stay active. */
const another = 'another::1220aa';

export const secret = 'a shared secret for tests of recorded answers';
export const users = [{ id: 'reader', rights: [{ kind: 'CanReadAsAnyParty' as const }] }];

export interface SceneOptions {
  readonly ledgerEnd: number;
  /** Whose answers tell the party of the first updates and what was created. */
  readonly recorded: readonly Recorded[];
  readonly pruned?: number;
  readonly sandbox?: SandboxOptions;
}

/** The argument of the first contract of a template that any of the recorded frames shows. */
function argumentOf(recorded: readonly Recorded[], entity: string): JsonObject {
  const whole = recorded.flatMap(({ frames = [] }) => frames).join('\n');
  const created = new RegExp(
    `"templateId":"[^"]*:RichTypes:${entity}"[^{]*"createArgument":(\\{.*?\\}),"createdEventBlob"`,
    'u',
  );
  return JSON.parse(created.exec(whole)?.[1] ?? '{"owner":"someone::1220aa"}') as JsonObject;
}

/** The first updates of the recording, one by one, then enough contracts of another party. */
export async function startScene({ ledgerEnd, recorded, pruned = 0, sandbox = {} }: SceneOptions): Promise<Sandbox> {
  const party = String(argumentOf(recorded, 'Marker')['owner']);
  const richRecord = argumentOf(recorded, 'RichRecord');
  const started = await startSandbox({ seed: 11, participantId: 'sandbox::1220aa', ...sandbox });
  const { ledger } = started;
  for (const template of [marker, record]) ledger.model.register(template);
  const skipTo = (offset: number): void => ledger.skipOffsets(offset - 1 - ledger.ledgerEnd());
  const asked = (owner: string, commandId: string): object => ({
    actAs: [owner],
    userId: 'ledger-api-user',
    commandId,
    submissionId: commandId,
    paidTrafficCost: 0,
  });
  const create = (owner: string, templateId: string, argument: object): string => {
    const commands = [{ kind: 'create' as const, templateId, argument: { ...argument, owner } }];
    const { events } = ledger.submit({ ...asked(owner, `c-${ledger.ledgerEnd()}`), commands, actAs: [owner] });
    const [first] = events;
    return first !== undefined && 'CreatedEvent' in first ? first.CreatedEvent.contractId : '';
  };
  const exercise = (contractId: string, choice: string, argument: Readonly<Record<string, string>>): void => {
    const commands = [{ kind: 'exercise' as const, contractId, choice, argument }];
    ledger.submit({ ...asked(party, `c-${ledger.ledgerEnd()}`), commands, actAs: [party] });
  };
  authorize(ledger, ledger.participantId, true);
  skipTo(40);
  create(party, '#richtypes:RichTypes:Marker', {});
  skipTo(43);
  const rich = create(party, '#richtypes:RichTypes:RichRecord', richRecord);
  skipTo(46);
  exercise(rich, 'Relabel', { newLabel: 'b' });
  skipTo(49);
  exercise(rich, 'Archive', {});
  skipTo(52);
  const transient = { templateId: '#richtypes:RichTypes:Marker', argument: { owner: another } };
  const archived = { kind: 'create-and-exercise' as const, ...transient, choice: 'Archive', choiceArgument: {} };
  ledger.submit({ commands: [archived], actAs: [another], paidTrafficCost: 0 });
  while (ledger.ledgerEnd() < lastUpdate) {
    const kept = { kind: 'create' as const, ...transient };
    ledger.submit({ commands: [archived, kept], actAs: [another], paidTrafficCost: 0 });
  }
  ledger.skipOffsets(ledgerEnd - ledger.ledgerEnd());
  if (pruned > 0) ledger.pruneTo(pruned);
  return started;
}
