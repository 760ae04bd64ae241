/**
 * Starts the embedded server in a folder and leaves it running: the measuring process takes it over. In a process that
 * is gone at once, because the time limit of a start goes on counting in the process that made it, and ends the server.
 * Arguments: folder, settings as JSON.
 */
import { startEmbeddedPostgres } from '../src/embedded/embedded-postgres.ts';

const [dataDir = '', settings = '{}'] = process.argv.slice(2);
await startEmbeddedPostgres({ dataDir, settings: JSON.parse(settings) as Record<string, string> });
process.exit();
