/** A kind of fault, and the parts of a run that it may affect. */
import type { ChaosDatabase } from '../databases.ts';
import type { ModelLedger } from '../model/model-ledger.ts';
import type { SeededRandom } from '../history/random.ts';
import type { WireFaults } from './wire-faults.ts';

/** The servers and faults around one indexer. */
export interface ChaosWorld {
  readonly ledger: ModelLedger;
  readonly database: ChaosDatabase;
  readonly wires: WireFaults;
  readonly random: SeededRandom;
}

export interface FaultKind {
  readonly name: string;
  /** When the fault can happen: while the indexer seeds, or while it follows the stream. */
  readonly moments: readonly ('seed' | 'follow')[];
  /**
   * The action that the indexer may need to recover. `restart`: it may park, until an operator restarts it. `death`: the fault is
   * the death of the indexer. `takeover`: the same, with a second indexer as standby. Absent: it recovers
   * automatically.
   */
  readonly needs?: 'restart' | 'death' | 'takeover';
  /** Prepares the fault; resolves when it has happened. Never rejects. */
  readonly arm: (world: ChaosWorld) => Promise<void>;
}
