/** Tests the command line of `ledger-indexer ledger`: rejected arguments, configuration options and help. */
import { describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { run } from './verb-run.ts';

/** No server listens on this port. Mistakes are reported before any request. */
const env = { LEDGER_URL: 'http://127.0.0.1:1' };

describe('ledger command', () => {
  const usage = (message: string): object => ({
    code: 'USAGE',
    exitCode: 2,
    message: expect.stringContaining(message) as string,
  });

  it('rejects wrong subcommands, flags and values in one message with hints', async () => {
    await expect(run(['acd'], { env })).rejects.toMatchObject(usage('did you mean acs?'));
    await expect(run([], { env })).rejects.toMatchObject(usage('expected a verb'));
    const usageRun = run(['acs', '--tempalte', 'x', '--at', 'soon', 'more'], { env });
    await expect(usageRun).rejects.toMatchObject(usage('did you mean --template?'));
    await expect(usageRun).rejects.toMatchObject(usage('--at: expected an integer'));
    await expect(usageRun).rejects.toMatchObject(usage('"more": expected no such argument'));
    await expect(run(['submit'], { env })).rejects.toMatchObject(usage('expected FILE, found nothing'));
    await expect(run(['acs', '--at'], { env })).rejects.toMatchObject(usage('--at: expected OFFSET after it'));
    await expect(run(['acs', '--template', 'Iou'], { env })).rejects.toMatchObject(
      usage('--template: expected #package-name'),
    );
  });

  it('accepts configuration options before and after operands, and requires LEDGER_URL', async () => {
    await using sandbox = await startSandbox();
    const flagRun = ['update', '--ledger-url', sandbox.url, '1', '--ledger-topology=false'];
    generateHistory(sandbox.ledger, { seed: 2, updates: 2 });
    expect((await run(flagRun, { env: {} })).rows).toHaveLength(1);
    await expect(run(['end'], { env: {} })).rejects.toMatchObject({
      exitCode: 78,
      remedy: expect.stringContaining('LEDGER_URL') as string,
    });
    await expect(run(['end'], { env: { LEDGER_URL: 'x' } })).rejects.toMatchObject({ code: 'CONFIGURATION_INVALID' });
  });

  it('prints help with an example for each subcommand', async () => {
    const { text } = await run(['--help'], { env: {} });
    const names = [...text.matchAll(/^ {2}([a-z-]+)(?: \S+)? {2,}/gm)].map((match) => match[1] ?? '');
    expect(names.length).toBe(13);
    for (const name of names) {
      expect((await run([name, '--help'], { env: {} })).text).toContain(`\n  ledger-indexer ledger ${name}`);
    }
  });
});
