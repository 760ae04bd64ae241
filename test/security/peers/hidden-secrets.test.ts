/** Tokens with hidden characters in, before or after them. Each filter that removes secrets still finds them. */
import { ResponseBodyError } from 'openid-client';
import { describe, expect, it } from 'vitest';
import { errorFromBody, errorFromClose } from '../../../src/ledger/errors/ledger-error.ts';
import { errorFromProvider } from '../../../src/ledger/errors/oauth-error.ts';
import { createLogger } from '../../../src/observe/log/logger.ts';
import { scrub } from '../../../src/observe/figures/scrub.ts';
import { escapeFormat, escapeSteering } from '../../../src/errors/visible-text.ts';

const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJsZWRnZXIifQ.c2lnbmF0dXJl';
const readerToken = `lir_${'k'.repeat(43)}`;
const password = 'postgres://me:hunter2@db/ledger';

const characters: Readonly<Record<string, string>> = {
  'U+202E': '\u202E',
  'U+200B': '\u200B',
  'U+2066': '\u2066',
  'U+FEFF': '\uFEFF',
  'U+00AD': '\u00AD',
  'U+2028': '\u2028',
  'U+FE0F': '\uFE0F',
  'U+3164': '\u3164',
  'U+0000': '\0',
  'U+0008': '\b',
  'U+001B': '\u001B',
  'U+009B': '\u009B',
  'U+E0041': '\u{E0041}',
};

/** The text with the character before it, after it, at every third position, and between all characters. */
function insertionsOf(text: string, character: string): readonly string[] {
  const innerPieces = Array.from({ length: Math.floor(text.length / 3) }, (_, index) => 3 * index + 1).map(
    (position) => text.slice(0, position) + character + text.slice(position),
  );
  return [`x${character}${text}`, `${text}${character}`, ...innerPieces, Array.from(text).join(character)];
}

/** Expects that the output contains no four consecutive characters of the second half of the secret. */
function expectGone(output: string, secret: string): void {
  const plainOutput = output.replaceAll(/\\+u[0-9a-f]{4}|\\+[bf]|[^\w.-]/gi, '');
  const secretHalf = secret.slice(secret.length / 2);
  for (let position = 0; position + 4 <= secretHalf.length; position += 1)
    expect(plainOutput).not.toContain(secretHalf.slice(position, position + 4));
}

/** The body of an error response from the ledger. */
const ledgerFailure = (cause: string) => ({
  code: 'X',
  cause,
  errorCategory: 8,
  grpcCodeValue: 3,
  context: {},
  resources: [],
});

function loggedLine(message: string): string {
  const outputLines: string[] = [];
  const stream = { isTTY: false, write: (text: string) => outputLines.push(text) };
  createLogger({ level: 'info', format: 'json', stream }).logger.info(message);
  return outputLines.join('');
}

describe.each(Object.entries(characters))('character %s in a token', (_, character) => {
  it('does not bypass the secret filter of ledger errors', () => {
    for (const text of insertionsOf(jwt, character)) {
      expectGone(errorFromBody(ledgerFailure(`bad token ${text} there`)).message, jwt);
      expectGone(errorFromClose(1008, text).message, jwt);
    }
    for (const text of insertionsOf('Bearer opaque-and-secret', character)) {
      expect(errorFromBody(text, 400).message.replaceAll(/\\u[0-9a-f]{4}/g, '')).not.toContain('secret');
    }
  });

  it.each([jwt, readerToken])('does not bypass the secret filter of the log, unchanged or escaped: %s', (secret) => {
    for (const text of insertionsOf(secret, character)) {
      for (const escapedText of [text, escapeFormat(text), escapeSteering(text)]) {
        const line = loggedLine(`refused: ${escapedText} there`);
        expectGone(line.replace(/^.*refused: /, ''), secret);
        expect(JSON.parse(line)).toMatchObject({ level: 'info' });
      }
      expectGone(scrub(text), secret);
    }
  });

  it('does not bypass the filter of URL passwords', () => {
    for (const text of insertionsOf(password, character)) expect(loggedLine(text)).not.toMatch(/hunter|nter2/);
  });

  it('does not bypass the secret filter of token provider errors', () => {
    const secret = 'short-secret';
    for (const text of insertionsOf(secret, character)) {
      const cause = new ResponseBodyError('refused', {
        cause: { error: 'invalid_client', error_description: `wrong: ${text}` },
        response: new Response('{}', { status: 400 }),
      });
      expectGone(errorFromProvider(cause, 'idp.example', [secret]).message, secret);
    }
  });
});

describe('text with hidden characters', () => {
  it('is kept if it contains no secret', () => {
    const name = '\u202EknaB\u200B';
    expect(errorFromBody(ledgerFailure(name)).message).toContain(String.raw`\u202eknaB\u200b`);
    expect(scrub(name)).toBe(name);
    expect(scrub(String.raw`C:\build\file \u202e \\u200b`)).toBe(String.raw`C:\build\file \u202e \\u200b`);
  });
});
