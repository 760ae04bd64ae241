/**
 * Bounds the `template` label: fifty templates get their own series, all others share `other`. A place once given is
 * kept, because a counter that moved between labels would look like a reset.
 */
const places = 50;

export class TemplateLabels {
  readonly #named = new Set<string>();

  /** Gives the places that are left to the most frequent of these templates. */
  admit(counts: ReadonlyMap<string, number>): void {
    if (this.#named.size >= places) return;
    const byCount = [...counts].sort(([, left], [, right]) => right - left);
    for (const [template] of byCount) {
      if (this.#named.size >= places) return;
      this.#named.add(template);
    }
  }

  label(template: string): string {
    return this.#named.has(template) ? template : 'other';
  }
}
