/** All metrics of this program, grouped by the question they answer. */
import { completions } from './completions.ts';
import { databaseSide } from './database-side.ts';
import type { AnyDescription } from './description.ts';
import { flow, state } from './keeping-up.ts';
import { ledgerSide } from './ledger-side.ts';
import { processSide } from './process-side.ts';
import { webhooks } from './webhooks.ts';

export const catalogue = {
  ...state,
  ...flow,
  ...ledgerSide,
  ...completions,
  ...webhooks,
  ...databaseSide,
  ...processSide,
};

/** In the order of the documentation and of the dashboard. */
export const questions: readonly { readonly question: string; readonly metrics: readonly AnyDescription[] }[] = [
  { question: 'Is it keeping up?', metrics: Object.values({ ...state, ...flow }) },
  { question: 'Is the ledger side healthy?', metrics: Object.values(ledgerSide) },
  { question: 'What becomes of commands?', metrics: Object.values(completions) },
  { question: 'Are webhooks told?', metrics: Object.values(webhooks) },
  { question: 'Is the database healthy?', metrics: Object.values(databaseSide) },
  { question: 'Is the process healthy?', metrics: Object.values(processSide) },
];
