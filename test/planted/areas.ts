/** Every area with planted defects; a file beside this one is added by one line. */
import type { PlantedArea } from './planted.ts';

export const areas: readonly PlantedArea[] = [
  (await import('./dictionaries.ts')).dictionaries,
  (await import('./record-times.ts')).recordTimes,
  (await import('./sums.ts')).sums,
];
