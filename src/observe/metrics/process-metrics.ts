/**
 * What Node says of the process. prom-client watches the event loop and the garbage collector for each registry and never
 * ends that, so there is one registry for all indexers that a process starts, one after the other or beside each other.
 */
import { collectDefaultMetrics, Registry } from 'prom-client';

/** Gauges whose names end as counters must; tools that check names reject them. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

let registryOfProcess: Registry | undefined;

/** Adds them to a registry. */
export function addProcessMetrics(registry: Registry): void {
  registryOfProcess ??= observed();
  for (const { name } of registryOfProcess.getMetricsAsArray()) {
    const metric = registryOfProcess.getSingleMetric(name);
    if (metric !== undefined) registry.registerMetric(metric);
  }
}

function observed(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of misnamed) registry.removeSingleMetric(name);
  return registry;
}
