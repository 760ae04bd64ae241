/** What the indexer is doing right now. Exactly one holds at any time; the metric `indexer_phase` shows it. */
export const phases = [
  'starting',
  'seeding',
  'catching_up',
  'live',
  'backing_off',
  'parked',
  'standby',
  'stopping',
] as const;
export type Phase = (typeof phases)[number];
