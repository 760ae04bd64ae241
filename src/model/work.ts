/** What somebody asked for that takes long and is done beside the stream: its name, its state, how far it is. Pure. */

export const workNames = ['widen', 'history', 'rebuild'] as const;
export type WorkName = (typeof workNames)[number];
export type WorkState = 'asked' | 'working' | 'stopped' | 'done' | 'failed';

export interface WorkProgress {
  /** What it is doing, for people. */
  readonly step: string | null;
  readonly unit: 'contracts' | 'offsets' | null;
  /** How much of the step is done, and of how much; null where nobody can know. */
  readonly done: number;
  readonly total: number | null;
  /** Null while it rests. */
  readonly perSecond: number | null;
  /** Why it failed, or what it tries again after. */
  readonly problem: string | null;
}

export interface Work extends WorkProgress {
  readonly name: WorkName;
  readonly state: WorkState;
  /** What was asked for. */
  readonly wanted: unknown;
  readonly askedAt: Date;
  readonly changedAt: Date;
}
