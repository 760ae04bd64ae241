/** A kind of fault, and the parts of a run that it may affect. */
import type { ChaosDatabase } from '../databases.ts';
import type { ModelLedger } from '../model/model-ledger.ts';
import type { Seeded } from '../history/random.ts';
import type { WireFaults } from './wire-faults.ts';

/** Everything around one indexer. */
export interface ChaosWorld {
  readonly ledger: ModelLedger;
  readonly database: ChaosDatabase;
  readonly wires: WireFaults;
  readonly random: Seeded;
}

export interface FaultKind {
  readonly name: string;
  /** When it can happen: while the indexer seeds or while it follows. */
  readonly moments: readonly ('seed' | 'follow')[];
  /**
   * The help that the indexer may need to recover. `restart`: it may wait for an operator, who starts it again.
   * `death`: the fault is the death of the indexer. `takeover`: the same, with a second indexer as a standby. Absent:
   * none, it recovers automatically.
   */
  readonly needs?: 'restart' | 'death' | 'takeover';
  /** Prepares it; resolves once it has happened. Never rejects. */
  readonly arm: (world: ChaosWorld) => Promise<void>;
}
