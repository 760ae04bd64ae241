/** Numbers for people: as many digits as say something. */

/** To tenths. */
export function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}

/** To so many steps of one; null stays null. */
export function roundedOrNull(value: number | null, steps: number): number | null {
  return value === null ? null : Math.round(value * steps) / steps;
}

/** A part of one, at most all of it, to thousandths. */
export function share(value: number): number {
  return Math.round(Math.min(1, value) * 1000) / 1000;
}
