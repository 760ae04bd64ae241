/** All areas of injected bugs. A new file of this folder needs a line here. */
import type { PlantedArea } from './planted.ts';

export const areas: readonly PlantedArea[] = [
  (await import('./acs-delta.ts')).acsDelta,
  (await import('./bounded-runs.ts')).boundedRuns,
  (await import('./dictionaries.ts')).dictionaries,
  (await import('./handover.ts')).handover,
  (await import('./history.ts')).history,
  (await import('./reads/interface-views.ts')).interfaceViews,
  (await import('./reads/lists.ts')).lists,
  (await import('./move.ts')).move,
  (await import('./reads/privacy.ts')).privacy,
  (await import('./quarantine.ts')).quarantine,
  (await import('./reads/projections.ts')).projections,
  (await import('./rebuild.ts')).rebuild,
  (await import('./record-times.ts')).recordTimes,
  (await import('./redaction.ts')).redaction,
  (await import('./reset.ts')).resetArea,
  (await import('./restored-ledger.ts')).restoredLedger,
  (await import('./reads/sums.ts')).sums,
  (await import('./reads/typed-views.ts')).typedViews,
  (await import('./widen.ts')).widen,
];
