/**
 * Verifies that a list of active contracts is complete. The ledger ends the list with code 1000 and no marker, and so
 * does a gateway that closes early. A clean end is therefore necessary but not sufficient. For this reason the ledger
 * is queried for entries after the last one. If entries carry no continuation token, the same list is requested again.
 */
import { createHash } from 'node:crypto';
import { toIndexerError, type IndexerError } from '../../errors/indexer-error.ts';
import { ledgerError } from '../../ledger/errors/make-ledger-error.ts';
import { activeContractsRequest, type LedgerFilter } from '../../ledger/api/request-format.ts';
import type { ParticipantRelease } from '../../ledger/api/release.ts';
import { decodeActiveContract } from '../../ledger/frames/decode.ts';
import type { ActiveContractEntry } from '../../model/update.ts';
import { stringOf, utf8Of } from '../../model/utf8.ts';
import type { LedgerReads } from '../ports/source.ts';

/** Summary of a list in constant memory: its last token, or the number and a digest of its entries. */
export class ListTally {
  count = 0;
  /** The newest continuation token; null while no entry carried one. */
  token: string | null;
  #sum = 0n;

  /** @param token the list was read after this token; null if it was read from the first entry */
  constructor(token: string | null = null) {
    this.token = token;
  }

  add(entry: ActiveContractEntry): void {
    this.count += 1;
    this.token = entry.continuationToken ?? this.token;
    // If there is a token, the list is not read again for comparison, so no digest is needed.
    if (this.token === null) this.#sum = BigInt.asUintN(256, this.#sum + digestOf(entry));
  }

  /** The same for a frame that is not decoded; if it carries a token, only its end is read. */
  addText(text: string): void {
    const token = lastToken.exec(text.slice(-longestToken))?.[1];
    if (token === undefined) {
      this.add(decodeActiveContract(utf8Of(text)));
      return;
    }
    this.count += 1;
    this.token = token;
  }

  /** Whether both readings had the same entries, in any order. */
  equals(other: ListTally): boolean {
    return this.count === other.count && this.#sum === other.#sum;
  }
}

/** Matches the token at the end of an entry. It is the last key, and nothing inside an entry can end like this. */
const lastToken = /"streamContinuationToken":"([\w+/=-]+)"\}$/;
const longestToken = 4096;

function digestOf(entry: ActiveContractEntry): bigint {
  return BigInt(`0x${createHash('sha256').update(keyOf(entry)).digest('hex')}`);
}

function keyOf(entry: ActiveContractEntry): string {
  const { kind } = entry;
  if (kind === 'empty') return kind;
  const { contractId, offset } = kind === 'incomplete_assigned' ? entry.assigned.created : entry.created;
  const synchronizer =
    kind === 'active'
      ? entry.synchronizerId
      : kind === 'incomplete_assigned'
        ? entry.assigned.target
        : entry.unassigned.source;
  return `${kind} ${stringOf(contractId)} ${synchronizer} ${String(offset)}`;
}

/** A list that ended with code 1000. */
export interface CompletedList {
  readonly offset: number;
  readonly filter: LedgerFilter;
  /** The participant's release when the list was read. A list with other contents would prove nothing. */
  readonly release: ParticipantRelease;
  readonly read: ListTally;
  /**
   * Whether contracts that are missing from the list will be ended. In that case, a proof that a gateway could imitate
   * is not sufficient.
   */
  readonly strict?: boolean;
}

/** Requests that can be sent to the ledger. */
export interface ContractListReads {
  readonly ledger: Pick<LedgerReads, 'state'>;
  /** Frames of a stream of active contracts, until its clean end. */
  readonly streamed: (request: object) => AsyncIterable<readonly string[]>;
}

/**
 * Maximum number of entries of a list over HTTP. A participant returns no longer list unless it is configured
 * otherwise.
 */
const longestAnswer = 200;

/**
 * Undefined if the list is verified to be complete; otherwise the error to fail with. If the list has a token, it can
 * be continued after it.
 * @throws IndexerError SEED_UNVERIFIED if that cannot be decided
 */
export async function findListError(
  list: CompletedList,
  listReads: ContractListReads,
): Promise<IndexerError | undefined> {
  const { offset, read: listTally } = list;
  // Before the first update, no contract is active.
  if (offset === 0) return undefined;
  if (listTally.token !== null)
    return (await hasEntriesAfter(list, listTally.token, listReads)) ? truncatedError(list) : undefined;
  const httpTally = listTally.count < longestAnswer ? await tallyOverHttp(list, listReads) : undefined;
  const secondTally = httpTally ?? (await tallyOverStream(list, listReads));
  return secondTally.equals(listTally) ? undefined : differenceError(list, secondTally);
}

