/** Reads and checks the two requests for completions, of one user and of any user, in the participant's order. */
import { require } from '../identity/caller.ts';
import type { Caller } from '../identity/caller.ts';
import { afterLedgerEnd, missingField, negativeOffset, prunedAccess } from '../wire/failure.ts';
import { requireParty } from '../contracts/format.ts';
import { asTexts } from '../wire/json.ts';
import type { JsonObject } from '../wire/json.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { completionFrame } from '../ledger/completions.ts';
import type { Participant } from './participant.ts';
import { int64Of } from './requests.ts';
import { userOf } from '../ledger/submission-request.ts';

export interface CompletionsRequest {
  /** Undefined for completions of every user. */
  readonly userId: string | undefined;
  /** Undefined for completions of every party. */
  readonly parties: ReadonlySet<string> | undefined;
  readonly beginExclusive: number;
  /** Completions are followed without end. */
  readonly endInclusive: undefined;
}

/** `CompletionStreamRequest` requests completions of one user, `GetCompletionsRequest` those of all users. */
export type CompletionsForm = 'of-user' | 'of-all';

function beginOffsetOf(body: JsonObject, ledger: Ledger): number {
  const beginOffset = int64Of(body['beginExclusive']) ?? 0;
  if (beginOffset < 0) throw negativeOffset(beginOffset, 'begin_exclusive');
  if (beginOffset > ledger.ledgerEnd()) throw afterLedgerEnd('Begin offset', beginOffset, ledger.ledgerEnd());
  return Number(beginOffset);
}

/** Reads a request for completions. Throws the participant's refusal. */
export function parseCompletions(
  body: JsonObject,
  { ledger }: Participant,
  caller: Caller,
  form: CompletionsForm,
): CompletionsRequest {
  const userId = form === 'of-user' ? userOf(body, caller) : undefined;
  const parties = asTexts(body['parties']);
  for (const party of parties) requireParty(party);
  if (form === 'of-user' && parties.length === 0) throw missingField('parties');
  require(caller, parties.length === 0 ? ['read-as-any-party'] : parties.map((readAs) => ({ readAs })));
  const requestedParties = parties.length === 0 ? undefined : new Set(parties);
  return { userId, parties: requestedParties, beginExclusive: beginOffsetOf(body, ledger), endInclusive: undefined };
}

const maxCompletionsPerSlice = 64;

/** Reads completions one slice at a time, and reports the offset up to which it has read. */
export class CompletionsReader {
  readonly finished = false;
  readonly #participant: Participant;
  readonly #request: CompletionsRequest;
  #position: number;

  constructor(participant: Participant, request: CompletionsRequest) {
    this.#participant = participant;
    this.#request = request;
    this.#position = request.beginExclusive;
  }

  get position(): number {
    return this.#position;
  }

  get caughtUp(): boolean {
    return this.#position >= this.#participant.ledger.ledgerEnd();
  }

  /** The frames of the next slice. Throws if the position was pruned meanwhile. */
  read(): string[] {
    const { ledger, release } = this.#participant;
    const { userId, parties } = this.#request;
    const [end, prunedOffset] = [ledger.ledgerEnd(), ledger.prunedTo()];
    if (this.#position < prunedOffset) {
      throw prunedAccess(`Command completions request from ${this.#position} to ${end}`, prunedOffset);
    }
    const completions = ledger.completions.range(this.#position, end, maxCompletionsPerSlice);
    this.#position =
      completions.length < maxCompletionsPerSlice ? Math.max(end, this.#position) : (completions.at(-1)?.offset ?? end);
    return completions
      .filter((completion) => userId === undefined || completion.userId === userId)
      .map((completion) => completionFrame(completion, parties, release))
      .filter((frame) => frame !== undefined);
  }

  /** An OffsetCheckpoint of the ledger at the position read so far. */
  checkpoint(): string {
    const recordTimes = this.#participant.ledger.recordTimes();
    const synchronizerTimes = [...recordTimes].map(([synchronizerId, recordTime]) => ({ synchronizerId, recordTime }));
    const value = { offset: this.#position, synchronizerTimes };
    return JSON.stringify({ completionResponse: { OffsetCheckpoint: { value } } });
  }
}
