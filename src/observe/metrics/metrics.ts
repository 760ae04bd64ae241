/**
 * The Prometheus metrics, in a separate registry. They use base units, and only names of counters contain `_total`. No
 * label contains a party. Every label set that is known beforehand exists from the start, because an alert on a missing
 * series never fires. Two functions at the end count calls to the ledger and queries.
 */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { catalogue } from './catalogue/catalogue.ts';
import { type MetricDescription, type Description, knownLabelSets } from './catalogue/description.ts';
import { maxWaiters } from '../health/checkpoint-waiters.ts';
import { type WorkTimer, allWorkParts } from '../figures/work-clock.ts';
import { endpoints, statuses } from './catalogue/ledger-side.ts';
import { registryWithProcessMetrics } from './process-metrics.ts';

/** Connections of a pool to Postgres. */
export interface PoolFacts {
  readonly total: number;
  readonly idle: number;
  /** Number of queries that wait for a connection. */
  readonly waiting: number;
  readonly max: number;
}

export interface MetricsOptions {
  readonly version: string;
  readonly commit?: string;
  /** The database (`host:port/name`) and schema that the indexer writes to. */
  readonly target?: { readonly database: string; readonly schema: string };
  /**
   * This value and the next ones are read when the metrics are collected: time shares, connections, waits, clients of
   * `/changes`.
   */
  readonly work?: WorkTimer;
  readonly pool?: () => PoolFacts;
  readonly waits?: () => number;
  readonly changes?: () => ChangesFacts;
  /** Number of failed database reads of reader tokens. */
  readonly failedLookups?: () => number;
}

/** Counts of clients and pages of `/changes`. */
export interface ChangesFacts {
  readonly streams: number;
  readonly most: number;
  /** Number of pages read so far. */
  readonly pages: number;
}

type MetricTypeOf<D> =
  D extends Description<'gauge', infer L>
    ? Gauge<L>
    : D extends Description<'counter', infer L>
      ? Counter<L>
      : D extends Description<'histogram', infer L>
        ? Histogram<L>
        : never;

type CatalogueMetrics = { readonly [K in keyof typeof catalogue]: MetricTypeOf<(typeof catalogue)[K]> };

export interface Metrics extends CatalogueMetrics {
  readonly registry: Registry;
  readonly templates: BoundedTemplates;
  readonly rejectionCodes: BoundedTemplates;
  /** Sets the participant id of the metric `stream_info`; undefined if the user may not read it. */
  identify(participantId: string | undefined): void;
}

/** Creates all metrics, initialized to zero. `registry.metrics()` returns the exposition text. */
export function createMetrics(options: MetricsOptions): Metrics {
  const registry = registryWithProcessMetrics();
  const collectors = collectorsOf(options);
  const createdMetrics = Object.fromEntries(
    Object.entries(catalogue).map(([key, description]) => [key, createMetric(description, registry, collectors[key])]),
  ) as unknown as CatalogueMetrics;
  const { version, commit = 'unknown', target = { database: '', schema: '' } } = options;
  createdMetrics.buildInfo.set({ version, commit }, 1);
  createdMetrics.phase.set({ phase: 'starting' }, 1);
  createdMetrics.waitsMax.set(maxWaiters);
  const identify = (participantId: string | undefined): void => {
    createdMetrics.streamInfo.reset();
    createdMetrics.streamInfo.set({ ...target, participant: participantId ?? '' }, 1);
  };
  identify(undefined);
  return {
    ...createdMetrics,
    registry,
    templates: new BoundedTemplates(),
    rejectionCodes: new BoundedTemplates(),
    identify,
  };
}

function createMetric(description: MetricDescription, registry: Registry, collect: CollectFunction | undefined) {
  const { type, name, help, labels, initial: initialValue, buckets } = description;
  const configuration = {
    name: `indexer_${name}`,
    help,
    labelNames: Object.keys(labels),
    registers: [registry],
    ...(collect === undefined ? {} : { collect }),
  };
  const sets = knownLabelSets(labels);
  if (type === 'gauge') {
    const gauge = new Gauge(configuration);
    for (const set of sets) gauge.set(set, initialValue);
    return gauge;
  }
  if (type === 'counter') {
    const counter = new Counter(configuration);
    for (const set of sets) counter.inc(set, 0);
    return counter;
  }
  const histogram = new Histogram({ ...configuration, buckets: [...buckets] });
  for (const set of sets) histogram.zero(set);
  return histogram;
}

