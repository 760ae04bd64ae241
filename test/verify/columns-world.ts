/**
 * A stream that has a value in every column of the storage. It has a seed with all kinds of contracts, all kinds of
 * updates, redactions, a quarantined update, and typed views. The indexer is stopped, but the ledger still responds.
 */
import { openDatabase } from '../../src/store/connection/database.ts';
import { redact, type RedactionRequest } from '../../src/store/retention/redact.ts';
import { demoInterfaces } from '../../packages/ledger-sandbox/src/demo/templates/names.ts';
import { accountTemplate } from '../../packages/ledger-sandbox/src/contracts/keyed-model.ts';
import { LedgerFailure } from '../../packages/ledger-sandbox/src/wire/failure.ts';
import type { Ledger } from '../../packages/ledger-sandbox/src/ledger/ledger.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import * as frames from '../support/frames.ts';
import type { Json, JsonRecord } from '../support/frames.ts';
import { waitFor } from '../support/wait-for.ts';

export interface ColumnsWorld {
  readonly sandbox: Sandbox;
  readonly database: TestDatabase;
  readonly env: Readonly<Record<string, string>>;
  /** Runs statements in the storage schema as one transaction. */
  change(statements: string): Promise<void>;
  close(): Promise<void>;
}

export async function columnsWorld(): Promise<ColumnsWorld> {
  const sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  const database = await createTestDatabase();
  const env = {
    LEDGER_URL: sandbox.url,
    DATABASE_URL: database.url,
    LEDGER_INTERFACES: demoInterfaces.join(','),
    LEDGER_CREATED_EVENT_BLOBS: 'true',
  };
  const change = async (statements: string): Promise<void> => {
    await query(database.url, `begin; set local search_path to ledger; ${statements}; commit`);
  };
  await fill(sandbox.ledger, database, env);
  await quarantineUpdate(sandbox, database, change);
  await redactSample(database);
  const close = async (): Promise<void> => {
    await sandbox.close();
    await database.drop();
  };
  return { sandbox, database, env, change, close };
}

async function fill(ledger: Ledger, database: TestDatabase, env: Readonly<Record<string, string>>): Promise<void> {
  generateHistory(ledger, { seed: 5, updates: 60 });
  for (const entry of seedUpdates()) ledger.addAcsEntryRaw({ ...entry, streamContinuationToken: '' });
  await using indexer = await runIndexer(env);
  await indexer.reaches(1);
  generateHistory(ledger, { seed: 6, updates: 120 });
  submitTwice(ledger);
  for (const update of sentUpdates) ledger.appendRaw(update(ledger.ledgerEnd() + 1));
  await indexer.reaches(ledger.ledgerEnd());
  await indexer.completionsReach(ledger.ledgerEnd());
  await waitFor('typed views and omitted fields', async () => {
    const [row] = await query(
      database.url,
      'select exists (select from ledger.omitted_fields) and exists (select from ledger.typed_columns) as made',
    );
    return row?.['made'] === true ? true : undefined;
  });
}

/** Submits a command twice: it is accepted, and then rejected as a duplicate. */
function submitTwice(ledger: Ledger): void {
  const owner = `Submitter::1220${'ab'.repeat(32)}`;
  const argument = { bank: owner, owner, number: '1', balance: '1.0', version: '1' };
  const commands = [{ kind: 'create', templateId: `#${accountTemplate}`, argument }] as const;
  const submission = { commands, actAs: [owner], userId: 'app', commandId: 'c-1', at: 1, paidTrafficCost: 5_000 };
  ledger.submit(submission);
  try {
    ledger.submit(submission);
  } catch (error) {
    if (!(error instanceof LedgerFailure)) throw error;
  }
}

const failedViewResult: JsonRecord = {
  interfaceId: frames.viewed,
  viewStatus: { code: 9, message: 'NO_VIEW(9,0): none', details: [{ '@type': 'x', reason: 'none' }] },
  viewValue: null,
  implementationPackageId: 'ab'.repeat(32),
};
const keyed: JsonRecord = {
  contractKey: { owner: frames.alice },
  contractKeyHash: 'aGFzaA==',
  witnessParties: [frames.bob, frames.alice],
};

/**
 * Entries of contracts that are active, in flight, or assigned before their unassign is visible. No other contract of
 * the demo has their node ids.
 */
