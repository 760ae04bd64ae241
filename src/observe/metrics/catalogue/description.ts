/**
 * Static description of a metric. It is sufficient to create the metric, to export it from the start, and to generate
 * its documentation.
 */

/** The values of a label: a complete list, or a description if they are not known beforehand. */
export type LabelValues = readonly string[] | { readonly words: string; readonly first?: readonly string[] };

export interface Description<T extends 'gauge' | 'counter' | 'histogram', L extends string> {
  readonly type: T;
  /** Name without the prefix `indexer_`. */
  readonly name: string;
  readonly help: string;
  /** One sentence for operators on how to use the metric. */
  readonly use: string;
  readonly labels: Readonly<Record<L, LabelValues>>;
  /** Value of a gauge before anything is known. */
  readonly initial: number;
  /** Upper bounds of the buckets of a histogram. */
  readonly buckets: readonly number[];
}

/** A description of any kind. */
export type AnyDescription = Description<'gauge' | 'counter' | 'histogram', string>;

type Words<L extends string> = Pick<AnyDescription, 'name' | 'help' | 'use'> & {
  readonly labels?: Readonly<Record<L, LabelValues>>;
};

/** Buckets for durations of local work and of remote calls, seconds. */
const workBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;

/** @param words `initial` defaults to 0 */
export function gauge<L extends string = never>(
  words: Words<L> & { readonly initial?: number },
): Description<'gauge', L> {
  return { ...common(words), type: 'gauge', initial: words.initial ?? 0 };
}

export function counter<L extends string = never>(words: Words<L>): Description<'counter', L> {
  return { ...common(words), type: 'counter' };
}

/** @param words `buckets` default to durations from a millisecond to half a minute */
export function histogram<L extends string = never>(
  words: Words<L> & { readonly buckets?: readonly number[] },
): Description<'histogram', L> {
  return { ...common(words), type: 'histogram', buckets: words.buckets ?? workBuckets };
}

function common<L extends string>({ name, help, use, labels }: Words<L>) {
  return { name, help, use, labels: labels ?? ({} as Record<L, LabelValues>), initial: 0, buckets: [] };
}

/** All label sets that are known beforehand; for a metric without labels, one empty set. */
export function knownSets<L extends string>(
  labels: Readonly<Record<L, LabelValues>>,
): readonly Readonly<Record<L, string>>[] {
  let sets: Record<string, string>[] = [{}];
  for (const [label, values] of Object.entries<LabelValues>(labels)) {
    const known = 'words' in values ? (values.first ?? []) : values;
    sets = sets.flatMap((set) => known.map((value) => ({ ...set, [label]: value })));
  }
  return sets as Record<L, string>[];
}
