/**
 * Calls and fields that participants refuse since 3.6, unless configured otherwise, and no longer have since 3.7, with
 * their replacements. This module refuses a call that the participant's release has removed, before anything is sent.
 */
import { ledgerError } from '../errors/make-ledger-error.ts';
import type { Transport } from '../transport/transport.ts';
import { isReleaseSince, type ParticipantRelease, type ReleaseNumber } from './release.ts';

export interface DeprecatedCall {
  /** Method and path, as the API descriptions name the call. */
  readonly operation: string;
  readonly deprecatedIn: '3.4' | '3.5';
  readonly instead: string;
}

/** First release that refuses the calls, unless an operator of the participant has enabled them again. */
export const disabledIn: ReleaseNumber = '3.6';
export const removalRelease: ReleaseNumber = '3.7';

const trees = 'POST /v2/updates with transactionShape TRANSACTION_SHAPE_LEDGER_EFFECTS (updates.list)';
const byOffset = 'POST /v2/updates/update-by-offset (updates.byOffset)';
const byId = 'POST /v2/updates/update-by-id (updates.byId)';

export const deprecatedCalls: readonly DeprecatedCall[] = [
  { operation: 'POST /v2/updates/flats', deprecatedIn: '3.4', instead: 'POST /v2/updates (updates.list)' },
  { operation: 'POST /v2/updates/trees', deprecatedIn: '3.4', instead: trees },
  { operation: 'POST /v2/updates/transaction-by-offset', deprecatedIn: '3.4', instead: byOffset },
  { operation: 'POST /v2/updates/transaction-by-id', deprecatedIn: '3.4', instead: byId },
  { operation: 'GET /v2/updates/transaction-tree-by-offset/{offset}', deprecatedIn: '3.4', instead: byOffset },
  { operation: 'GET /v2/updates/transaction-tree-by-id/{update-id}', deprecatedIn: '3.4', instead: byId },
  {
    operation: 'POST /v2/commands/submit-and-wait-for-transaction-tree',
    deprecatedIn: '3.4',
    instead: 'POST /v2/commands/submit-and-wait-for-transaction',
  },
  {
    operation: 'GET /v2/interactive-submission/preferred-package-version',
    deprecatedIn: '3.4',
    instead: 'POST /v2/interactive-submission/preferred-packages',
  },
  { operation: 'GET /v2/package-vetting', deprecatedIn: '3.5', instead: 'POST /v2/package-vetting/list' },
  { operation: 'POST /v2/package-vetting', deprecatedIn: '3.5', instead: 'POST /v2/package-vetting/update' },
  {
    operation: 'GET /v2/state/active-contracts-page',
    deprecatedIn: '3.5',
    instead: 'POST /v2/state/active-contracts-page (state.activeContractsPage)',
  },
];

/**
 * Requests that have fields which a later release removed. Such a release would ignore the fields, and return another
 * result than requested.
 */
const legacyFields: Readonly<Record<string, string>> = {
  'POST /v2/updates': 'updateFormat',
  'POST /v2/state/active-contracts': 'eventFormat',
};

function matches({ operation }: DeprecatedCall, calledOperation: string): boolean {
  const [calledSegments, operationParts] = [calledOperation.split('/'), operation.split('/')];
  return (
    calledSegments.length === operationParts.length &&
    operationParts.every((segment, index) => segment.startsWith('{') || segment === calledSegments[index])
  );
}

interface RemovedCall {
  readonly what: string;
  readonly instead: string;
}

function findRemovedCall(calledOperation: string, body: unknown): RemovedCall | undefined {
  const call = deprecatedCalls.find((deprecatedCall) => matches(deprecatedCall, calledOperation));
  if (call !== undefined) return { what: calledOperation, instead: call.instead };
  const format = legacyFields[calledOperation];
  if (format === undefined || typeof body !== 'object' || body === null) return undefined;
  const legacy = 'filter' in body || ('verbose' in body && body.verbose === true);
  return legacy
    ? { what: `the fields filter and verbose of ${calledOperation}`, instead: `the field ${format}` }
    : undefined;
}

/** How long a version is cached, milliseconds. An upgraded participant refuses such a call itself. */
const rereadMs = 60_000;

/**
 * Wraps the transport so that calls removed in the participant's release are refused.
 * @param readRelease the release of the participant; called only for such a call
 */
export function rejectRemovedCalls(transport: Transport, readRelease: () => Promise<ParticipantRelease>): Transport {
  let cachedRelease: { readonly release: Promise<ParticipantRelease>; readonly at: number } | undefined;
  const release = (): Promise<ParticipantRelease> => {
    if (cachedRelease === undefined || performance.now() - cachedRelease.at > rereadMs) {
      cachedRelease = { release: readRelease(), at: performance.now() };
      cachedRelease.release.catch(() => (cachedRelease = undefined));
    }
    return cachedRelease.release;
  };
  const assertNotRemoved = async (method: string, path: string, body: unknown): Promise<void> => {
    const removedCall = findRemovedCall(`${method} ${path}`, body);
    if (removedCall === undefined) return;
    const currentRelease = await release();
    if (!isReleaseSince(currentRelease, removalRelease)) return;
    const { what: removedThing, instead: replacement } = removedCall;
    const message = `${removedThing}: removed in release ${removalRelease}, and the participant is ${currentRelease.version ?? 'newer'}`;
    throw ledgerError('LEDGER_API_DISABLED', message, {
      remedy: `use ${replacement}`,
      facts: { removedIn: removalRelease },
    });
  };
  return {
    async request(method, path, body, query) {
      await assertNotRemoved(method, path, body);
      return transport.request(method, path, body, query);
    },
    async requestText(method, path, body, query) {
      await assertNotRemoved(method, path, body);
      return transport.requestText(method, path, body, query);
    },
    async requestBytes(method, path, body, query) {
      await assertNotRemoved(method, path, body);
      return transport.requestBytes(method, path, body, query);
    },
    async *requestElements(method, path, body, query) {
      await assertNotRemoved(method, path, body);
      yield* transport.requestElements(method, path, body, query);
    },
  };
}
