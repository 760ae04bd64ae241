/** The version of the Postgres server of the run, and the skip reasons that depend on it. */
import { query } from '../database.ts';

const [server] = await query(process.env['TEST_POSTGRES_URL'] ?? '', 'show server_version_num');
const version = Number(server?.['server_version_num']);

/** Whether the server can limit a role to parties. */
export const canLimit = version >= 150_000;
export const limitsSkipReason = canLimit ? undefined : 'needs Postgres 15 or newer';
export const oldLimitsSkipReason = canLimit ? 'needs Postgres 14: npm run test:matrix' : undefined;
export const oldServerSkipReason = version < 140_000 ? undefined : 'needs Postgres 13: npm run test:matrix -- 13';
