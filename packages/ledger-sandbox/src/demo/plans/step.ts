/**
 * Planned steps of the demo: locks of Amulet, names of users and purchases of traffic. They happen at given times, and
 * do not depend on the market. A step has no functions, so that a snapshot of the demo can store it.
 */

/** An amount of an owner, which is minted before the step. `key` names the contract of the step for later steps. */
interface Funded {
  readonly key: string;
  readonly owner: string;
  /** In units of 10^-10 Amulet. */
  readonly units: bigint;
}

/** A time of a step or a contract: microseconds since 1970. */
type Micros = number;

/** The subject that a governance lock supports. */
export interface Supported {
  readonly kind: 'GLK_FeaturedApp' | 'GLK_SuperValidatorRightsOwner';
  /** A party, or the name of a super validator. */
  readonly subject: string;
}

export type PlannedStep =
  /** Locks by CIP-0105. With `controllers`, they unlock together, and each of them may withdraw. */
  | (Funded & { readonly do: 'aggregate-lock'; readonly controllers?: readonly string[] })
  /** `into` names the lock whose amount vests; without `units`, the lock ends. */
  | {
      readonly do: 'unlock';
      readonly key: string;
      readonly into: string;
      readonly actors: readonly string[];
      readonly units?: bigint;
    }
  | (Funded & { readonly do: 'vesting-lock'; readonly initial: bigint; readonly start: Micros; readonly end: Micros })
  | { readonly do: 'withdraw'; readonly key: string; readonly actors: readonly string[] }
  /** Locks for governance. */
  | (Funded & Supported & { readonly do: 'governance-lock' })
  | {
      readonly do: 'governance-unlock';
      readonly key: string;
      readonly into: string;
      readonly owner: string;
      readonly units?: bigint;
    }
  | (Funded & Supported & { readonly do: 'governance-vesting'; readonly end: Micros })
  | { readonly do: 'governance-withdraw'; readonly key: string; readonly owner: string }
  | { readonly do: 'governance-expire'; readonly key: string }
  /** Other locks. */
  | (Funded & { readonly do: 'allocate'; readonly receiver: string; readonly end: Micros })
  | (Funded & { readonly do: 'offer'; readonly receiver: string; readonly end: Micros })
  | (Funded & { readonly do: 'commit'; readonly end: Micros })
  | { readonly do: 'iterate'; readonly key: string; readonly units: bigint }
  | { readonly do: 'take-back'; readonly key: string; readonly owner: string }
  | (Funded & {
      readonly do: 'escrow';
      readonly holder: string;
      readonly context: string | null;
      readonly end: Micros;
    })
  | { readonly do: 'end-lock'; readonly key: string; readonly owner: string }
  /** Names. */
  | { readonly do: 'name'; readonly key: string; readonly user: string; readonly end: Micros }
  | { readonly do: 'renew-name'; readonly key: string; readonly user: string; readonly days: number }
  | { readonly do: 'expire-name'; readonly key: string }
  /** Traffic of this participant. */
  | { readonly do: 'buy-traffic'; readonly by: 'rules' | 'transfer' }
  | { readonly do: 'merge-traffic' }
  /** A step of the live traffic, which plans the next one. */
  | { readonly do: 'live'; readonly turn: number };

/** The step of a kind. */
export type StepOf<Kind extends PlannedStep['do']> = Extract<PlannedStep, { readonly do: Kind }>;
