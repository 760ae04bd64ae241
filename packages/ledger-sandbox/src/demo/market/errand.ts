/**
 * An action that the demo performs later. It has no functions, so that a snapshot of the demo can store it.
 */

import type { PlannedStep } from '../plans/step.ts';

/** A contract id. */
type Cid = string;

export const tradeEndings = ['settle', 'cancel', 'miss'] as const;
export const transferEndings = ['Accept', 'Reject', 'Withdraw', 'Expire'] as const;

export type LegId = 'delivery' | 'payment';

/** One direction of a trade. */
export interface Leg {
  /** Amount of the instrument. */
  readonly instrumentId: string;
  readonly sender: string;
  readonly receiver: string;
  readonly units: bigint;
}

/** A delivery versus payment in progress. All its errands share this object. */
export interface Trade {
  readonly workflowId: string;
  readonly legs: Readonly<Record<LegId, Leg>>;
  readonly ending: (typeof tradeEndings)[number];
  readonly allocations: Map<LegId, Cid>;
  contractId: Cid;
}

export interface TransferEnd {
  readonly instruction: Cid;
  readonly instrumentId: string;
  readonly sender: string;
  readonly receiver: string;
  readonly ending: (typeof transferEndings)[number];
}

export interface Payment {
  readonly request: Cid;
  readonly license: Cid;
  readonly allocation: Cid;
}

export type Errand =
  | { readonly what: 'planned'; readonly step: PlannedStep }
  | { readonly what: 'advance-rounds' }
  | { readonly what: 'hand-out-rewards'; readonly round: number }
  | { readonly what: 'collect-rewards' | 'be-there' | 'mark-activity'; readonly party: string }
  | { readonly what: 'merge-traffic'; readonly member: string }
  | ({ readonly what: 'end-transfer' } & TransferEnd)
  | { readonly what: 'arrive'; readonly reassignmentId: string; readonly outward: boolean }
  | { readonly what: 'return'; readonly holding: Cid }
  | { readonly what: 'accept-trade' | 'initiate-trade'; readonly trade: Trade; readonly proposal: Cid }
  | { readonly what: 'allocate-leg'; readonly trade: Trade; readonly leg: LegId }
  | { readonly what: 'allocate-exchange'; readonly trade: Trade; readonly leg: LegId }
  | { readonly what: 'conclude-exchange' | 'leave-exchange'; readonly trade: Trade }
  | { readonly what: 'conclude-trade' | 'take-back' | 'give-up-trade'; readonly trade: Trade }
  | { readonly what: 'install' | 'extra-license' | 'renew' | 'renew-all' | 'upgrade-licensing' }
  | { readonly what: 'accept-install'; readonly request: Cid }
  | { readonly what: 'license'; readonly install: Cid }
  | { readonly what: 'pay-renewal' | 'cancel-renewal'; readonly request: Cid; readonly license: Cid }
  | ({ readonly what: 'complete-renewal' } & Payment);

/** The errand of a kind. */
export type ErrandOf<Kind extends Errand['what']> = Extract<Errand, { readonly what: Kind }>;
