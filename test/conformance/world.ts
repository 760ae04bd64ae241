/**
 * The participant under test. It is either a sandbox with users, history, parties and a DAR, or the participant of
 * LEDGER_URL, on which the tests change nothing.
 */
import { createLedgerClient, type LedgerClient } from '../../src/ledger/api/client.ts';
import type { IndexerError } from '../../src/errors/indexer-error.ts';
import { openFrameStream } from '../../src/ledger/transport/frame-stream.ts';
import { assertTokenConfidential, createTokenSource } from '../../src/ledger/access/token.ts';
import { releases, type Release } from '../../packages/ledger-sandbox/src/wire/release.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { darOfPackage } from '../../packages/ledger-sandbox/test/packages/dars.ts';
import { expiresIn, sharedSecret, token } from '../support/tokens.ts';
import { startRecorder, type Recorder } from './recorder.ts';
import type { Session, UserName } from './rows/row.ts';

/** Thrown if a row needs something that only a sandbox has, such as a user without rights. The row is then skipped. */
export class MissingOperation extends Error {}

export interface World extends AsyncDisposable {
  /** Description of the tested participant, for the output. */
  readonly target: string;
  readonly release: Release;
  readonly recorder: Recorder;
  /** Undefined if the participant is not a sandbox. */
  readonly sandbox: Sandbox | undefined;
  readonly session: (user: UserName) => Session;
  readonly ledgerEnd: number;
  /** The lowest valid `beginExclusive`. */
  readonly pruned: number;
  /** Offset after which rows read: the pruned offset or, with a long history, a later one near the end. */
  readonly begin: number;
  /** A visible update. `contractId` below is a contract that is active at the ledger end. */
  readonly update: { readonly offset: number; readonly updateId: string };
  readonly contractId: string;
  /** Parties that were allocated for the tests and for which the admin may act; only in a sandbox. */
  readonly bank: string;
  readonly alice: string;
  /** The second synchronizer is '' if there is only one. */
  readonly synchronizers: readonly [string, string];
  /** Package of the uploaded DAR; only in a sandbox. */
  readonly packageId: string;
  /** Returns a text that was not used before. */
  readonly unique: (prefix: string) => string;
}

export const anyParty = { filtersByParty: {}, filtersForAnyParty: {} };
export const updateFormat = {
  includeTransactions: { eventFormat: anyParty, transactionShape: 'TRANSACTION_SHAPE_LEDGER_EFFECTS' },
  includeReassignments: anyParty,
  includeTopologyEvents: { includeParticipantAuthorizationEvents: { parties: [] } },
};
export const accountTemplate = '#sandbox-test:Keyed:Account';

const secret = 'a shared secret for the conformance suite';
const signer = sharedSecret(secret);
const simpleRight = (
  kind: 'ParticipantAdmin' | 'CanReadAsAnyParty' | 'CanExecuteAsAnyParty',
): { kind: typeof kind } => ({
  kind,
});
const users = [
  {
    id: 'admin',
    rights: [simpleRight('ParticipantAdmin'), simpleRight('CanReadAsAnyParty'), simpleRight('CanExecuteAsAnyParty')],
  },
  { id: 'reader', rights: [simpleRight('CanReadAsAnyParty')] },
  { id: 'nobody', rights: [] },
];
/** More than the 200 entries that a list response may contain. */
const manyAccounts = 205;
/** Number of offsets that rows read on an external participant. */
const recentOffsets = 1000;

type Tokens = Readonly<Record<UserName, string | undefined>>;

function sessionOf(url: string, bearer: string | undefined): Session {
  const tokenSource = createTokenSource(bearer === undefined ? {} : { token: bearer });
  const client = createLedgerClient({ url, tokenSource, insecure: false, requestTimeoutMs: 30_000 });
  const stream: Session['stream'] = (path, request, frameLimit = Infinity) =>
    new Promise((resolve, reject) => {
      const frames: string[] = [];
      const onEnd = (error: IndexerError | undefined): void => {
        if (error === undefined || frames.length >= frameLimit) resolve(frames);
        else reject(error);
      };
      const onFrame = (frame: Buffer): void => {
        if (frames.push(frame.toString()) >= frameLimit) openedStream.close();
      };
      const openedStream = openFrameStream({
        url,
        path,
        request,
        token: bearer,
        pingIntervalMs: 20_000,
        onFrame,
        onEnd,
      });
    });
  return { client, stream };
}

type WorldFacts = Pick<World, 'release' | 'ledgerEnd' | 'pruned' | 'begin' | 'update' | 'contractId' | 'synchronizers'>;

async function firstOf(elements: AsyncIterable<string>): Promise<string | undefined> {
  for await (const element of elements) return element;
  return undefined;
}

function parseRelease(version: string): Release {
  const release = /^\d+\.\d+/u.exec(version)?.[0];
  const knownRelease = releases.find((candidate) => candidate === release);
  if (knownRelease !== undefined) return knownRelease;
  throw new Error(`expected a participant of release ${releases.join(', ')}, found ${version}`);
}

/**
 * Facts that read-only rows need, requested from the participant.
 * @throws Error if there is nothing to read
 */
