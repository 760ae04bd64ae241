/**
 * Cursors of pages. A cursor is bound to the caller, the route and its parameters, and is signed with a key of this
 * process: a client cannot change one, use one of another caller, or continue another query with it.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ApiArguments, ApiKey } from '../../model/push/read-api.ts';

/** The caller, route and parameters to which a cursor belongs. */
export interface CursorScope {
  readonly caller: string;
  readonly route: string;
  readonly arguments: ApiArguments;
}

/** Parameters that may differ between pages. */
const changeable: ReadonlySet<string> = new Set(['cursor', 'limit', 'at_least_offset', 'timeout']);
const signatureBytes = 16;

export class Cursors {
  readonly #key = randomBytes(32);

  /** @returns text of letters, digits, - and _ */
  write(key: ApiKey, scope: CursorScope): string {
    const content = Buffer.from(JSON.stringify(key));
    return Buffer.concat([this.#signature(content, scope), content]).toString('base64url');
  }

  /** Undefined if the cursor was not written by this process for this scope. */
  read(text: string, scope: CursorScope): ApiKey | undefined {
    if (!/^[\w-]+$/.test(text)) return undefined;
    const bytes = Buffer.from(text, 'base64url');
    const [signature, content] = [bytes.subarray(0, signatureBytes), bytes.subarray(signatureBytes)];
    const isOwn = signature.length === signatureBytes && timingSafeEqual(signature, this.#signature(content, scope));
    return isOwn ? (JSON.parse(content.toString('utf8')) as ApiKey) : undefined;
  }

  #signature(content: Buffer, { caller, route, arguments: args }: CursorScope): Buffer {
    const parameters = Object.entries(args)
      .filter(([name]) => !changeable.has(name))
      .sort(([left], [other]) => (left < other ? -1 : 1));
    const scope = createHash('sha256')
      .update(JSON.stringify([caller, route, parameters]))
      .digest();
    return createHmac('sha256', this.#key).update(scope).update(content).digest().subarray(0, signatureBytes);
  }
}
