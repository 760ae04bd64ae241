/**
 * The errors of the embedded server. All are fatal, because a retry of the pipeline would not fix them. The remedy is
 * nearly always to use another Postgres server.
 */
import { ServerError } from './server-error.ts';

const OWN_SERVER_REMEDY = 'set DATABASE_URL to a Postgres server of your own';

/** The binaries cannot be found or cannot be run on this machine (`EMBEDDED_POSTGRES_UNAVAILABLE`). */
export function unavailable(problem: string, cause?: unknown): ServerError {
  return new ServerError(`the embedded Postgres is not available: ${problem}`, {
    code: 'EMBEDDED_POSTGRES_UNAVAILABLE',
    remedy: OWN_SERVER_REMEDY,
    cause,
  });
}

/** The server cannot use its folder (`EMBEDDED_POSTGRES_DATA`). */
export function unusableData(problem: string, remedy: string): ServerError {
  return new ServerError(`the embedded Postgres cannot use its data: ${problem}`, {
    code: 'EMBEDDED_POSTGRES_DATA',
    remedy: `${remedy}, or ${OWN_SERVER_REMEDY}`,
  });
}

/** A program of the server failed (`EMBEDDED_POSTGRES_FAILED`). @param output the end of the program's output */
export function failedProgram(program: string, output: string, cause?: unknown): ServerError {
  const lastLines = output.trim().split('\n').slice(-5).join(' | ');
  return new ServerError(
    `the embedded Postgres failed: ${program} printed: ${lastLines === '' ? 'nothing' : lastLines}`,
    {
      code: 'EMBEDDED_POSTGRES_FAILED',
      remedy: `read the message above, or ${OWN_SERVER_REMEDY}`,
      cause,
    },
  );
}
