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
export type MetricDescription = Description<'gauge' | 'counter' | 'histogram', string>;

type MetricTexts<L extends string> = Pick<MetricDescription, 'name' | 'help' | 'use'> & {
  readonly labels?: Readonly<Record<L, LabelValues>>;
};

/** Buckets for durations of local work and of remote calls, seconds. */
const durationBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;

/** @param texts `initial` defaults to 0 */
export function gauge<L extends string = never>(
  texts: MetricTexts<L> & { readonly initial?: number },
): Description<'gauge', L> {
  return { ...commonFields(texts), type: 'gauge', initial: texts.initial ?? 0 };
}

export function counter<L extends string = never>(texts: MetricTexts<L>): Description<'counter', L> {
  return { ...commonFields(texts), type: 'counter' };
}

/** @param texts `buckets` default to durations from a millisecond to half a minute */
export function histogram<L extends string = never>(
  texts: MetricTexts<L> & { readonly buckets?: readonly number[] },
): Description<'histogram', L> {
  return { ...commonFields(texts), type: 'histogram', buckets: texts.buckets ?? durationBuckets };
}

function commonFields<L extends string>({ name, help, use, labels }: MetricTexts<L>) {
  return { name, help, use, labels: labels ?? ({} as Record<L, LabelValues>), initial: 0, buckets: [] };
}

/** All label sets that are known beforehand; for a metric without labels, one empty set. */
export function knownLabelSets<L extends string>(
  labels: Readonly<Record<L, LabelValues>>,
): readonly Readonly<Record<L, string>>[] {
  let sets: Record<string, string>[] = [{}];
  for (const [label, values] of Object.entries<LabelValues>(labels)) {
    const knownValues = 'words' in values ? (values.first ?? []) : values;
    sets = sets.flatMap((set) => knownValues.map((value) => ({ ...set, [label]: value })));
  }
  return sets as Record<L, string>[];
}
