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
export function heldVerdict(observation: string): Verdict {
  return { held: true, seen: truncateText(observation) };
}

/** The result of an attempt whose promise was broken. */
export function failedVerdict(observation: string): Verdict {
  return { held: false, seen: truncateText(observation) };
}

/** A kept promise if `isHeld`, a broken one otherwise. */
export function verdict(isHeld: boolean, observation: string): Verdict {
  return isHeld ? heldVerdict(observation) : failedVerdict(observation);
}

const maxTextLength = 300;

function truncateText(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > maxTextLength ? `${line.slice(0, maxTextLength)}…` : line;
}
