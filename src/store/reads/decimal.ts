/** Exact sums of decimal numbers in Postgres notation without an exponent, such as `-12.5`. */

/** Sum of decimal numbers, without trailing zeros. */
export class DecimalSum {
  #units = 0n;
  #scale = 0;

  /** Adds a number. */
  add(text: string): void {
    const [, sign = '', integer = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
    if (fraction.length > this.#scale) {
      this.#units *= 10n ** BigInt(fraction.length - this.#scale);
      this.#scale = fraction.length;
    }
    const units = BigInt(integer + fraction.padEnd(this.#scale, '0'));
    this.#units += sign === '-' ? -units : units;
  }

  toString(): string {
    const isNegative = this.#units < 0n;
    const digits = String(isNegative ? -this.#units : this.#units).padStart(this.#scale + 1, '0');
    const point = digits.length - this.#scale;
    const fraction = digits.slice(point).replace(/0+$/, '');
    return `${isNegative ? '-' : ''}${digits.slice(0, point)}${fraction === '' ? '' : `.${fraction}`}`;
  }
}

/** Rounds a number to a number of decimal places, halves away from zero, for people. */
export function roundDecimal(text: string, places: number): string {
  const [integer = '', fraction = ''] = text.replace('-', '').split('.');
  const kept =
    BigInt(integer + fraction.slice(0, places).padEnd(places, '0')) + (fraction.charAt(places) >= '5' ? 1n : 0n);
  const digits = String(kept).padStart(places + 1, '0');
  const sign = text.startsWith('-') && kept !== 0n ? '-' : '';
  return `${sign}${digits.slice(0, digits.length - places)}.${digits.slice(digits.length - places)}`;
}
