/**
 * Process exit codes, in the range of sysexits, so that a supervisor can distinguish "restart" from "do not restart".
 */
export const ExitCode = {
  stopped: 0,
  /** `verify` found a difference, or a check of `check` failed. */
  different: 1,
  usage: 2,
  /** `verify` could not decide. */
  undecided: 2,
  undecodable: 65,
  unreachable: 69,
  unexpected: 70,
  temporary: 75,
  notPermitted: 77,
  configuration: 78,
} as const;
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];
