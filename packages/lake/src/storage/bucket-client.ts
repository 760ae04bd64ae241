/**
 * The four operations on objects that a lake in a bucket needs, for any S3-compatible server. The bucket is in the path
 * of URLs. Temporary failures are retried. Source: Amazon S3 API reference, PutObject, GetObject, DeleteObject,
 * ListObjectsV2.
 */
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import { LakeError } from '../errors/lake-error.ts';
import { sendToBucket } from './bucket-request.ts';

export interface BucketAccess {
  /** Without a trailing slash. */
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
}

/** A body, which is created again for each attempt. */
export interface ObjectBody {
  readonly bytes: number;
  /** Hexadecimal. The server compares it with the received bytes. */
  readonly sha256: string;
  readonly open: () => Readable | Uint8Array;
}

/** Condition of a write: `match` requires an object with this ETag, `none` requires that no object exists. */
export type PutCondition = { readonly match: string } | { readonly none: true };

export interface StoredObject {
  readonly text: string;
  readonly etag: string;
  /** Time since the object was written, by the clock of the server, milliseconds. */
  readonly ageMs: number;
}

interface BucketRequest {
  readonly method: 'GET' | 'PUT' | 'DELETE';
  /** Undefined for the bucket itself. */
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: ObjectBody;
}

const maxAttempts = 6;
const firstPauseMs = 100;
/** Time limit until a response begins, plus the same time for each 4 MB that are sent, milliseconds. */
const timeLimitMs = 60_000;
const bytesPerTimeLimit = 4 * 1024 * 1024;
const emptySha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
/** HTTP status: another client is writing the same object. */
const conflict = 409;
const preconditionFailed = 412;

export class BucketClient {
  readonly #access: BucketAccess;
  readonly #bucket: string;
  readonly #keys = new Map<string, ArrayBuffer>();

  constructor(bucket: string, access: BucketAccess) {
    this.#bucket = bucket;
    this.#access = access;
  }

  /** Writes an object. @returns its ETag; undefined if the condition does not hold */
  async put(key: string, body: ObjectBody, condition?: PutCondition): Promise<string | undefined> {
    const headers = {
      'content-length': String(body.bytes),
      ...(condition !== undefined &&
        ('match' in condition ? { 'if-match': condition.match } : { 'if-none-match': '*' })),
    };
    const goneStatuses = condition !== undefined && 'match' in condition ? [404] : [];
    const response = await this.#ask({ method: 'PUT', key, headers, body }, [preconditionFailed, ...goneStatuses]);
    await response.arrayBuffer();
    return response.ok ? (response.headers.get('etag') ?? '') : undefined;
  }

  /** Undefined if the object does not exist. */
  async get(key: string): Promise<StoredObject | undefined> {
    const response = await this.#ask({ method: 'GET', key }, [404]);
    const text = await response.text();
    if (!response.ok) return undefined;
    const timeOf = (name: string): number => Date.parse(response.headers.get(name) ?? '');
    const ageMs = timeOf('date') - timeOf('last-modified');
    return { text, etag: response.headers.get('etag') ?? '', ageMs: Number.isNaN(ageMs) ? 0 : ageMs };
  }

