/** A template that a test describes for the sandbox ledger. Published: other programs compile against these types. */

/** A JSON object in the notation of the ledger: Int64 and Numeric are texts. */
export type Payload = Readonly<Record<string, unknown>>;

/** A choice of a TestTemplate. */
export interface TestChoice {
  /** Whether the choice archives the contract. */
  readonly consuming: boolean;
  /** Ids of the parties that must act. */
  controllers(payload: Payload, argument: Payload): readonly unknown[];
  /** Effects and result of the choice; nothing by default. `create` returns the id of the new contract. */
  run?(context: {
    readonly payload: Payload;
    readonly argument: Payload;
    readonly create: (template: string, argument: Payload) => string;
  }): unknown;
}

/**
 * A template as the sandbox ledger runs it. It replaces compiled code, which the sandbox cannot interpret: functions
 * define who can see contracts, and the effects of choices.
 */
export interface TestTemplate {
  /** `package-name:Module:Entity` */
  readonly name: string;
  /** Ids of the signatories, as in the payload. */
  signatories(payload: Payload): readonly unknown[];
  observers?(payload: Payload): readonly unknown[];
  /** Choices by name. `Archive` always exists. */
  readonly choices?: Readonly<Record<string, TestChoice>>;
}
