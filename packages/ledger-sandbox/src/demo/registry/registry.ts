/** Names of the templates of a registry of both versions of the token standard, and the shapes of their payloads. */
import type { JsonObject } from '../../wire/json.ts';

/** A transfer that waits for its receiver. */
export interface WaitingTransfer {
  readonly admin: string;
  /** `Transfer` of TransferInstructionV2. Its only input is the locked holding. */
  readonly transfer: JsonObject;
}

/** An allocation: holdings that are locked for a settlement. */
export interface Reservation {
  /** `SettlementInfo` of AllocationV2. */
  readonly settlement: JsonObject;
  /** `AllocationSpecification` of AllocationV2. */
  readonly allocation: JsonObject;
  /** Ids of the locked holdings. */
  readonly holdingCids: readonly string[];
  /** API timestamps, like the next field. */
  readonly requestedAt: string;
  readonly allocateBefore: string | null;
}

/** Writes and reads the payloads of a template. */
export interface Shape<Value> {
  /** `package:Module:Entity` */
  readonly template: string;
  readonly write: (value: Value) => JsonObject;
  readonly read: (payload: JsonObject) => Value;
}

export interface Registry {
  /** The template of the rules. It names the issuer in its field `admin`, starts transfers and logs events. */
  readonly rules: string;
  /** The key of the rules' contract id in the context of a choice. */
  readonly rulesKey: string;
  /** Holdings, as `HoldingView` of HoldingV2. */
  readonly holding: Shape<JsonObject>;
  readonly transfer: Shape<WaitingTransfer>;
  /** Allocations of version 2; the next field has those of version 1. */
  readonly allocation: Shape<Reservation>;
  readonly allocationV1: Shape<Reservation>;
  /**
   * Whether every transfer locks its amount first, even one in a single step. Transfers of an owner to itself then have
   * legs.
   */
  readonly locksAlways: boolean;
  /** Whether the choices of version 2 on a transfer exercise those of version 1, if version 1 knows both accounts. */
  readonly callsVersion1: boolean;
}