  /** Bytes from `start` (inclusive) to `end` (exclusive) of an existing object. */
  async getPart(key: string, start: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
    const headers = { range: `bytes=${String(start)}-${String(end - 1)}` };
    const bytes = new Uint8Array(await (await this.#ask({ method: 'GET', key, headers }, [])).arrayBuffer());
    // A server without range support sends the complete object.
    return bytes.length === end - start ? bytes : bytes.slice(start, end);
  }

  async remove(key: string): Promise<void> {
    const response = await this.#ask({ method: 'DELETE', key }, [404]);
    await response.arrayBuffer();
  }

  /**
   * Lists the objects whose keys begin with `prefix` and have no further slash, with their sizes, and the common
   * prefixes of keys that have one.
   */
  async list(
    prefix: string,
  ): Promise<{ readonly objects: ReadonlyMap<string, number>; readonly folders: readonly string[] }> {
    const objects = new Map<string, number>();
    const folders: string[] = [];
    for (let token: string | undefined = ''; token !== undefined;) {
      const query = {
        'list-type': '2',
        prefix,
        delimiter: '/',
        'encoding-type': 'url',
        ...(token !== '' && { 'continuation-token': token }),
      };
      const response = await this.#ask({ method: 'GET', query }, []);
      const text = await response.text();
      for (const [, entry = ''] of text.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
        const [[key = ''], [bytes = '']] = [elementsOf(entry, 'Key'), elementsOf(entry, 'Size')];
        objects.set(decodeXmlText(key), Number(bytes));
      }
      for (const [, entry = ''] of text.matchAll(/<CommonPrefixes>(.*?)<\/CommonPrefixes>/gs)) {
        folders.push(...elementsOf(entry, 'Prefix').map(decodeXmlText));
      }
      token = elementsOf(text, 'NextContinuationToken')[0];
    }
    return { objects, folders };
  }

  /** @throws LakeError EXPORT_UNWRITABLE for any response that is neither successful nor `expected` */
  async #ask(request: BucketRequest, expected: readonly number[]): Promise<Response> {
    for (let attempt = 1; ; attempt += 1) {
      const isLast = attempt === maxAttempts;
      try {
        const response = await this.#send(request);
        if (response.ok || expected.includes(response.status)) return response;
        if (isLast || !isTransient(response.status)) throw await refusal(request, response);
        await response.arrayBuffer();
      } catch (error) {
        if (isLast || error instanceof LakeError) throw unreachableStorage(request, error);
      }
      await sleep(firstPauseMs * 2 ** (attempt - 1) * (0.5 + Math.random() / 2));
    }
  }

  async #send({ method, key, query = {}, headers = {}, body }: BucketRequest): Promise<Response> {
    const { endpoint, region, accessKeyId, secretAccessKey, sessionToken } = this.#access;
    const segments = [this.#bucket, ...(key === undefined ? [] : key.split('/'))].map(encodeURIComponent);
    const url = new URL(`${endpoint}/${segments.join('/')}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const signer = new AwsV4Signer({
      method,
      url: url.href,
      headers: { ...headers, 'x-amz-content-sha256': body?.sha256 ?? emptySha256 },
      service: 's3',
      region,
      accessKeyId,
      secretAccessKey,
      ...(sessionToken !== undefined && { sessionToken }),
      cache: this.#keys,
    });
    const signedRequest = await signer.sign();
    const limitMs = timeLimitMs * (1 + Math.ceil((body?.bytes ?? 0) / bytesPerTimeLimit));
    return sendToBucket({
      method,
      url: signedRequest.url,
      headers: signedRequest.headers,
      body: body?.open(),
      limitMs,
    });
  }
}

/** Whether a retry may change this status. */
function isTransient(status: number): boolean {
  return status >= 500 || status === 429 || status === 408 || status === conflict;
}

/** Contents of the elements of this name, which have no child elements. */
function elementsOf(xml: string, name: string): readonly string[] {
  return [...xml.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, 'g'))].map(([, text = '']) =>
    text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&'),
  );
}

function decodeXmlText(encodedText: string): string {
  return decodeURIComponent(encodedText.replaceAll('+', '%20'));
}

/** An error with the error code of the server. Its message is omitted, because it may repeat what was sent. */
async function refusal({ method, key }: BucketRequest, response: Response): Promise<LakeError> {
  const text = await response.text().catch(() => '');
  const code = elementsOf(text, 'Code')[0] ?? '';
  const resourceText = key === undefined ? 'the list of the bucket' : key;
  return new LakeError(
    `the bucket returned ${String(response.status)}${code === '' ? '' : ` ${code}`} for ${method} of ${resourceText}`,
    {
      code: 'EXPORT_UNWRITABLE',
      remedy: 'check bucket, endpoint (AWS_ENDPOINT_URL), region and the rights of the key, then run it again',
    },
  );
}

function unreachableStorage({ method, key }: BucketRequest, cause: unknown): LakeError {
  if (cause instanceof LakeError) return cause;
  const reason = cause instanceof Error && cause.message !== '' ? `: ${cause.message}` : '';
  return new LakeError(
    `the bucket did not respond to ${method} of ${key ?? 'its list'}, tried ${String(maxAttempts)} times${reason}`,
    {
      code: 'EXPORT_UNWRITABLE',
      remedy: 'check the endpoint (AWS_ENDPOINT_URL) and the network, then run it again: it resumes',
      cause,
    },
  );
}
