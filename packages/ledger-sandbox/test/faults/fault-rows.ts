/** A row of the fault matrix as a test of the sandbox. */
import type { Sandbox } from '../../src/server/sandbox.ts';

export interface FaultRow {
  /** Ids of the rows of the matrix that use this fault. */
  readonly rows: readonly string[];
  readonly says: string;
  /** Enables the fault and asserts the received frames. The sandbox has 40 updates. */
  run(sandbox: Sandbox): Promise<void>;
}

/** Rows that the ledger cannot cause, with the reason. */
export const rowsTestedElsewhere: Readonly<Record<string, string>> = {
  L7: 'the client misreads its own pause',
  K4: 'the configuration of the client changes, not the ledger',
  K6: 'an identity provider misbehaves, not the participant',
  K7: 'the token file of the client changes under it',
  K8: 'the clock of the client is wrong',
  K9: 'the client cannot even offer such a token',
};