type CollectFunction = (this: unknown) => void;

/** Functions that set the values that are read at collection time. */
function collectorsOf({
  work,
  pool,
  waits: readWaits,
  changes,
  failedLookups,
}: MetricsOptions): Readonly<Record<string, CollectFunction | undefined>> {
  const collectors = {
    streamSeconds(this: MetricTypeOf<typeof catalogue.streamSeconds>) {
      if (work === undefined) return;
      const totals = work.totals();
      this.reset();
      for (const activity of allWorkParts) this.inc({ activity }, totals[activity]);
    },
    poolConnections(this: MetricTypeOf<typeof catalogue.poolConnections>) {
      if (pool === undefined) return;
      const { total, idle: idleCount, waiting: waitingCount } = pool();
      this.set({ state: 'total' }, total);
      this.set({ state: 'idle' }, idleCount);
      this.set({ state: 'waiting' }, waitingCount);
    },
    poolMax(this: MetricTypeOf<typeof catalogue.poolMax>) {
      if (pool !== undefined) this.set(pool().max);
    },
    waits(this: MetricTypeOf<typeof catalogue.waits>) {
      if (readWaits !== undefined) this.set(readWaits());
    },
    changesClients(this: MetricTypeOf<typeof catalogue.changesClients>) {
      if (changes !== undefined) this.set(changes().streams);
    },
    changesClientsMax(this: MetricTypeOf<typeof catalogue.changesClientsMax>) {
      if (changes !== undefined) this.set(changes().most);
    },
    changesPages(this: MetricTypeOf<typeof catalogue.changesPages>) {
      if (changes === undefined) return;
      this.reset();
      this.inc(changes().pages);
    },
    readerTokenLookupFailures(this: MetricTypeOf<typeof catalogue.readerTokenLookupFailures>) {
      if (failedLookups === undefined) return;
      this.reset();
      this.inc(failedLookups());
    },
  } satisfies { readonly [K in keyof typeof catalogue]?: (this: MetricTypeOf<(typeof catalogue)[K]>) => void };
  return collectors as Readonly<Record<string, CollectFunction | undefined>>;
}

const maxTemplates = 50;

/**
 * Limits the values of a label that come from the ledger, such as `template`. Fifty values get their own series, and
 * all other values share the series `other`. A value keeps its series, because a counter that changed its label would
 * look like a reset.
 */
class BoundedTemplates {
  readonly #named = new Set<string>();

  /** Assigns the remaining series to the most frequent of these values. */
  admit(counts: ReadonlyMap<string, number>): void {
    if (this.#named.size >= maxTemplates) return;
    const sortedCounts = [...counts].sort(([, leftCount], [, rightCount]) => rightCount - leftCount);
    for (const [value] of sortedCounts) {
      if (this.#named.size >= maxTemplates) return;
      this.#named.add(value);
    }
  }

  label(value: string): string {
    return this.#named.has(value) ? value : 'other';
  }
}

/** Counts and times a completed call. @param status undefined if there was no response */
export function countRequest(
  metrics: Metrics,
  { path, status, seconds }: { readonly path: string; readonly status: number | undefined; readonly seconds: number },
): void {
  const endpoint = endpointLabel(path);
  metrics.httpRequests.inc({ endpoint, status: statusLabel(status) });
  metrics.httpSeconds.observe({ endpoint }, seconds);
}

/** Counts and times an answered request to `/api`. */
export function countApiRequest(
  metrics: Metrics,
  { route, status, seconds }: { readonly route: string; readonly status: number; readonly seconds: number },
): void {
  metrics.apiRequests.inc({ route, status: String(status) });
  metrics.apiSeconds.observe({ route }, seconds);
}

/** Times a completed query. */
export function timeQuery(metrics: Metrics, op: string, seconds: number): void {
  metrics.querySeconds.observe({ op }, seconds);
}

/** Label for a path. It has one of a few fixed values, because an id in a path would create a series for each id. */
function endpointLabel(path: string): string {
  const pathPattern = /^\/v2\/packages\/[^/]+$/.test(path) ? '/v2/packages/{package-id}' : path;
  return endpoints.find((endpoint) => endpoint === pathPattern) ?? 'other';
}

function statusLabel(status: number | undefined): string {
  if (status === undefined) return 'none';
  return statuses.find((candidate) => candidate === String(status)) ?? 'other';
}
