/** What a registry of both versions of the token standard calls its templates, and what its payloads look like. */
import type { JsonObject } from '../../wire/json.ts';

/** A transfer that waits for its receiver. */
export interface WaitingTransfer {
  readonly admin: string;
  /** `Transfer` of TransferInstructionV2; its inputs are the locked holding. */
  readonly transfer: JsonObject;
}

/** Holdings that are set aside for a settlement. */
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
  readonly write: (told: Told) => JsonObject;
  readonly read: (payload: JsonObject) => Told;
}

export interface Registry {
  /** The template with the issuer in its field `admin`, where everything begins and events are logged. */
  readonly rules: string;
  /** The key under which the rules stand in the context of a choice. */
  readonly rulesKey: string;
  /** As `HoldingView` of HoldingV2. */
  readonly holding: Shape<JsonObject>;
  readonly transfer: Shape<WaitingTransfer>;
  /** Set aside by version 2, and by version 1. */
  readonly allocation: Shape<SetAside>;
  readonly allocationV1: Shape<SetAside>;
  /** Every transfer locks what it moves first, also one that is done at once; what an owner pays itself then has legs. */
  readonly locksAlways: boolean;
  /** The choices of version 2 on a transfer exercise those of version 1, where both accounts are known to that. */
  readonly callsVersion1: boolean;
}
