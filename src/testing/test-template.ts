/** How a test describes a template to the sandbox ledger. Published: other programs compile against it. */

/** JSON objects as the ledger spells them: Int64 and Numeric are texts. */
export type Payload = Readonly<Record<string, unknown>>;

/** A choice of a TestTemplate. */
export interface TestChoice {
  /** Whether it ends the contract. */
  readonly consuming: boolean;
  /** The ids of the parties that must act. */
  controllers(payload: Payload, argument: Payload): readonly unknown[];
  /** What it does and returns; nothing by default. `create` gives back the id of the new contract. */
  run?(context: {
    readonly payload: Payload;
    readonly argument: Payload;
    readonly create: (template: string, argument: Payload) => string;
  }): unknown;
}

/**
 * A template as the sandbox ledger runs it. It stands in for compiled code, which the sandbox does not interpret: who
 * sees what, and what choices do, is said by functions.
 */
export interface TestTemplate {
  /** `package-name:Module:Entity` */
  readonly name: string;
  /** Ids of parties, as they stand in the payload. */
  signatories(payload: Payload): readonly unknown[];
  observers?(payload: Payload): readonly unknown[];
  /** By name. `Archive` is always there. */
  readonly choices?: Readonly<Record<string, TestChoice>>;
}
