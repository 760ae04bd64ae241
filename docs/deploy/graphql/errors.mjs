// Error messages for clients. Errors raised by our functions are written for clients: problem and remedy. Any
// other error of Postgres may quote rows, so the response and the log contain only its code.
import { isSafeError } from 'postgraphile/grafast';
import { GraphQLError } from 'postgraphile/graphql';

/** Our own codes (LI…), ambiguous or unknown name, invalid value, statement timeout. */
const forwarded = /^(LI\d{3}|42P08|42704|22023|57014)$/;

export function maskError(error) {
  const { originalError } = error;
  if (originalError == null || originalError instanceof GraphQLError) return error;
  if (isSafeError(originalError)) return as(error, originalError.message);
  const { code = 'unknown', hint } = originalError;
  if (forwarded.test(code)) return as(error, originalError.message, { code, ...(hint ? { hint } : {}) });
  console.error(`A field failed: code ${code} at ${(error.path ?? []).join('.')}`);
  return as(error, `The request failed: code ${code}`, { code });
}

function as({ nodes, source, positions, path }, message, extensions) {
  return new GraphQLError(message, { nodes, source, positions, path, extensions });
}
