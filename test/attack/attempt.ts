/**
 * Types of the attack suite: an attempt to break a promise of docs/explanation/security-model.md, and a group of
 * attempts.
 */
import type { World } from './world/world.ts';

export interface Verdict {
  /** Whether the product kept its promise. */
  readonly held: boolean;
  /** The observation that decided the result, without secrets. */
  readonly seen: string;
}

export interface Attempt {
  /** Unique and readable, for example `two-host-headers`. */
  readonly id: string;
  /** The action of the attacker. */
  readonly what: string;
  /** The result if the product keeps its promise. */
  readonly expected: string;
  readonly run: (world: World) => Promise<Verdict>;
}

export interface Group {
  readonly name: string;
  readonly what: string;
  /**
   * Whether `npm test` also runs the group. This requires that the group takes only seconds and exhausts no shared
   * resource.
   */
  readonly quick: boolean;
  readonly attempts: readonly Attempt[];
}

/** The result of an attempt whose promise was kept. */
export function held(seen: string): Verdict {
  return { held: true, seen: cut(seen) };
}

/** The result of an attempt whose promise was broken. */
export function broken(seen: string): Verdict {
  return { held: false, seen: cut(seen) };
}

/** A kept promise if `isHeld`, a broken one otherwise. */
export function verdict(isHeld: boolean, seen: string): Verdict {
  return isHeld ? held(seen) : broken(seen);
}

const longest = 300;

function cut(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > longest ? `${line.slice(0, longest)}…` : line;
}
