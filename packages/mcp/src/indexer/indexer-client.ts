/**
 * Requests to the indexer, with the token of one caller. The token is sent only to the origin of the configured address.
 * Redirects are refused, and responses are limited in time and size.
 */
import { McpError, type Failure } from './mcp-error.ts';
import type { TokenSource } from './token.ts';

/** Longer than the indexer waits for an offset and then for a statement. */
const timeoutMs = 100_000;
/** The indexer limits its responses to 4 million characters, which JSON can lengthen. */
const maxResponseBytes = 32 * 1024 * 1024;
/** Maximum characters of the text fields of a failure. */
const maxFailureCharacters = 4_000;

export type JsonObject = Readonly<Record<string, unknown>>;
/** Values of parameters of one request. */
export type Parameters = Readonly<Record<string, string | number | boolean>>;

/** The parts of a request that differ by method. */
interface RequestContent {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export class IndexerClient {
  readonly #baseUrl: string;
  readonly #token: TokenSource;

  /** @param baseUrl without a slash at the end */
  constructor(baseUrl: string, token: TokenSource) {
    this.#baseUrl = baseUrl;
    this.#token = token;
  }

  /** @throws McpError */
  get(path: string, parameters: Parameters = {}, signal?: AbortSignal): Promise<JsonObject> {
    const query = new URLSearchParams(
      Object.entries(parameters).map(([name, value]): [string, string] => [name, String(value)]),
    );
    return this.#request(query.size === 0 ? path : `${path}?${query.toString()}`, {}, signal);
  }

  /** @throws McpError */
  post(path: string, body: JsonObject, signal?: AbortSignal): Promise<JsonObject> {
    // The indexer expects exactly this media type.
    const headers = { 'content-type': 'application/json' };
    return this.#request(path, { method: 'POST', body: JSON.stringify(body), headers }, signal);
  }

  async #request(path: string, init: RequestContent, signal?: AbortSignal): Promise<JsonObject> {
    // A path of the OpenAPI document such as .other.example would change the host.
    if (!path.startsWith('/')) throw new McpError(pathInvalid);
    const token = await this.#token();
    const limits = [AbortSignal.timeout(timeoutMs), ...(signal === undefined ? [] : [signal])];
    const headers = { accept: 'application/json', authorization: `Bearer ${token}`, ...init.headers };
    try {
      const response = await fetch(`${this.#baseUrl}${path}`, {
        ...init,
        headers,
        redirect: 'manual',
        signal: AbortSignal.any(limits),
      });
      // A wrong address could return the token, which must not reach an agent.
      const text = (await textOf(response)).replaceAll(token, '[token]');
      return this.#read(response, text);
    } catch (thrown) {
      throw thrown instanceof McpError ? thrown : this.#unreachable(thrown);
    }
  }

  #read(response: Response, text: string): JsonObject {
    const { status } = response;
    if (status >= 300 && status < 400) {
      throw new McpError({
        code: 'INDEXER_REDIRECTS',
        message: `${this.#baseUrl} redirects (status ${String(status)}), and tokens are not sent to other addresses`,
        remedy: 'set INDEXER_URL to the address of the indexer itself',
      });
    }
    const body = parsed(text);
    if (response.ok && body !== undefined) return body;
    throw new McpError(body === undefined ? this.#foreign(status) : refusalOf(status, body));
  }

  #foreign(status: number): Failure {
    return {
      code: 'INDEXER_RESPONSE_INVALID',
      message: `${this.#baseUrl} returned status ${String(status)} without a JSON object`,
      remedy: 'set INDEXER_URL to the address of the indexer, and upgrade the indexer if it has no /api',
    };
  }

  #unreachable(thrown: unknown): McpError {
    const { name, cause } = thrown as Error & { cause?: { readonly code?: string } };
    const isTimeout = name === 'TimeoutError';
    const reason = isTimeout ? `no response within ${String(timeoutMs / 1000)} s` : (cause?.code ?? name);
    const failure: Failure = {
      code: 'INDEXER_UNREACHABLE',
      message: `cannot request ${this.#baseUrl}: ${reason}`,
      remedy: isTimeout ? 'request less data' : 'start the indexer, or correct INDEXER_URL',
    };
    return new McpError(failure, thrown);
  }
}

const pathInvalid: Failure = {
  code: 'INDEXER_RESPONSE_INVALID',
  message: 'the indexer describes a path that does not begin with a slash',
  remedy: 'set INDEXER_URL to the address of the indexer itself',
};

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).length;
    if (bytes > maxResponseBytes) {
      throw new McpError({
        code: 'INDEXER_RESPONSE_INVALID',
        message: `the response has more than ${String(maxResponseBytes)} bytes`,
        remedy: 'request fewer rows or columns',
      });
    }
    chunks.push(chunk as Uint8Array);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

/** The failure in a response: problem details of `/api`, or the error of another endpoint. */
function refusalOf(status: number, body: JsonObject): Failure {
  const { code, detail, error, title, remedy, nearest, position } = body;
  const [message = `status ${String(status)}`] = [detail, error, title].filter((text) => typeof text === 'string');
  const known = remedies[status] ?? 'correct the arguments, and call the tool again';
  const facts = {
    status,
    ...(Array.isArray(nearest) ? { nearest: nearest.slice(0, 20).map((name) => shortened(String(name), 300)) } : {}),
    ...(typeof position === 'number' ? { position } : {}),
  };
  return {
    code: typeof code === 'string' ? shortened(code, 100) : `HTTP_${String(status)}`,
    message: shortened(message, maxFailureCharacters),
    remedy: typeof remedy === 'string' ? shortened(remedy, maxFailureCharacters) : known,
    facts,
  };
}

/** Remedies for statuses that the arguments of a tool do not cause. */
const remedies: Readonly<Record<number, string>> = {
  401: 'replace the token: `ledger-indexer reader-token create --role ROLE`',
  403: 'use the token of a role with the necessary rights',
  429: 'wait until other requests with this token end, and call the tool again',
  503: 'call the tool again later, or request less data',
  504: 'call the tool again later',
};

function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}…`;
}
