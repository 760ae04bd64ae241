/**
 * The words of a random history, and the parties that may see them: ids of contracts, updates and commands, parties, and
 * the texts that contents consist of. It applies the table of docs/how-to/secure/reader-roles.md to the sent frames, and
 * reads no database. A word that several parts contain is visible to the parties that see at least one of them.
 */
import type { Json, JsonRecord } from '../../support/frames.ts';
import type { PrivateHistory } from '../../security/privacy-history.ts';

/**
 * Words by which a part of the history is recognized. The generator writes the id of the contract, or the offset of the
 * update, into each of its texts. The last two alternatives are hashes and blobs of contracts in base64.
 */
const wordPattern = new RegExp(
  [
    /(?:\b[a-z]+ )?\bof 00c\d+/,
    /\bown-00c\d+::1220\b/,
    /\b00c\d+/,
    /\b(?:argument|result|command|workflow|user|submission|odd) \d+/,
    /\b1220\d+\b/,
    /\b[A-Z][a-z]{2}::1220\b/,
    ...['hash', 'blob'].map((kind) => new RegExp(String.raw`${base64Start(kind)}[\w+/=]+`)),
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
);

/** The characters that do not depend on the number of the contract. */
function base64Start(kind: string): string {
  return Buffer.from(`${kind} of 00c`).toString('base64').slice(0, 14);
}

export function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.match(wordPattern) ?? []);
}

/** The word of an offset, which answers contain as a number. */
export function offsetWord(offset: number): string {
  return `offset ${String(offset)}`;
}

export class VisibleWords {
  readonly #seers = new Map<string, Set<string>>();
  /** Stakeholders of each contract, who see when it ends. */
  readonly #stakeholders = new Map<string, Set<string>>();

  constructor(history: PrivateHistory) {
    for (const { contractEntry } of history.entries) this.#entry(contractEntry as JsonRecord);
    for (const { update } of history.updates) {
      for (const { value } of Object.values(update as Record<string, { value: JsonRecord }>)) this.#update(value);
    }
    for (const { completionResponse } of history.completions) this.#completion(completionResponse as JsonRecord);
  }

  /** All words of this kind, such as `own-`, whoever may see them. */
  startingWith(start: string): readonly string[] {
    return [...this.#seers.keys()].filter((word) => word.startsWith(start));
  }

  isVisible(word: string, parties: readonly string[]): boolean {
    const seers = this.#seers.get(word);
    return seers !== undefined && parties.some((party) => seers.has(party));
  }

  /** Whether the history contains the word; answers may contain other words, such as texts of the request. */
  has(word: string): boolean {
    return this.#seers.has(word);
  }

  #add(part: Json, seers: readonly string[], offset?: number): readonly string[] {
    const words = [...wordsOf(JSON.stringify(part)), ...(offset === undefined ? [] : [offsetWord(offset)])];
    for (const word of words) {
      const known = this.#seers.get(word) ?? new Set();
      for (const party of seers) known.add(party);
      this.#seers.set(word, known);
    }
    return seers;
  }

  #entry(entry: JsonRecord): void {
    const { JsActiveContract: active, JsIncompleteUnassigned: left, JsIncompleteAssigned: arrived } = entry;
    for (const value of [active, left] as (JsonRecord | undefined)[]) {
      if (value !== undefined) this.#created(value['createdEvent'] as JsonRecord);
    }
    if (left !== undefined) this.#unassigned((left as JsonRecord)['unassignedEvent'] as JsonRecord);
    // Only the second half of the reassignment is known, so there is no contract.
    if (arrived !== undefined) this.#arrival((arrived as JsonRecord)['assignedEvent'] as JsonRecord);
  }

  #update({ events, ...update }: JsonRecord): void {
    const offset = Number(update['offset']);
    const seers = ((events ?? []) as JsonRecord[]).flatMap((event) => this.#event(event, offset));
    this.#add(update, seers, offset);
  }

  #event(event: JsonRecord, offset: number): readonly string[] {
    const [[kind, body] = ['', {}]] = Object.entries(event) as [string, JsonRecord][];
    if (kind === 'CreatedEvent') return this.#created(body);
    if (kind === 'ExercisedEvent') return this.#exercised(body);
    if (kind === 'ArchivedEvent') return this.#archived(body);
    if (kind === 'JsUnassignedEvent') return this.#unassigned(body['value'] as JsonRecord);
    if (kind === 'JsAssignmentEvent') {
      return [...this.#created(body['createdEvent'] as JsonRecord), ...this.#arrival(body)];
    }
    const { value } = (body['ParticipantAuthorizationChanged'] ?? { value: {} }) as { value: JsonRecord };
    const { partyId } = value;
    return typeof partyId === 'string' ? this.#add({ partyId }, [partyId], offset) : [];
  }

  #created(event: JsonRecord): readonly string[] {
    const stakeholders = [...partiesOf(event, 'signatories'), ...partiesOf(event, 'observers')];
    const id = event['contractId'] as string;
    this.#stakeholders.set(id, new Set([...(this.#stakeholders.get(id) ?? []), ...stakeholders]));
    return this.#add(event, stakeholders, Number(event['offset']));
  }

  #exercised(event: JsonRecord): readonly string[] {
    const offset = Number(event['offset']);
    if (event['consuming'] === true) this.#ended(event, offset);
    return this.#add(event, [...partiesOf(event, 'actingParties'), ...partiesOf(event, 'witnessParties')], offset);
  }

  #archived(event: JsonRecord): readonly string[] {
    const offset = Number(event['offset']);
    this.#ended(event, offset);
    return this.#add(event, partiesOf(event, 'witnessParties'), offset);
  }

  #unassigned(event: JsonRecord): readonly string[] {
    const offset = Number(event['offset']);
    this.#ended(event, offset);
    return this.#add(event, partiesOf(event, 'witnessParties'), offset);
  }

  /** The half of a reassignment that its witnesses see, without the contents of the contract. */
  #arrival(event: JsonRecord): readonly string[] {
    const { contractId, witnessParties, offset } = event['createdEvent'] as JsonRecord;
    const half = { submitter: event['submitter'] ?? null, contractId: contractId ?? null };
    return this.#add(
      { ...half, witnessParties: witnessParties ?? [] },
      partiesOf({ witnessParties: witnessParties ?? [] }, 'witnessParties'),
      Number(offset),
    );
  }

  /** Stakeholders see at which offset a contract ends, whoever sees the event. */
  #ended({ contractId }: JsonRecord, offset: number): void {
    this.#add({}, [...(this.#stakeholders.get(contractId as string) ?? [])], offset);
  }

  #completion({ Completion: completion }: JsonRecord): void {
    const { actAs, ...value } = (completion as { value: JsonRecord }).value;
    const actors = partiesOf({ actAs: actAs ?? [] }, 'actAs');
    this.#add(value, actors, Number(value['offset']));
    for (const actor of actors) this.#add({ actor }, [actor]);
  }
}

function partiesOf(event: JsonRecord, field: string): readonly string[] {
  return (event[field] ?? []) as string[];
}
