/** Tests addresses in command-line arguments. Every user of the machine can read these arguments. */
import { describe, expect, it } from 'vitest';
import { addressFromFlags } from '../../src/cli/command-line/database-address.ts';
import type { Args } from '../../src/cli/command-line/parse.ts';
import { comparePqsCommand } from '../../src/cli/verify/compare-pqs.ts';
import { rebuildCommand } from '../../src/cli/rebuild/rebuild.ts';
import { webhookCommand } from '../../src/cli/webhooks/webhook.ts';
import { runCommand } from '../support/run-command.ts';
import { secretFile } from '../support/secret-file.ts';

const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none', LEDGER_URL: 'http://127.0.0.1:9' };
const secret = 'postgres://me:hunter2@127.0.0.1:9/x';

describe('an address with a password', () => {
  it.each([
    ['compare-pqs --pqs', comparePqsCommand, ['--pqs', secret]],
    ['rebuild --into', rebuildCommand, ['--into', secret]],
    ['webhook add --url', webhookCommand, ['add', 'x', '--url', secret, '--role', 'r']],
  ])('is rejected as an argument by %s, and is not printed', async (_, command, argv) => {
    const commandOutcome = await runCommand(command, argv, env).then(String, (error: unknown) => error);
    expect(commandOutcome).toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining('contains a password') as string,
    });
    expect(JSON.stringify(commandOutcome)).not.toContain('hunter2');
  });

  it('is accepted from a file, together with the path of the file', () => {
    const file = secretFile(secret);
    expect(addressFromFlags(argsFrom({ 'url-file': file }), 'url', '')).toEqual({ url: secret, urlFile: file });
    expect(() => addressFromFlags(argsFrom({ 'url-file': file, url: 'postgres://db/x' }), 'url', '')).toThrow(
      'cannot be combined',
    );
    expect(() => addressFromFlags(argsFrom({ 'url-file': `${file}-absent` }), 'url', '')).toThrow('cannot be read');
    expect(addressFromFlags(argsFrom({}), 'url', '')).toBeUndefined();
  });
});

function argsFrom(texts: Readonly<Record<string, string>>): Args {
  return { text: (name: string) => texts[name] } as Args;
}
