/** Names of the templates of a registry of both versions of the token standard, and the shapes of their payloads. */
import type { JsonObject } from '../../wire/json.ts';

/** A transfer that waits for its receiver. */
export interface WaitingTransfer {
  readonly admin: string;
  /** `Transfer` of TransferInstructionV2; its inputs are the locked holding. */
  readonly transfer: JsonObject;
}

/** Holdings allocated to a settlement. */
export interface SetAside {
  /** `SettlementInfo` of AllocationV2. */
  readonly settlement: JsonObject;
  /** `AllocationSpecification` of AllocationV2. */
  readonly allocation: JsonObject;
  /** The locked holdings. */
  readonly holdingCids: readonly string[];
  /** API timestamps. */
  readonly requestedAt: string;
  readonly allocateBefore: string | null;
}

/** Payloads of a template: written, and read again. */
export interface Shape<Told> {
  /** `package:Module:Entity` */
  readonly template: string;
  readonly write: (value: Told) => JsonObject;
  readonly read: (payload: JsonObject) => Told;
}

export interface Registry {
  /** The template with the issuer in its field `admin`, which starts transfers and logs events. */
  readonly rules: string;
  /** The key of the rules in the context of a choice. */
  readonly rulesKey: string;
  /** As `HoldingView` of HoldingV2. */
  readonly holding: Shape<JsonObject>;
  readonly transfer: Shape<WaitingTransfer>;
  /** Allocated by version 2, and by version 1. */
  readonly allocation: Shape<SetAside>;
  readonly allocationV1: Shape<SetAside>;
  /**
   * Every transfer locks its amount first, even one in a single step; transfers of an owner to itself then have legs.
   */
  readonly locksAlways: boolean;
  /** The choices of version 2 on a transfer exercise those of version 1, if version 1 knows both accounts. */
  readonly callsVersion1: boolean;
}
