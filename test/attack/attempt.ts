/**
 * Terms of the attack suite: one attempt to break a promise of docs/explanation/security-model.md, and a group of
 * them.
 */
import type { World } from './world/world.ts';

/** The result of an attempt. */
export interface Verdict {
  /** The product kept its promise. */
  readonly held: boolean;
  /** The deciding observation, without secrets. */
  readonly seen: string;
}

export interface Attempt {
  /** Unique, in plain English: `two-host-headers`. */
  readonly id: string;
  /** The action of the attacker. */
  readonly what: string;
  /** The promise. */
  readonly expected: string;
  readonly run: (world: World) => Promise<Verdict>;
}

export interface Group {
  readonly name: string;
  readonly what: string;
  /** Runs in `npm test` as well. Such a group takes seconds and uses up nothing that others share. */
  readonly quick: boolean;
  readonly attempts: readonly Attempt[];
}

/** The promise was kept. */
export function held(seen: string): Verdict {
  return { held: true, seen: cut(seen) };
}

/** The promise was broken. */
export function broken(seen: string): Verdict {
  return { held: false, seen: cut(seen) };
}

/** Held if the condition is true. */
export function verdict(isHeld: boolean, seen: string): Verdict {
  return isHeld ? held(seen) : broken(seen);
}

const longest = 300;

function cut(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > longest ? `${line.slice(0, longest)}…` : line;
}
