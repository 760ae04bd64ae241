/**
 * Ids as long as real ones (wire.md: contract ids of 138 hex characters, parties `hint::1220…`), and a reproducible
 * random generator.
 */
import { createHash } from 'node:crypto';

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/**
 * Id of contract `number` in a family of contracts. Its suffix is the reversed hash, so that SQL can compute the same
 * ids with one hash, see `bench/growth/preload.ts`.
 */
export function contractId(family: string, number: number): string {
  const hash = sha256(`${family}:${String(number)}`);
  return `00${hash}ca111220${hash.split('').toReversed().join('')}`;
}

const hints = ['alice', 'bob', 'treasury-party', 'registrar', 'auditor', 'provider', 'app-operator', 'settlement'];

/** The parties of the ledger; all are visible to the reader. */
export const parties: readonly string[] = Array.from(
  { length: 48 },
  (_, index) => `${hints[index % hints.length] ?? ''}-${String(index)}::1220${sha256(`party ${String(index)}`)}`,
);

export const synchronizerId = `global-domain::1220${sha256('synchronizer')}`;
export const participantId = `participant::1220${sha256('participant')}`;

export interface TemplateName {
  readonly id: string;
  readonly packageId: string;
  readonly packageName: string;
  readonly choices: readonly [string, string];
}

const entities = ['Holding', 'TransferInstruction', 'LockedHolding', 'Allocation', 'MintRequest', 'Agreement'];

/** Name of template `index`. Twenty templates share a package. */
export function templateName(index: number): TemplateName {
  const packageId = sha256(`package ${String(Math.floor(index / 20))}`);
  const entity = `${entities[index % entities.length] ?? ''}${String(index)}`;
  return {
    id: `${packageId}:Utility.Registry.App.V0.Model:${entity}`,
    packageId,
    packageName: `utility-registry-app-v${String(Math.floor(index / 20))}`,
    choices: [`${entity}_Update`, `${entity}_Transfer`],
  };
}

/** An update id with 68 characters: `1220` and a hash. */
export function updateId(offset: number): string {
  return `1220${sha256(`update ${String(offset)}`)}`;
}

export type Random = (limit: number) => number;

/** Random integers from 0 to below the argument. The same seed gives the same numbers on every machine (xorshift32). */
export function randomFrom(seed: number): Random {
  let state = seed === 0 ? 1 : seed >>> 0;
  return (limit) => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % limit;
  };
}