async function hasEntriesAfter(list: CompletedList, token: string, { ledger }: ContractListReads): Promise<boolean> {
  const request = activeContractsRequest(list.offset, list.filter, list.release, token);
  return requestOverHttp(list, async () => {
    for await (const _first of ledger.state.activeContracts(request, { limit: 1 })) return true;
    return false;
  });
}

/** Reads the list again over HTTP; undefined if the participant limits responses to fewer entries (413). */
async function tallyOverHttp(list: CompletedList, { ledger }: ContractListReads): Promise<ListTally | undefined> {
  const request = activeContractsRequest(list.offset, list.filter, list.release);
  const tally = new ListTally();
  return requestOverHttp(list, async () => {
    try {
      // One more than expected, so that a longer list is detected.
      const limit = list.read.count + 1;
      for await (const text of ledger.state.activeContracts(request, { limit })) tally.addText(text);
      return tally;
    } catch (thrown) {
      const error = toIndexerError(thrown);
      if (error.facts['httpStatus'] === 413) return undefined;
      throw error;
    }
  });
}

/**
 * Reads the list again with other contents, so that a limit of bytes or of time would truncate it at another entry. A
 * limit on messages would truncate it at the same one.
 */
async function tallyOverStream(list: CompletedList, { streamed: streamList }: ContractListReads): Promise<ListTally> {
  const { offset, filter, release, strict: isStrict } = list;
  if (isStrict === true) {
    const reason = `it has ${String(list.read.count)} entries without continuation tokens, and a second reading may be truncated in the same way`;
    throw unverifiableError(
      list,
      reason,
      'use a participant of release 3.5 or newer, which sends tokens; otherwise discard the history here',
    );
  }
  const differentFilter = { ...filter, createdEventBlobs: !filter.createdEventBlobs };
  const tally = new ListTally();
  for await (const texts of streamList(activeContractsRequest(offset, differentFilter, release))) {
    for (const text of texts) tally.addText(text);
  }
  return tally;
}

/**
 * Codes that mean: the participant has no such call, a gateway blocks it, or the participant refuses the stream's own
 * token.
 */
const httpFailureCodes: ReadonlySet<string> = new Set([
  'LEDGER_NOT_A_LEDGER',
  'LEDGER_REQUEST_INVALID',
  'LEDGER_CONTINUATION_TOKEN_INVALID',
]);

/** Only a working participant can send an HTTP response, whereas any proxy can close a stream cleanly. */
async function requestOverHttp<T>(list: CompletedList, sendRequest: () => Promise<T>): Promise<T> {
  try {
    return await sendRequest();
  } catch (thrown) {
    const error = toIndexerError(thrown);
    if (!httpFailureCodes.has(error.code)) throw error;
    throw unverifiableError(list, `over HTTP the ledger returned: ${error.message}`);
  }
}

function unverifiableError({ offset, read: listTally }: CompletedList, reason: string, remedy?: string): IndexerError {
  const message = `the list of active contracts at offset ${String(offset)} cannot be proven complete: ${reason}`;
  const facts = { offset, entries: listTally.count };
  return ledgerError('SEED_UNVERIFIED', message, remedy === undefined ? { facts } : { facts, remedy });
}

function truncatedError({ offset, read: listTally }: CompletedList): IndexerError {
  const message =
    `the list of active contracts at offset ${String(offset)} cannot be verified as complete: it was closed with code 1000 ` +
    `after ${String(listTally.count)} entries, and the ledger has more`;
  return ledgerError('LEDGER_STREAM_TRUNCATED', message, { facts: { offset, entries: listTally.count } });
}

function differenceError({ offset, read: listTally }: CompletedList, secondTally: ListTally): IndexerError {
  const message =
    `the list of active contracts at offset ${String(offset)} cannot be verified as complete: one reading has ` +
    `${String(listTally.count)} entries, another one ${String(secondTally.count)}${listTally.count === secondTally.count ? ' others' : ''}`;
  return ledgerError('LEDGER_STREAM_TRUNCATED', message, {
    facts: { offset, entries: listTally.count, again: secondTally.count },
  });
}