async function factsOf({ node, state, updates }: LedgerClient): Promise<WorldFacts> {
  const release = parseRelease((await node.version()).version);
  const ledgerEnd = await state.ledgerEnd();
  const prunedOffsets = await state.latestPrunedOffsets();
  const beginOffset = Math.max(prunedOffsets, ledgerEnd - recentOffsets);
  const connected = (await state.connectedSynchronizers()).map(({ synchronizerId }) => synchronizerId);
  const range = { beginExclusive: beginOffset, endInclusive: ledgerEnd, updateFormat };
  const update = ledgerEnd > beginOffset ? await firstOf(updates.list(range, { limit: 1 })) : undefined;
  const snapshot = { activeAtOffset: ledgerEnd, eventFormat: anyParty };
  const contract = await firstOf(state.activeContracts(snapshot, { limit: 1 }));
  const offset = Number(/"offset":(\d+)/u.exec(update ?? '')?.[1]);
  const updateId = /"updateId":"([^"]+)"/u.exec(update ?? '')?.[1];
  const contractId = /"contractId":"([^"]+)"/u.exec(contract ?? '')?.[1];
  if (updateId === undefined || contractId === undefined) {
    const missingText = updateId === undefined ? `no update from ${beginOffset} to ${ledgerEnd}` : 'no active contract';
    throw new Error(`expected a participant with updates and contracts that the user may read, found ${missingText}`);
  }
  const synchronizers = [connected[0] ?? '', connected[1] ?? ''] as const;
  return {
    release,
    ledgerEnd,
    pruned: prunedOffsets,
    begin: beginOffset,
    update: { offset, updateId },
    contractId,
    synchronizers,
  };
}

interface WorldContents {
  readonly bank: string;
  readonly alice: string;
  readonly packageId: string;
}

/**
 * Adds traffic, parties and a package, prunes the first updates, and adds more contracts, updates and completions than
 * a list may contain.
 */
async function createContents(sandbox: Sandbox, { client }: Session): Promise<WorldContents> {
  generateHistory(sandbox.ledger, { seed: 2, updates: 60 });
  sandbox.ledger.pruneTo(5);
  const allocate = async (partyIdHint: string): Promise<string> =>
    (await client.parties.allocate({ partyIdHint, userId: 'admin' })).party;
  const [bank, alice] = [await allocate('bank'), await allocate('alice')];
  for (let number = 0; number < manyAccounts; number += 1) {
    const argument = { bank, owner: alice, number: `many-${number}`, balance: '1', version: '1' };
    const commands = [{ kind: 'create' as const, templateId: accountTemplate, argument }];
    const ids = { commandId: `many-${number}`, submissionId: `many-${number}`, userId: 'admin' };
    sandbox.ledger.submit({ commands, actAs: [bank], ...ids });
  }
  await client.packages.uploadDar(darOfPackage({ name: 'conformance', version: '1.0.0', templates: ['Thing'] }));
  return { bank, alice, packageId: (await client.packages.list()).at(-1) ?? '' };
}

function counter(): World['unique'] {
  let count = 0;
  return (prefix) => `${prefix}-${(count += 1)}`;
}

/** Starts a sandbox of this release, with everything that the rows need. */
export async function startWorld(release: Release): Promise<World> {
  const sandbox = await startSandbox({ seed: 7, release, auth: { secret, users } });
  const recorder = await startRecorder(sandbox.url);
  const aud = `https://daml.com/jwt/aud/participant/${sandbox.participantId}`;
  const tokenOf = (sub: string): Promise<string> => token(signer, { sub, aud, exp: expiresIn(280_000) });
  const tokens: Tokens = {
    admin: await tokenOf('admin'),
    reader: await tokenOf('reader'),
    nobody: await tokenOf('nobody'),
    stranger: undefined,
  };
  const worldContents = await createContents(sandbox, sessionOf(sandbox.url, tokens.admin));
  const facts = await factsOf(sessionOf(sandbox.url, tokens.reader).client);
  return {
    ...facts,
    target: `a sandbox of release ${release}`,
    recorder,
    sandbox,
    session: (user: UserName) => sessionOf(recorder.url, tokens[user]),
    ...worldContents,
    unique: counter(),
    [Symbol.asyncDispose]: async () => {
      await recorder[Symbol.asyncDispose]();
      await sandbox.close();
    },
  };
}

/**
 * Uses an external participant, with one token for every user.
 * @throws IndexerError LEDGER_TOKEN_INSECURE if the token would be sent unencrypted and LEDGER_INSECURE is not `true`
 */
export async function joinWorld(url: string, bearer: string | undefined): Promise<World> {
  assertTokenConfidential(url, bearer, process.env['LEDGER_INSECURE'] === 'true');
  const recorder = await startRecorder(url);
  const session = sessionOf(recorder.url, bearer);
  const facts = await factsOf(session.client).catch(async (error: unknown) => {
    await recorder[Symbol.asyncDispose]();
    throw error;
  });
  const sandboxOnly = (): never => {
    throw new MissingOperation('a sandbox of the suite');
  };
  return {
    ...facts,
    target: `the participant at ${new URL(url).host} (LEDGER_URL), release ${facts.release}`,
    recorder,
    sandbox: undefined,
    session: (user: UserName) => (user === 'nobody' || user === 'stranger' ? sandboxOnly() : session),
    get bank(): string {
      return sandboxOnly();
    },
    get alice(): string {
      return sandboxOnly();
    },
    get packageId(): string {
      return sandboxOnly();
    },
    unique: counter(),
    [Symbol.asyncDispose]: () => recorder[Symbol.asyncDispose](),
  };
}
