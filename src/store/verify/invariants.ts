/** All invariants, in the order of docs/invariants.md. */
import { contractInvariants } from './contract-invariants.ts';
import { coverageInvariants } from './coverage-invariants.ts';
import type { Invariant } from './invariant.ts';
import { recordInvariants } from './record-invariants.ts';
import { redactionInvariants } from './redaction-invariants.ts';
import { streamInvariants } from './stream-invariants.ts';

export const invariants: readonly Invariant[] = [
  ...streamInvariants,
  ...contractInvariants,
  ...recordInvariants,
  ...coverageInvariants,
  ...redactionInvariants,
].sort((a, b) => (a.id < b.id ? -1 : 1));
