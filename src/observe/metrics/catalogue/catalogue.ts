/** All metrics of this program, by group. */
import { completions } from './completions.ts';
import { databaseSide } from './database-side.ts';
import type { MetricDescription } from './description.ts';
import { flow, state } from './keeping-up.ts';
import { ledgerSide } from './ledger-side.ts';
import { processSide } from './process-side.ts';
import { traffic } from './traffic.ts';
import { webhooks } from './webhooks.ts';

export const catalogue = {
  ...state,
  ...flow,
  ...ledgerSide,
  ...completions,
  ...traffic,
  ...webhooks,
  ...databaseSide,
  ...processSide,
};

/** Groups in the order of the documentation. */
export const metricGroups: readonly { readonly title: string; readonly metrics: readonly MetricDescription[] }[] = [
  { title: 'Stream', metrics: Object.values({ ...state, ...flow }) },
  { title: 'Participant', metrics: Object.values(ledgerSide) },
  { title: 'Completions', metrics: Object.values(completions) },
  { title: 'Traffic', metrics: Object.values(traffic) },
  { title: 'Webhooks', metrics: Object.values(webhooks) },
  { title: 'Database and jobs', metrics: Object.values(databaseSide) },
  { title: 'Process', metrics: Object.values(processSide) },
];
