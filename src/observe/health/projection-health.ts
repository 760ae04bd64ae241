/** State of the projections, in the form of `/status`. */
import type { IndexerError } from '../../errors/indexer-error.ts';
import { scrub } from '../figures/scrub.ts';

export interface ProjectionStatus {
  readonly name: string;
  /** Last offset of the newest stored range; null if this process has stored no range yet. */
  readonly offset: number | null;
  /** Offsets between that offset and the checkpoint when the range was read. */
  readonly offsetsBehind: number | null;
  /** Why the next range cannot be stored; null if there is no problem. */
  readonly problem: { readonly code: string; readonly message: string; readonly remedy: string } | null;
}

export class ProjectionHealth {
  readonly #states = new Map<string, ProjectionStatus>();

  stored(name: string, offset: number, checkpoint: number): void {
    this.#states.set(name, { name, offset, offsetsBehind: checkpoint - offset, problem: null });
  }

  /** The projection is parked. */
  failed(name: string, { code, message, remedy }: IndexerError): void {
    const before = this.#states.get(name) ?? { name, offset: null, offsetsBehind: null };
    this.#states.set(name, { ...before, problem: { code, message: scrub(message), remedy: scrub(remedy) } });
  }

  /** The projection was dropped or replaced. */
  forget(name: string): void {
    this.#states.delete(name);
  }

  /** Projections that have made a step in this process. */
  status(): readonly ProjectionStatus[] {
    return [...this.#states.values()];
  }
}
