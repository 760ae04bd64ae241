/** Managed services, simulated on a packaged server: before Postgres 16, CREATEROLE has other rights. */
import { describe } from 'vitest';
import { programsSkipReason } from '../support/packaged/programs.ts';
import { needs } from '../support/skips/needs.ts';
import { testManagedServices } from './suite.ts';

describe('on a packaged Postgres', needs(programsSkipReason), () => {
  testManagedServices('packaged');
});
