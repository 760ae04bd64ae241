/**
 * Calls and fields that participants refuse since 3.6, unless configured otherwise, and no longer have since 3.7, with
 * their replacements. This module refuses a call that the participant's release has removed, before anything is sent.
 */
import { ledgerError } from '../errors/make-ledger-error.ts';
import type { Transport } from '../transport/transport.ts';
import { isFrom, type ParticipantRelease, type ReleaseNumber } from './release.ts';

export interface DeprecatedCall {
  /** Method and path, as the API descriptions name the call. */
  readonly operation: string;
  readonly deprecatedIn: '3.4' | '3.5';
  readonly instead: string;
}

/** First release that refuses the calls, unless an operator of the participant has enabled them again. */
export const disabledIn: ReleaseNumber = '3.6';
export const removedIn: ReleaseNumber = '3.7';

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

function matches({ operation }: DeprecatedCall, called: string): boolean {
  const [calledParts, operationParts] = [called.split('/'), operation.split('/')];
  return (
    calledParts.length === operationParts.length &&
    operationParts.every((part, at) => part.startsWith('{') || part === calledParts[at])
  );
}

interface Removed {
  readonly what: string;
  readonly instead: string;
}

function removedOf(called: string, body: unknown): Removed | undefined {
  const call = deprecatedCalls.find((one) => matches(one, called));
  if (call !== undefined) return { what: called, instead: call.instead };
  const format = legacyFields[called];
  if (format === undefined || typeof body !== 'object' || body === null) return undefined;
  const legacy = 'filter' in body || ('verbose' in body && body.verbose === true);
  return legacy ? { what: `the fields filter and verbose of ${called}`, instead: `the field ${format}` } : undefined;
}

/** How long a version is cached, milliseconds. An upgraded participant refuses such a call itself. */
const rereadMs = 60_000;

/**
 * Wraps the transport so that calls removed in the participant's release are refused.
 * @param read the release of the participant; called only for such a call
 */
export function withoutRemoved(transport: Transport, read: () => Promise<ParticipantRelease>): Transport {
  let known: { readonly release: Promise<ParticipantRelease>; readonly at: number } | undefined;
  const release = (): Promise<ParticipantRelease> => {
    if (known === undefined || performance.now() - known.at > rereadMs) {
      known = { release: read(), at: performance.now() };
      known.release.catch(() => (known = undefined));
    }
    return known.release;
  };
  const assertThere = async (method: string, path: string, body: unknown): Promise<void> => {
    const removed = removedOf(`${method} ${path}`, body);
    if (removed === undefined) return;
    const found = await release();
    if (!isFrom(found, removedIn)) return;
    const { what, instead } = removed;
    const message = `${what}: removed in release ${removedIn}, and the participant is ${found.version ?? 'newer'}`;
    throw ledgerError('LEDGER_API_DISABLED', message, { remedy: `use ${instead}`, facts: { removedIn } });
  };
  return {
    async request(method, path, body, query) {
      await assertThere(method, path, body);
      return transport.request(method, path, body, query);
    },
    async requestText(method, path, body, query) {
      await assertThere(method, path, body);
      return transport.requestText(method, path, body, query);
    },
    async requestBytes(method, path, body, query) {
      await assertThere(method, path, body);
      return transport.requestBytes(method, path, body, query);
    },
    async *requestElements(method, path, body, query) {
      await assertThere(method, path, body);
      yield* transport.requestElements(method, path, body, query);
    },
  };
}
