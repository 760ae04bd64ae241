/**
 * Contents that must not be stored again, whatever the ledger sends. Rows are built without them, so that they reach
 * neither a table nor the log of Postgres. Pure; the store keeps the list.
 */
import type { CreatedEvent, ExercisedEvent } from './event.ts';
import type { UpdateHeader } from './update.ts';
import { stringOf, type TextOrUtf8 } from './utf8.ts';

export interface RedactedContract {
  readonly contractId: string;
  readonly redactionId: string;
  /** Whether arguments and results of the contract's exercises are redacted as well. */
  readonly exercises: boolean;
}

export interface RedactedExercise {
  readonly offset: number;
  readonly nodeId: number;
  /** Id of the redacted update; on another ledger, the update at this offset has another id. */
  readonly updateId: string | null;
  readonly redactionId: string;
}

export class Redactions {
  readonly #contracts: ReadonlyMap<string, RedactedContract>;
  readonly #exercises: ReadonlyMap<string, RedactedExercise>;

  constructor(contracts: readonly RedactedContract[], exercises: readonly RedactedExercise[]) {
    this.#contracts = new Map(contracts.map((contract) => [contract.contractId, contract]));
    this.#exercises = new Map(exercises.map((exercise) => [keyOf(exercise.offset, exercise.nodeId), exercise]));
  }

  /** Id of the redaction of the contract; undefined if its contents may be stored. */
  ofContract(contractId: TextOrUtf8): string | undefined {
    return this.#contracts.get(stringOf(contractId))?.redactionId;
  }

  /** Offsets, between two inclusive ends, of the exercises that were redacted individually. */
  offsetsWithin(from: number, to: number): ReadonlySet<number> {
    const offsets = [...this.#exercises.values()].map(({ offset }) => offset);
    return new Set(offsets.filter((offset) => offset >= from && offset <= to));
  }

  /** Id of the redaction of the exercise, or of its contract together with its exercises. */
  ofExercise(
    { offset, updateId }: Pick<UpdateHeader, 'offset' | 'updateId'>,
    { nodeId, contractId }: Pick<ExercisedEvent, 'nodeId' | 'contractId'>,
  ): string | undefined {
    const exercise = this.#exercises.get(keyOf(offset, nodeId));
    const isSameUpdate = exercise?.updateId === (updateId === null ? null : stringOf(updateId));
    if (exercise !== undefined && isSameUpdate) return exercise.redactionId;
    const contract = this.#contracts.get(stringOf(contractId));
    return contract?.exercises === true ? contract.redactionId : undefined;
  }
}

/** The event without its contents; it keeps ids, parties, times and the hash of the key. */
export function redactedContract(event: CreatedEvent): CreatedEvent {
  const interfaceViews = event.interfaceViews.map((view) => ({
    ...view,
    view: null,
    statusMessage: null,
    statusDetails: null,
  }));
  return { ...event, payload: null, contractKey: null, createdEventBlob: null, interfaceViews };
}

/** The exercise without argument and result. */
export function redactedExercise(event: ExercisedEvent): ExercisedEvent {
  return { ...event, argument: null, result: null };
}

function keyOf(offset: number, nodeId: number): string {
  return `${String(offset)}:${String(nodeId)}`;
}
