/** Names can contain characters that reverse the text after them. In all output, these characters are escaped. */
import { Writable } from 'node:stream';
import { beforeAll, describe, expect, it } from 'vitest';
import { createOutput } from '../../../src/cli/command-line/output.ts';
import { errorFromBody } from '../../../src/ledger/errors/ledger-error.ts';
import { createLogger } from '../../../src/observe/log/logger.ts';
import { openSession } from '../../../src/store/write/session.ts';
import { escapeFormat } from '../../../src/errors/visible-text.ts';
import { programInProcess } from '../../cli/in-process.ts';
import * as frames from '../../support/frames.ts';
import { identity, schemasOfFile } from '../../support/schemas.ts';
import { decodeUpdate } from '../../support/wire/decode.ts';

const schemas = schemasOfFile();
/** Unescaped, the reversed `knaB` would be displayed as `Bank`. A zero-width blank makes two names look equal. */
const name = '\u202EknaB\u2066\u200B::1220';
const escapedName = String.raw`\u202eknaB\u2066\u200b::1220`;
/** A script of the status page, imported without types. */
const elements = new URL('../../../packages/page/src/elements.js', import.meta.url).pathname;
const invisiblePattern = /[\p{Cf}\u2028\u2029]/u;

beforeAll(async () => {
  const database = await schemas.migrated('ledger');
  const session = await openSession(database, identity);
  await session.publishSeed(0, 'genesis');
  const batch = session.newBatch(0);
  const event = frames.created({ offset: 1, signatories: [name], createArgument: { owner: name }, interfaceViews: [] });
  batch.add(decodeUpdate(frames.text(frames.transaction(1, [{ CreatedEvent: event }]))));
  await session.writeBatch(batch, 0);
});

describe('name with hidden characters', () => {
  const run = (...argv: readonly string[]) => programInProcess(argv, { DATABASE_URL: schemas.url });

  it('is escaped by explain', async () => {
    const { stdout } = await run('explain', '1');
    expect(stdout).toContain(escapedName);
    expect(stdout).not.toMatch(invisiblePattern);
  });

  it('is escaped in query tables, but not in JSON and CSV', async () => {
    const statement = 'select signatories[1] as name from explore.contracts';
    const table = await run('query', statement, '--table');
    expect(table.stdout).toContain(escapedName);
    expect(table.stdout).not.toMatch(invisiblePattern);
    for (const format of ['--json', '--csv']) expect((await run('query', statement, format)).stdout).toContain(name);
  });

  it('is escaped in JSON and CSV on a terminal', async () => {
    let terminalText = '';
    const terminal = new Writable({
      write: (text: Buffer, _encoding, callback) => {
        terminalText += text.toString();
        callback();
      },
    });
    const output = createOutput(Object.assign(terminal, { isTTY: true }), false);
    await output.object({ name }, []);
    expect(terminalText).not.toMatch(invisiblePattern);
    expect(JSON.parse(terminalText)).toEqual({ name });
    terminalText = '';
    await output.text(`${name},\u001B[2J\tx\ny`);
    expect(terminalText).toBe(`${escapedName},${String.raw`\u001b[2J`}\tx\ny\n`);
  });

  it('is escaped in ledger errors and in the log', () => {
    const error = errorFromBody({ code: 'X', cause: `no such party ${name}` });
    expect(error.message).toContain(escapedName);
    const lines: string[] = [];
    const stream = { write: (line: string) => lines.push(line) > 0 };
    createLogger({ level: 'info', format: 'pretty', stream }).logger.info({ party: name }, 'seen');
    expect(lines.join('')).toContain(String.raw`\u202eknaB\u2066\u200b`);
    expect(lines.join('')).not.toMatch(invisiblePattern);
  });

  it('is escaped on web pages by the same rule', async () => {
    const { visible: visibleOnPage } = (await import(elements)) as { visible: (text: string) => string };
    const hiddenText = `${name}\u00AD\u{E0041}\u2028\uFEFFplain ✓ ä`;
    expect(visibleOnPage(hiddenText)).toBe(escapeFormat(hiddenText));
    expect(visibleOnPage(hiddenText)).toBe(String.raw`${escapedName}\u00ad\udb40\udc41\u2028\ufeffplain ✓ ä`);
  });
});
