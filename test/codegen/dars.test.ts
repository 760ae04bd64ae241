/** Generates the types of a DAR into a file. */
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ExitCode } from '../../src/errors/exit-code.ts';
import { compiled, darOf } from '../../packages/ledger-sandbox/test/packages/dars.ts';
import { codegen } from './codegen-run.ts';

describe('codegen --dar', () => {
  it('writes a file, reports differences with --check, and rejects files that are not DARs', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ledger-indexer-codegen-'));
    try {
      const [dar, outputFile, missingDar] = ['model.dar', 'ledger.ts', 'no.dar'].map((name) => join(folder, name)) as [
        string,
        string,
        string,
      ];
      const { archive } = compiled({ name: 'harbor-notes', version: '2.0.0', templates: ['Note'] });
      writeFileSync(dar, darOf({ 'harbor-notes-2.0.0.dalf': archive }));
      writeFileSync(missingDar, 'PK');
      const args = ['--dar', dar, '--output', outputFile];
      expect(await codegen(...args, '--check')).toEqual({
        code: ExitCode.different,
        text: `${outputFile} does not exist\n`,
      });
      expect(await codegen(...args)).toEqual({ code: ExitCode.stopped, text: '' });
      expect(await codegen(...args, '--check')).toEqual({ code: ExitCode.stopped, text: '' });
      const generatedFile = readFileSync(outputFile, 'utf8');
      writeFileSync(outputFile, generatedFile.replace('readonly key: null;', 'readonly key: string;'));
      const result = await codegen(...args, '--check');
      expect(result.code).toBe(ExitCode.different);
      expect(result.text).toMatch(/differs from line \d+:\n- {5}readonly key: string;\n\+ {5}readonly key: null;\n$/);
      await expect(codegen('--dar', missingDar)).rejects.toMatchObject({
        code: 'DAR_UNREADABLE',
        message: expect.stringContaining(missingDar) as string,
      });
      const damagedDar = join(folder, 'damaged.dar');
      writeFileSync(damagedDar, darOf({ 'harbor-notes-2.0.0.dalf': archive.subarray(0, archive.length / 2) }));
      await expect(codegen('--dar', dar, '--dar', damagedDar)).rejects.toMatchObject({
        code: 'PACKAGE_UNREADABLE',
        message: expect.stringContaining(`${damagedDar}: package `) as string,
        remedy: expect.stringContaining('leave this one out') as string,
      });
      await expect(codegen('--check', '--dar', dar)).rejects.toMatchObject({ code: 'USAGE' });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