function seedUpdates(): readonly JsonRecord[] {
  const activeEvent = frames.created({
    offset: 5,
    nodeId: 93,
    contractId: '00seed',
    interfaceViews: [failedViewResult],
    ...keyed,
  });
  const departedFrame = frames.created({ offset: 6, nodeId: 92, contractId: '00left', ...keyed });
  const createdFrame = frames.created({ offset: 8, nodeId: 91, contractId: '00came', ...keyed });
  const unassignedEvent = frames.unassigned({ offset: 7, nodeId: 1, contractId: '00left', reassignmentCounter: 3 });
  return [
    frames.entry('JsActiveContract', {
      createdEvent: activeEvent,
      synchronizerId: frames.here,
      reassignmentCounter: 2,
    }),
    frames.entry('JsIncompleteUnassigned', { createdEvent: departedFrame, unassignedEvent }),
    frames.entry('JsIncompleteAssigned', {
      assignedEvent: frames.assigned({ createdEvent: createdFrame, reassignmentId: 'r2', reassignmentCounter: 4 }),
    }),
  ];
}

const contractId = '00moved';
/** Functions that create an update for an offset. */
const sentUpdates: readonly ((offset: number) => JsonRecord)[] = [
  (offset) =>
    frames.transaction(
      offset,
      [
        { CreatedEvent: frames.created({ offset, interfaceViews: [failedViewResult], ...keyed }) },
        { ExercisedEvent: frames.exercised({ offset }) },
        { ArchivedEvent: frames.archived({ offset }) },
        { CreatedEvent: frames.created({ offset, nodeId: 3, contractId }) },
      ],
      { transactionHash: 'ee11' },
    ),
  (offset) =>
    reassignmentFrame(offset, { JsUnassignedEvent: { value: frames.unassigned({ offset, contractId }) } }, frames.here),
  (offset) => {
    const createdEvent = frames.created({ offset, contractId });
    return reassignmentFrame(offset, { JsAssignmentEvent: frames.assigned({ createdEvent }) }, frames.there);
  },
  (offset) => frames.update('Surprise', { offset, updateId: `1220${offset}`, recordTime: frames.recordTime, x: 1.5 }),
  (offset) => frames.topology(offset),
  (offset) => topologyOf(offset, [{ event: { PartyRenamed: { value: { partyId: frames.alice, to: 'x' } } } }]),
];

function reassignmentFrame(offset: number, event: JsonRecord, synchronizerId: string): JsonRecord {
  return frames.reassignment(offset, event, synchronizerId);
}

function topologyOf(offset: number, events: Json[]): JsonRecord {
  const { here: synchronizerId, recordTime } = frames;
  return frames.update('TopologyTransaction', {
    offset,
    updateId: `1220${offset}`,
    synchronizerId,
    recordTime,
    events,
  });
}

/** Quarantines the first topology update, because no counter includes it. */
async function quarantineUpdate(
  sandbox: Sandbox,
  database: TestDatabase,
  change: ColumnsWorld['change'],
): Promise<void> {
  const [row] = await query(database.url, `select min("offset") as "offset" from ledger.topology_events`);
  const offset = String(row?.['offset']);
  const frame = Buffer.from(`{"offset":${offset},"ledgerEnd":${sandbox.ledger.ledgerEnd()}}`).toString('hex');
  await change(`delete from updates where "offset" = ${offset}; delete from topology_events where "offset" = ${offset};
    delete from batches b where not exists (select from updates u where u.batch_offset = b.batch_offset);
    insert into quarantine ("offset", code, problem, frame, epoch, attempted_at)
      values (${offset}, 'C', 'f', '\\x${frame}', 1, now())`);
}

async function redactSample(database: TestDatabase): Promise<void> {
  const options = { schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'test' };
  const worldDatabase = openDatabase({ url: database.url, ...options });
  const redactSubject = async (subject: RedactionRequest['subject']): Promise<void> => {
    const request = { subject, reason: 'asked', active: false, exercises: true };
    await redact(worldDatabase, request, new AbortController().signal);
  };
  try {
    const [contract, exercise] = await query(
      database.url,
      `(select contract_id, "offset", node_id from ledger.decoded_exercises e where consuming
          and exists (select from ledger.decoded_interface_views v where v.contract_id = e.contract_id) limit 1)
       union all
       (select contract_id, "offset", node_id from ledger.decoded_exercises where not consuming limit 1)`,
    );
    await redactSubject({ kind: 'contract', contractId: String(contract?.['contract_id']) });
    await redactSubject({
      kind: 'exercise',
      offset: Number(exercise?.['offset']),
      nodeId: Number(exercise?.['node_id']),
    });
  } finally {
    await worldDatabase.close();
  }
}
