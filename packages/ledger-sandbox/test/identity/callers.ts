/** HTTP requests of one caller, and a sandbox with authorization, for the tests of identity. */
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { Sandbox, SandboxOptions } from '../../src/server/sandbox.ts';
import { sharedSecret } from '../../../../test/support/tokens.ts';

export const secret = 'a shared secret for tests of the sandbox';
export const sharedSigner = sharedSecret(secret);
/** The redacted body of every refusal because of a missing token or right. */
export const refusedBody = { code: 'NA', cause: 'A security-sensitive error has been received', errorCategory: -1 };

/** Starts a sandbox that accepts tokens of `shared`, with one user `alice` that may read everything. */
export async function startSecured(auth: SandboxOptions['auth'] = {}, options: SandboxOptions = {}): Promise<Sandbox> {
  const users = [{ id: 'alice', rights: [{ kind: 'CanReadAsAnyParty' as const }] }];
  return await startSandbox({ seed: 5, ...options, auth: { secret, users, ...auth } });
}

export interface ApiResponse {
  readonly status: number;
  readonly text: string;
  /** Undefined if the response is not a JSON object. */
  readonly body: unknown;
}

/** @param endpoint e.g. `GET /v2/users`; a body is sent as JSON */
export async function call(
  url: string,
  bearer: string | undefined,
  endpoint: string,
  body?: unknown,
): Promise<ApiResponse> {
  const [method = '', path = ''] = endpoint.split(' ');
  const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
  const requestInit = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(`${url}${path}`, { method, headers, ...requestInit });
  const text = await response.text();
  return { status: response.status, text, body: text.startsWith('{') ? JSON.parse(text) : undefined };
}
