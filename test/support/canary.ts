/**
 * Checks that no secret leaves a process. Searches for tokens, passwords and words of payloads in all output of the
 * process (log, errors, metrics, status, command line), in plain text and in the encodings that programs use.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';

export interface Secrets {
  /** Access tokens. Each part of a JWT except the header is secret. */
  readonly tokens: readonly string[];
  readonly passwords: readonly string[];
  /** Words that occur in payloads, including keys. */
  readonly words: readonly string[];
}

/** A secret in an output. */
export interface Leak {
  readonly where: string;
  readonly what: 'token' | 'password' | 'payload';
  readonly form: string;
  /** Position in the text. The secret itself is not stored, because the report would leak it again. */
  readonly at: number;
}

/** A process to check, such as a `Daemon` of the end-to-end tests. */
export interface WatchedProcess {
  readonly pid: number | undefined;
  /** All output so far, of stdout and stderr. */
  output(): string;
  /** Base URL of the HTTP endpoints. */
  http(): Promise<string>;
}

/** A word that no other text contains. */
export function canaryWord(): string {
  return `kanari${randomBytes(8).toString('hex')}`;
}

export class Canary {
  readonly #needles: readonly { readonly what: Leak['what']; readonly form: string; readonly text: string }[];
  readonly #leaks: Leak[] = [];
  readonly #looked = { texts: 0, characters: 0 };

  constructor({ tokens, passwords, words }: Secrets) {
    const chunks = tokens.flatMap((token) => [token, ...token.split('.').slice(1)]).filter(({ length }) => length > 8);
    this.#needles = [
      ...chunks.flatMap((text) => formsOf('token', text)),
      ...passwords.flatMap((text) => formsOf('password', text)),
      ...words.flatMap((text) => formsOf('payload', text)),
    ];
  }

  /** Searches one text. */
  look(location: string, text: string): void {
    this.#looked.texts += 1;
    this.#looked.characters += text.length;
    const foldedText = foldText(text);
    for (const { what: leakKind, form: formName, text: secretText } of this.#needles) {
      const matchIndex = foldedText.indexOf(secretText);
      if (matchIndex >= 0) this.#leaks.push({ where: location, what: leakKind, form: formName, at: matchIndex });
    }
  }

  /** Searches all output of a running process. */
  async lookAt(name: string, process: WatchedProcess): Promise<void> {
    this.look(`${name}: output`, process.output());
    if (process.pid !== undefined) this.look(`${name}: command line`, commandLine(process.pid));
    const url = await process.http();
    // /api has contents, so only its description and its refusals are searched.
    const api = ['/api', '/api/openapi.json', '/api/contracts?template=No.Such:Name', '/api/contracts?where=x'];
    for (const path of ['/', '/metrics', '/status', '/readyz', '/livez', '/wait?offset=1&timeout=0', ...api]) {
      this.look(`${name}: ${path}`, await (await fetch(`${url}${path}`)).text());
    }
    this.look(`${name}: /events`, await firstEvents(url));
  }

  /** Leaks found so far. */
  leaks(): readonly Leak[] {
    return this.#leaks;
  }

  /** Number of texts and characters that were searched. */
  looked(): { readonly texts: number; readonly characters: number } {
    return { ...this.#looked };
  }
}

/** Command line of a local process; empty if the system does not provide it. */
function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

function formsOf(leakKind: Leak['what'], text: string): readonly { what: Leak['what']; form: string; text: string }[] {
  const bytes = Buffer.from(text);
  const forms = [
    ['plain', text],
    ['escaped', encodeURIComponent(text)],
    ['json', JSON.stringify(text).slice(1, -1)],
    ['hex', bytes.toString('hex')],
    ...[0, 1, 2].map((shift) => ['base64', base64After(bytes, shift)] as const),
  ] as const;
  const seenTexts = new Set<string>();
  return forms.flatMap(([formName, writeForm]) => {
    // Covers both alphabets of base64, and upper and lower case of hex and escapes.
    const secretText = foldText(writeForm);
    if (secretText.length < 6 || seenTexts.has(secretText)) return [];
    seenTexts.add(secretText);
    return [{ what: leakKind, form: formName, text: secretText }];
  });
}

function foldText(text: string): string {
  return text.toLowerCase().replaceAll('-', '+').replaceAll('_', '/');
}

/**
 * The base64 of the bytes within a longer text, at an offset of `shift` modulo three, without the characters that also
 * depend on other bytes.
 */
function base64After(bytes: Buffer, shift: number): string {
  const paddedBytes = Buffer.concat([Buffer.alloc(shift), bytes]);
  const alignedBytes = paddedBytes.subarray(0, paddedBytes.length - (paddedBytes.length % 3)).toString('base64');
  return alignedBytes.slice(shift === 0 ? 0 : shift + 1);
}

/** The events that the status page receives in its first seconds, within which the indexer has read the database. */
async function firstEvents(url: string): Promise<string> {
  let text = '';
  const response = await fetch(`${url}/events`, { signal: AbortSignal.timeout(2_500) });
  try {
    for await (const chunk of response.body ?? []) text += Buffer.from(chunk as Uint8Array).toString();
  } catch {
    // The stream ends when it is aborted after a few seconds, or when the process exits.
  }
  return text;
}
