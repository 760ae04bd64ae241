/**
 * The metrics of the Node process. prom-client starts observers of the event loop and the garbage collector for each
 * registry and never stops them. Therefore all indexers of a process share one set of metrics.
 */
import { collectDefaultMetrics, Registry } from 'prom-client';

/** Gauges whose names end in a suffix that only counters may have. Tools that check names reject them. */
const misnamedMetrics = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

let sharedRegistry: Registry | undefined;

/**
 * A new registry that includes the metrics of the process. Each scrape resets the delays of the event loop, for every
 * registry.
 */
export function registryWithProcessMetrics(): Registry {
  sharedRegistry ??= createSharedRegistry();
  return Registry.merge([sharedRegistry]);
}

function createSharedRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of misnamedMetrics) registry.removeSingleMetric(name);
  return registry;
}
