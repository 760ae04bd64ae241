/** What the edges of the program tell of themselves, as metrics: calls to the ledger and queries of the database. */
import { endpoints, statuses } from './catalogue/ledger-side.ts';
import type { Metrics } from './metrics.ts';

/** Counts and times a call that has ended; `status` undefined: there was no answer. */
export function countRequest(
  metrics: Metrics,
  { path, status, seconds }: { readonly path: string; readonly status: number | undefined; readonly seconds: number },
): void {
  const endpoint = endpointLabel(path);
  metrics.httpRequests.inc({ endpoint, status: statusLabel(status) });
  metrics.httpSeconds.observe({ endpoint }, seconds);
}

/** Times a query that has ended. */
export function timeQuery(metrics: Metrics, op: string, seconds: number): void {
  metrics.querySeconds.observe({ op }, seconds);
}

/** Few values, known beforehand: ids in paths would make a series each. */
function endpointLabel(path: string): string {
  const known = /^\/v2\/packages\/[^/]+$/.test(path) ? '/v2/packages/{package-id}' : path;
  return endpoints.find((endpoint) => endpoint === known) ?? 'other';
}

function statusLabel(status: number | undefined): string {
  if (status === undefined) return 'none';
  return statuses.find((known) => known === String(status)) ?? 'other';
}
