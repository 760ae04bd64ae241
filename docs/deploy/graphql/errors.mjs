// What a client is told of a failure. Errors that our functions raise are written for who asks: what was found, and what to do. Any
// other of Postgres may quote rows, so that neither the answer nor the log has more of it than its code.
import { isSafeError } from 'postgraphile/grafast';
import { GraphQLError } from 'postgraphile/graphql';

/** Not known here, too late, ambiguous or unknown name, no such value, longer than a statement may take. */
const told = /^(LI\d{3}|42P08|42704|22023|57014)$/;

export function maskError(error) {
  const { originalError } = error;
  if (originalError == null || originalError instanceof GraphQLError) return error;
  if (isSafeError(originalError)) return as(error, originalError.message);
  const { code = 'unknown', hint } = originalError;
  if (told.test(code)) return as(error, originalError.message, { code, ...(hint ? { hint } : {}) });
  console.error(`A field failed: code ${code} at ${(error.path ?? []).join('.')}`);
  return as(error, `The request failed: code ${code}`, { code });
}

function as({ nodes, source, positions, path }, message, extensions) {
  return new GraphQLError(message, { nodes, source, positions, path, extensions });
}
