/** Description of a template by a test, for the sandbox ledger. Published: other programs compile against it. */

/** JSON objects as the ledger spells them: Int64 and Numeric are texts. */
export type Payload = Readonly<Record<string, unknown>>;

/** A choice of a TestTemplate. */
export interface TestChoice {
  /** Whether it ends the contract. */
  readonly consuming: boolean;
  /** The ids of the parties that must act. */
  controllers(payload: Payload, argument: Payload): readonly unknown[];
  /** Its effects and result; nothing by default. `create` returns the id of the new contract. */
  run?(context: {
    readonly payload: Payload;
    readonly argument: Payload;
    readonly create: (template: string, argument: Payload) => string;
  }): unknown;
}

/**
 * A template as the sandbox ledger runs it. It replaces compiled code, which the sandbox does not interpret: functions
 * define the visibility of contracts, and the effects of choices.
 */
export interface TestTemplate {
  /** `package-name:Module:Entity` */
  readonly name: string;
  /** Ids of parties, as in the payload. */
  signatories(payload: Payload): readonly unknown[];
  observers?(payload: Payload): readonly unknown[];
  /** By name. `Archive` always exists. */
  readonly choices?: Readonly<Record<string, TestChoice>>;
}
