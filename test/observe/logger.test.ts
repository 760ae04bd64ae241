import { describe, expect, it } from 'vitest';

import { IndexerError } from '../../src/errors/indexer-error.ts';
import { createLogger, serializeError } from '../../src/observe/log/logger.ts';
import { scrub } from '../../src/observe/figures/scrub.ts';

const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJsZWRnZXIifQ.c2lnbmF0dXJl-_x';

function lines(isTTY: boolean) {
  const outputLines: string[] = [];
  const stream = { isTTY, write: (text: string) => outputLines.push(text) };
  return { written: outputLines, ...createLogger({ level: 'info', format: 'auto', stream }) };
}

describe('scrub()', () => {
  it('removes tokens and URL passwords, and leaves the line valid JSON', () => {
    const line = JSON.stringify({
      a: `Bearer ${jwt}`,
      b: 'postgres://me:p@ss/w@db/x',
      c: 'bearer abc123',
      d: 'http://h:80/x',
      e: 'cannot reach https://h/x?api_key=hunter2&y=1: refused',
    });
    const scrubbedLine = scrub(line);
    expect(scrubbedLine).not.toContain('eyJ');
    expect(JSON.parse(scrubbedLine)).toEqual({
      a: 'Bearer [token]',
      b: 'postgres://me:***@db/x',
      c: 'bearer [token]',
      d: 'http://h:80/x',
      e: 'cannot reach https://h/x?*** refused',
    });
  });
});

describe('logger', () => {
  it('writes JSON lines and no progress line if the output is not a terminal', () => {
    const { logger, written: outputLines, progress } = lines(false);
    logger.info({ offset: 5 }, 'hello');
    expect(progress).toBeUndefined();
    expect(JSON.parse(outputLines.join(''))).toMatchObject({ level: 'info', msg: 'hello', offset: 5 });
  });

  it('prints no secret in any field or format', () => {
    for (const isTTY of [true, false]) {
      const { logger, written: outputLines } = lines(isTTY);
      logger.warn({ url: 'wss://u:hunter2@node/v2', nested: { token: jwt } }, `failed with ${jwt}`);
      expect(outputLines.join('')).toContain('failed with [token]');
      expect(outputLines.join('')).not.toMatch(/eyJ|hunter2/);
    }
  });

  it('escapes control characters in messages, keys and values in the text format', () => {
    const outputLines: string[] = [];
    const stream = { isTTY: false, write: (text: string) => outputLines.push(text) };
    // Not a TTY, so that the logger adds no colors.
    const { logger } = createLogger({ level: 'info', format: 'pretty', stream });
    const hostileText = 'a\u001b[2J\u009b1A\u0007\r\nb\u202ec\u007f';
    logger.warn({ word: hostileText, [hostileText]: 'x', list: [hostileText] }, hostileText);
    expect(outputLines.join('')).toContain('a\\u001b[2J\\u009b1A\\u0007\\u000d\\u000ab\\u202ec\\u007f');
    expect(outputLines.join('')).toMatch(/^[^\p{Cc}\u202e]*\n$/u);
  });

  it('writes an error as one sentence in the text format', () => {
    const outputLines: string[] = [];
    const stream = { isTTY: false, write: (text: string) => outputLines.push(text) };
    const { logger } = createLogger({ level: 'info', format: 'pretty', stream });
    const err = new IndexerError('connection refused', {
      code: 'STORE_UNREACHABLE',
      retry: 'retry',
      remedy: 'start it',
    });
    logger.warn({ delayMs: 90, err }, 'store failed, trying again');
    logger.warn({ err: new TypeError('row') }, 'odd');
    expect(outputLines[0]).toMatch(
      / WARN {3}store failed, trying again: STORE_UNREACHABLE: connection refused; what to do: start it {2}delayMs=90\n$/,
    );
    expect(outputLines[1]).toMatch(/ WARN {3}odd {2}err=\{"name":"TypeError"\}\n$/);
  });

  it('writes only name and SQLSTATE of other errors, whose messages may quote rows', () => {
    const driver = Object.assign(new Error('duplicate key (payload)=(hunter2)'), { code: '23505', detail: 'hunter2' });
    expect(serializeError(driver)).toEqual({ name: 'Error', sqlstate: '23505' });
    const indexerError = new IndexerError('refused', {
      code: 'STORE_CONFLICT',
      retry: 'retry',
      remedy: 'wait',
      cause: driver,
    });
    expect(serializeError(indexerError)).toEqual({
      name: 'IndexerError',
      code: 'STORE_CONFLICT',
      retry: 'retry',
      remedy: 'wait',
      message: 'refused',
      sqlstate: '23505',
    });
    const { logger, written: outputLines } = lines(false);
    logger.error(driver);
    logger.error({ err: driver }, 'failed');
    logger.error({ err: driver });
    expect(outputLines.join('')).not.toContain('hunter2');
  });

  it('keeps the progress line below the log lines on a terminal', () => {
    const { logger, written: outputLines, progress } = lines(true);
    progress?.('seeding: 5');
    logger.info({ stream: 'updates' }, 'connected');
    expect(outputLines.at(-1)?.startsWith('\r\u001B[2K')).toBe(true);
    expect(outputLines.at(-1)).toMatch(/INFO.*connected.*updates\nseeding: 5$/s);
    progress?.(undefined);
    logger.info('bye');
    expect(outputLines.at(-1)).toMatch(/bye\n$/);
  });
});
