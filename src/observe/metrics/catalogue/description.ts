/** What is said of a metric before it exists: enough to make it, to show it from the start, and to print its documentation. */

/** The values of a label: all of them, or in words what they are when they are not known beforehand. */
export type LabelValues = readonly string[] | { readonly words: string; readonly first?: readonly string[] };

export interface Description<T extends 'gauge' | 'counter' | 'histogram', L extends string> {
  readonly type: T;
  /** Without the prefix `indexer_`. */
  readonly name: string;
  readonly help: string;
  /** What to do with it: one sentence for operators. */
  readonly use: string;
  readonly labels: Readonly<Record<L, LabelValues>>;
  /** What a gauge shows as long as nothing is known. */
  readonly initial: number;
  /** Upper bounds of a histogram. */
  readonly buckets: readonly number[];
}

/** A description of any kind. */
export type AnyDescription = Description<'gauge' | 'counter' | 'histogram', string>;

type Words<L extends string> = Pick<AnyDescription, 'name' | 'help' | 'use'> & {
  readonly labels?: Readonly<Record<L, LabelValues>>;
};

/** For work of the program and answers of others, seconds. */
const workBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;

/** @param words `initial` is 0 unless given */
export function gauge<L extends string = never>(
  words: Words<L> & { readonly initial?: number },
): Description<'gauge', L> {
  return { ...common(words), type: 'gauge', initial: words.initial ?? 0 };
}

export function counter<L extends string = never>(words: Words<L>): Description<'counter', L> {
  return { ...common(words), type: 'counter' };
}

/** @param words `buckets` are those of work that takes a millisecond to half a minute unless given */
export function histogram<L extends string = never>(
  words: Words<L> & { readonly buckets?: readonly number[] },
): Description<'histogram', L> {
  return { ...common(words), type: 'histogram', buckets: words.buckets ?? workBuckets };
}

function common<L extends string>({ name, help, use, labels }: Words<L>) {
  return { name, help, use, labels: labels ?? ({} as Record<L, LabelValues>), initial: 0, buckets: [] };
}

/** Every label set that is known beforehand; one empty set for a metric without labels. */
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
